"""Results as a notebook shows them: in Jupyter's own light and dark pages, in a real browser.

With SEAWALL_PICTURES=FOLDER the pages are kept there as pictures."""

import html.parser
import os
import pathlib
import pickle
import re
import shutil

import nbconvert
import nbformat
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from nbclient import NotebookClient
from playwright import sync_api

import seawall


CELLS = [
    "import seawall\n\nstudy = seawall.demo()\nfound = study.evaluate(curve=True)\nfound",
    'found.comparison("control", "treat")',
]

# The least contrast of any text of the outputs with what is behind it, and of any line that is drawn.
CONTRAST = """() => {
  const parts = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const light = (c) => { const f = parts(c).slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
  const behind = (e) => { for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor; if (parts(c)[3] === 1) return c; } return "rgb(255,255,255)"; };
  const ratio = (e, c) => { const [a, b] = [light(c), light(behind(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); };
  const texts = [...document.querySelectorAll(".jp-OutputArea td, .jp-OutputArea th, .jp-OutputArea p, .jp-OutputArea svg text, .jp-OutputArea caption")]
    .filter((e) => e.textContent.trim())
    .map((e) => ratio(e, e.closest("svg") ? getComputedStyle(e).fill : getComputedStyle(e).color));
  const lines = [...document.querySelectorAll(".jp-OutputArea svg polyline")].map((e) => ratio(e, getComputedStyle(e).stroke));
  return [Math.min(...texts), Math.min(...lines), texts.length, lines.length];
}"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """A notebook that was run, with its results."""
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    page = nbformat.v4.new_notebook(cells=cells)
    folder = tmp_path_factory.mktemp("notebook")
    NotebookClient(page, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return folder, page


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "there is no Chromium: scripts/test installs it"
    with sync_api.sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_can_be_read_in_both_themes(notebook, browser, theme):
    folder, page = notebook
    exporter = nbconvert.HTMLExporter(theme=theme, exclude_input_prompt=True, exclude_output_prompt=True)
    text, _ = exporter.from_notebook_node(page)
    # Nothing is fetched.
    text = re.sub(r'<script[^>]*src="[^"]*"[^>]*></script>', "", text)
    path = folder / f"{theme}.html"
    path.write_text(text, encoding="utf-8")
    opened = browser.new_context(viewport={"width": 860, "height": 900}, color_scheme=theme).new_page()
    opened.goto(path.as_uri())
    of_text, of_lines, texts, lines = opened.evaluate(CONTRAST)
    assert of_text >= 4.5 and of_lines >= 3 and texts > 60 and lines == 5, (of_text, of_lines, texts, lines)
    pictures = opened.get_by_role("img", name=re.compile("against the radius"))
    assert pictures.count() == 2
    assert re.search(r"constant:treat: 0.3058 at radius 0, 0.8\d+ at radius 0.1", pictures.first.get_attribute("aria-label"))
    found = Axe().run(opened, context=".jp-OutputArea-output").response
    assert found["violations"] == [], found["violations"]
    # No label covers another, none is cut off.
    assert opened.evaluate("""() => [...document.querySelectorAll('.jp-OutputArea svg')].flatMap(svg => {
        const all = svg.getBoundingClientRect();
        const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
        const out = boxes.filter(([, p]) => p.left < all.left - 1 || p.right > all.right + 1 || p.bottom > all.bottom + 1);
        return [...out.map(([a]) => a + ' is cut off'), ...boxes.flatMap(([a, p], k) => boxes.slice(k + 1)
          .filter(([b, q]) => p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 2 && q.top < p.bottom - 2)
          .map(([b]) => a + ' over ' + b))]; })""") == []
    if os.environ.get("SEAWALL_PICTURES"):
        from PIL import Image

        kept = pathlib.Path(os.environ["SEAWALL_PICTURES"]) / f"notebook-{theme}.png"
        opened.locator("main, body").first.screenshot(path=str(kept))
        Image.open(kept).quantize(250).save(kept, optimize=True)


class Tags(html.parser.HTMLParser):
    """Which tags there are and what is between them."""

    def __init__(self):
        super().__init__()
        self.tags, self.words = [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words += data


def test_names_are_texts_and_nothing_else(tmp_path):
    """Columns, levels and actions that would be markup, or command a terminal."""
    rude = "</td><script>alert(1)</script>\x1b[31m\u202e&\"'"
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0] * 20, "a": [rude, "r"] * 40, "y": [0.0, 1.0, 0.5, 1.0] * 20})
    study = seawall.Study(frame, context={"x": "numeric"}, action="a", cost="y", radius=[0.1, 0.2], model="tree")
    found = study.evaluate([f"constant:{rude}", "constant:r"], curve=True)
    for result in [found, found.comparison(0, 1), found.worst_population(0), study.check(), study.explain()]:
        page = Tags()
        page.feed(result._repr_html_())
        assert "script" not in page.tags and "table" in page.tags
        for words in [page.words, repr(result)]:
            assert not {"\x1b", "\u202e"} & set(words)
    page = Tags()
    page.feed(found._repr_html_())
    assert "</td><script>alert(1)</script>\\u001b[31m\\u202e&\"'" in page.words
    assert page.tags.count("svg") == page.tags.count("title") == 1


def test_curves_are_drawn_where_there_are_any():
    study = seawall.demo()
    asked = study.evaluate(["uniform", "constant:treat"], radius=[0.01, 0.1], splits=0)
    # Dots where it is known: two radii and where nothing shifts.
    assert asked._repr_html_().count("<circle") == 6
    whole = study.evaluate(["uniform", "constant:treat"], radius=[0.01, 0.1], splits=0, curve=True)
    assert "<circle" not in whole._repr_html_() and whole._repr_html_().count("<polyline") == 2
    assert pickle.loads(pickle.dumps(whole))._repr_html_().count("<circle") == 6
    assert whole.curve()._repr_html_().count("<polyline") == 1
    nowhere = study.evaluate("uniform", radius=0, splits=0)
    everywhere = study.evaluate("uniform", set="couplings", target=seawall.Target(known={"age": {"mean": 75}}), splits=0)
    for flat in [nowhere, everywhere, study.radius(splits=2), study.distance(seawall.demo_data())]:
        assert "<svg" not in flat._repr_html_() and "<table>" in flat._repr_html_()


def test_long_tables_say_what_is_left_out():
    shares = seawall.demo().evaluate("uniform", radius=0.1, splits=0).worst_population()
    long = type(shares)([*shares, *shares, *shares])
    assert len(long) > 60 and long._repr_html_().count("<tr>") == 31
    assert f"{len(long) - 30} more rows: to_pandas() or to_polars()." in long._repr_html_()
