"""A real Spark cluster on this machine: a master and two workers as processes, and one session for all tests."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from support.paths import ROOT, TESTS

LOOPBACK = "127.0.0.1"
_PATIENCE = 120.0
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_FOR_SMALL_DATA = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": _QUICK,
    "spark.executor.extraJavaOptions": _QUICK,
}
"""It costs more to compile queries, and to plan them again, than to run them."""


def missing() -> str:
    """Why no cluster can be started here; "" if one can."""
    if find_spec("pyspark") is None:
        return "the extra spark is not installed"
    if shutil.which("java") is None:
        return "there is no Java: Spark needs a runtime of version 17"
    return ""


@dataclass(frozen=True)
class Cluster:
    """The address of the master, and the processes of the workers."""

    master: str
    workers: tuple[subprocess.Popen[bytes], ...]
    folder: Path

    def kill_a_worker(self) -> None:
        """End the first worker and its executor at once, without giving them time for anything."""
        worker = self.workers[0]
        for pid in [worker.pid, *children(worker.pid)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        worker.wait()


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Start a master and two workers of one core each; end them afterwards."""
    port, started = _free_port(), []
    master = f"spark://{LOOPBACK}:{port}"
    try:
        at = ("--host", LOOPBACK, "--port", str(port), "--webui-port", str(_free_port()))
        started.append(_start(folder, "master", "org.apache.spark.deploy.master.Master", *at))
        _wait_for(port)
        for number in range(2):
            options = ("--host", LOOPBACK, "--cores", "1", "--memory", "900m", "--webui-port", str(_free_port()))
            name = f"worker-{number}"
            place = ("--work-dir", str(folder / name))
            started.append(_start(folder, name, "org.apache.spark.deploy.worker.Worker", *options, *place, master))
        yield Cluster(master, tuple(started[1:]), folder)
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()


def session(master: str, folder: Path, quick: bool = True, **conf: Any) -> Any:
    """Open a session on a cluster, or on a master such as local[2]; ``quick`` is for small data."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # the setting of this name is ignored for executors
    os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    told = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "700m",
        "spark.executor.memory": "700m",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.executorEnv.PYTHONPATH": f"{ROOT / 'src'}:{TESTS}",
        **(_FOR_SMALL_DATA if quick else {}),
        **conf,
    }
    builder = SparkSession.builder.master(master).appName("neardup tests")
    for name, value in told.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _start(folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    import pyspark

    home = Path(pyspark.__file__).parent
    places = {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_DIRS": str(folder / f"{name}-local"),
        "SPARK_LOCAL_IP": LOOPBACK,
    }
    environment = {
        **os.environ,
        **places,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": _QUICK,
        "PYSPARK_PYTHON": sys.executable,
    }
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), *arguments], env=environment, stdout=log, stderr=subprocess.STDOUT
        )


def children(pid: int) -> list[int]:
    """The processes that a process has started, and theirs."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            own = [int(child) for child in (task / "children").read_text().split()]
            found += [*own, *(grandchild for child in own for grandchild in children(child))]
    return found


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        return int(found.getsockname()[1])


def _wait_for(port: int) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection((LOOPBACK, port), 1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"the master does not answer on port {port}")
