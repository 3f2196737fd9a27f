"""What people read is what the program does: commands of the book, of the essay and of README are run and what they
print compared; numbers of the prose are looked up there; the book is built and its links followed. See pages.py."""

import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

import commands
import pages
import pytest

ROOT = pages.ROOT
PAGES = pages.pages()
NAMES = {page: str(page.relative_to(ROOT)) for page in PAGES}
# The gallery has tests of its own.
CHAPTERS = [page for page in PAGES if page.parent == pages.BOOK and page.name not in ("SUMMARY.md", "gallery.md")]


def with_blocks(wanted):
    """The pages with blocks of commands of that kind."""
    return [page for page in PAGES if any(pages.runs(b) and wanted(b) for b in pages.blocks(page.read_text()))]


def follow(page, program, folder, wanted):
    """Runs a page's commands in order, those of the wanted blocks compared."""
    text = page.read_text()
    reader, wrong = pages.reader(program, folder, text), []
    for block in pages.blocks(text):
        if block.file:
            reader.lay(block)
        if not pages.runs(block) or not wanted(block):
            continue
        for command, shown in block.steps():
            printed = reader.run(command)
            if not pages.matches(shown, printed):
                where = f"{NAMES[page]}, block in line {block.start + 1}: $ {command}"
                wrong.append(f"{where}\n{pages.difference(shown, printed)}")
    assert not wrong, "\n\n".join(wrong) + "\n\n(scripts/book writes what is printed now)"


def plain(block):
    return not pages.needs_data(block)


@pytest.mark.parametrize("page", with_blocks(plain), ids=NAMES.get)
def test_commands_print_what_the_page_shows(page, seawall, tmp_path):
    follow(page, seawall, tmp_path, plain)


@pytest.mark.parametrize("page", with_blocks(pages.needs_data), ids=NAMES.get)
def test_commands_on_real_data_print_what_the_page_shows(page, seawall, tmp_path):
    if not pages.DATA.exists():
        pytest.skip(f"SKIPPED: {NAMES[page]} has commands on real data, which are not at {pages.DATA}")
    follow(page, seawall, tmp_path, pages.needs_data)


def test_a_page_that_is_wrong_fails(seawall, tmp_path):
    """What the tests above would say of a changed digit, a line too many, and an error that is not shown."""
    reader = pages.Reader(seawall, tmp_path, demo=True)
    printed = reader.run("seawall explain seawall-demo/study.toml")
    assert len(printed) > 10 and pages.matches(printed, printed)
    assert pages.matches([printed[0], "...", printed[-1]], printed)
    assert pages.matches(["...", *printed[3:5], "…"], printed)
    assert not pages.matches(["...", printed[4], printed[3], "..."], printed)
    assert not pages.matches([line.replace("1", "2") for line in printed], printed)
    assert not pages.matches([*printed, printed[-1]], printed)
    assert not pages.matches(["..."], reader.run("seawall explain nothing.toml"))


def test_readme_shows_what_the_demo_prints(seawall, tmp_path):
    """The first block of output in README is a run of lines of what `seawall demo` prints."""
    block = next(b for b in pages.blocks((ROOT / "README.md").read_text()) if b.language == "text")
    printed = pages.Reader(seawall, tmp_path, demo=False).run("seawall demo")
    assert pages.matches(["...", *block.lines, "..."], printed), pages.difference(block.lines, printed)


def shell_commands():
    """Commands of the program in blocks that are not run: they need files that only a reader has."""
    for page in PAGES:
        for block in pages.blocks(page.read_text()):
            if block.language == "sh":
                text = re.sub(r"\\\n\s*", "", "\n".join(block.lines))
                for line in text.split("\n"):
                    found = re.match(r"seawall .*", line.split(" #")[0].rstrip())
                    if found:
                        yield pytest.param(found.group(), id=f"{page.name}:{found.group()}")


@pytest.mark.parametrize("command", list(shell_commands()))
def test_commands_without_files_are_understood(command, seawall, tmp_path):
    """The command line is taken: what is missing is the reader's file, not an option."""
    reader = pages.Reader(seawall, tmp_path, demo=False)
    printed = "\n".join(reader.run(f"{command} 2>&1"))
    for refused in ("unexpected argument", "unrecognized subcommand", "invalid value", "--help, or --help",
                    "required arguments", "cannot be used with"):
        assert refused not in printed, printed


@pytest.mark.parametrize("page", [*CHAPTERS, ROOT / "docs/from-here-to-there.md"], ids=NAMES.get)
def test_numbers_of_the_prose_are_printed_on_the_page(page):
    """Numerals of two digits or more; a comment gives the reason for others."""
    assert pages.unexplained(page.read_text()) == []


# README has no comments for its numbers, so their reasons are here; what was simulated is told in docs/measured.md, in these words.
OF_README = {
    "0.018": "an example of a sentence", "0.03": "an example of a radius", "63.5": "an example of a threshold",
    "75": "an example of a move", "85": "the same",
    "0.15": "the bound of a difference less its prediction", "0.1": "the heading of a column of check", "2.0": "the licence",
    "1.95": "the least Rust version", "100": "a hundred radii, and of a hundred hospitals", "130": "an exit code",
}
SIMULATED = {
    "93.5": ".935–", "96.6": "–.966",
}


