"""The report of a transfer, made by the built program and opened in a real browser."""

import json
import random
import xml.etree.ElementTree as xml

import pytest
from axe_playwright_python.sync_playwright import Axe
from reports import CONTRAST, SVG, look, opened, pages_of, rows_of, run, saved

# A name that would be a tag, if it were not a text.
RUDE = '<b>&"'

STUDY = """[data]
path = "log.csv"

[context]
age   = { kind = "numeric", bin = 10, min = 20, max = 80 }
stage = { kind = "nominal" }

[action]
column = "arm"

[outcome]
cost = "y"

[model]
kind = "tree"
max_depth = 2

[target]
size = 400

[target.known]
age   = { mean = 58 }
stage = { shares = { I = 0.3, II = 0.7 } }

[history]
by = "site"

[[policy]]
kind = "uniform"

[[policy]]
kind = "constant"
action = "a"

[robust]
context = { set = "wasserstein", radius = [0, 0.05] }
"""


def write(folder, sites=24, each=60):
    """Sites of their own level each, one of them far worse than the others."""
    rng = random.Random(3)
    lines = ["age,stage,arm,y,site"]
    for site in range(sites):
        own = 0.15 * rng.gauss(0, 1) + (1.5 if site == 7 else 0)
        name = '"<b>&"""' if site == 7 else f"site {site}"
        for _ in range(each + 5 * site):
            age, stage, arm = rng.randrange(20, 80), rng.choice(["I", "II"]), rng.choice("ab")
            y = age / 40 + (stage == "II") * 0.5 + (arm == "b") * 0.3 + own + rng.gauss(0, 0.5)
            lines.append(f"{age},{stage},{arm},{y:.3f},{name}")
    lines += ["30,I,a,1,few"] * 3
    (folder / "log.csv").write_text("\n".join(lines) + "\n")
    (folder / "study.toml").write_text(STUDY)
    return folder / "study.toml"


@pytest.fixture(scope="session")
def onward(seawall, tmp_path_factory):
    """The study, its page, and what the terminal says."""
    study = write(tmp_path_factory.mktemp("onward"))
    page = study.parent / "report.html"
    run(seawall, "report", study, "--level", 0.9, "--splits", 3, "--out", page)
    said = json.loads(run(seawall, "transport", study, "--level", 0.9, "--json"))
    return study, page, said


def cells(table):
    rows = table.locator("tbody tr")
    return [rows.nth(k).locator("th, td").all_inner_texts() for k in range(rows.count())]


def test_section_says_what_transfer_says(browser, onward):
    _, path, said = onward
    page, wrong = opened(browser, path)
    section = page.locator("#transfer")
    assert section.is_visible() and page.locator("nav a[href='#transfer']").is_visible()
    policies, differences = section.locator("table", has_text="allowance").all()
    for table, expected in [(policies, said["transfers"]), (differences, said["differences"])]:
        shown = cells(table)
        assert [row[0] for row in shown] == [t["policy"] for t in expected]
        for row, t in zip(shown, expected):
            parts = t["allowance"]
            whole = sum(parts.values())
            numbers = [t["centre"], t["se"], t["bound"], whole, *parts.values()]
            for text, number in zip(row[1:8], numbers):
                assert abs(float(text) - number) <= 1e-3 * abs(number) + 1e-9, (text, number)
            assert row[8:] == [t["method"], "90%", f"{t['held']} of {len(t['groups'])}"]
    text = section.inner_text()
    assert said["condition"] in text and "Groups left out: 1 with too few rows" in text
    assert "Policies that were learned here are not in this section" in text
    assert wrong == []


