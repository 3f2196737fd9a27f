"""The tutorials: every cell runs, and says what is printed in them."""

import pathlib

import pytest

nbformat = pytest.importorskip("nbformat")
from nbclient import NotebookClient  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]


def said(notebook):
    """What the cells' results say, pictures apart."""
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    texts = [o.data.get("text/plain", "") for o in outputs if o.output_type == "execute_result"]
    return [text for text in texts if not text.startswith("<Figure")]


@pytest.mark.parametrize("name", ["demo", "scikit-learn", "stroke-trial"])
def test_runs_and_says_the_same(name, request, tmp_path):
    if name == "stroke-trial":
        request.getfixturevalue("trial")
    kept = nbformat.read(ROOT / f"docs/notebooks/{name}.ipynb", 4)
    again = nbformat.read(ROOT / f"docs/notebooks/{name}.ipynb", 4)
    folder = ROOT if name == "stroke-trial" else tmp_path
    NotebookClient(again, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    assert said(again) == said(kept) and len(said(kept)) >= 5
