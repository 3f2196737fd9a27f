"""The numbers of a gallery study's answer, and what the program printed on the way.

Each study is evaluated where its log is from and in another population; where outcomes are known there, too, plain
means of them stand beside the forecast. Everything but those means, and p-values, comes from the program.
"""

import csv
import json
import math
import pathlib
import subprocess
import tomllib

import sources
from questions import STUDIES

ROOT = sources.ROOT
class Program:
    """The built program, run in the root of the checkout; what it printed is kept."""

    def __init__(self, path):
        self.path, self.said = path, []

    def run(self, command, *options):
        done = subprocess.run([self.path, command, *options], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"seawall {command} {' '.join(options)}: {done.stderr.strip()}")
        return done.stdout

    def show(self, command, *options):
        """The answer for people is kept."""
        shown = " ".join(f"'{word}'" if set(word) & set(" +") else word for word in (command, *options))
        self.said.append(f"$ seawall {shown}\n{self.run(command, *options)}")

    def ask(self, command, *options):
        """The answer for programs; the one for people is kept."""
        self.show(command, *options)
        return self.told(command, *options)

    def told(self, command, *options):
        """The answer for programs alone: where the one for people says how long it took."""
        return json.loads(self.run(command, *options, "--json"))


def short(name):
    """A policy as the pages call it."""
    return pathlib.Path(name.removeprefix("constant:")).stem


def rounded(found, digits):
    """An estimate with its noise; p by the normal approximation."""
    # Adding 0 makes a zero of either sign the same.
    out = {key: round(found[key], digits) + 0.0 for key in ("value", "se", "lower", "upper") if found.get(key) is not None}
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
            told = {"radius": at["radius"], "worst": round(at["worst"], digits), "best": round(at["best"], digits)}
            # Too few effective rows have no limits.
            if at["limits"]:
                told |= {end: round(at["limits"][end], digits) for end in ("lower", "upper")}
            found["radii"].append(told | {"verdict": at["verdict"]})
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


def valued(where, file, digits, program):
    """One place: as evaluated by the program, or as it happened."""
    told = {key: where[key] for key in ("name", "kind", "colour")}
    if where["kind"] == "happened":
        return told | happened(where, digits)
    told |= evaluated(program.ask("evaluate", file, *where["options"]), digits)
    if where["options"][:1] == ("--target",):
        told["target"]["distance"] = round(program.told("distance", file, *where["options"])["distance"], 2)
    return told


def places(study, file, program):
    """Every place, with the differences that the study asks for, and what happened less what was forecast."""
    digits = study["digits"]
    out = [valued(where, file, digits, program) for where in study["places"]]
    for told in out:
        found = told["differences"]
        told["differences"] = {pair: found[pair] for pair in study["pairs"] if pair in found}
    for told in out:
        if told["kind"] == "happened":
            forecast = next(other for other in out
                            if other["kind"] == "estimated" and other["colour"] == told["colour"])
            told["less_forecast"] = missed(forecast, told, digits)
    return out


def bounds(said, digits):
    """What past groups, or couplings, say to allow."""
    out = []
    for moved in said["transfers"] + said["differences"]:
        of = short(moved["policy"]) + (f" − {short(moved['against'])}" if "against" in moved else "")
        told = {"of": of, "centre": round(moved["centre"], digits), "bound": round(moved["bound"], digits),
                "method": moved["method"]}
        if moved["groups"]:
            told |= {"held": moved["held"], "groups": len(moved["groups"])}
        out.append(told)
    return out


def learned(said, digits):
    """A rule against a baseline: its worst difference, and that on halves that did not choose it."""
    return {"radius": said["radius"], "worst_difference": round(said["value"], digits),
            "on_halves": round(said["honest"]["value"], digits),
            "each_half": [round(half, digits) for half in said["honest"]["halves"]]}


def answer(name, path):
    """A study's numbers, and what the program printed on the way."""
    study, program, file = STUDIES[name], Program(path), f"studies/gallery/{name}.toml"
    report = tomllib.loads((ROOT / file).read_text())["report"]
    checked = program.told("check", file)
    out = {"study": file, "title": report["title"], "outcome": report["outcome"], "direction": checked["direction"],
           "rows": round(checked["rows"]), "pair": study["pairs"][0], "places": places(study, file, program)}
    out["policies"] = list(out["places"][0]["policies"])
    if "transfer" in study:
        out["bounds"] = bounds(program.ask("transfer", file, *study["transfer"]), study["digits"])
    if "compare" in study:
        program.show("compare", file, *study["compare"])
    if "learn" in study:
        rule = f"target/gallery/{name}-rule.json"
        out["learned"] = learned(program.told("learn", file, *study["learn"], "--out", rule), study["digits"])
        program.show("explain", rule)
    return out, "\n".join(program.said)
