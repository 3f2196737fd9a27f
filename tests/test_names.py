"""Type names say what they are: few stand for two things, and the core shows few to its users."""

import json
import pathlib
import re
import subprocess
from collections import defaultdict

import modules
import pytest

# Names of the core and of seawall-study that more than one type of a crate has; no others may come.
REPEATED = {
    "seawall": {"Method", "Rows"},
    "seawall-study": {"Asked", "Changes", "Method", "Question", "Request"},
}
TYPE = re.compile(r"^ *(?:pub(?:\([^)]*\))? +)?(?:struct|enum|trait|type|union) +([A-Z]\w*)", re.M)
PUBLIC = 120


def repeated(crate):
    found = defaultdict(list)
    for file in sorted((modules.ROOT / "crates" / crate / "src").rglob("*.rs")):
        for name in set(TYPE.findall(re.sub(r"^ +type .*", "", modules.code_of(file.read_text()), flags=re.M))):
            found[name].append(str(file.relative_to(modules.ROOT)))
    return {name: files for name, files in found.items() if len(files) > 1}


@pytest.mark.parametrize("crate", REPEATED)
def test_no_further_type_name_stands_for_two_things(crate):
    found = repeated(crate)
    assert set(found) == REPEATED[crate], found


def test_the_cores_users_meet_few_names():
    """Names in the library's documentation, each counted where it is shown."""
    done = subprocess.run(
        ["cargo", "doc", "--release", "--no-deps", "--quiet", "-p", "seawall", "--message-format=short"],
        cwd=modules.ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    metadata = ["cargo", "metadata", "--no-deps", "--format-version=1"]
    found = subprocess.run(metadata, cwd=modules.ROOT, capture_output=True, text=True, check=True).stdout
    page = (pathlib.Path(json.loads(found)["target_directory"]) / "doc/seawall/all.html").read_text()
    names = re.findall(r'<li><a href="[^"]*\.html">([^<]*)</a>', page)
    assert 60 < len(names) <= PUBLIC, (len(names), names)
    assert {"Log", "Policy", "Shift", "Evaluator", "Evaluation"} <= {name.split("::")[-1] for name in names}
