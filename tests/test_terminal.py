"""What people see on a terminal of some width: the built program, run on one."""

import fcntl
import os
import pty
import struct
import subprocess
import termios

import pytest


def on_terminal(words, columns, cwd):
    """What a program writes to a terminal of so many columns."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    done = subprocess.Popen(words, stdout=inner, stderr=subprocess.PIPE, cwd=cwd)
    os.close(inner)
    written = b""
    while True:
        try:
            more = os.read(outer, 65536)
        except OSError:
            break
        if not more:
            break
        written += more
    assert done.wait() == 0, done.stderr.read().decode()
    os.close(outer)
    return written.decode().replace("\r", "")


@pytest.fixture(scope="module")
def demo(seawall, tmp_path_factory):
    there = tmp_path_factory.mktemp("terminal")
    subprocess.run([seawall, "demo"], cwd=there, check=True, capture_output=True)
    return there


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
@pytest.mark.parametrize("command", [
    ["evaluate", "seawall-demo/study.toml"],
    ["evaluate", "seawall-demo/study.toml", "--details"],
    ["check", "seawall-demo/study.toml"],
    ["radius", "seawall-demo/study.toml", "--splits", "2"],
])
def test_tables_follow_the_terminal(seawall, demo, columns, command):
    shown = on_terminal([seawall, *command], columns, demo)
    tables = [line.rstrip() for line in shown.splitlines() if "────" in line]
    assert tables and max(map(len, tables)) <= columns, shown


def test_two_policies_and_three_radii_fit_a_terminal(seawall, demo):
    words = [seawall, "evaluate", "seawall-demo/study.toml", "--policy", "constant:treat", "--policy", "constant:control"]
    shown = on_terminal(words, 80, demo)
    lines = [line.rstrip() for line in shown.splitlines()]
    assert len(lines) <= 24 and max(map(len, lines)) <= 80, shown
