"""The book's pages of commands: a sentence, where to read on, and what `--help` prints."""

import re
import subprocess

import pages

# What one can do after reading a page, and the chapters that use the command.
ABOUT = {
    "demo": ("try everything without data of your own", ["first-ten-minutes"]),
    "init": ("get a study file for your table, with reasons, in one command", ["choosing"]),
    "check": ("see what a study reads, leaves out and lacks before you believe a number", ["choosing"]),
    "evaluate": ("say what policies would cost, if nothing shifts and at worst", ["reading", "sets"]),
    "learn": ("learn a rule whose worst case is as good as it can be, with a proof", ["learning"]),
    "predict": ("add a policy's probabilities to a table of people", ["learning"]),
    "explain": ("read a policy or an outcome model in words", ["learning", "models"]),
    "describe": ("send what is known of your people without sending rows", ["targets"]),
    "transport": ("say what policies would cost in a population of which you know some margins", ["targets"]),
    "backtest": ("find out which way to a bound would have held for past groups", ["targets"]),
    "sensitivity": ("see whether a choice of policy hangs on the kind of shift", ["sets"]),
    "distance": ("say how far apart two samples are, and who would have to become whom", ["choosing"]),
    "radius": ("choose radii from the data", ["choosing"]),
    "report": ("put everything on one page for other people", ["first-ten-minutes", "reading"]),
    "count": ("count a large table once, and ask it many questions", ["scale"]),
    "sql": ("let a database count, and ask the counts", ["scale"]),
    "bound": ("bound the mean of any column under a shift of others, without policies", ["sets"]),
    "completions": ("have your shell complete these commands, and read their manual pages", []),
}
TITLES = {
    "first-ten-minutes": "The first ten minutes", "choosing": "Contexts, cost scale and radius",
    "reading": "Reading the answer", "targets": "Targets and transfers", "learning": "Learning a rule",
    "models": "Models and noise", "sets": "Sets: kinds of shift", "scale": "Scale",
}


def help_of(program, *words):
    """What the program says of itself, or of a command."""
    words = [program, *words, "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=pages.surroundings())
    return done.stdout.rstrip("\n")


def names(program):
    """The program's commands, in its own order."""
    text = help_of(program)
    listed = text.split("Commands:\n")[1].split("\n\n")[0]
    return [name for name in re.findall(r"^  (\S+)", listed, flags=re.M) if name != "help"]


def page(program, name):
    """The page of a command."""
    can, chapters = ABOUT[name]
    links = ", ".join(f"[{TITLES[chapter]}](../{chapter}.md)" for chapter in chapters)
    read_on = f" In use: {links}." if links else ""
    fence = f"```console\n$ seawall {name} --help\n{help_of(program, name)}\n```"
    return f"# seawall {name}\n\nAfter this page you can {can}.{read_on}\n\n{fence}\n"


def all_pages(program):
    """Every command's page, by its name; and one that lists them."""
    found = {name: page(program, name) for name in names(program)}
    index = "# Commands\n\nAfter this page you know which command to ask. Each has a page with its options and examples."
    rows = "".join(f"- [`seawall {name}`]({name}.md): {ABOUT[name][0]}.\n" for name in found)
    return found | {"index": f"{index}\n\n{rows}\n```console\n$ seawall --help\n{help_of(program)}\n```\n"}
