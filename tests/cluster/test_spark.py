"""A Spark cluster counts a study's rows, and the program says the same of its counts, byte for byte, as
of the rows: by the printed query, by a DataFrame, by Ibis, and with a worker killed in the middle."""

import threading
import time

import engines
import pyarrow.parquet
import pytest


def rows(spark, asked, typed):
    """The rows of a case; an empty name is Spark's own."""
    return spark.read.csv(
        str(asked.rows), header=True, inferSchema=typed, multiLine=True, quote='"', escape='"', encoding="UTF-8"
    )


def saved(asked, name, table):
    path = asked.folder / f"{name}.parquet"
    pyarrow.parquet.write_table(table, path)
    return path


@pytest.mark.parametrize(
    ("name", "typed"), [*((name, False) for name in engines.CASES), *((name, True) for name in engines.TYPED)]
)
def test_the_printed_query(case, spark, name, typed):
    asked = case(name)
    rows(spark, asked, typed).createOrReplaceTempView("visits")
    counts = spark.sql(asked.query("spark", "visits")).toArrow()
    assert asked.from_counts(saved(asked, f"spark-{typed}", counts)) == asked.raw


def test_a_folder_that_spark_wrote(case, spark):
    asked = case("demo")
    rows(spark, asked, True).createOrReplaceTempView("visits")
    folder = asked.folder / "parts"
    spark.sql(asked.query("spark", "visits")).repartition(3).write.parquet(str(folder))
    files = sorted(f for f in folder.iterdir() if f.suffix == ".parquet")
    assert len(files) == 3
    told, raw = asked.from_counts(folder), asked.raw
    listed = ",".join(f'"{file}"' for file in files).encode()
    assert [one.replace(listed, b'"rows"') for one in told] == raw


QUESTION = dict(
    context={
        "conscious": {"kind": "ordinal", "levels": ["alert", "drowsy", "unconscious"]},
        "age": {"kind": "numeric", "bin": 10},
        "sex": "nominal",
        "systolic": {"kind": "numeric", "bin": 20},
    },
    action={"treat": {"arm": "treat"}, "control": {"arm": "control"}},
    cost={"ischaemic": 1, "dead": {"Y": 3}},
    where={"stroke": {"not": "TACS"}},
    radius=[0.01, 0.05],
    model={"kind": "tree", "max_depth": 3, "min_samples_leaf": 20},
)


@pytest.mark.filterwarnings("ignore")
def test_frames_and_ibis_are_counted_where_they_are(case, spark):
    import ibis
    import seawall

    asked = case("demo")
    frame = rows(spark, asked, True)
    raw = seawall.Study(str(asked.rows), **QUESTION).evaluate(["uniform", "greedy"], splits=2).to_dict()
    by_frame = seawall.Study(frame, **QUESTION).evaluate(["uniform", "greedy"], splits=2).to_dict()
    frame.createOrReplaceTempView("patients")
    table = ibis.pyspark.connect(spark).table("patients")
    by_ibis = seawall.Study(table, **QUESTION).evaluate(["uniform", "greedy"], splits=2).to_dict()
    for found in (raw, by_frame, by_ibis):
        found["diagnostics"].pop("files")
    assert repr(by_frame) == repr(raw)
    assert repr(by_ibis) == repr(raw)


def slow_rows(spark, asked, seconds):
    """The rows of a case in many parts, each of which takes a while."""

    def wait(batches):
        import time

        time.sleep(seconds)
        yield from batches

    frame = rows(spark, asked, False).repartition(24)
    return frame.mapInArrow(wait, frame.schema)


def test_a_worker_is_killed_in_the_middle(case, spark, cluster):
    """The engine does the lost parts again elsewhere: the answer is the same."""
    asked = case("demo")
    slow_rows(spark, asked, 1.0).createOrReplaceTempView("slow")
    found = []
    counting = threading.Thread(target=lambda: found.append(spark.sql(asked.query("spark", "slow")).toArrow()))
    counting.start()
    tracker = spark.sparkContext.statusTracker()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        stages = [tracker.getStageInfo(k) for k in tracker.getActiveStageIds()]
        if any(s and s.numTasks == 24 and 3 <= s.numCompletedTasks < 20 for s in stages):
            break
        time.sleep(0.1)
    else:
        raise AssertionError("the count was never in its middle")
    cluster.kill(cluster.workers[0])
    counting.join(180)
    assert not counting.is_alive() and found, "the count did not end"
    assert asked.from_counts(saved(asked, "killed", found[0])) == asked.raw
    cluster.workers[0] = cluster.worker(0)


@pytest.mark.filterwarnings("ignore")
def test_an_engine_that_goes_away(case, spark):
    """The error says what was lost, which is nothing, and the next call is right."""
    import seawall

    asked = case("demo")
    frame = slow_rows(spark, asked, 2.0)
    cancel = threading.Timer(6.0, spark.sparkContext.cancelAllJobs)
    cancel.start()
    with pytest.raises(seawall.InputError, match="did not finish the count.*nothing was lost"):
        seawall.Study(frame, **QUESTION)
    assert seawall.Study(rows(spark, asked, True), **QUESTION).check().rows > 0
