"""The gallery's studies: what each asks of the program, and the numbers of its answer.

Each study is evaluated where its log is from and in another population; where outcomes are known there, too, plain
means of them stand beside the forecast. Everything but those means comes from the program.
"""

import csv
import json
import math
import pathlib
import subprocess
import tomllib

import sources

ROOT = sources.ROOT
EVENTS = ["ISC14", "NK14", "HTI14", "PE14", "DVT14", "NCB14"]


def stroke_cost(row):
    return sum(float(row[event]) for event in EVENTS) + 3 * (row["DDEAD"] == "Y")


def stroke_arm(row):
    return {("Y", "N"): "aspirin", ("N", "N"): "neither"}.get((row["RXASP"], row["RXHEP"]))


def place(name, colour, *options, kind="estimated", **happened):
    """Where policies are valued: by the program with these options, or from what happened in a table."""
    return {"name": name, "colour": colour, "kind": kind, "options": options, **happened}


# The newly infected: by definition untreated; the rest by Hall and others (2008).
NEWLY = ["treated_before:no=1", "age:under 30=0.34,30 to 39=0.31,40 to 49=0.25,50 and over=0.1",
         "sex:M=0.73,F=0.27", "race:white=0.35,other=0.65"]
KNOWN = [word for known in NEWLY for word in ("--known", known)]

STUDIES = {
    "stroke": {
        "pairs": ["aspirin − neither"], "digits": 3,
        "places": [
            place("trial abroad", 0),
            place("UK, forecast", 1, "--target", "target/gallery/ist_uk.csv"),
            place("UK, what happened", 1, kind="happened", table="ist_uk.csv", cost=stroke_cost, arm=stroke_arm),
        ],
        "transfer": ["--target", "target/gallery/ist_uk.csv"],
    },
    "recommendations": {
        "pairs": ["bandit − uniform"], "digits": 4,
        "places": [
            place("men's campaign", 0),
            place("bandit's own log", 0, kind="happened", table="men_bts.csv", cost=lambda row: float(row["click"]),
                  arm=lambda row: "bandit"),
            place("everyone's visitors, forecast", 1, "--target", "target/gallery/all_random.csv"),
        ],
    },
    "training": {
        "pairs": ["training − none"], "digits": 3,
        "places": [
            place("trial", 0),
            place("PSID, forecast", 1, "--target", "target/gallery/psid.csv"),
            place("PSID, what happened", 1, kind="happened", table="psid.csv", cost=lambda row: float(row["idle78"]),
                  arm=lambda row: row["arm"]),
            place("CPS, forecast", 2, "--target", "target/gallery/cps.csv"),
            place("CPS, what happened", 2, kind="happened", table="cps.csv", cost=lambda row: float(row["idle78"]),
                  arm=lambda row: row["arm"]),
        ],
    },
    "classes": {
        "pairs": ["small − regular", "small − aide"], "digits": 1,
        "places": [
            place("richer schools", 0),
            place("poorer schools, forecast", 1, "--target", "target/gallery/star_poorer.csv"),
            place("poorer schools, what happened", 1, kind="happened", table="star_poorer.csv",
                  cost=lambda row: float(row["points"]), arm=lambda row: row["class"], cluster="school"),
        ],
        "transfer": ["--target", "target/gallery/star_poorer.csv"],
    },
    "antivirals": {
        "pairs": ["ZDV+ddC − ZDV+ddI", "ZDV+ddC − ZDV", "ZDV+ddI − ZDV"], "digits": 3,
        "places": [place("trial", 0), place("newly infected, forecast", 1, *KNOWN)],
    },
    "results": {
        "pairs": ["up to 1 − nothing", "up to 1 − over 1"], "digits": 3,
        "places": [place("all villages", 0), place("half of the centres closed, forecast", 1, "--known", "km:mean=2.85")],
        "transfer": ["--known", "km:mean=2.85"],
    },
}


class Program:
    """The built program, run in the root of the checkout; what it printed is kept."""

    def __init__(self, path):
        self.path, self.said = path, []

    def run(self, command, *options):
        done = subprocess.run([self.path, command, *options], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"seawall {command} {' '.join(options)}: {done.stderr.strip()}")
        return done.stdout

    def ask(self, command, *options):
        """The answer for programs; the one for people is kept."""
        shown = " ".join(f"'{word}'" if set(word) & set(" +") else word for word in (command, *options))
        self.said.append(f"$ seawall {shown}\n{self.run(command, *options)}")
        return self.told(command, *options)

    def told(self, command, *options):
        """The answer for programs alone."""
        return json.loads(self.run(command, *options, "--json"))


def short(name):
    """A policy as the pages call it."""
    return pathlib.Path(name.removeprefix("constant:")).stem


def rounded(found, digits):
    """An estimate with its noise; p by the normal approximation."""
    # Adding 0 makes a zero of either sign the same.
    out = {key: round(found[key], digits) + 0.0 for key in ("value", "se", "lower", "upper") if key in found}
    out["p"] = float(f"{math.erfc(abs(found['value']) / found['se'] / math.sqrt(2)):.2g}")
    return out


def policy_cost(found, digits):
    out = rounded(found, digits)
    del out["p"]
    return out