def test_numbers_of_readme_are_printed_there_or_have_a_reason():
    """As above, but a number may also be one that the demo prints there, rounded."""
    text, design = (ROOT / "README.md").read_text(), (ROOT / "docs/measured.md").read_text()
    printed = [float(number) for block in pages.blocks(text) if block.language == "text"
               for line in block.lines for number in re.findall(r"\d+\.\d+", line)]
    for number in pages.unexplained(text):
        places = len(number.partition(".")[2])
        is_rounded = places >= 1 and any(abs(value - float(number)) <= 0.5 * 10**-places for value in printed)
        is_simulated = number in SIMULATED and SIMULATED[number] in design
        assert is_rounded or is_simulated or number in OF_README, f"README.md: {number} is printed by no block there"


def test_a_number_that_nothing_prints_is_found():
    text = "It costs 0.123, or 0.124.\n\n```console\n$ x\n0.123 s\n```\n\n```toml\n0.124\n```\n"
    assert pages.unexplained(text) == ["0.124"]
    assert pages.unexplained(text + "<!-- number 0.124: a reason -->") == []


@pytest.mark.parametrize("page", CHAPTERS, ids=NAMES.get)
def test_a_page_begins_with_what_one_can_do_after_it(page):
    first = page.read_text().split("\n\n")[1]
    assert first.startswith("After this page "), first


def test_pages_of_commands_are_current(seawall):
    current = commands.all_pages(seawall)
    kept = {path.stem: path.read_text() for path in (pages.BOOK / "commands").glob("*.md")}
    assert sorted(kept) == sorted(current), "run scripts/book"
    old = [name for name in current if kept[name] != current[name]]
    assert not old, f"run scripts/book: the program's help differs from the pages of {', '.join(old)}"


def test_every_page_is_in_the_summary():
    summary = (pages.BOOK / "SUMMARY.md").read_text()
    listed = re.findall(r"\]\(([^)]+)\)", summary)
    there = [str(path.relative_to(pages.BOOK)) for path in pages.BOOK.rglob("*.md") if path.name != "SUMMARY.md"]
    assert sorted(listed) == sorted(there)


class Links(html.parser.HTMLParser):
    """The ids of a page, the addresses it links to and those it loads."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if given.get("id"):
            self.ids.add(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag != "a":
            self.loaded += [given[name] for name in ("href", "src") if given.get(name)]


@pytest.fixture(scope="session")
def book(tmp_path_factory):
    """The book, built, without a warning."""
    mdbook = shutil.which("mdbook", path=pathlib.Path(sys.executable).parent) or shutil.which("mdbook")
    assert mdbook, "there is no mdbook: scripts/test installs it"
    folder = tmp_path_factory.mktemp("book")
    words = [mdbook, "build", ROOT / "docs/book", "--dest-dir", folder]
    done = subprocess.run(words, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "WARN" not in said and "ERROR" not in said, said
    return {path.relative_to(folder).as_posix(): Links(path.read_text()) for path in folder.rglob("*.html")}, folder


def test_links_of_the_book_lead_somewhere(book):
    built, folder = book
    wrong = []
    for name, page in built.items():
        if name in ("print.html", "404.html"):  # every page in one, and a page for any address: made by mdBook
            continue
        for link in [*page.links, *page.loaded]:
            address = urllib.parse.urlsplit(link)
            if address.scheme or address.netloc:
                continue
            path = (folder / name).parent / urllib.parse.unquote(address.path) if address.path else folder / name
            path = path / "index.html" if path.is_dir() else path
            if not path.exists():
                wrong.append(f"{name}: {link}")
            elif address.fragment and path.suffix == ".html":
                there = built[path.resolve().relative_to(folder.resolve()).as_posix()]
                if urllib.parse.unquote(address.fragment) not in there.ids:
                    wrong.append(f"{name}: {link} (no such place on the page)")
    assert not wrong, "\n".join(wrong)
    assert len(built) > 30


def test_the_book_loads_nothing_from_elsewhere(book):
    built, _ = book
    far = [f"{name}: {link}" for name, page in built.items() for link in page.loaded
           if urllib.parse.urlsplit(link).netloc]
    assert not far, "\n".join(far)


def slug(heading):
    """The name that a heading has as a place on a page."""
    words = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]|\]\([^)]*\)", "", heading).lower())
    return words.strip().replace(" ", "-")


def places(path):
    """The places of a Markdown page."""
    text = path.read_text()
    for block in reversed(pages.blocks(text)):
        lines = text.split("\n")
        del lines[block.start:block.start + len(block.lines) + 2]
        text = "\n".join(lines)
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, flags=re.M)}


DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *pages.BOOK.rglob("*.md"), *ROOT.glob("docs/gallery/**/*.md")]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_a_document_lead_somewhere(document):
    wrong = []
    text = re.sub(r"`[^`\n]*`", "", document.read_text())
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        address = urllib.parse.urlsplit(link)
        if address.scheme:
            continue
        path = document.parent / urllib.parse.unquote(address.path) if address.path else document
        if not path.exists():
            wrong.append(link)
        elif address.fragment and path.suffix == ".md" and urllib.parse.unquote(address.fragment) not in places(path):
            wrong.append(f"{link} (no such place on the page)")
    assert not wrong, f"{document.relative_to(ROOT)}: {wrong}"
