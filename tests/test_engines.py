"""DuckDB and PostgreSQL count a study's rows, and the program says the same of their counts, byte for
byte, as of the rows."""

import csv
import os
import pathlib
import pwd
import shutil
import subprocess

import duckdb
import engines
import pytest
import sqlglot


@pytest.fixture(scope="session")
def case(seawall, tmp_path_factory):
    """A case by its name, made and asked once."""
    engines.PROGRAM, made = seawall, {}

    def find(name):
        if name not in made:
            made[name] = engines.Case(name, tmp_path_factory.mktemp(name))
        if made[name].absent:
            pytest.skip(made[name].absent)
        return made[name]

    return find


def duckdb_rows(path, typed):
    return f"read_csv('{path}', header = true, all_varchar = {str(not typed).lower()}, quote = '\"', escape = '\"')"


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("name", engines.CASES)
def test_counted_here(case, name, ending):
    asked = case(name)
    counts = asked.folder / f"own.{ending}"
    subprocess.run([engines.PROGRAM, "count", asked.study, "--out", counts], check=True, capture_output=True)
    assert asked.from_counts(counts) == asked.raw


@pytest.mark.parametrize("name", engines.CASES)
def test_duckdb_with_texts(case, name):
    asked = case(name)
    counts = asked.folder / "duckdb.parquet"
    query = asked.query("duckdb", duckdb_rows(asked.rows, typed=False))
    duckdb.connect().execute(f"COPY ({query}) TO '{counts}'")
    assert asked.from_counts(counts) == asked.raw


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("name", engines.TYPED)
def test_duckdb_with_types(case, name, ending):
    asked = case(name)
    counts = asked.folder / f"duckdb-typed.{ending}"
    query = asked.query("duckdb", duckdb_rows(asked.rows, typed=True))
    duckdb.connect().execute(f"COPY ({query}) TO '{counts}'")
    assert asked.from_counts(counts) == asked.raw


