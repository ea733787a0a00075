"""One job on Spark: its session, its settings, and the tables that it keeps between stages."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from neardup.kernels.text.keyed import Key
from neardup.lsh.bands import Plan
from neardup.settings import Settings

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, eq=False)
class Job:
    """The parts that all stages share.

    ``key`` hashes the features that are counted; it is broadcast, and never part of a plan or a log. Rows below
    ``first_new`` belong to the reference set. ``work`` is a folder that all machines can write to: stages are kept
    there as Parquet, and else on the disks of the executors, which a lost machine takes with it.
    """

    spark: SparkSession
    settings: Settings
    plan: Plan
    key: Broadcast[Key]
    first_new: int = 0
    work: str | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)

    def keep(self, table: DataFrame, name: str, counted: bool = False) -> DataFrame:
        """Compute a table once and return it as it is stored; ``rows`` has its size if it is ``counted``."""
        from pyspark import StorageLevel

        began = monotonic()
        self.spark.sparkContext.setJobDescription(f"neardup: {name}")
        if self.work is None:
            # a checkpoint ends the plan of the table; plans that grow from stage to stage take minutes
            stored = table.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
        else:
            place = f"{self.work.rstrip('/')}/{name}"
            table.write.mode("overwrite").parquet(place)
            stored = self.spark.read.schema(table.schema).parquet(place)
        if counted:
            self.rows[name] = stored.count()
        self.spark.sparkContext.setJobDescription("neardup")
        self.seconds[name] = monotonic() - began
        return stored

    def release(self) -> None:
        """Drop the key; Spark drops the tables in its storage when nobody refers to them any more."""
        with contextlib.suppress(Exception):  # the session may have ended
            self.key.unpersist()
