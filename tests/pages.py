"""The pages that people read, and their commands run as a reader would run them.

A page is Markdown. In it

- a ```console block has lines `$ command`, each followed by what the command prints; a line `...` (or `…`)
  stands for any lines left out. A command that ends in a backslash goes on in the next line;
- a block after a comment `<!-- file: NAME -->` is a file of that name in the reader's folder;
- a comment `<!-- numbers 0.464, 92: reason -->` says why numbers of the prose are in no output of the page.

The blocks of a page run in order, in one scratch folder that has this repository's `studies` and the demo's folder,
unless the page makes that. What is not compared: blanks at the ends of lines, how long something took (`0.35 s`),
rounding below 1e-14, the size of a report (`449 kB`), and where the scratch folder is (shown as /home/you). A command
may fail only where the page shows its `error:`.
"""

import contextlib
import difflib
import doctest
import io
import os
import pathlib
import re
import shutil
import subprocess
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
BOOK = ROOT / "docs/book/src"
DATA = ROOT.parent / "shared/data"
HOME = "/home/you"
ELISIONS = ("...", "…")
EXAMPLE = re.compile(r"cargo run (?:-q )?--release -p seawall --example (\w+)")
FILE = re.compile(r"<!-- file: (\S+) -->")
ALLOWED = re.compile(r"<!-- numbers? ([\d., ]+): .+? -->", re.S)
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w]|\.\d)")


class Block:
    """A fenced block: its language, its lines, and where it starts (the line of its fence, from 0)."""

    def __init__(self, language, start, lines, file):
        self.language, self.start, self.lines, self.file = language, start, lines, file

    def steps(self):
        """The commands of a console block, each with what it is said to print."""
        found, lines = [], iter(self.lines)
        for line in lines:
            if line.startswith("$ "):
                command = [line[2:]]
                while command[-1].endswith("\\"):
                    command.append(next(lines))
                found.append(("\n".join(command), []))
            elif found:
                found[-1][1].append(line)
        return found


def pages():
    """Every page with commands: the book's, the essay beside it, README."""
    return [*sorted(BOOK.rglob("*.md")), ROOT / "docs/from-here-to-there.md", ROOT / "README.md"]


def blocks(text):
    """The fenced blocks of a page."""
    found, lines, inside, file = [], text.split("\n"), None, None
    for at, line in enumerate(lines):
        if inside is None and line.startswith("```"):
            inside = Block(line[3:].split(",")[0].strip(), at, [], file)
        elif inside is not None and line.rstrip() == "```":
            found.append(inside)
            inside = None
        elif inside is not None:
            inside.lines.append(line)
        else:
            named = FILE.search(line)
            file = named.group(1) if named else file if not line.strip() else None
    assert inside is None, f"a block that starts in line {inside.start + 1} does not end"
    return found


def runs(block):
    """Whether a block is of commands; README says `text` where others say `console`."""
    return block.language in ("console", "text") and bool(block.lines) and block.lines[0].startswith("$ ")


def needs_data(block):
    """Whether a block's commands read data that are not part of this repository."""
    return any(re.search(r"studies/(ist|obd)", command) for command, _ in block.steps())


def surroundings():
    """The environment without a terminal's size, which help and tables would follow."""
    return {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}


class Reader:
    """Somebody who follows a page in a folder of their own."""

    def __init__(self, program, folder, demo):
        self.program, self.here = pathlib.Path(program), folder / "seawall"
        self.here.mkdir(parents=True)
        shutil.copytree(ROOT / "studies", self.here / "studies")
        if DATA.exists():
            (folder / "shared").symlink_to(DATA.parent)
        if demo:
            self.run("seawall demo")

    def lay(self, block):
        (self.here / block.file).parent.mkdir(parents=True, exist_ok=True)
        (self.here / block.file).write_text("\n".join(block.lines) + "\n")

    def run(self, command):
        """What a command prints, and after it what went wrong if it did."""
        examples = self.program.parent / "examples"
        command = EXAMPLE.sub(lambda found: str(examples / found.group(1)), command)
        env = surroundings()
        env["PATH"] = f"{self.program.parent}{os.pathsep}{env['PATH']}"
        done = subprocess.run(["bash", "-c", command], cwd=self.here, env=env, capture_output=True, text=True)
        text = (done.stdout + (done.stderr if done.returncode else "")).replace(str(self.here), HOME)
        return text.rstrip("\n").split("\n") if text else []


