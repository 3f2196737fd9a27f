"""Studies that every engine is asked, and how their answers are compared: byte for byte.

Each case is a folder with `rows.csv` and `study.toml`. An engine is given the rows and the query that
`seawall sql` prints; its result is saved as a counted table, and the same study asked again from that.
"""

import csv
import json
import pathlib
import random
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared/data"

# Names and levels that would be run, cut short or changed if they were not quoted.
HOSTILE_NAMES = ["it's; --", 'say "x"', "back\\slash", "`tick`", "two\nlines", "größe 🌊", "n", "left_out", "c0"]
HOSTILE_LEVELS = [
    "'); DROP TABLE rows; --", 'a"b', "a\\'b", "a`b", "\\", "line\nend", "größe 𝔘", "${spark.app.name}", "%_",
    "\\n", "/* x", "NULL", "''", "E'x'", "$1",
]

EVERYTHING = """[data]
path = "rows.csv"
where = {{ kind = {{ not = ["x", 2] }}, day = {{ min = "2020-01-02", max = "2020-03-01" }}, score = {{ min = -1.5 }} }}
{weights}

[context]
dose  = {{ kind = "numeric", bin = 0.1, min = -0.75, max = 1.25 }}
temp  = {{ kind = "numeric", bin = 2.5 }}
level = {{ kind = "ordinal" }}
site  = {{ kind = "nominal", missing = true }}
free  = {{ kind = "numeric", missing = 0.5 }}

[action]
take  = {{ arm = [1, 2], flag = {{ missing = false }} }}
leave = {{ arm = {{ not = [1, 2, 9] }} }}

[outcome]
cost = {{ events = 0.5, died = {{ Y = 3 }} }}
missing = {{ died = 0 }}

[model]
kind = "column"
predictions = {{ take = "m1", leave = "m0" }}

[robust]
context = {{ set = "wasserstein", radius = [0, 0.05] }}
support = "observed"
"""
WEIGHTS = {
    "clusters": 'cluster = "ward"',
    "counts": 'weight = "w"',
    "survey": 'survey_weight = "m1"',
    "parts": 'weight = { column = "m0", fractional = true }',
}


