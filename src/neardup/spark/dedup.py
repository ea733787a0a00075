"""Find near-duplicates among the rows of a DataFrame, on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from neardup.deduplication.pairs import choose, is_close, nearest_plan, plan, reconsider, surely_exact
from neardup.errors import InputError, SettingError
from neardup.settings import SettingKeywords, Settings
from neardup.spark.groups import Families, components, families, result_rows, tables_of
from neardup.spark.job import OWN, Deduplicated, SparkJob, checked, quoted, require_column, require_frame
from neardup.spark.pairs import (
    NEW,
    PAIRS,
    candidates,
    chains,
    copies_of,
    fingerprints,
    lookups,
    prefixes,
    require_ids,
    verified,
)
from neardup.text.keys import new_key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from neardup.spark.files import Opened

GONE = f"{OWN}gone"
"""The column of the ids that are removed, beside the columns of the input."""


def dedup(
    df: DataFrame,
    *,
    text: str,
    id: str,
    against: DataFrame | None = None,
    work: str | None = None,
    **settings: Unpack[SettingKeywords],
) -> Deduplicated:
    """Find near-duplicates among the rows of ``df`` on its Spark session, prove each pair, and group them.

    ``text`` and ``id`` name columns; each id names one row. ``against`` is a reference set with the same columns.
    ``settings`` are those of :data:`neardup.settings.FIELDS`, and the result is as in :func:`neardup.find` on
    the rows in the order of the partitions. ``work`` is a folder that all machines can write to: stages are kept
    there as Parquet; without it they are on the disks of the executors, and a lost machine ends the job.

    Raises SettingError for settings that a run on Spark does not have, and InputError for unusable columns.
    """
    chosen = checked(settings)
    require_frame(df, "df")
    if against is not None:
        require_frame(against, "against")
    old = None if against is None else numbered(against, text, id)
    return _run(df, numbered(df, text, id), old, id, chosen, work)


def dedup_files(given: Opened, against: Opened | None, work: str, settings: dict[str, Any]) -> Deduplicated:
    """Like :func:`dedup`, for files; ``given.table`` has the columns of the kept rows."""
    old = None if against is None else against.rows
    return _run(given.table, given.rows, old, given.id, checked(settings), work)


def _run(
    df: DataFrame, rows: DataFrame, old: DataFrame | None, id: str, settings: Settings, work: str | None
) -> Deduplicated:
    first_new = 0
    if old is not None:
        first_new = NEW
        kinds = {table.schema["id"].dataType.simpleString() for table in (rows, old)}
        kind = kinds.pop() if len(kinds) == 1 else "string"
        rows = rows.selectExpr(f"row + {NEW} as row", f"cast(id as {kind}) as id", "text")
        rows = old.selectExpr("row", f"cast(id as {kind}) as id", "text").union(rows)
    spark, search = df.sparkSession, settings.search
    cut = nearest_plan if search.method == "exact" else plan
    bands = cut(search.threshold, search.recall, settings.sketch.slots)
    job = SparkJob(spark, settings, bands, spark.sparkContext.broadcast(new_key()), first_new, work)
    return _found(df, rows, id, job)


def numbered(df: DataFrame, text: str, id: str) -> DataFrame:
    """(row, id, text): the rows numbered in the order of partitions, with gaps."""
    from pyspark.sql import functions, types

    column = functions.col
    for name in (text, id):
        require_column(df.sparkSession, df.columns, name, "Choose another one, with text= and id=")
    kinds = dict(zip(df.columns, (field.dataType for field in df.schema.fields), strict=True))
    if not isinstance(kinds[text], types.StringType | types.BinaryType):
        raise InputError(f'The column "{text}" holds {kinds[text].simpleString()}', "Strings")
    kind = "bigint" if isinstance(kinds[id], types.IntegralType) else "string"
    number = functions.monotonically_increasing_id()
    ids, texts = column(quoted(id)).cast(kind), column(quoted(text))
    return df.select(number.alias("row"), ids.alias("id"), texts.alias("text"))


def _found(df: DataFrame, rows: DataFrame, id: str, job: SparkJob) -> Deduplicated:
    settings, none = job.settings, job.spark.createDataFrame([], PAIRS)
    sketches = fingerprints(rows, job, not surely_exact(settings.search))
    require_ids(sketches, job.first_new)
    copies = copies_of(sketches, job)
    counts, shingles = _totals(sketches, copies, job)
    documents = sketches.where("units > 0").join(job.broadcast(copies.select("row"), "copies"), "row", "left_anti")
    method, entries = _method(documents, shingles, job)
    if entries is not None:
        pairs, part = none, components(chains(entries), job, "parts")
        parts = Families(part, documents.select("row"), none.selectExpr("a as row"), shingles, 0)
    else:
        met, in_buckets = candidates(documents, job)
        pairs = verified(met, documents.select("row", "shingles"), job)
        parts = families(pairs, in_buckets, documents.select("row", "units"), job)
        if job.rows["joined"]:
            joined = documents.select("row", "shingles").join(parts.hub, "row")
            edges = pairs.select("a", "b").union(chains(prefixes(joined, parts.shingles, job)))
            parts = parts._replace(part=components(edges, job, "parts"))
        counts |= {"met": job.rows["candidates"], "verified": job.rows["verified"]}
        counts |= {"joined": job.rows["joined"], "left_out": parts.left_out}
    tables = result_rows(sketches, copies, pairs, parts, job)
    return _result(df, sketches, tables, id, method, counts, job)


def _method(documents: DataFrame, shingles: int, job: SparkJob) -> tuple[str, DataFrame | None]:
    """The method that a run on one machine would choose, and for an exact join the entries of its prefixes."""
    search = job.settings.search
    choice = choose(search, shingles, job.settings.shingles.unit)
    if choice.method != "exact":
        return choice.method, None
    entries = prefixes(documents.select("row", "shingles"), shingles, job)
    if surely_exact(search):
        return "exact", entries
    count, tied = lookups(entries)
    if is_close(choice, search, count, tied):
        raise SettingError(
            f"method auto: an exact join would look at about {count:,} pairs, too close to the limit of auto",
            "method lsh or exact",
            "Give one of them: a run on one machine counts these pairs in another way",
        )
    method = reconsider(choice, search, count).method
    return method, entries if method == "exact" else None


def _totals(frame: DataFrame, copies: DataFrame, job: SparkJob) -> tuple[dict[str, int], int]:
    """The numbers of rows read, without text, and different; the units of these. Counts the copies."""
    new = f"row >= {job.first_new}"
    sums = frame.selectExpr(
        f"count_if({new})", f"count_if({new} and units = 0)", "count_if(units > 0)", "coalesce(sum(units), 0)"
    ).first()
    again = copies.selectExpr("count_if(units > 0)", "coalesce(sum(units), 0)", "count(*)").first()
    assert sums is not None
    assert again is not None
    job.rows["copies"] = again[2]
    counts = {"read": sums[0], "without_text": sums[1], "documents": sums[2] - again[0]}
    return counts, sums[3] - again[1]


def _result(
    df: DataFrame, frame: DataFrame, rows: DataFrame, id: str, method: str, counts: dict[str, int], job: SparkJob
) -> Deduplicated:
    from pyspark.sql import functions

    tables = {
        name: rows.where(f"of = '{name}'").selectExpr(*(f"{name}_{one} as `{one}`" for one in columns))
        for name, columns in tables_of(job.settings.search.measure, job.first_new > 0).items()
    }
    gone = tables["groups"].where("not kept").select("id")
    if job.settings.keep.empty == "drop":
        gone = gone.union(frame.where(f"row >= {job.first_new} and units = 0").select("id"))
    numbers = rows.selectExpr(
        "count_if(of = 'copies') as copies",
        "count_if(of = 'pairs') as pairs",
        "count_if(groups_representative) as groups",
        "count_if(not groups_kept) as removed",
    ).first()
    assert numbers is not None
    without_text = counts["without_text"] if job.settings.keep.empty == "drop" else 0
    removed = job.rows["removed"] = numbers["removed"] + without_text
    kind = gone.schema["id"].dataType.simpleString()
    out = job.broadcast(gone.withColumnRenamed("id", GONE), "removed", width=8)
    kept = df.join(out, functions.col(quoted(id)).cast(kind) == functions.col(GONE), "left_anti")
    counts |= {name: numbers[name] for name in ("copies", "pairs", "groups")}
    counts |= {"kept": counts["read"] - removed, "removed": removed}
    return Deduplicated(kept, **tables, counts=counts, settings=job.settings, method=method, job=job)
