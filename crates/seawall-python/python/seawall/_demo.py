"""The synthetic trial that the package carries."""

from __future__ import annotations

import os
import tempfile

from seawall import _native
from seawall._elsewhere import _Rows
from seawall._tables import Table
from seawall.study import Study


def demo_data() -> Table:
    """The synthetic trial that the package carries, as a table of texts."""
    data, _ = _native.demo()
    lines = data.splitlines()
    rows = [line.split(",") for line in lines[1:]]
    return Table({name: [row[k] for row in rows] for k, name in enumerate(lines[0].split(","))})


def demo() -> Study:
    """The synthetic trial that the package carries, as a study.

    >>> import seawall
    >>> seawall.demo().actions
    ['treat', 'control']
    """
    data, text = _native.demo()
    with tempfile.TemporaryDirectory() as folder:
        for name, said in (("trial.csv", data), ("study.toml", text)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(said)
        study = Study.from_file(os.path.join(folder, "study.toml"))
    # The file is gone when groups are to be counted.
    rows = demo_data()
    study._rows = _Rows(rows, "trial.csv", frozenset(rows.column_names))
    return study