def write_rows(path, names, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(names)
        out.writerows(rows)


def everything(folder, weights):
    """Rows that are left out, missing, weighted, clustered, negative and at the very ends of bins."""
    rng = random.Random(5)
    tenths = [f"{k / 10:.1f}" for k in range(-7, 13)]
    pick = rng.choice
    rows = [
        [
            pick(["a", "a", "b", "x", "2", ""]),
            pick(["2020-01-01", "2020-01-02", "2020-02-11", "2020-03-01", "2020-03-02", ""]),
            pick(["0", "-1.5", "-1.6", "1000", "7", ""]),
            pick(["1", "2", "30", "4"]),
            pick([*tenths, "-0.75", "1.25", "0.29999", "-0.01"]),
            pick(["-5", "-2.5", "-2.6", "0", "2.4999999999", "37.5", "1e2", "12.50"]),
            pick(["1", "2", "10"]),
            pick(["north", "south, old", "", "it's"]),
            pick(["0.1", "", "-0.0", "5", "0.001"]),
            pick(["1", "2", "9", "3", "", "4"]),
            pick(["true", "false", ""]),
            pick(["0", "1", "2.5"]),
            pick(["Y", "N", ""]),
            pick(["0.1", "0.2", "0.7"]),
            pick(["0.3", "0.001"]),
            pick(["1", "2", "3"]),
        ]
        for _ in range(2000)
    ]
    names = "kind day score ward dose temp level site free arm flag events died m1 m0 w".split()
    write_rows(folder / "rows.csv", names, rows)
    (folder / "study.toml").write_text(EVERYTHING.format(weights=WEIGHTS[weights]))


def hostile(folder):
    """Names and levels that do their worst, as conditions, contexts, actions and outcomes."""
    rng = random.Random(6)
    names = [*HOSTILE_NAMES, "arm'", 'out"come', "keep\\"]
    rows = [
        [*(rng.choice(HOSTILE_LEVELS) for _ in HOSTILE_NAMES[:3]), *(rng.choice("ab") for _ in HOSTILE_NAMES[3:]),
         rng.choice(HOSTILE_LEVELS), rng.choice(HOSTILE_LEVELS), rng.choice(HOSTILE_LEVELS)]
        for _ in range(1500)
    ]
    write_rows(folder / "rows.csv", names, rows)
    toml = lambda value: json.dumps(value, ensure_ascii=False)  # a JSON text is a TOML text
    contexts = "\n".join(f'{toml(name)} = {{ kind = "nominal" }}' for name in HOSTILE_NAMES)
    half = len(HOSTILE_LEVELS) // 2
    (folder / "study.toml").write_text(f"""[data]
path = "rows.csv"
where = {{ {toml("keep" + chr(92))} = {{ not = {toml(HOSTILE_LEVELS[:3])} }} }}
[context]
{contexts}
[action]
{toml("first'); --")} = {{ {toml("arm'")} = {toml(HOSTILE_LEVELS[:half])} }}
{toml('second"')} = {{ {toml("arm'")} = {toml(HOSTILE_LEVELS[half:-1])} }}
[outcome]
cost = {{ {toml('out"come')} = {{ {toml(HOSTILE_LEVELS[0])} = 3, {toml(HOSTILE_LEVELS[4])} = 1 }} }}
[model]
kind = "tree"
max_depth = 2
[robust]
context = {{ set = "wasserstein", radius = [0, 0.05] }}
support = "observed"
""", encoding="utf-8")


def shared(name):
    """A study of the repository with its data, unpacked."""
    study = (ROOT / f"studies/{name}.toml").read_text()
    path = (ROOT / "studies" / re.search(r'^path\s*=\s*"([^"]*)"', study, re.M)[1]).resolve()

    def make(folder):
        if not path.exists():
            return f"SKIPPED: {path} is absent"
        import gzip

        (folder / "rows.csv").write_bytes(gzip.open(path).read())
        (folder / "study.toml").write_text(re.sub(r'^path\s*=.*$', 'path = "rows.csv"', study, count=1, flags=re.M))

    return make


def demo(folder):
    from subprocess import run

    run([PROGRAM, "demo", "--folder", folder], check=True, capture_output=True)
    (folder / "trial.csv").rename(folder / "rows.csv")
    study = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(study.replace('"trial.csv"', '"rows.csv"'))


CASES = {
    "demo": demo,
    "trial": shared("ist"),
    "bandit": shared("obd-random"),
    "bandit-bts": shared("obd-bts"),
    "hostile": hostile,
    **{name: (lambda folder, name=name: everything(folder, name)) for name in WEIGHTS},
}
# Where columns are typed by an engine, a text stays what it is.
TYPED = [name for name in CASES if name != "hostile"]
PROGRAM = None


def answers(study, path):
    """What the program says of a study; the data's path is no part of it."""
    told = []
    for words in (["check"], ["evaluate", "--splits", "2", "--policy", "uniform", "--radius", "0.05"]):
        done = subprocess.run([PROGRAM, words[0], study, "--json", *words[1:]], capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        told.append(done.stdout.replace(json.dumps(str(path)).encode(), b'"rows"'))
    return told


class Case:
    """A case in a folder, with what the program says of its rows."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.absent = CASES[name](folder)
        if self.absent:
            return
        self.rows, self.study = folder / "rows.csv", folder / "study.toml"
        text = self.study.read_text(encoding="utf-8")
        self.study.write_text(text.replace('"rows.csv"', json.dumps(str(self.rows))), encoding="utf-8")
        self.raw = answers(self.study, self.rows)

    def names(self):
        with open(self.rows, newline="", encoding="utf-8") as file:
            return next(csv.reader(file))

    def query(self, dialect, table):
        done = subprocess.run(
            [PROGRAM, "sql", self.study, "--dialect", dialect, "--table", table], capture_output=True, check=True
        )
        return done.stdout.decode()

    def from_counts(self, counts):
        """What the program says of a counted table."""
        study = self.folder / f"{counts.name}.toml"
        text = self.study.read_text(encoding="utf-8")
        raw, counted = (f"path = {json.dumps(str(path))}" for path in (self.rows, counts))
        text = re.sub(r"^path\s*=\s*.*?\"(?=\s|$)", lambda _: f"{counted}\ncounted = true", text, count=1, flags=re.M)
        assert "counted = true" in text, text
        study.write_text(text, encoding="utf-8")
        return [told.replace(study.name.encode(), b"study.toml") for told in answers(study, counts)]
