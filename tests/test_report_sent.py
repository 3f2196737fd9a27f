"""The report as a thing to send: the paragraph to copy, the contents that follow, figures to save, two
pages of print. Made by the built program and opened in a real browser."""

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml

import hostile
import pytest
from reports import POLICIES, SVG, WIDTHS, look, opened, pages_of, rows_of, run, saved, words_of

PAPERS = ["A4", "Letter"]


# --- the paragraph to copy


def paragraph(page):
    text = f"{page.locator('h1').text_content()}. {page.locator('#summary-text').text_content()}"
    return re.sub(r"\s+", " ", text).strip()


def test_summary_is_copied_whole(browser, report):
    page, wrong = opened(browser, report[1], permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("slider").press("End")
    radius = page.locator(".dial output").inner_text()
    page.locator("#copy").press("Enter")
    page.get_by_text("Copied.").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == paragraph(page) and "\n" not in copied
    # It says what was asked, at which radius, what is better, the answer, and what it rests on.
    assert "\\u" not in copied, "no name is escaped"
    for words in ["This study asks what", f"Within radius {radius}", "lower is better", "Assumed: "]:
        assert words in copied, words
    assert page.locator("#answer-text").inner_text() in copied
    assert len(copied) < 1500
    assert wrong == []


def test_summary_is_copied_by_the_selection_where_there_is_no_clipboard(browser, demo):
    page = browser.new_context(permissions=["clipboard-read"]).new_page()
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.goto(demo[1].as_uri())
    page.locator("#copy").click()
    assert page.locator("#copied").inner_text() == "Copied."
    assert page.evaluate("getSelection().toString()").strip() == page.locator("#summary-text").inner_text().strip()


def test_summary_is_left_selected_where_nothing_may_be_copied(browser, demo):
    page = browser.new_context().new_page()
    page.add_init_script(
        "Object.defineProperty(navigator, 'clipboard', { value: undefined }); document.execCommand = () => false"
    )
    page.goto(demo[1].as_uri())
    page.locator("#copy").click()
    assert "Ctrl+C" in page.locator("#copied").inner_text()
    assert page.evaluate("getSelection().toString()").strip() == page.locator("#summary-text").inner_text().strip()


# --- the contents that follow


def current(page):
    marked = page.locator("nav a[aria-current]")
    assert marked.count() == 1
    return marked.get_attribute("href")


@pytest.mark.parametrize("width", WIDTHS)
def test_contents_follow_the_reader(browser, report, width):
    page, wrong = opened(browser, report[1], viewport={"width": width, "height": 900})
    links = page.locator("nav a")
    places = [links.nth(k).get_attribute("href") for k in range(links.count())]
    sections = page.locator("main > section").evaluate_all("all => all.map(e => '#' + e.id)")
    assert places == sections, "every section, in order"
    assert current(page) == places[0]
    for k, place in enumerate(places):
        page.evaluate("id => document.querySelector(id).scrollIntoView()", place)
        page.locator(f"nav a[aria-current][href='{place}']").wait_for(state="attached", timeout=2000) \
            if k + 2 < len(places) else page.wait_for_timeout(100)
        # It stays in sight, and so does the link that is marked; the heading is not covered.
        link = page.locator("nav a[aria-current]").bounding_box()
        assert 0 <= link["x"] and link["x"] + link["width"] <= width + 1 and 0 <= link["y"] < 900, place
        heading = page.locator(f"{place} h2").bounding_box()["y"]
        bar = page.locator("#dial").bounding_box()
        assert heading >= bar["y"] + bar["height"] - 1, place
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.locator(f"nav a[aria-current][href='{places[-1]}']").wait_for(state="attached")
    assert wrong == []


@pytest.mark.parametrize("width", WIDTHS)
def test_contents_are_links_by_keyboard_and_without_script(browser, demo, width):
    page, _ = opened(browser, demo[1], viewport={"width": width, "height": 900})
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.hash") == "#differences"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    page.keyboard.press("Enter")
    page.locator("nav a[aria-current][href='#differences']").wait_for(state="attached")
    still, _ = opened(browser, demo[1], java_script_enabled=False, viewport={"width": width, "height": 900})
    still.locator("nav a[href='#data']").click()
    top = still.locator("#data").bounding_box()["y"]
    assert 0 <= top < 450 and still.url.endswith("#data")
    assert not still.locator("#copy").is_visible() and still.locator("#summary-text").is_visible()


# --- figures to save


@pytest.mark.parametrize("width, scheme", [(390, "dark"), (768, "light"), (1440, "dark")])
def test_figures_are_saved_as_drawings_that_stand_alone(browser, report, width, scheme):
    page, wrong = opened(browser, report[1], viewport={"width": width, "height": 900}, color_scheme=scheme)
    buttons = page.locator("[data-svg]")
    seen = [b for b in buttons.all() if b.is_visible()]
    assert len(seen) >= 2
    for button in seen:
        name, data = saved(page, button)
        assert name == button.get_attribute("data-svg") + ".svg"
        text = data.decode()
        drawing = xml.fromstring(text)
        assert drawing.tag == SVG + "svg"
        # Nothing of the page's style sheets, nothing from elsewhere.
        assert "class=" not in text and "var(" not in text and "href" not in text and "<script" not in text
        wide, high, colours = look(browser, text)
        assert wide >= 300 and high >= 100
        assert max(colours, key=colours.get) == "255,255,255", "light whatever the page is"
        assert colours.get("11,94,148", 0) > 5, "the first colour, as the light page has it"
    figure = page.locator("figure[data-figure='worst-cases']")
    _, data = saved(page, figure.locator("[data-svg]"))
    said = " ".join(e.text or "" for e in xml.fromstring(data).iter(SVG + "text"))
    for name in figure.locator(".legend bdi").all_inner_texts():
        assert name[:60] in said, "the legend goes along"
    assert not page.evaluate("document.documentElement.classList.contains('light')")
    assert wrong == []


def test_numbers_are_saved_with_every_digit(seawall, browser, trial):
    study, path = trial
    page, wrong = opened(browser, path)
    name, data = saved(page, page.locator("figure[data-figure='worst-cases'] a[download]"))
    assert name == "worst-cases.csv"
    rows = rows_of(data)
    radii = sorted({float(r["radius"]) for r in rows})
    assert len(radii) > 90 and {r["policy"] for r in rows} >= set(POLICIES)
    asked = [0.03, 0.1]
    said = json.loads(run(seawall, "evaluate", study, *words_of(POLICIES), "--radius", "0.03,0.1", "--json"))
    for policy in said["policies"]:
        for radius, result in zip(asked, policy["results"]):
            row, = [r for r in rows if r["policy"] == policy["name"] and float(r["radius"]) == radius]
            assert abs(float(row["worst_case"]) - result["value"]) < 1e-12
            assert abs(float(row["certified_high"]) - result["upper"]) < 1e-12
            low, high = float(row["limit_low"]), float(row["limit_high"])
            assert low <= float(row["worst_case"]) <= high
    name, data = saved(page, page.locator("figure[data-figure='differences'] a[download]"))
    rows = rows_of(data)
    leader = page.locator("#differences > p bdi").first.inner_text()
    assert name == "differences.csv" and {r["policy"] for r in rows} == {leader}
    for pair in said["comparisons"]:
        if pair["policy"] == leader:
            for radius, result in zip(asked, pair["results"]):
                row, = [r for r in rows if r["against"] == pair["against"] and float(r["radius"]) == radius]
                assert abs(float(row["worst"]) - result["worst"]) < 1e-12
                assert abs(float(row["best"]) - result["best"]) < 1e-12
    assert wrong == []


def test_numbers_are_saved_without_script_whatever_names_are(browser, rude):
    page, _ = opened(browser, rude[1], java_script_enabled=False)
    for link in page.locator("a[download]").all():
        assert link.get_attribute("href").startswith("data:text/csv;charset=utf-8,")
    _, data = saved(page, page.locator("figure[data-figure='worst-cases'] a[download]"))
    assert set(hostile.POLICY_NAMES) < {r["policy"] for r in rows_of(data)}
    assert not page.locator("[data-svg]").first.is_visible()


# --- two pages of print


KEPT = ["#summary-text", "#differences svg.wide", "#differences table", "#radius table", "#assumptions li", ".printed"]
LEFT_OUT = ["#dial", "nav", ".tools", "#populations", "#policies", "#data", "#methods", ".skip"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("paper", PAPERS)
def test_prints_to_two_pages(browser, report, tmp_path, paper, scheme):
    page, wrong = opened(browser, report[1], color_scheme=scheme)
    pdf = page.pdf(format=paper)
    assert pages_of(pdf) == 2 and len(pdf) > 20_000
    page.set_viewport_size({"width": 690, "height": 1000})
    page.emulate_media(media="print")
    for part in KEPT:
        assert page.locator(part).first.is_visible(), part
    for part in LEFT_OUT:
        assert not page.locator(part).first.is_visible(), part
    left_out = page.locator(".printed").inner_text()
    radius = page.locator("#radius h3 [data-text]").first.inner_text()
    assert f"at radius {radius}" in left_out and "which shift would hurt" in left_out
    # On white, in colours that are read on it, nothing beyond the paper.
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    line = page.locator("#differences svg.wide path.line.c0").first
    assert line.evaluate("e => getComputedStyle(e).stroke") == "rgb(11, 94, 148)"
    wide, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= room
    assert wrong == []


def test_prints_to_two_pages_from_the_command_line(demo, trial, tmp_path):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    for k, (_, path) in enumerate([demo, trial]):
        out = tmp_path / f"{k}.pdf"
        words = ["--headless", "--no-sandbox", "--disable-gpu", f"--print-to-pdf={out}", path.as_uri()]
        subprocess.run([chromium, *words], check=True, capture_output=True, timeout=120)
        assert pages_of(out.read_bytes()) == 2


# --- names, digits, scale


def test_policies_have_the_names_that_people_give(seawall, browser, demo, tmp_path):
    text = demo[0].read_text().replace('"trial.csv"', f'"{demo[0].parent}/trial.csv"')
    text = text.replace('action = "treat"\n', 'action = "treat"\nname = "Aspirin & heparin"\n')
    text = text.replace('action = "control"\n', 'action = "control"\nname = "neither"\n')
    (tmp_path / "study.toml").write_text(text)
    page = tmp_path / "report.html"
    run(seawall, "report", tmp_path / "study.toml", "--splits", 3, "--out", page)
    shown, wrong = opened(browser, page)
    names = ["uniform", "Aspirin & heparin", "neither", "learned tree:1"]
    assert shown.locator("#policies h3").all_inner_texts() == names
    assert shown.locator("#radius .legend bdi").all_inner_texts() == names
    assert shown.locator("#radius table").first.locator("tbody th").all_inner_texts() == names
    assert {"neither", "Aspirin & heparin"} & set(shown.locator("#differences bdi").all_inner_texts())
    assert "Aspirin & heparin" in shown.locator("#transfer").inner_text()
    whole = shown.locator("main").evaluate("e => { const c = e.cloneNode(true); c.querySelector('pre').remove(); return c.textContent; }")
    assert "constant:" not in whole
    _, data = saved(shown, shown.locator("figure[data-figure='worst-cases'] a[download]"))
    assert {r["policy"] for r in rows_of(data)} == set(names)
    assert wrong == []


def test_no_number_has_digits_that_nobody_knows(browser, report):
    """Estimates, that is: what is given, like a chance of a third or a count of contexts, is told as it is."""
    page, _ = opened(browser, report[1])
    for key in ["Home", "PageUp", "End"]:
        page.get_by_role("slider").press(key)
        texts = page.evaluate(
            """() => { const texts = [];
              for (const id of ['answer', 'differences', 'radius', 'transfer', 'populations']) {
                const section = document.getElementById(id);
                if (!section) continue;
                const walk = document.createTreeWalker(section, NodeFilter.SHOW_TEXT);
                while (walk.nextNode()) if (!walk.currentNode.parentElement.closest('bdi, svg')) texts.push(walk.currentNode.data);
              }
              return texts; }"""
        )
        digits = lambda n: len(n.split("e")[0].replace("-", "").replace(".", "").lstrip("0"))
        numbers = [n for text in texts for n in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", text)]
        assert len(numbers) > 20 and [n for n in numbers if digits(n) > 4] == []


def scale_of(page, section):
    """The radii of the ticks along the axis and where they are, from 0 to 1; and what the axis is called."""
    return page.locator(f"#{section} svg.wide").evaluate(
        """svg => { const left = Math.min(...[...svg.querySelectorAll('line.grid')].map(l => +l.getAttribute('x1')));
          const wide = [...svg.querySelectorAll('line.grid')].filter(l => l.getAttribute('x1') !== l.getAttribute('x2'));
          const right = +wide[0].getAttribute('x2');
          const ticks = [...svg.querySelectorAll('line.grid')].filter(l => l.getAttribute('x1') === l.getAttribute('x2'));
          const at = l => (+l.getAttribute('x1') - left) / (right - left);
          const labels = [...svg.querySelectorAll('text')].map(t => t.textContent);
          return [ticks.map(l => [+l.nextElementSibling.textContent, at(l)]), labels.find(t => t.startsWith('radius'))]; }"""
    )


@pytest.mark.parametrize("radii, root", [("[0.01, 0.03, 3]", True), ("[0.005, 0.01]", False)])
def test_near_radii_can_be_told_apart_beside_a_far_one(seawall, browser, demo, tmp_path, radii, root):
    text = demo[0].read_text().replace('"trial.csv"', f'"{demo[0].parent}/trial.csv"')
    text = text.replace("radius = [0.01, 0.03, 0.1]", f"radius = {radii}").split("[history]")[0]
    text = text.replace('[[policy]]\nkind = "constant"\naction = "treat"\n', "")
    text = text.replace('[[policy]]\nkind = "constant"\naction = "control"\n', "")
    (tmp_path / "study.toml").write_text(text)
    page = tmp_path / "report.html"
    run(seawall, "report", tmp_path / "study.toml", "--no-learn", "--splits", 0, "--out", page)
    shown, wrong = opened(browser, page, viewport={"width": 1440, "height": 900})
    ticks, label = scale_of(shown, "radius")
    marks = [float(m) for m in shown.locator(".marks .static").all_inner_texts()] + json.loads(radii)
    largest = max(r for r, _ in ticks) / max(at for _, at in ticks) ** (2 if root else 1)
    assert (min(m for m in marks if m > 0) < 0.05 * largest) == root, (marks, largest)
    assert label == ("radius (square-root scale)" if root else "radius")
    for radius, at in ticks:
        assert abs(at - (radius / largest) ** (0.5 if root else 1)) < 0.005
        # Round: one or two digits.
        assert len(f"{radius:.10f}".replace(".", "").strip("0")) <= 2
    assert len(ticks) >= 4 and ticks[0] == [0, 0]
    slider = shown.get_by_role("slider")
    slider.press("Home")
    slider.press("ArrowRight")
    assert 0 < float(shown.locator(".dial output").inner_text()) < 0.001 * largest
    assert wrong == []
