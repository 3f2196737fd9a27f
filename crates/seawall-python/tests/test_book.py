"""The Python that people read: the book's sessions print what stands there, and README's calls work.

As a program, it writes what the sessions print now into the book's pages (`scripts/book` runs it).
"""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))
import pages  # noqa: E402


def sessions(page):
    """The blocks of a page that are sessions at Python's prompt."""
    blocks = pages.blocks(page.read_text())
    return [block for block in blocks if block.language == "python" and block.lines[0].startswith(">>>")]


WITH_SESSIONS = [page for page in pages.pages() if sessions(page)]


def test_there_are_sessions():
    assert pages.BOOK / "python.md" in WITH_SESSIONS


@pytest.mark.parametrize("page", WITH_SESSIONS, ids=lambda page: page.name)
def test_a_session_prints_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in sessions(page):
        again = pages.session(block, names)
        assert again == block.lines, f"{page.name}, line {block.start + 1}:\n" + pages.difference(block.lines, again)


def test_the_calls_of_the_readme_work(older, tmp_path, monkeypatch):
    """README's call by call: its `frame` is the demo's, its `other_hospital` the demo's older patients, and its forest
    has 5 trees, which takes seconds."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    import seawall

    monkeypatch.chdir(tmp_path)
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["sex"]), remainder="passthrough")
    names = {
        "frame": seawall.demo_data(), "other_hospital": older,
        "RandomForestRegressor": lambda _trees, **others: RandomForestRegressor(5, **others),
        "pipeline": make_pipeline(encoder, LinearRegression()),
    }
    blocks = [block for block in pages.blocks((ROOT / "README.md").read_text()) if block.language == "python"]
    assert len(blocks) >= 2
    for block in blocks:
        exec(compile("\n" * (block.start + 1) + "\n".join(block.lines), "README.md", "exec"), names)
    assert (tmp_path / "report.html").exists()


if __name__ == "__main__":
    for path in WITH_SESSIONS:
        lines, known = path.read_text().split("\n"), {}
        changes = [(block, pages.session(block, known)) for block in sessions(path)]
        for block, new in reversed(changes):
            lines[block.start + 1:block.start + 1 + len(block.lines)] = new
        path.write_text("\n".join(lines))
        print(f"{os.path.relpath(path, ROOT)}: sessions written")
