"""The report, made by the built program and opened in a real browser."""

import json
import re
import subprocess

import hostile
import pytest
from axe_playwright_python.sync_playwright import Axe
from reports import CONTRAST, LOOKS, POLICIES, WIDTHS, opened, run, same, values, words_of


@pytest.mark.parametrize("width, scheme", LOOKS)
def test_opens_cleanly_and_is_accessible(browser, report, width, scheme):
    page, wrong = opened(
        browser, report[1], viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    page.get_by_role("slider").press("End")
    page.get_by_role("slider").press("Home")
    assert wrong == []
    wide, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= room, "the page is wider than the window"
    found = Axe().run(page).response
    assert found["violations"] == [], json.dumps(found["violations"], indent=1)[:3000]
    ratio, text = page.evaluate(CONTRAST)
    assert ratio >= 4.5, f"contrast {ratio:.2f}: {text}"


@pytest.mark.parametrize("width", WIDTHS)
def test_no_text_is_cut_off_or_covers_another(browser, report, width):
    page, _ = opened(browser, report[1], viewport={"width": width, "height": 900})
    cut = page.evaluate(
        """() => [...document.querySelectorAll('p, li, dd, h1, h2, h3, caption')]
            .filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline')
            .map(e => e.tagName + ': ' + e.textContent.slice(0, 60))"""
    )
    assert cut == []
    # Labels of one axis do not overlap each other.
    overlaps = page.evaluate(
        """() => [...document.querySelectorAll('svg.chart')].filter(s => s.getBoundingClientRect().width)
            .flatMap(svg => { const boxes = [...svg.querySelectorAll('text')].filter(t => t.textContent)
                .map(t => [t.textContent, t.getBoundingClientRect()]);
              return boxes.flatMap(([a, p], k) => boxes.slice(k + 1).filter(([b, q]) =>
                p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 2 && q.top < p.bottom - 2)
                .map(([b]) => a + ' over ' + b)); })"""
    )
    assert overlaps == []


def test_slider_shows_what_evaluate_says(seawall, browser, trial):
    study, path = trial
    page, wrong = opened(browser, path)
    slider = page.get_by_role("slider")
    before = values(page)
    slider.focus()
    for key in ["ArrowRight", "ArrowRight", "PageUp", "End", "ArrowLeft"]:
        slider.press(key)
        radius = page.locator(".dial output").inner_text()
        assert slider.get_attribute("aria-valuetext") == f"radius {radius}"
        said = run(seawall, "evaluate", study, *words_of(POLICIES), "--radius", radius, "--details")
        rows = {
            line.split()[0]: line.split()
            for line in said.split("Within each radius")[1].splitlines()
            if len(line.split()) > 8 and line.split()[1] == "wasserstein"
        }
        shown = page.locator("#radius table").first.locator("tbody tr")
        for k, policy in enumerate(POLICIES):
            cells = shown.nth(k).locator("td").all_inner_texts()
            # policy, set, radius, worst case, lower, upper, gap, lambda, status, unobserved
            assert same(cells[0], rows[policy][3]), (cells, rows[policy])
            assert len(cells[0].lstrip("-0.")) < 6, "no more digits than are known"
            assert (cells[5], cells[7]) == (rows[policy][8], rows[policy][9])
            assert same(cells[6], rows[policy][7]), (cells, rows[policy])
        at = f"within radius {radius}"
        assert at in page.locator("#populations > p").inner_text()
        assert values(page)[0] in page.locator("#radius").inner_text()
        assert f"Within radius {radius}," in page.locator("#answer-text").inner_text()
    assert values(page) != before
    assert wrong == []


def test_slider_moves_the_worst_case_population(seawall, browser, trial, tmp_path):
    study, path = trial
    page, _ = opened(browser, path)
    page.get_by_role("slider").press("End")
    radius = page.locator(".dial output").inner_text()
    out = tmp_path / "worst.csv"
    run(seawall, "evaluate", study, "--policy", "uniform", "--radius", radius, "--worst", out)
    import csv

    share = 0.0
    for row in csv.DictReader(out.open()):
        share += float(row["worst"]) * (row["AGE"] == "95")
    first = page.locator("article").first
    age = first.locator("table", has_text="AGE").locator("tr", has_text=re.compile("^95"))
    assert age.locator("td").nth(1).inner_text() == f"{100 * share:.1f}%"
    width = age.locator("i.then").evaluate("e => e.style.width")
    assert width == f"{100 * share:.1f}%"


def test_says_everything_without_script(browser, trial):
    page, _ = opened(browser, trial[1], java_script_enabled=False)
    text = page.inner_text("body")
    assert not page.locator("#dial").is_visible()
    for words in ["0.725", "0.88", "radius 0.1", "Note:", "learned tree:1", "gap ", "seawall report", "[context]", "effective rows", "Unchanged"]:
        assert words in text, words


def test_marks_jump_to_their_radius(seawall, browser, trial):
    page, _ = opened(browser, trial[1])
    mark = page.locator(".marks li", has_text="less covers no more than chance")
    button = mark.locator("button")
    button.press("Enter")
    assert page.locator(".dial output").inner_text() == button.inner_text()
    said = json.loads(run(seawall, "evaluate", trial[0], *words_of(POLICIES), "--json"))
    chance = max(p["radii"]["chance"] for p in said["policies"])
    # The learned policy's may be larger.
    assert float(button.inner_text()) >= chance - 1e-6


def differences(page):
    """The table of differences: what they are to, worst, interval, best, verdict."""
    rows = page.locator("#differences table tbody tr")
    return [rows.nth(k).locator("th, td").all_inner_texts() for k in range(rows.count())]


def test_differences_follow_the_slider(seawall, browser, trial):
    study, path = trial
    page, wrong = opened(browser, path)
    # The first thing shown is which policy; the chart is there, with its zero line and slider.
    assert page.locator("main > section").nth(1).get_attribute("id") == "differences"
    chart = page.locator("#differences svg.chart.wide")
    assert chart.is_visible() and chart.locator("line.zero").count() == 1
    paths = chart.locator("path.line")
    assert paths.count() == 2 * len(differences(page))
    here = chart.locator("g[data-move]")
    before, place = differences(page), here.get_attribute("transform")
    slider = page.get_by_role("slider")
    slider.press("End")
    assert differences(page) != before and here.get_attribute("transform") != place
    radius = page.locator(".dial output").inner_text()
    leader = page.locator("#differences > p bdi").first.inner_text()
    if leader in POLICIES:
        said = json.loads(run(seawall, "evaluate", study, *words_of(POLICIES), "--radius", radius, "--json"))
        for against, worst, _, best, *_ in differences(page):
            found = [c for c in said["comparisons"] if (c["policy"], c["against"]) == (leader, against)]
            for c in found:
                assert abs(c["results"][0]["worst"] - float(worst)) < 10 ** -(len(worst.split(".")[1]) - 0.3)
                assert abs(c["results"][0]["best"] - float(best)) < 10 ** -(len(best.split(".")[1]) - 0.3)
    assert wrong == []


def test_headline_has_its_interval_and_crowns_nobody_by_noise(browser, report):
    page, _ = opened(browser, report[1])
    slider = page.get_by_role("slider")
    for key in ["Home", "ArrowRight", "PageUp", "PageUp", "End"]:
        slider.press(key)
        said = page.locator("#answer-text").inner_text()
        found = re.search(r"95% limits of the difference (-?[\d.e-]+) to (-?[\d.e-]+)", said)
        if not found:
            # No pair has 30 effective rows (30 actions in 600 rows), or the rows chose one of the two.
            assert "undecided" in said, said
            continue
        low, high = map(float, found.groups())
        crowned = "in every population, by at least" in said
        if crowned:
            assert not low <= 0 <= high, said
        else:
            assert "undecided" in said or "depends on the population" in said, said


def test_names_from_data_are_text(browser, rude):
    page, wrong = opened(browser, rude[1])
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert page.title().startswith("</title><script>alert(3)")
    text = page.inner_text("body")
    for name in hostile.NAMES + hostile.POLICY_NAMES:
        assert name in text, name
    assert page.locator("b").count() == 0
    assert "49" not in page.locator("#data").inner_text().split("{{ 7 * 7 }}")[0][-5:]
    assert wrong == []


def test_same_bytes_on_any_number_of_threads(seawall, demo, tmp_path):
    study, _ = demo
    pages = []
    for threads in (1, 2, 3):
        page = tmp_path / f"{threads}.html"
        run(seawall, "report", study, "--splits", 5, "--threads", threads, "--out", page)
        pages.append(page.read_bytes())
    assert pages[0] == pages[1] == pages[2]


def test_target_is_where_worst_cases_start(seawall, browser, demo, tmp_path):
    study, _ = demo
    rows = (study.parent / "trial.csv").read_text().splitlines()
    target = tmp_path / "target.csv"
    target.write_text("\n".join([rows[0]] + [r for r in rows[1:] if int(r.split(",")[3]) >= 70][:400]) + "\n")
    page = tmp_path / "report.html"
    run(seawall, "report", study, "--no-learn", "--target", target, "--out", page)
    said = json.loads(run(seawall, "evaluate", study, "--target", target, "--json"))
    shown, wrong = opened(browser, page)
    text = shown.locator("#target").inner_text()
    assert "400 rows" in text and "fewer than 1, 5 and 20 rows" in text
    there = shown.locator("#data table", has_text="inverse odds").locator("tbody tr").first
    value = there.locator("td").first.inner_text().split(" ")[0]
    there = str(said["policies"][0]["target"]["dm"]["value"])
    assert same(value, there)
    shown.get_by_role("slider").press("Home")
    assert same(values(shown)[0], there)
    assert wrong == []


@pytest.mark.parametrize("robust", [
    'context = { set = "kl", radius = [0.05, 0.2] }',
    'context = { set = "entropic", eta = 50, radius = 0.05 }',
    'context = { set = "wasserstein", radius = 0 }',
    'context = { set = "wasserstein", radius = 0.1 }\ncost = { set = "wasserstein", radius = [0, 0.01] }',
])
def test_other_sets_and_cost_radii(seawall, browser, demo, tmp_path, robust):
    text = re.sub(r"\[robust\].*?\n\n", f"[robust]\n{robust}\n\n", demo[0].read_text(), flags=re.S)
    (tmp_path / "study.toml").write_text(text.replace('"trial.csv"', f'"{demo[0].parent}/trial.csv"'))
    page = tmp_path / "report.html"
    run(seawall, "report", tmp_path / "study.toml", "--no-learn", "--out", page)
    shown, wrong = opened(browser, page)
    assert wrong == [] and "NaN" not in shown.inner_text("body")
    # Whatever the sets, "if nothing shifts" is the plain mean of the outcome model.
    said = json.loads(run(seawall, "evaluate", tmp_path / "study.toml", "--json"))
    header = shown.locator("#radius table").first.locator("thead th").all_inner_texts()
    row = shown.locator("#radius table").first.locator("tbody tr").first.locator("th, td").all_inner_texts()
    nominal = row[header.index("if nothing shifts")]
    assert same(nominal, str(said["policies"][0]["nominal"]["dm"]["value"]))
    if "kl" in robust:
        assert "default weights" not in shown.inner_text("#answer")
    if "cost =" in robust:
        assert "cost radius 0, the first" in shown.inner_text("#radius")


def test_what_is_named_twice_is_shown_once(seawall, browser, demo, tmp_path):
    page = tmp_path / "report.html"
    twice = [*words_of(["uniform", "uniform"]), "--learn", "tree:1", "--learn", "tree:1"]
    run(seawall, "report", demo[0], *twice, "--splits", 0, "--out", page)
    shown, wrong = opened(browser, page)
    names = shown.locator("#policies h3").all_inner_texts()
    assert names == ["uniform", "learned tree:1"] and wrong == []
    assert "No policy of this kind" in shown.locator("#policies article").nth(1).inner_text()


def test_refuses_to_overwrite_its_input(seawall, demo):
    study, _ = demo
    before = study.read_bytes()
    done = subprocess.run([seawall, "report", study, "--out", study], capture_output=True, text=True)
    assert done.returncode == 2 and "it is the file that is read" in done.stderr
    assert study.read_bytes() == before
