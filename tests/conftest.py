"""What the tests of the built program share: where it is, where the trial is, a browser, and reports."""

import os
import pathlib
import shutil

import hostile
import pytest
from reports import POLICIES, run, words_of
from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRIAL = ROOT.parent / "shared/data/ist/IST_corrected.csv.gz"


@pytest.fixture(scope="session")
def seawall():
    path = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/seawall"
    assert path.exists(), f"{path} is not built: run scripts/test"
    return path


@pytest.fixture(scope="session")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "there is no Chromium: scripts/test installs it"
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])


@pytest.fixture(scope="session")
def trial_study():
    if not TRIAL.exists():
        pytest.skip(f"SKIPPED: the stroke trial is not at {TRIAL}")
    return ROOT / "studies/ist.toml"


@pytest.fixture(scope="session")
def trial(seawall, trial_study, tmp_path_factory):
    """The stroke trial's report; must be small."""
    page = tmp_path_factory.mktemp("trial") / "report.html"
    run(seawall, "report", trial_study, *words_of(POLICIES), "--out", page)
    print(f"the stroke trial's report: {page.stat().st_size} bytes")
    assert page.stat().st_size < 1_000_000
    return trial_study, page


@pytest.fixture(scope="session")
def demo(seawall, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    run(seawall, "demo", "--folder", folder)
    page = folder / "report.html"
    run(seawall, "report", folder / "study.toml", "--out", page)
    return folder / "study.toml", page


@pytest.fixture(scope="session")
def rude(seawall, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    study = hostile.write(folder)
    page = folder / "report.html"
    run(seawall, "report", study, "--splits", 3, "--out", page)
    return study, page


@pytest.fixture(params=["trial", "demo", "rude"])
def report(request):
    return request.getfixturevalue(request.param)
