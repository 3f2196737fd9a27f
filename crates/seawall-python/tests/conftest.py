"""What the tests of the installed package share."""

import os
import pathlib
import subprocess

import pytest

import seawall

CONTEXTS = ["conscious", "sex", "age", "woke", "systolic", "stroke"]
ROOT = pathlib.Path(__file__).resolve().parents[3]
TRIAL = ROOT.parent / "shared/data/ist/IST_corrected.csv.gz"


def _attempt(*words):
    """Runs the built program."""
    path = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/seawall"
    assert path.exists(), f"{path} is not built: run scripts/test"
    return subprocess.run([path, *map(str, words)], capture_output=True, text=True)


@pytest.fixture(scope="session")
def attempt():
    """Runs the built program, whether it succeeds or not."""
    return _attempt


@pytest.fixture(scope="session")
def program():
    """Runs the built program; returns what it printed."""

    def run(*words):
        done = _attempt(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def pytest_generate_tests(metafunc):
    """A test of `set_name` is one for each set that the program has."""
    if "set_name" in metafunc.fixturenames:
        refusal = _attempt("evaluate", "study.toml", "--set", "?").stderr
        names = refusal.partition("expected one of ")[2].partition(" (")[0].split(", ")
        assert "wasserstein" in names, refusal
        metafunc.parametrize("set_name", names)


@pytest.fixture(scope="session")
def demo(program, tmp_path_factory):
    """The folder of the synthetic trial."""
    folder = tmp_path_factory.mktemp("demo")
    program("demo", "--folder", folder)
    return folder


@pytest.fixture(scope="session")
def older(demo):
    """A target: the contexts of the synthetic trial's older patients, without arms or outcomes."""
    head, *rows = (demo / "trial.csv").read_text().splitlines()
    names = head.split(",")
    kept = [k for k, name in enumerate(names) if name in CONTEXTS]
    lines = [[row.split(",")[k] for k in kept] for row in rows]
    age = [names[k] for k in kept].index("age")
    lines = [line for line in lines if float(line[age]) >= 70]
    path = demo / "older.csv"
    path.write_text("\n".join(",".join(line) for line in [[names[k] for k in kept], *lines]) + "\n")
    return path


@pytest.fixture(scope="session")
def trial():
    """The stroke trial's study file."""
    if not TRIAL.exists():
        pytest.skip(f"SKIPPED: the stroke trial is not at {TRIAL}")
    return ROOT / "studies/ist.toml"


def pytest_configure(config):
    assert "site-packages" in seawall.__file__, f"{seawall.__file__} is not the installed package"
    config.addinivalue_line("filterwarnings", "ignore::seawall.SeawallWarning")
