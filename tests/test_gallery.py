"""The gallery: answers and pictures made again by the built program, byte for byte; pages that tell their numbers."""

import json
import re
import subprocess
from xml.etree import ElementTree

import pytest
from conftest import ROOT

PAGES = ROOT / "docs/book/src/gallery"
STUDIES = sorted(path.stem for path in (ROOT / "studies/gallery").glob("*.toml"))
ABSENT = 3


def numbers(words):
    """Numbers that stand alone: not those of CD4, RSBP14 or 2008-11."""
    words = words.replace("−", "-")
    found = re.findall(r"(?<![\w.,/-])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w/-])", words)
    return {float(number.replace(",", "")) for number in found}


def section(page, title):
    return page.split(f"\n## {title}\n")[1].split("\n## ")[0].strip()


def test_there_are_six():
    assert STUDIES == sorted(["stroke", "recommendations", "training", "classes", "antivirals", "results"])


@pytest.mark.parametrize("name", STUDIES)
def test_answers_are_made_again_byte_for_byte(seawall, tmp_path, name):
    command = [ROOT / "scripts/gallery", name, "--out", tmp_path, "--program", seawall]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == ABSENT:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    for kind in ("json", "txt", "svg"):
        made, kept = (folder / f"{name}.{kind}" for folder in (tmp_path, PAGES))
        assert made.read_bytes() == kept.read_bytes(), f"{kept} differs: run scripts/gallery {name}, see what changed"
    licence = ROOT / f"target/gallery/{name}.LICENCE.txt"
    assert len(licence.read_text()) > 300, f"{licence} says too little"


@pytest.mark.parametrize("name", STUDIES)
def test_the_answer_is_one_paragraph_of_numbers_from_the_answers(name):
    answer = section((PAGES / f"{name}.md").read_text(), "Answer")
    assert "\n\n" not in answer, "more than one paragraph"
    known = set()
    for path in (PAGES / f"{name}.json", PAGES / f"{name}.txt", ROOT / f"studies/gallery/{name}.toml"):
        known |= numbers(path.read_text())
    told = numbers(answer)
    assert len(told) > 15
    assert told <= known, f"{sorted(told - known)} are in no answer of {name}"


@pytest.mark.parametrize("name", STUDIES)
def test_a_page_has_its_study_its_picture_and_its_direction(name):
    page = (PAGES / f"{name}.md").read_text()
    direction = json.loads((PAGES / f"{name}.json").read_text())["direction"]
    for title in ("Question", "Answer"):
        assert direction in section(page, title).replace("\n", " ").lower(), f"{title} does not say that {direction}"
    assert f"({name}.svg)" in page
    assert f"{{{{#include ../../../../studies/gallery/{name}.toml}}}}" in page
    assert f"{{{{#include {name}.txt}}}}" in page
    assert f"(gallery/{name}.md)" in (PAGES.parent / "gallery.md").read_text()
    assert "icence" in page or "MIT" in page or "CC BY" in page


@pytest.mark.parametrize("name", STUDIES)
def test_a_picture_draws_every_policy_within_its_frame(name):
    picture = ElementTree.parse(PAGES / f"{name}.svg").getroot()
    answer = json.loads((PAGES / f"{name}.json").read_text())
    words = [node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")]
    for wanted in [*answer["policies"], *(place["name"] for place in answer["places"]), answer["pair"]]:
        assert wanted in words
    width = float(picture.get("width"))
    for node in picture.iter("{http://www.w3.org/2000/svg}line"):
        assert all(0 <= float(node.get(end)) <= width for end in ("x1", "x2"))


def test_no_data_are_committed():
    command = ["git", "ls-files", "studies/gallery", "docs/book/src/gallery"]
    kept = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert {path.rsplit(".", 1)[1] for path in kept} <= {"md", "json", "txt", "svg", "toml", "py"}