def test_balance_is_drawn(browser, onward):
    _, path, said = onward
    page, _ = opened(browser, path)
    balance = said["transfers"][0]["balance"]
    status = page.locator("#balance-status").inner_text()
    assert f"Balance: {balance['status']}" in status
    for action, rows in balance["effective_rows"].items():
        assert f"{action} {round(rows)}" in status
    rows = page.locator(".love tbody tr")
    assert rows.count() == len(balance["columns"]) == 2
    zero = page.locator(".love .zero").first.bounding_box()["x"]
    small = page.locator(".love .small").last.bounding_box()["x"]
    for k, column in enumerate(balance["columns"]):
        name, before, after, *_ = rows.nth(k).locator("th, td").all_inner_texts()
        assert (name, before) == (column["name"], f"{column['before']:.2f}")
        assert abs(float(after) - column["after"]) <= 0.005
        # The marks are where the numbers are, by the line of 0.1.
        for mark in ["before", "after"]:
            box = rows.nth(k).locator(f"circle.{mark}").bounding_box()
            at = (box["x"] + box["width"] / 2 - zero) / (small - zero) * 0.1
            assert abs(at - column[mark]) < 0.02, (column, mark, at)
    # Hollow and full.
    fills = [page.locator(f".love circle.{m}").first.evaluate("e => getComputedStyle(e).fill") for m in ["before", "after"]]
    assert fills[0] == "rgb(255, 255, 255)" != fills[1]


def test_past_groups_are_drawn_held_or_missed(browser, onward):
    _, path, said = onward
    page, wrong = opened(browser, path)
    first = said["transfers"][0]
    missed = [g for g in first["groups"] if not g["held"]]
    assert RUDE in [g["group"] for g in missed]
    chart = page.locator("#transfer svg.chart").first
    assert chart.locator("g.held circle").count() == first["held"]
    # By shape, not by colour alone.
    assert chart.locator("g.missed path").count() == len(missed)
    assert chart.locator("g.missed circle").count() == 0
    assert chart.locator("path.predicted").count() == chart.locator("path.bound").count() == 1
    tables = page.locator(".history").first.locator("table")
    most = cells(tables.first)
    by_need = sorted(first["groups"], key=lambda g: -g["score"])
    assert [row[0] for row in most] == [g["group"] for g in by_need[:15]]
    assert [row[1] for row in most] == ["held" if g["held"] else "missed" for g in by_need[:15]]
    more = page.locator(".history").first.locator("details")
    assert more.locator("summary").inner_text().startswith(f"and {len(by_need) - 15} more")
    assert not tables.nth(1).is_visible()
    more.locator("summary").press("Enter")
    assert tables.nth(1).is_visible() and len(cells(tables.nth(1))) == len(by_need)
    # A name is a text, and never a tag.
    assert page.locator("#transfer b").count() == 0
    assert wrong == []


def test_marks_are_named_by_keyboard_and_pointer(browser, onward):
    _, path, said = onward
    page, wrong = opened(browser, path, viewport={"width": 1440, "height": 900})
    by_need = sorted(said["transfers"][0]["groups"], key=lambda g: -g["score"])
    chart = page.locator("#transfer svg.chart").first
    assert chart.locator("[tabindex='0']").count() == 1
    chart.locator("[tabindex='0']").focus()
    named = page.locator(".pointed").first
    assert named.inner_text().startswith(f"{RUDE}: ") and named.inner_text().endswith("missed")
    for key, group in [("ArrowRight", by_need[1]), ("End", by_need[-1]), ("ArrowRight", by_need[-1]), ("Home", by_need[0])]:
        page.keyboard.press(key)
        assert named.inner_text().startswith(f"{group['group']}: {group['rows']:.0f} rows"), key
        assert chart.locator("[tabindex='0']").count() == 1
    chart.locator("g").nth(3).hover(force=True)
    assert page.evaluate("document.querySelector('.pointed').textContent.length") > 20
    assert wrong == []


@pytest.mark.parametrize("width, scheme", [(390, "light"), (390, "dark"), (768, "light"), (1440, "dark"), (1440, "light")])
def test_opens_cleanly_and_is_accessible(browser, onward, width, scheme):
    page, wrong = opened(browser, onward[1], viewport={"width": width, "height": 900}, color_scheme=scheme)
    for summary in page.locator("#transfer summary").all():
        if summary.is_visible():
            summary.press("Enter")
    wide, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= room, "the page is wider than the window"
    found = Axe().run(page).response
    assert found["violations"] == [], json.dumps(found["violations"], indent=1)[:3000]
    ratio, text = page.evaluate(CONTRAST)
    assert ratio >= 4.5, f"contrast {ratio:.2f}: {text}"
    assert "NaN" not in page.inner_text("body") and wrong == []


