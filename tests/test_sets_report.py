"""The report with other kinds of shift, made by the built program and opened in a real browser."""

import json

import pytest
from axe_playwright_python.sync_playwright import Axe
from reports import CONTRAST, opened, rows_of, run, saved


@pytest.fixture(scope="session")
def page(seawall, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    run(seawall, "demo", "--folder", folder)
    made = folder / "report.html"
    study = folder / "study.toml"
    run(seawall, "report", study, "--no-learn", "--splits", 0, "--compare", "--out", made)
    return json.loads(run(seawall, "sensitivity", study, "--json")), made


@pytest.mark.parametrize("width, scheme", [(390, "light"), (768, "light"), (1440, "dark"), (1440, "light")])
def test_opens_cleanly_and_is_accessible(browser, page, width, scheme):
    shown, wrong = opened(
        browser, page[1], viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    assert wrong == []
    wide, room = shown.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= room, "the page is wider than the window"
    found = Axe().run(shown).response
    assert found["violations"] == [], json.dumps(found["violations"], indent=1)[:3000]
    ratio, text = shown.evaluate(CONTRAST)
    assert ratio >= 4.5, f"contrast {ratio:.2f}: {text}"


@pytest.mark.parametrize("width", [390, 1440])
def test_has_a_row_a_set_and_a_mark_a_policy(browser, page, width):
    said, made = page
    shown, _ = opened(browser, made, viewport={"width": width, "height": 900})
    answered = [one for one in said["sets"] if one["best"]]
    rows = shown.locator("#sets-table tbody tr")
    assert rows.count() == len(answered) >= 3
    assert shown.locator("#sets .answer").inner_text() == said["agreement"]["sentences"][0]
    strips = shown.locator("#sets .kinds tbody .strip")
    for k, one in enumerate(answered):
        assert rows.nth(k).locator("th").inner_text() == one["set"]
        marks = strips.nth(k).locator("circle")
        assert marks.count() == len(said["policies"])
        strip = strips.nth(k).bounding_box()
        for m in range(marks.count()):
            box = marks.nth(m).bounding_box()
            assert strip["x"] <= box["x"] and box["x"] + box["width"] <= strip["x"] + strip["width"] + 1


def test_chart_of_sets_is_saved(browser, page):
    said, made = page
    shown, wrong = opened(browser, made, viewport={"width": 1440, "height": 900})
    figure = shown.locator("figure[data-figure='sets']")
    _, data = saved(shown, figure.locator("a[download]"))
    rows = rows_of(data)
    answered = [one for one in said["sets"] if one["best"]]
    expected = [(s["set"], p["policy"], p["value"]) for s in answered for p in s["policies"]]
    assert [(r["set"], r["policy"], float(r["worst_case"])) for r in rows] == expected
    name, data = saved(shown, figure.locator("[data-svg]"))
    assert name == "sets.svg" and data.decode().count("<circle") >= len(expected)
    assert wrong == []
