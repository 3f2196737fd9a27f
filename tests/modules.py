"""Which module imports which: read off the sources of a crate, without building it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Strings, characters and comments hold no imports; a lifetime is no character.
NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'""",
    re.S,
)
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def code_of(text):
    """A file's code: without comments, strings and the test module at its end."""
    code = NOISE.sub(" ", text)
    return re.split(r"#\[cfg\(test\)\]\s*mod ", code)[0]


def leaves(code, at):
    """The paths that a tree of names stands for which begins at a place: `a::{b, c::d}` is [a, b] and [a, c, d]."""
    path = []
    while True:
        at = len(code) - len(code[at:].lstrip())
        if code.startswith("{", at):
            at += 1
            found = []
            while not code.startswith("}", at):
                inner, at = leaves(code, at)
                found += [path + rest for rest in inner]
                at = len(code) - len(code[at:].lstrip())
                if code.startswith(",", at):
                    at = len(code) - len(code[at + 1:].lstrip())
            return found, at + 1
        name = IDENTIFIER.match(code, at)
        if not name:
            return [path], at + code.startswith("*", at)
        path.append(name.group())
        at = name.end()
        if not code.startswith("::", at):
            alias = re.compile(r"\s+as\s+[A-Za-z_0-9]+").match(code, at)
            return [path], alias.end() if alias else at
        at += 2


def paths(code, root):
    """Every path in some code that begins with a word such as `crate`."""
    for begun in re.finditer(rf"(?<![\w:]){root}::", code):
        yield from leaves(code, begun.end())[0]


class Folder:
    """A folder of modules: a crate's `src`, or a module that has a folder of its own."""

    def __init__(self, path, root):
        self.path, self.root = Path(path), root
        self.head = next(self.path / name for name in ("lib.rs", "main.rs", "mod.rs") if (self.path / name).exists())
        code = code_of(self.head.read_text())
        self.modules = {
            name: self.path / name if (self.path / name).is_dir() else self.path / f"{name}.rs"
            for name in {p.stem for p in self.path.iterdir() if p.suffix == ".rs" or p.is_dir()}
            if name not in ("lib", "main", "mod") and not name.endswith("_tests")
        }
        # What the folder hands on under a name of its own is the module's that it is from.
        self.from_module = {}
        for kept in re.finditer(r"\buse\s+", code):
            for path in leaves(code, kept.end())[0]:
                path = path[1:] if path[:1] == ["self"] else path
                if len(path) > 1 and path[0] in self.modules:
                    self.from_module[path[-1]] = path[0]
        # A macro's table of sets names the file and the type of each.
        for module, name in re.findall(r"\b([a-z_0-9]+)::([A-Z]\w+)\b", code):
            if module in self.modules:
                self.from_module.setdefault(name, module)

    def files(self, module):
        path = self.modules[module]
        return sorted(path.rglob("*.rs")) if path.is_dir() else [path]

    def module_of(self, path):
        """The module that a path from here leads to, if it leads to one."""
        for name in path[:1]:
            return name if name in self.modules else self.from_module.get(name)

    def uses(self):
        """For each module, the others that it imports from, each with a file that does."""
        found = {}
        for module in self.modules:
            for file in self.files(module):
                code = code_of(file.read_text())
                # How many `super::` lead from this file to this folder.
                deep = len(file.relative_to(self.path).parts) - (file.name == "mod.rs")
                named = [path for path in paths(code, "crate")]
                for path in named:
                    if path[: len(self.root)] == self.root:
                        self.add(found, module, path[len(self.root):], file)
                for path in paths(code, "super"):
                    ups = 1
                    while path[:1] == ["super"]:
                        path, ups = path[1:], ups + 1
                    if ups == deep:
                        self.add(found, module, path, file)
        return found

    def add(self, found, module, path, file):
        other = self.module_of(path)
        if other and other != module:
            found.setdefault((module, other), file.relative_to(ROOT))


def order_of(folder):
    """The order that the head of a folder documents: backticked names after the sentence that announces it."""
    doc = " ".join(
        line.removeprefix("//!").strip() for line in folder.head.read_text().split("\n") if line.startswith("//!")
    )
    said = re.search(r"Modules, each importing only from those before it: (.*?)\.(?: |$)", doc)
    return re.findall(r"`([a-z_0-9]+)`", said.group(1)) if said else None


def cycles(edges):
    """The sets of modules of which each imports the others, directly or not."""
    nodes = {n for edge in edges for n in edge}
    after = {n: {b for a, b in edges if a == n} for n in nodes}

    def reached(start):
        seen, todo = set(), [start]
        while todo:
            for n in after.get(todo.pop(), ()):
                if n not in seen:
                    seen.add(n)
                    todo.append(n)
        return seen

    all_reached = {n: reached(n) for n in nodes}
    groups = {frozenset(m for m in all_reached[n] if n in all_reached[m]) for n in nodes if n in all_reached[n]}
    return sorted(sorted(g) for g in groups if len(g) > 1)


FOLDERS = {
    "seawall": ("crates/seawall/src", []),
    "seawall::kernel": ("crates/seawall/src/kernel", ["kernel"]),
    "seawall::ambiguity": ("crates/seawall/src/ambiguity", ["ambiguity"]),
    "seawall::outcome": ("crates/seawall/src/outcome", ["outcome"]),
    "seawall-table": ("crates/seawall-table/src", []),
    "seawall-study": ("crates/seawall-study/src", []),
    "seawall-report": ("crates/seawall-report/src", []),
    "seawall-cli": ("crates/seawall-cli/src", []),
    "seawall-python": ("crates/seawall-python/src", []),
}


def folders():
    return {name: Folder(ROOT / path, root) for name, (path, root) in FOLDERS.items()}
