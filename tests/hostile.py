"""A study whose names do their worst: tags, quotes, 200-character levels, right-to-left text."""

import csv
import json
import random

LONG = "x" * 200
TAG = "<script>alert(1)</script>"
NAMES = [TAG, "عمر المريض", "a & b \"c\" 'd'", "</script><img src=x onerror=alert(2)>", "{{ 7 * 7 }}", LONG]
POLICY_NAMES = ["</script><b onclick=alert(4)>&\"'", "سياسة مسماة"]
LEVELS = [LONG, "y" * 199 + "<", "مستوى طويل", "&amp;", "-->", "\u202eevil", "𝔘𝔫𝔦", "]]>"]


def names(count):
    return NAMES + [f"feature {k}" for k in range(len(NAMES), count)]


def write(folder, features=40, actions=30, rows=600):
    """Writes `data.csv` and `study.toml`; returns the study's path."""
    rng = random.Random(7)
    columns = names(features)
    arms = [f"arm {a} <b>&" for a in range(actions)]
    with open(folder / "data.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow([*columns, "arm", "cost"])
        for _ in range(rows):
            row = [rng.choice(LEVELS[: 2 + k % 7]) for k in range(features)]
            arm = rng.randrange(actions)
            cost = rng.randrange(3) + (row[0] == LONG) * (arm % 3)
            out.writerow([*row, arms[arm], cost])
    quoted = [f"{json.dumps(name, ensure_ascii=False)} = {{ kind = \"nominal\" }}" for name in columns]
    policies = [f"[[policy]]\nkind = \"constant\"\naction = {json.dumps(a)}\n" for a in arms[:3]]
    for k, name in enumerate(POLICY_NAMES):
        policies[k] += f"name = {json.dumps(name, ensure_ascii=False)}\n"
    study = f"""[data]
path = "data.csv"

[context]
{chr(10).join(quoted)}

[action]
column = "arm"

[outcome]
cost = "cost"

[model]
kind = "tree"
max_depth = 3
min_samples_leaf = 5

[[policy]]
kind = "uniform"

{chr(10).join(policies)}
[robust]
context = {{ set = "wasserstein", radius = [0.05, 0.5] }}

[report]
title = "</title><script>alert(3)</script> عنوان"
"""
    path = folder / "study.toml"
    path.write_text(study, encoding="utf-8")
    return path