def test_groups_change_nothing_else(seawall, onward, tmp_path):
    """The halves of the page are of rows that were counted without groups."""
    study, _, _ = onward
    text = study.read_text()
    pages = []
    for name, words in [("with", ""), ("without", '[history]\nby = "site"\n')]:
        own = study.parent / f"{name}.toml"
        own.write_text(text.replace(words, ""))
        page = tmp_path / f"{name}.html"
        run(seawall, "report", own, "--no-learn", "--splits", 4, "--level", 0.9, "--out", page)
        pages.append(page.read_text())
    parts = [page.split('id="radius"')[1].split('id="transfer"')[0] for page in pages]
    assert "limits" in parts[0] and parts[0] == parts[1]
    # Without groups there is no chart of them, and the worst coupling is allowed for.
    assert "Past groups by" in pages[0] and "Past groups by" not in pages[1]
    assert "the worst coupling of what is known" in pages[1]


def test_options_ask_for_it(seawall, browser, onward, tmp_path):
    study, _, _ = onward
    bare = study.parent / "bare.toml"
    text = study.read_text()
    bare.write_text(text.split("[target]")[0] + "[[policy]]" + text.split("[[policy]]", 1)[1])
    page = tmp_path / "r.html"
    run(seawall, "report", bare, "--no-learn", "--splits", 0, "--out", page)
    assert 'id="transfer"' not in page.read_text()
    run(seawall, "report", bare, "--no-learn", "--splits", 0, "--by", "site", "--least", 100, "--level", 0.8, "--target-facts", "age:mean=50", "--out", page)
    shown, wrong = opened(browser, page)
    assert "mean of age" in shown.inner_text("#transfer") and wrong == []
    assert "--target-facts age:mean=50 --by site --least 100" in shown.inner_text("#methods")


def test_same_bytes_on_any_number_of_threads(seawall, onward, tmp_path):
    pages = []
    for threads in (1, 2):
        page = tmp_path / f"{threads}.html"
        run(seawall, "report", onward[0], "--splits", 3, "--threads", threads, "--out", page)
        pages.append(page.read_bytes())
    assert pages[0] == pages[1]


def test_figures_of_a_transfer_are_saved(browser, onward):
    page, wrong = opened(browser, onward[1], viewport={"width": 1440, "height": 900})
    _, data = saved(page, page.locator("figure[data-figure='balance'] [data-svg]"))
    said = [e.text for e in xml.fromstring(data).iter(SVG + "text")]
    balance = onward[2]["transfers"][0]["balance"]["columns"]
    assert {c["name"] for c in balance} <= set(said) and "before weighing" in said
    assert look(browser, data.decode())[2].get("11,94,148", 0) > 20
    _, data = saved(page, page.locator("figure[data-figure='balance'] a[download]"))
    assert [(r["column"], float(r["after"])) for r in rows_of(data)] == [(c["name"], c["after"]) for c in balance]
    figure = page.locator("figure[data-figure='past-groups-1']")
    _, data = saved(page, figure.locator("[data-svg]"))
    groups = onward[2]["transfers"][0]["groups"]
    assert len(list(xml.fromstring(data).iter(SVG + "circle"))) >= sum(g["held"] for g in groups)
    _, data = saved(page, figure.locator("a[download]"))
    assert {r["group"]: float(r["needed"]) for r in rows_of(data)} == {g["group"]: g["score"] for g in groups}
    assert wrong == []


def test_prints_what_the_slider_shows_and_a_transfer_too(browser, onward):
    page, _ = opened(browser, onward[1])
    page.get_by_role("slider").press("End")
    radius = page.locator(".dial output").inner_text()
    assert pages_of(page.pdf(format="A4")) == 2
    page.emulate_media(media="print")
    assert f"Within radius {radius}" in page.locator("#summary-text").inner_text()
    assert "the transfer to the target" in page.locator(".printed").inner_text()
