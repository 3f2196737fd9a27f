"""Modules import only from those before them, in the order that each crate documents; exceptions are listed and
may only become fewer."""

import subprocess
import sys

import modules
import pytest

LISTED = modules.ROOT / "tests/modules_allowed.txt"


def allowed():
    lines = (line.split("#")[0].strip() for line in LISTED.read_text().split("\n"))
    return {line for line in lines if line}


@pytest.fixture(scope="module")
def folders():
    return modules.folders()


@pytest.fixture(scope="module")
def against(folders):
    """Every import from a module that comes later, as the list has it, with a file that makes it."""
    found = {}
    for name, folder in folders.items():
        place = {module: k for k, module in enumerate(modules.order_of(folder))}
        for (module, other), file in folder.uses().items():
            if place[module] < place[other]:
                found[f"{name}: {module} -> {other}"] = file
    return found


@pytest.mark.parametrize("name", modules.FOLDERS)
def test_every_module_has_its_place_in_the_documented_order(folders, name):
    folder = folders[name]
    order = modules.order_of(folder)
    assert order, f"{folder.head} does not document the order of its modules"
    assert len(order) == len(set(order))
    assert set(order) == set(folder.modules), f"the order in {folder.head} is not that of its modules"


def test_no_import_is_against_the_order_but_those_listed(against):
    new = {edge: str(file) for edge, file in against.items() if edge not in allowed()}
    assert not new, f"imports against the documented order (see {LISTED.name}): {new}"


def test_the_list_only_shrinks(against):
    gone = allowed() - set(against)
    assert not gone, f"no longer imported: take these lines out of {LISTED}: {sorted(gone)}"


def test_without_the_listed_imports_nothing_goes_round(folders):
    for name, folder in folders.items():
        edges = {edge for edge in folder.uses() if f"{name}: {edge[0]} -> {edge[1]}" not in allowed()}
        assert not modules.cycles(edges), f"{name}: modules that import each other: {modules.cycles(edges)}"


def test_the_picture_shows_them():
    done = subprocess.run([sys.executable, modules.ROOT / "scripts/modules", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_imports_are_read_as_rust_reads_them(tmp_path):
    """Nested braces, aliases, globs, parents, inline paths, re-exported names; not comments, strings or tests."""
    (tmp_path / "lib.rs").write_text("mod a; mod b; mod c; mod d; mod e;\npub use c::{Sea, Wall as Dam};\n")
    for name in "ace":
        (tmp_path / f"{name}.rs").write_text("")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/mod.rs").write_text("mod inner; fn f() { super::a::f() }")
    (tmp_path / "d/inner.rs").write_text("use super::super::{Sea, b::{self, X as Y}}; use super::mod_of_d;")
    (tmp_path / "b.rs").write_text(
        "use crate::{a::*, // crate::c\n Sea};\nconst S: &str = \"crate::e::f\"; fn f<'a>(x: &'a str) -> char { '\"' }\n"
        "/* crate::e */ #[cfg(test)]\nmod tests { use crate::e; }"
    )
    root, modules.ROOT = modules.ROOT, tmp_path
    try:
        found = set(modules.Folder(tmp_path, []).uses())
    finally:
        modules.ROOT = root
    assert found == {("b", "a"), ("b", "c"), ("d", "a"), ("d", "b"), ("d", "c")}