def evaluated(said, digits):
    """What the program says of policies and their differences in one place."""
    there = "target" in said or "balance" in said
    policies = {short(policy["name"]): policy for policy in said["policies"]}

    def estimate(found):
        return (found["target"] if there else found["nominal"])["dr"]

    out = {"policies": {name: policy_cost(estimate(policy), digits) for name, policy in policies.items()},
           "differences": {}}
    for pair in said["comparisons"]:
        found = rounded(estimate(pair), digits)
        found["radii"] = []
        for at in pair["results"]:
            found["radii"].append({"radius": at["radius"], "worst": round(at["worst"], digits),
                                   "best": round(at["best"], digits), "lower": round(at["limits"]["lower"], digits),
                                   "upper": round(at["limits"]["upper"], digits), "verdict": at["verdict"]})
        out["differences"][f"{short(pair['policy'])} − {short(pair['against'])}"] = found
    if "target" in said:
        cover = said["target"]["coverage"]
        out["target"] = {"rows": said["target"]["rows"], "unobserved_percent": round(100 * cover["unobserved"], 1),
                         "effective_rows": round(cover["effective_rows"]),
                         "effective_rows_of": {name: round(policy["target"]["effective_rows"])
                                               for name, policy in policies.items()}}
    if "balance" in said:
        out["target"] = {"known": [{"what": fact["name"], "log": round(fact["before"], 2), "target": fact["wanted"]}
                                   for fact in said["balance"]["facts"]],
                         "effective_rows_of": {name: round(policy["target"]["effective_rows"])
                                               for name, policy in policies.items()}}
    return out


def happened(where, digits):
    """Plain means of the outcomes of a table by arm, and their differences, by clusters where there are any."""
    with open(sources.CACHE / where["table"], newline="") as file:
        rows = [row for row in csv.DictReader(file) if where["arm"](row)]
    arms = {}
    for at, row in enumerate(rows):
        unit = row[where["cluster"]] if where.get("cluster") else at
        arms.setdefault(where["arm"](row), []).append((unit, where["cost"](row)))
    means = {arm: sum(cost for _, cost in seen) / len(seen) for arm, seen in arms.items()}

    def estimate(signs):
        """A signed sum of means; each unit's share in its error, squared."""
        shares = {}
        for arm, sign in signs.items():
            for unit, cost in arms[arm]:
                shares[unit] = shares.get(unit, 0) + sign * (cost - means[arm]) / len(arms[arm])
        se = math.sqrt(sum(share**2 for share in shares.values()) * len(shares) / (len(shares) - 1))
        value = sum(sign * means[arm] for arm, sign in signs.items())
        return {"value": value, "se": se, "lower": value - 1.96 * se, "upper": value + 1.96 * se}

    pairs = [(first, second) for first in means for second in means if first != second]
    return {"rows": {arm: len(seen) for arm, seen in arms.items()},
            "policies": {arm: policy_cost(estimate({arm: 1}), digits) for arm in means},
            "differences": {f"{first} − {second}": rounded(estimate({first: 1, second: -1}), digits)
                            for first, second in pairs}}


def missed(forecast, real, digits):
    """What happened less what was forecast, for the same policies and pairs."""
    out = {}
    for kind in ("policies", "differences"):
        for name in real[kind].keys() & forecast[kind].keys():
            was, now = forecast[kind][name], real[kind][name]
            miss = {"value": now["value"] - was["value"], "se": math.hypot(now["se"], was["se"])}
            out[name] = rounded(miss, digits)
    return dict(sorted(out.items()))


def answer(name, path):
    """A study's numbers, and what the program printed on the way."""
    study, program = STUDIES[name], Program(path)
    file = f"studies/gallery/{name}.toml"
    report = tomllib.loads((ROOT / file).read_text())["report"]
    digits = study["digits"]
    out = {"study": file, "title": report["title"], "outcome": report["outcome"], "pair": study["pairs"][0], "places": []}
    for where in study["places"]:
        told = {key: where[key] for key in ("name", "kind", "colour")}
        if where["kind"] == "happened":
            told |= happened(where, digits)
        else:
            said = program.ask("evaluate", file, *where["options"])
            out["direction"] = said["direction"]
            out.setdefault("rows", round(said["rows"]))
            out.setdefault("policies", [short(policy["name"]) for policy in said["policies"]])
            told |= evaluated(said, digits)
            if where["options"][:1] == ("--target",):
                told["target"]["distance"] = round(program.told("distance", file, *where["options"])["distance"], 2)
        out["places"].append(told)
    for told in out["places"]:
        told["differences"] = {pair: told["differences"][pair] for pair in study["pairs"] if pair in told["differences"]}
    for told in out["places"]:
        if told["kind"] == "happened":
            forecast = next(other for other in out["places"]
                            if other["kind"] == "estimated" and other["colour"] == told["colour"])
            told["less_forecast"] = missed(forecast, told, digits)
    if "transfer" in study:
        said = program.ask("transfer", file, *study["transfer"])
        out["past_groups"] = [
            {"of": short(moved["policy"]) + (f" − {short(moved['against'])}" if "against" in moved else ""),
             "centre": round(moved["centre"], digits), "bound": round(moved["bound"], digits),
             "method": moved["method"]} | ({"held": moved["held"], "groups": len(moved["groups"])} if moved["groups"] else {})
            for moved in said["transfers"] + said["differences"]]
    return out, "\n".join(program.said)
