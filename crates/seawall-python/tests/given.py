"""What tests ask, in the words of the program, as the objects that Python's questions take."""

import seawall

TARGET = {"target": "sample", "known": "known", "target_size": "size"}
HISTORY = {"by": "by", "history": "table", "least": "least", "each": "each", "in_time": "in_time", "half_life": "half_life"}
SPLITS = {"splits": "count", "level": "level", "seed": "seed", "simultaneous": "simultaneous", "bounds": "bounds"}


def objects(asked, *kinds):
    """Arguments with a `Target`, a `History` and `Splits` in the place of what they are made of: of those `kinds`."""
    made = dict(asked)
    for kind, parts in (("target", TARGET), ("history", HISTORY), ("splits", SPLITS)):
        said = {to: made.pop(name) for name, to in parts.items() if name in made} if kind in kinds else {}
        if said:
            made[kind] = {"target": seawall.Target, "history": seawall.History, "splits": seawall.Splits}[kind](**said)
    return made
