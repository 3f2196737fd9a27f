"""A Spark cluster of its own: one master and two workers on this machine, started and stopped here.

Run by `scripts/test --cluster` in an environment with PySpark and the built package; the other tests do
without."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import engines  # noqa: E402

ROOT = engines.ROOT


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


class Cluster:
    """One master and two workers, each a process of its own."""

    def __init__(self, folder):
        import pyspark

        self.folder, self.home = folder, pathlib.Path(pyspark.__file__).parent
        self.port, self.page = free_port(), free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self.master = self.start(
            "master", "org.apache.spark.deploy.master.Master",
            "--host", "127.0.0.1", "--port", self.port, "--webui-port", self.page,
        )
        self.workers = [self.worker(k) for k in range(2)]
        self.wait_for(2)

    def start(self, name, *words):
        settings = os.environ | {
            "SPARK_HOME": str(self.home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable,
            "SPARK_WORKER_DIR": str(self.folder / name), "SPARK_DAEMON_MEMORY": "512m",
        }
        log = open(self.folder / f"{name}.log", "wb")
        # A session of its own, so that a worker is killed with its executors and nothing else is.
        return subprocess.Popen(
            [str(self.home / "bin/spark-class"), *map(str, words)], env=settings, stdout=log, stderr=log,
            start_new_session=True,
        )

    def worker(self, k):
        return self.start(
            f"worker-{k}", "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", 1,
            "--memory", "1g", "--webui-port", free_port(), self.url,
        )

    def alive(self):
        import json

        with urllib.request.urlopen(f"http://127.0.0.1:{self.page}/json/", timeout=10) as page:
            return sum(worker["state"] == "ALIVE" for worker in json.load(page)["workers"])

    def wait_for(self, count, seconds=120):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if self.alive() == count:
                    return
            except OSError:
                pass
            time.sleep(0.5)
        raise AssertionError(f"the cluster has not {count} workers after {seconds} s; see {self.folder}")

    def kill(self, process):
        os.killpg(process.pid, 9)
        process.wait()

    def stop(self):
        for process in [*self.workers, self.master]:
            if process.poll() is None:
                self.kill(process)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    assert shutil.which("java"), "there is no Java: scripts/test --cluster installs it"
    running = Cluster(tmp_path_factory.mktemp("cluster"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def spark(cluster):
    from pyspark.sql import SparkSession

    # What workers run Python with.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master(cluster.url)
        .appName("seawall")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "900m")
        .config("spark.executor.cores", "1")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.network.timeout", "60s")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def case(tmp_path_factory):
    """A case by its name, made and asked once."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    engines.PROGRAM, made = target / "release/seawall", {}
    assert engines.PROGRAM.exists(), f"{engines.PROGRAM} is not built: run scripts/test"

    def find(name):
        if name not in made:
            made[name] = engines.Case(name, tmp_path_factory.mktemp(name))
        if made[name].absent:
            pytest.skip(made[name].absent)
        return made[name]

    return find
