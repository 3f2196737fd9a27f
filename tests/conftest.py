"""What the tests of the built program share: where it is, where the trial is, and a browser."""

import os
import pathlib
import shutil

import pytest
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