def reader(program, folder, text):
    """A reader of this page, who has the demo if the page is about it and does not make it."""
    said = [command for block in blocks(text) if runs(block) for command, _ in block.steps()]
    makes = any(command.split() == ["seawall", "demo"] for command in said)
    return Reader(program, folder, demo=not makes and any("seawall-demo" in command for command in said))


def plain(line):
    """A line without what is not compared."""
    line = re.sub(r"\b\d+(\.\d+)? (s|ms|kB)\b", r"0 \2", line.rstrip())
    return re.sub(r"\b\d(\.\d+)?e-(1[4-9]|[2-9]\d)\b", "0", line)


def segments(lines):
    """What is shown between elisions."""
    parts = [[]]
    for line in lines:
        parts.append([]) if line.strip() in ELISIONS else parts[-1].append(plain(line))
    return parts


def matches(shown, printed):
    """Whether what a page shows, elisions apart, is what was printed."""
    parts, printed = segments(shown), [plain(line) for line in printed]
    failed = any(line.startswith("error: ") for line in printed)
    if failed and not any(line.startswith("error: ") for line in shown):
        return False
    if len(parts) == 1:
        return parts[0] == printed
    first, *middle, last = parts
    at, end = len(first), len(printed) - len(last)
    if printed[:at] != first or printed[end:] != last or at > end:
        return False
    for part in middle:
        found = [k for k in range(at, end - len(part) + 1) if printed[k:k + len(part)] == part]
        if not found:
            return False
        at = found[0] + len(part)
    return True


def difference(shown, printed):
    return "\n".join(difflib.unified_diff(shown, printed, "the page", "the program", lineterm="", n=1))


def prose(text):
    """A page without its blocks, code, comments and addresses: what people read as sentences."""
    for block in reversed(blocks(text)):
        lines = text.split("\n")
        del lines[block.start:block.start + len(block.lines) + 2]
        text = "\n".join(lines)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"`[^`]*`", "", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def numbers(text):
    """Numerals of two digits or more, years apart, without their thousands' commas."""
    found = {match.replace(",", "") for match in NUMBER.findall(text.replace("−", "-"))}
    long = {number for number in found if len(number.replace(".", "")) >= 2}
    return {number for number in long if not re.fullmatch(r"(19|20)\d\d", number)}


def unexplained(text):
    """Numbers of the prose that are in no tested block of the page and that no comment explains."""
    tested = [block for block in blocks(text) if runs(block) or block.file or block.language == "python"]
    printed = {match.replace(",", "") for block in tested for line in block.lines
               for match in NUMBER.findall(line)}
    printed |= {number.rstrip("0").rstrip(".") for number in printed if "." in number}
    allowed = {number.replace(",", "") for listed in ALLOWED.findall(text) for number in listed.split(", ")}
    return sorted(numbers(prose(text)) - printed - allowed)


def session(block, names):
    """A block of Python as at a prompt (`>>>`), with what its statements print now; `names` are kept and added to."""
    shown = []
    for example in doctest.DocTestParser().get_examples("\n".join(block.lines) + "\n"):
        first, *rest = example.source.rstrip("\n").split("\n")
        shown += [f">>> {first}", *(f"... {line}".rstrip() for line in rest)]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(example.source, "<page>", "single"), names)
            except Exception as error:
                words = "".join(traceback.format_exception_only(error)).rstrip("\n")
                print(f"Traceback (most recent call last):\n  ...\n{words}")
        text = printed.getvalue().rstrip("\n")
        shown += [line or "<BLANKLINE>" for line in text.split("\n")] if text else []
    return shown
