"""What every benchmark shares: where things are, and our side's answers."""

import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE / "out"
OURS = HERE.parent / "target" / "release" / "seawall-bench"


def ours(*words):
    """Our side of a benchmark, as JSON."""
    run = subprocess.run([OURS, *map(str, words)], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)
