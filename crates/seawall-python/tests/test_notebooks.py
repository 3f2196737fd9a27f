"""The tutorials: every cell runs, and says what is printed in them.

As a program, it writes what the cells print now (`scripts/book` runs it).
"""

import pathlib
import tempfile

import pytest

nbformat = pytest.importorskip("nbformat")
from nbclient import NotebookClient  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
NAMES = ("demo", "scikit-learn", "stroke-trial")


def said(notebook):
    """What the cells' results say, pictures apart."""
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    texts = [o.data.get("text/plain", "") for o in outputs if o.output_type == "execute_result"]
    return [text for text in texts if not text.startswith("<Figure")]


def run(name, folder):
    """A notebook with what its cells print now."""
    again = nbformat.read(ROOT / f"docs/notebooks/{name}.ipynb", 4)
    path = str(ROOT if name == "stroke-trial" else folder)
    NotebookClient(again, timeout=300, resources={"metadata": {"path": path}}).execute()
    return again


@pytest.mark.parametrize("name", NAMES)
def test_runs_and_says_the_same(name, request, tmp_path):
    if name == "stroke-trial":
        request.getfixturevalue("trial")
    kept = nbformat.read(ROOT / f"docs/notebooks/{name}.ipynb", 4)
    assert said(run(name, tmp_path)) == said(kept) and len(said(kept)) >= 5


if __name__ == "__main__":
    for name in NAMES:
        if name == "stroke-trial" and not (ROOT.parent / "shared/data/ist").exists():
            print(f"{name}: as it was, for its data are absent")
            continue
        with tempfile.TemporaryDirectory() as folder:
            again = run(name, folder)
        # Times of execution would change the file every time.
        for cell in again.cells:
            cell.metadata.pop("execution", None)
        nbformat.write(again, ROOT / f"docs/notebooks/{name}.ipynb")
        print(f"docs/notebooks/{name}.ipynb: written")
