"""Find near-duplicates among the rows of a DataFrame, on a cluster."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from neardup.errors import InputError
from neardup.join.method import choose
from neardup.lsh.bands import plan
from neardup.settings import Settings
from neardup.spark.buckets import candidates
from neardup.spark.components import components
from neardup.spark.decided import CLOSED, HUB, PAIR, ROW, decide, schema_of, tables_of
from neardup.spark.families import families
from neardup.spark.fingerprints import NEW, copies_of, fingerprints, require_ids
from neardup.spark.prefixes import chains
from neardup.spark.result import Deduplicated
from neardup.spark.stages import Stages
from neardup.spark.supported import checked
from neardup.spark.verified import PAIRS, verified
from neardup.text.keys import new_key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def dedup(
    df: DataFrame,
    *,
    text: str,
    id: str,
    against: DataFrame | None = None,
    work: str | None = None,
    **settings: Any,
) -> Deduplicated:
    """Find near-duplicates among the rows of ``df`` on its Spark session, prove each pair, and group them.

    ``text`` and ``id`` name columns; each id names one row. ``against`` is a reference set with the same columns.
    ``settings`` are those of :data:`neardup.settings.FIELDS`, and the result is that of :func:`neardup.find` on
    the rows in the order of the partitions. ``work`` is a folder that all machines can write to: stages are kept
    there as Parquet; without it they are in Spark's own storage, and computed again if a machine is lost.

    Raises SettingError for settings that a run on Spark does not have, and InputError for unusable columns.
    """
    chosen = checked(settings)
    rows = _numbered(df, text, id, NEW if against is not None else 0)
    if against is not None:
        rows = _numbered(against, text, id, 0).union(rows)
    stages = _stages(df, chosen, NEW if against is not None else 0, work)
    return _found(df, rows, id, stages)


def _stages(df: DataFrame, settings: Settings, first_new: int, work: str | None) -> Stages:
    spark, asked = df.sparkSession, settings.search
    bands = plan(asked.threshold, asked.recall, settings.sketch.slots)
    return Stages(spark, settings, bands, spark.sparkContext.broadcast(new_key()), first_new, work)


def _numbered(df: DataFrame, text: str, id: str, first: int) -> DataFrame:
    """(row, id, text): the rows numbered in the order of partitions, with gaps, from ``first`` on."""
    from pyspark.sql import functions, types

    for name in (text, id):
        if name not in df.columns:
            raise InputError(f'There is no column "{name}"', ", ".join(df.columns), "Choose another one")
    if not isinstance(df.schema[text].dataType, types.StringType | types.BinaryType):
        raise InputError(f'The column "{text}" holds {df.schema[text].dataType.simpleString()}', "Strings")
    kind = "bigint" if isinstance(df.schema[id].dataType, types.IntegralType) else "string"
    number = functions.monotonically_increasing_id() + functions.lit(first)
    return df.select(number.alias("row"), df[id].cast(kind).alias("id"), df[text].alias("text"))


def _found(df: DataFrame, rows: DataFrame, id: str, stages: Stages) -> Deduplicated:
    settings, none = stages.settings, stages.spark.createDataFrame([], PAIRS)
    made = fingerprints(rows, stages, settings.search.method != "exact")
    require_ids(made, stages.first_new)
    copies = copies_of(made, stages)
    counts, shingles = _totals(made, copies, stages)
    documents = made.where("units > 0").join(copies.select("row"), "row", "left_anti")
    method = choose(settings.search, shingles).method
    if method == "exact":
        pairs, hub, closed = none, documents.select("row"), none.selectExpr("a as row")
        part = components(chains(documents.select("row", "shingles"), shingles, stages), stages, "parts")
    else:
        met, in_buckets = candidates(documents, stages)
        pairs = verified(met, documents.select("row", "shingles"), stages)
        known = families(pairs, in_buckets, documents.select("row", "units"), stages)
        part, hub, closed = known.part, known.hub, known.closed
        if stages.rows["joined"]:
            joined = documents.select("row", "shingles").join(hub, "row")
            edges = pairs.select("a", "b").union(chains(joined, known.shingles, stages))
            part = components(edges, stages, "parts")
        counts |= {"met": stages.rows["candidates"], "verified": stages.rows["verified"]}
        counts |= {"joined": stages.rows["joined"], "left_out": known.left_out}
    decided = _decided(made, copies, part, pairs, hub, closed, stages)
    return _result(df, made, decided, id, method, counts, stages)


def _totals(made: DataFrame, copies: DataFrame, stages: Stages) -> tuple[dict[str, int], int]:
    """The numbers of rows read, without text, and different; the units of these."""
    new = f"row >= {stages.first_new}"
    sums = made.selectExpr(
        f"count_if({new})", f"count_if({new} and units = 0)", "count_if(units > 0)", "coalesce(sum(units), 0)"
    ).first()
    again = copies.selectExpr("count_if(units > 0)", "coalesce(sum(units), 0)").first()
    assert sums is not None
    assert again is not None
    counts = {"read": sums[0], "without_text": sums[1], "documents": sums[2] - again[0]}
    return counts, sums[3] - again[1]


def _decided(
    made: DataFrame,
    copies: DataFrame,
    part: DataFrame,
    pairs: DataFrame,
    hub: DataFrame,
    closed: DataFrame,
    stages: Stages,
) -> DataFrame:
    """The rows of all tables of the result: those of components, and of copies that are in none; kept."""
    of_id = made.schema["id"].dataType.simpleString()
    doubled = (
        copies.selectExpr("first as row")
        .distinct()
        .join(part, "row", "left_anti")
        .selectExpr("row", "row as part")
    )
    firsts = part.union(doubled)
    members = firsts.selectExpr("row", "row as first", "part").union(
        copies.join(firsts.withColumnRenamed("row", "first"), "first").select("row", "first", "part")
    )
    marked = members.join(hub.selectExpr("row", f"{HUB} as h"), "row", "left")
    marked = marked.join(closed.selectExpr("row", f"{CLOSED} as c"), "row", "left")
    rows = marked.join(made.select("row", "units", "bytes", "id", "shingles"), "row").selectExpr(
        "part",
        f"{ROW} as kind",
        "row as x",
        "first as y",
        "units as n1",
        "bytes as n2",
        "cast(coalesce(h, 0) + coalesce(c, 0) as long) as n3",
        "id",
        "if(row = first, shingles, null) as shingles",
    )
    of_pairs = pairs.join(part.withColumnRenamed("row", "a"), "a").selectExpr(
        "part",
        f"{PAIR} as kind",
        "a as x",
        "b as y",
        "shared as n1",
        "size_a as n2",
        "size_b as n3",
        f"cast(null as {of_id}) as id",
        "cast(null as binary) as shingles",
    )
    together = rows.union(of_pairs).repartition("part").sortWithinPartitions("part", "kind", "x", "y")
    work = partial(decide, stages.settings, stages.key, stages.first_new)
    schema = schema_of(stages.settings, stages.first_new > 0, of_id)
    return stages.keep(together.mapInArrow(work, schema), "decided")


def _result(
    df: DataFrame,
    made: DataFrame,
    decided: DataFrame,
    id: str,
    method: str,
    counts: dict[str, int],
    stages: Stages,
) -> Deduplicated:
    from pyspark.sql import functions

    tables = {
        name: decided.where(f"of = '{name}'").selectExpr(*(f"{name}_{one} as `{one}`" for one in columns))
        for name, columns in tables_of(stages.settings, stages.first_new > 0).items()
    }
    gone = tables["groups"].where("not kept").select("id")
    if stages.settings.keep.empty == "drop":
        gone = gone.union(made.where(f"row >= {stages.first_new} and units = 0").select("id"))
    gone = stages.keep(gone, "removed")
    kind = gone.schema["id"].dataType.simpleString()
    kept = df.join(gone.withColumnRenamed("id", "gone"), df[id].cast(kind) == functions.col("gone"), "left_anti")
    numbers = decided.selectExpr(
        "count_if(of = 'copies') as copies",
        "count_if(of = 'pairs') as pairs",
        "count_if(groups_representative) as groups",
    ).first()
    assert numbers is not None
    removed = stages.rows["removed"]
    counts |= {**numbers.asDict(), "kept": counts["read"] - removed, "removed": removed}
    groups, pairs, copied = tables["groups"], tables["pairs"], tables["copies"]
    return Deduplicated(kept, groups, pairs, copied, counts, stages.settings, method, stages)
