"""Frames and columns that a job can use: a DataFrame of a running session, and names that mean one column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from neardup.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OWN = "_neardup_"
"""How the names of our own columns begin, beside the columns of the input."""


def quoted(name: str) -> str:
    """Return the name of a column as SQL and ``DataFrame.select`` read it: dots and backticks are part of it.

    >>> print(quoted("a.b`c"))
    `a.b``c`
    """
    return "`" + name.replace("`", "``") + "`"


def require_frame(df: DataFrame, argument: str) -> None:
    """Raise InputError unless ``df`` is a finite DataFrame of a classic session that has not been stopped."""
    from pyspark.sql import DataFrame

    module = type(df).__module__
    if not isinstance(df, DataFrame) and not module.startswith("pyspark.sql.connect"):
        raise InputError(
            f"{argument} is a {type(df).__qualname__} of {module.partition('.')[0]}",
            "A DataFrame of PySpark",
            "spark.createDataFrame makes one; neardup.dedup takes other frames, on one machine",
        )
    if module.startswith("pyspark.sql.connect"):
        raise InputError(
            f"{argument} is a DataFrame of Spark Connect",
            "A DataFrame of a session with a SparkContext",
            "Run the job on a cluster of its own, with SparkSession.builder.master(…)",
        )
    if df.sparkSession.sparkContext._jsc is None:
        raise InputError(
            f"The SparkSession of {argument} has been stopped",
            "A running session",
            "Read the input again in a new one",
        )
    if df.isStreaming:
        raise InputError(
            f"{argument} is a stream", "A DataFrame that ends", "Store it first, or call dedup in foreachBatch"
        )


def require_column(spark: SparkSession, columns: Sequence[str], name: object, way: str) -> None:
    """Raise InputError unless ``name`` names exactly one of ``columns``, as Spark compares names."""
    listed = ", ".join(columns)
    if name not in columns:
        raise InputError(f'There is no column "{name}"', listed, way)
    exact = spark.conf.get("spark.sql.caseSensitive") == "true"
    alike = [one for one in columns if one == name or (not exact and one.lower() == str(name).lower())]
    if len(alike) > 1:
        raise InputError(
            f'"{name}" names {len(alike)} columns',
            "One column with the name; Spark ignores case unless spark.sql.caseSensitive is set",
            "Rename the others with withColumnRenamed or toDF",
        )


def require_free(df: DataFrame) -> None:
    """Raise InputError if a column has a name that this package gives to its own."""
    taken = [name for name in df.columns if name.lower().startswith(OWN)]
    if taken:
        raise InputError(f'The column "{taken[0]}" has a name that neardup uses itself', "", "Rename it")
