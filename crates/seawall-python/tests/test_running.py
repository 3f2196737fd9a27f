"""How it runs: threads, progress, Ctrl-C, memory, time to import, pictures, examples, types."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import seawall

PACKAGE = pathlib.Path(seawall.__file__).parent


def python(code, **options):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, **options)


def test_import_is_of_few_modules_and_needs_only_numpy():
    code = (
        "import numpy, sys; before = set(sys.modules); import seawall; new = set(sys.modules) - before;"
        "print(len(new), [m for m in ('pandas', 'polars', 'pyarrow', 'sklearn', 'matplotlib') if m in sys.modules])"
    )
    count, loaded = python(code).stdout.split(" ", 1)
    assert loaded.strip() == "[]"
    assert int(count) < 100, count


def test_threads_do_not_change_answers():
    study = seawall.demo()
    said = {study.running(threads=n).evaluate(splits=10).to_json() for n in (1, 2, 3)}
    assert len(said) == 1


def test_progress_is_told_and_others_may_run():
    told, ticks, stop = [], [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(None)
            time.sleep(0.005)

    other = threading.Thread(target=tick)
    other.start()
    seawall.demo().running(progress=told.append).evaluate(splits=400)
    stop.set()
    other.join()
    assert any(words.startswith("how much is noise: ") for words in told)
    assert len(ticks) > 20, "another thread runs meanwhile"


def test_an_error_in_the_progress_callback_stops_the_work():
    def fail(words):
        raise ZeroDivisionError(words)

    with pytest.raises(ZeroDivisionError):
        seawall.demo().running(progress=fail).evaluate(splits=10_000)


def test_ctrl_c_interrupts():
    code = """
import seawall
told = []
def tell(words):
    if words.startswith("how much is noise: ") and not told:
        told.append(words)
        print("go", flush=True)
seawall.demo().running(progress=tell).evaluate(splits=10_000)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "go\n"
    child.send_signal(signal.SIGINT)
    # Ten thousand splits take minutes: this ends a test that hangs.
    _, err = child.communicate(timeout=120)
    assert "KeyboardInterrupt" in err


def test_a_forked_child_works():
    code = """
import os, seawall
seawall.demo().evaluate(splits=5)
child = os.fork()
if child == 0:
    seawall.demo().evaluate(splits=5)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert python(code, timeout=60).stdout == "7\n"


def test_results_can_be_copied():
    import copy
    import pickle

    found = seawall.demo().evaluate("uniform")
    again = pickle.loads(pickle.dumps(found))
    assert again == found and copy.copy(found).explain() == found.explain()
    with pytest.raises(seawall.ConfigError, match="copied"):
        again.explain()


def test_memory_of_ten_million_rows():
    pytest.importorskip("polars")
    code = """
import numpy as np, polars, seawall
def status(key):
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith(key)) * 1024
n = 10_000_000
rng = np.random.default_rng(0)
frame = polars.DataFrame({
    "age": rng.integers(20, 90, n).astype(np.float64), "site": rng.integers(0, 9, n).astype(np.int32),
    "a": rng.integers(0, 2, n).astype(np.int8), "p": np.full(n, 0.5), "y": rng.integers(0, 2, n).astype(np.float64),
})
size = frame.estimated_size()
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
study = seawall.Study(frame, context={"age": {"kind": "numeric", "bin": 10}, "site": "nominal"}, action="a",
                      reward="y", propensity="p", radius=0.05)
found = study.evaluate()
print(size, before, status("VmHWM"), found.rows)
"""
    done = python(code)
    assert done.returncode == 0, done.stderr
    size, before, peak, rows = map(float, done.stdout.split())
    print(f"a frame of {size / 1e6:.0f} MB took {(peak - before) / 1e6:.0f} MB more")
    assert rows == 10_000_000 and peak - before < size, "under twice the frame"


def test_pictures(demo, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from seawall import plot

    study = seawall.Study.from_file(demo / "study.toml")
    found = study.evaluate(curve=True, splits=5)
    axes = plot.curve(found)
    assert len(axes.get_legend().get_texts()) == 3 and "lower is better" in axes.get_ylabel()
    assert plot.curve(found.curve("uniform")) is not None
    assert len(plot.worst_case(found, "constant:treat", radius=0.1).patches) > 4
    whole = plot.difference(found, "control", "treat")
    pair = found.comparison("control", "treat")
    worst, best = whole.lines[:2]
    last = pair.results[-1]
    assert np.isclose(np.interp(last.radius, *worst.get_data()), last.worst)
    assert np.isclose(np.interp(last.radius, *best.get_data()), last.best)
    assert any(set(line.get_ydata()) == {0.0} for line in whole.lines), "a line where they are equal"
    assert "constant:control less constant:treat" in whole.get_ylabel()
    points = plot.difference(study.evaluate(), "control", "treat")
    assert points.lines[0].get_xdata().tolist() == [r.radius for r in pair.results]
    learned = study.learn("tree:1")
    assert plot.policy(learned).get_title() == learned.policy.name
    runs = study.learn("groups:sex", method="bsgd")
    given = matplotlib.pyplot.subplots()[1]
    assert plot.trace(runs, ax=given) is given and given.lines
    with pytest.raises(seawall.ConfigError, match="stochastic"):
        plot.trace(learned)


def test_examples_in_docstrings():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--doctest-modules", "-q", "-p", "no:cacheprovider", str(PACKAGE)],
        capture_output=True, text=True, cwd=PACKAGE.parent,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout).group(1)) >= 7


def test_types(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text(
        "import seawall\n"
        "found: seawall.Evaluation = seawall.demo().evaluate(policy=['uniform', 'greedy'], radius=[0.1])\n"
        "value: float = found.comparison('greedy', 'uniform').results[0].worst\n"
        "worst: seawall.WorstCase = seawall.worst_case([1.0], None, [[1.0]], radius=0.1)\n"
        "wrong: str = worst.value\n"
    )
    root = pathlib.Path(__file__).resolve().parents[3]
    mypy = [sys.executable, "-m", "mypy", "--config-file", str(root / "pyproject.toml"), "--cache-dir", str(tmp_path)]
    package = subprocess.run([*mypy, "-p", "seawall"], capture_output=True, text=True, cwd=tmp_path)
    assert package.returncode == 0, package.stdout
    stubs = [sys.executable, "-m", "mypy.stubtest", "seawall._native", "--mypy-config-file", str(root / "pyproject.toml")]
    native = subprocess.run(stubs, capture_output=True, text=True, cwd=tmp_path)
    assert native.returncode == 0, native.stdout
    use = subprocess.run([*mypy, "use.py"], capture_output=True, text=True, cwd=tmp_path)
    assert "use.py:5" in use.stdout and "Found 1 error" in use.stdout, use.stdout


def test_the_wheel_is_small():
    native = next(PACKAGE.glob("_native*"))
    assert native.stat().st_size < 40_000_000
    assert (PACKAGE / "py.typed").exists() and (PACKAGE / "_native.pyi").exists()
