"""Regenerates the gallery: fetches the data, asks the program, and writes each study's answer and picture.

Run by scripts/gallery. A study whose data cannot be had here is said to be left out, and the exit code is 3.
"""

import argparse
import json
import os
import pathlib
import sys

import answers
import picture
import sources
from questions import STUDIES


def regenerate(name, program, folder):
    sources.SOURCES[name]()
    answer, said = answers.answer(name, program)
    (folder / f"{name}.json").write_text(json.dumps(answer, indent=1, ensure_ascii=False) + "\n")
    (folder / f"{name}.txt").write_text(said)
    (folder / f"{name}.svg").write_text(picture.drawn(answer))


def main():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", sources.ROOT / "target"))
    parser = argparse.ArgumentParser(prog="scripts/gallery", description=__doc__.splitlines()[0])
    parser.add_argument("study", nargs="*", help=f"of {', '.join(STUDIES)}; all if not said")
    pages = sources.ROOT / "docs/book/src/gallery"
    parser.add_argument("--out", type=pathlib.Path, default=pages, help="where answers go")
    parser.add_argument("--program", type=pathlib.Path, default=target / "release/seawall", help="the built program")
    parser.add_argument("--fetch", action="store_true", help="fetch the data and stop")
    asked = parser.parse_args()
    if unknown := set(asked.study) - set(STUDIES):
        parser.error(f"no study {', '.join(sorted(unknown))}; there are {', '.join(STUDIES)}")
    if not asked.fetch and not asked.program.exists():
        parser.error(f"{asked.program} is not built: cargo build --release")
    asked.out.mkdir(parents=True, exist_ok=True)
    absent = 0
    for name in asked.study or STUDIES:
        try:
            sources.SOURCES[name]() if asked.fetch else regenerate(name, asked.program.resolve(), asked.out)
            print(f"{name}: {'data' if asked.fetch else 'answer and picture'} written")
        except sources.Absent as why:
            print(f"SKIPPED {name}: {why}", file=sys.stderr)
            absent = 3
    return absent


if __name__ == "__main__":
    sys.exit(main())
