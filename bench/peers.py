"""Ours against peers, side by side: one run, one table of ratios.

Called by scripts/bench, which sets up the peers' environment. Every problem is made here, handed
to both sides as the same numbers, and every row checks that both got the same answer. With names
as arguments only those parts run.
"""

import importlib
import sys

from common import OUT

PARTS = ("worst", "sets", "count", "columns", "models", "learn", "distance", "size", "threads", "python")


def main(parts):
    OUT.mkdir(exist_ok=True)
    lines = ["| what | ours (s) | peer | peer (s) | peer / ours | wanted | holds | check |",
             "|---|---:|---|---:|---:|---|---|---|"]

    def row(what, mine, peer, theirs, wanted, holds, check=""):
        number = lambda x: "" if x is None else f"{x:,.3g}"
        ratio = theirs / mine if mine and theirs else None
        lines.append(f"| {what} | {number(mine)} | {peer} | {number(theirs)} | {number(ratio)} "
                     f"| {wanted} | {'yes' if holds else 'NO'} | {check} |")
        print(f"  {what}: done", file=sys.stderr, flush=True)

    for part in parts:
        importlib.import_module(part).bench(row)
    table = "\n".join(lines)
    (OUT / "table.md").write_text(table + "\n")
    print(table)


if __name__ == "__main__":
    main(sys.argv[1:] or PARTS)