class Postgres:
    """A cluster of its own, on a socket of its own, run by a user who is not root."""

    def __init__(self, folder):
        found = shutil.which("initdb")
        found = pathlib.Path(found).resolve() if found else None
        versions = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        found = versions[-1] if versions else found
        assert found, "there is no PostgreSQL: scripts/test installs it"
        self.programs, self.folder = found.parent, folder
        self.data, self.socket = folder / "data", folder / "s"
        self.user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        self.socket.mkdir()
        if os.geteuid() == 0:
            for path in (folder, self.socket):
                shutil.chown(path, self.user)
        self.run("initdb", "-D", self.data, "-U", "seawall", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        settings = f"-c listen_addresses='' -c unix_socket_directories={self.socket} -c timezone=UTC"
        self.run("pg_ctl", "-D", self.data, "-o", settings, "-l", folder / "log", "-w", "start")

    def run(self, program, *words):
        words = [str(self.programs / program), *map(str, words)]
        if os.geteuid() == 0:
            words = ["runuser", "-u", self.user, "--", *words]
        done = subprocess.run(words, capture_output=True, cwd=self.folder)
        assert done.returncode == 0, done.stderr.decode()

    def psql(self, text, out=None, check=True):
        words = [str(self.programs / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "--csv", "-h", str(self.socket),
                 "-U", "seawall", "-d", "postgres", "-f", "-"]
        with open(out, "wb") if out else open(os.devnull, "wb") as file:
            done = subprocess.run(words, input=text.encode(), stdout=file, stderr=subprocess.PIPE)
        assert not check or done.returncode == 0, done.stderr.decode()
        return done

    def load(self, table, path, types):
        quoted = lambda name: '"' + name.replace('"', '""') + '"'
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in types.items())
        self.psql(f"DROP TABLE IF EXISTS {quoted(table)}; CREATE TABLE {quoted(table)} ({columns});\n"
                  f"\\copy {quoted(table)} from '{path}' with (format csv, header true)\n")

    def stop(self):
        self.run("pg_ctl", "-D", self.data, "-m", "immediate", "stop")


@pytest.fixture(scope="session")
def postgres():
    # A socket's path has to be short.
    folder = pathlib.Path(subprocess.check_output(["mktemp", "-d", "/tmp/seawall-pg-XXXX"], text=True).strip())
    server = Postgres(folder)
    yield server
    server.stop()
    shutil.rmtree(folder)


def postgres_types(path):
    """The types that DuckDB finds, in PostgreSQL's words."""
    names = {"BIGINT": "bigint", "DOUBLE": "double precision", "VARCHAR": "text", "BOOLEAN": "boolean",
             "DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamptz", "TIME": "text"}
    found = duckdb.sql(f"SELECT * FROM {duckdb_rows(path, typed=True)} LIMIT 1")
    with open(path, newline="", encoding="utf-8") as file:
        header = next(csv.reader(file))
    return {name or "column0": names[str(kind)] for name, kind in zip(header, found.types)}


@pytest.mark.parametrize("typed", [False, True], ids=["texts", "types"])
@pytest.mark.parametrize("name", engines.CASES)
def test_postgres(case, postgres, name, typed):
    asked = case(name)
    if typed and name not in engines.TYPED:
        types = dict.fromkeys(asked.names(), "varchar(500)")
    elif typed:
        types = postgres_types(asked.rows)
    else:
        types = {name or "column0": "text" for name in asked.names()}
    postgres.load("rows", asked.rows, types)
    counts = asked.folder / f"postgres-{typed}.csv"
    postgres.psql(asked.query("postgres", "rows"), counts)
    assert asked.from_counts(counts) == asked.raw


def test_postgres_that_goes_away(case, postgres):
    """A server that is shut down in the middle gives an error and no table; the next count is right."""
    asked = case("demo")
    postgres.load("rows", asked.rows, {name: "text" for name in asked.names()})
    slow = "(SELECT r.* FROM rows r, (SELECT pg_sleep(30)) s) rows"
    counts = asked.folder / "gone.csv"
    words = ["psql", "-X", "-q", "--csv", "-h", str(postgres.socket), "-U", "seawall", "-d", "postgres", "-f", "-"]
    query = asked.query("postgres", slow)
    with open(counts, "wb") as file:
        waiting = subprocess.Popen(
            [str(postgres.programs / words[0]), *words[1:]], stdin=subprocess.PIPE, stdout=file, stderr=subprocess.PIPE
        )
        waiting.stdin.write(query.encode())
        waiting.stdin.close()
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)%' AND pid <> pg_backend_pid();"
        for _ in range(100):
            if waiting.poll() is not None:
                break
            postgres.psql(ended)
            subprocess.run(["sleep", "0.1"])
    assert waiting.returncode != 0 and b"terminating connection" in waiting.stderr.read()
    done = subprocess.run([engines.PROGRAM, "check", asked.study], capture_output=True)
    assert done.returncode == 0
    # What it left is nothing, and is refused as that.
    study = asked.folder / "gone.toml"
    study.write_text(asked.study.read_text().replace(str(asked.rows) + '"', f'{counts}"\ncounted = true', 1))
    done = subprocess.run([engines.PROGRAM, "check", study], capture_output=True, text=True)
    assert done.returncode == 2 and "the file is empty" in done.stderr, done.stderr
    postgres.psql(asked.query("postgres", "rows"), counts)
    assert asked.from_counts(counts) == asked.raw


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "duckdb", "spark"])
@pytest.mark.parametrize("name", ["hostile", "clusters"])
def test_a_query_is_one_statement(case, name, dialect):
    """An independent parser finds one SELECT, and the texts in it are those of the study."""
    asked = case(name)
    statements = sqlglot.parse(asked.query(dialect, "visits"), read=dialect)
    assert len(statements) == 1 and isinstance(statements[0], sqlglot.exp.Select)
    tables = {table.name for table in statements[0].find_all(sqlglot.exp.Table)}
    assert {name for name in tables if not name.startswith("seawall_")} == {"visits"}
    if name == "hostile":
        texts = {literal.this for literal in statements[0].find_all(sqlglot.exp.Literal) if literal.is_string}
        lost = [level for level in engines.HOSTILE_LEVELS[:-1] if level not in texts]
        # It leaves Spark's own way to write a dollar as it is.
        assert [level for level in lost if not (dialect == "spark" and "$" in level)] == []
        names = {column.name for column in statements[0].find_all(sqlglot.exp.Column)}
        assert not [name for name in engines.HOSTILE_NAMES if name not in names]


def test_a_dialect_that_there_is_not(case):
    done = subprocess.run(
        [engines.PROGRAM, "sql", case("demo").study, "--dialect", "oracle"], capture_output=True, text=True
    )
    assert done.returncode == 2
    for name in ("ansi", "duckdb", "postgres", "spark", "bigquery", "snowflake"):
        assert name in done.stderr
