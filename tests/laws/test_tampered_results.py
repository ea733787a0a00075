"""Results that somebody has changed, with a manifest that agrees: the verifier notices each change."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neardup import verifier
from support.command_line import run_json
from support.made_results import Case, Rows, in_json, made
from support.sealed import seal

BASES = {
    "plain": Case("jsonl"),
    "csv": Case("semicolons"),
    "two columns": Case("two columns", ("--text", "title,body")),
    "nested": Case("nested", ("--text", "messages[].content", "--id", "meta.id")),
    "parquet": Case("parquet"),
    "arrow": Case("arrow"),
    "tsv": Case("tsv"),
    "gzip": Case("gzip"),
    "shards": Case("jsonl", ("--file-size", "3kB")),
    "several": Case("several"),
    "texts": Case("texts"),
    "broken": Case("broken lines"),
    "containment": Case("jsonl", ("--measure", "containment", "--threshold", "0.6")),
    "vocabulary": Case("jsonl", ("--measure", "vocabulary", "--threshold", "0.7")),
    "components": Case("jsonl", ("--groups", "components", "--threshold", "0.5")),
    "lsh": Case("jsonl", ("--method", "lsh", "--threshold", "0.5")),
    "group": Case("jsonl", (), 0, "group"),
    "drop": Case("jsonl", ("--empty", "drop")),
    "removed": Case("jsonl", ("--write-removed",)),
    "newest": Case("parquet", ("--keep", "max:year")),
    "annotated": Case("without ids", ("--annotate",)),
    "by": Case("jsonl", ("--by", "lang")),
    "none": Case("jsonl", ("--keep", "none")),
    "zip": Case("zip"),
}
TABLES = "pairs", "groups", "copies", "ranks", "located", "texts", "not_judged", "places"
HARMLESS = {
    ("places", "id"): "whether a column names the documents is in run.json, which is compared",
    ("texts", "fields"): "the time of a file, which a copy of it does not keep, and values that are no words",
}
"""Cells that nothing follows from, each with the reason."""
Change = Callable[[Path], object]


def status(folder: Path) -> tuple[int, str]:
    """The exit status of the verifier, and its lines."""
    with redirect_stdout(io.StringIO()) as printed:
        ended = verifier.main([str(folder)])
    return ended, printed.getvalue()


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Results that are made once each."""
    folder = tmp_path_factory.mktemp("bases")
    return cache(lambda name: made(BASES[name], folder / name))


def tampered(base: Path, folder: Path, change: Change) -> tuple[int, str]:
    """The verdict about a copy of a result that was changed, with a manifest that agrees."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(base, out)
    change(out)
    seal(out)
    return status(out)


def table(name: str, change: Callable[[Rows], object]) -> Change:
    def apply(out: Path) -> None:
        path = out / f"{name}.parquet"
        schema, rows = pq.read_schema(path), pq.read_table(path).to_pylist()
        pq.write_table(pa.Table.from_pylist(change(rows) or rows, schema), path)

    return apply


def another(value: Any, kind: pa.DataType) -> Any:
    """Another value of a type."""
    if pa.types.is_boolean(kind):
        return not value
    if pa.types.is_integer(kind):
        return (value or 0) + 1
    if pa.types.is_floating(kind):
        return (value or 0) / 2 + 0.1
    if pa.types.is_fixed_size_binary(kind):
        return bytes(kind.byte_width)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return (value or b"") + b" more words"
    return '{"lang":"xx"}' if str(value).startswith("{") else f"{value or ''}x"


def cell(name: str, column: str, row: int = 0) -> Change:
    def apply(out: Path) -> None:
        path = out / f"{name}.parquet"
        schema, rows = pq.read_schema(path), pq.read_table(path).to_pylist()
        rows[row % len(rows)][column] = another(rows[row % len(rows)][column], schema.field(column).type)
        pq.write_table(pa.Table.from_pylist(rows, schema), path)

    return apply


def account(*keys: str | int, value: Any = None) -> Change:
    """Change a value of run.json."""

    def apply(out: Path) -> None:
        run = run_json(out)
        place = run
        for key in keys[:-1]:
            place = place[key]
        old = place[keys[-1]]
        new = f"{old}." if isinstance(old, str) else (not old) if isinstance(old, bool) else (old or 0) + 1
        place[keys[-1]] = new if value is None else value
        (out / "run.json").write_text(json.dumps(run), encoding="utf-8")

    return apply


def together(*changes: Change) -> Change:
    def apply(out: Path) -> None:
        for change in changes:
            change(out)

    return apply


ROWS: dict[str, Callable[[Rows], object]] = {
    "the first row is missing": lambda rows: rows.pop(0) and None,
    "the last row is missing": lambda rows: rows.pop() and None,
    "a row is twice": lambda rows: rows.insert(0, dict(rows[0])),
    "rows have another order": lambda rows: rows.reverse(),
}
LINES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "the first row is missing": lambda lines: [lines[0], *lines[2:]],
    "the last row is missing": lambda lines: lines[:-1],
    "a row is twice": lambda lines: [*lines, lines[-1]],
    "rows have another order": lambda lines: [lines[0], *lines[:0:-1]],
    "a row is forged": lambda lines: [*lines[:-1], lines[-1].replace(b"e", b"a")],
    "it is cut to two rows, and one is forged": lambda lines: [*lines[:3], lines[3].replace(b"1", b"7")],
}


def kept_lines(change: Callable[[list[bytes]], list[bytes]], end: bytes = b"\n") -> Change:
    """Change the lines of kept.csv or kept.jsonl; the first one is a header or another row."""

    def apply(out: Path) -> None:
        [path] = (path for path in out.glob("kept.*"))
        path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))

    return apply


def kept_rows(change: Callable[[Rows], object]) -> Change:
    def apply(out: Path) -> None:
        [path] = out.glob("kept.*")
        rows = pq.read_table(path).to_pylist() if path.suffix == ".parquet" else _arrow(path).to_pylist()
        made_rows = pa.Table.from_pylist(change(rows) or rows)
        if path.suffix == ".parquet":
            pq.write_table(made_rows, path)
        else:
            with pa.ipc.new_file(path, made_rows.schema) as writer:
                writer.write_table(made_rows)

    return apply


def _arrow(path: Path) -> pa.Table:
    return pa.ipc.open_file(pa.BufferReader(path.read_bytes())).read_all()


def set_value(column: str, value: Any) -> Callable[[Rows], object]:
    return lambda rows: rows[1].update({column: value})


def hidden_group(out: Path) -> None:
    """Take the copies of a document, its group and its ranks away, and keep its rows, with all counts."""
    groups = pq.read_table(out / "groups.parquet").to_pylist()
    first = groups[0]["group"]
    gone = {row["id"] for row in groups if row["group"] == first}
    pairs = {(row["id_a"], row["id_b"]) for row in pq.read_table(out / "pairs.parquet").to_pylist()}
    for name, columns in (("groups", ("id",)), ("copies", ("id", "copy_of")), ("pairs", ("id_a", "id_b"))):
        table(name, lambda rows, columns=columns: [r for r in rows if not any(r[c] in gone for c in columns)])(out)
    ranks = pq.read_table(out / "ranks.parquet").to_pylist()
    rows = {row["row"] for row in ranks if row["id"] in gone}
    for name in ("ranks", "located", "texts"):
        table(name, lambda lines: [line for line in lines if line["row"] not in rows])(out)
    run = run_json(out)
    left = {name: pq.read_table(out / f"{name}.parquet").to_pylist() for name in ("groups", "copies", "pairs")}
    run["counts"] |= {"pairs": len(left["pairs"]), "exact_copies": len(left["copies"])}
    run["counts"] |= {"groups": sum(row["representative"] for row in left["groups"])}
    assert pairs
    (out / "run.json").write_text(json.dumps(run), encoding="utf-8")


def replaced(name: str, old: bytes, new: bytes) -> Change:
    """Replace bytes of a file, where they are first."""

    def apply(out: Path) -> None:
        data = (out / name).read_bytes()
        assert old in data
        (out / name).write_bytes(data.replace(old, new, 1))

    return apply


def dropped_line(name: str) -> Change:
    """Drop the last line of a file."""

    def apply(out: Path) -> None:
        lines = (out / name).read_bytes().splitlines(keepends=True)
        (out / name).write_bytes(b"".join(lines[:-1]))

    return apply


def exchanged_ranks(rows: Rows) -> None:
    rows[0]["rank"], rows[1]["rank"] = rows[1]["rank"], rows[0]["rank"]


def replaced_pair(rows: Rows) -> None:
    """Put two documents that are alike in nothing in the place of a pair."""
    rows[-1] |= {"id_b": rows[0]["id_b"]} if rows[-1]["id_a"] < rows[0]["id_b"] else {"id_a": rows[0]["id_a"]}


def forged_problem(row: int) -> Change:
    """Reject a good row, and take it out of the kept rows."""

    def apply(out: Path) -> None:
        place = pq.read_table(out / "places.parquet").to_pylist()[0]
        problem = {
            "source": place["name"],
            "row": row,
            "reason": "not JSON",
            "raw": "",
            "file": None,
            "kind": None,
        }
        (out / "problems.jsonl").write_text(json.dumps(problem) + "\n", encoding="utf-8")
        kept = out / "kept.jsonl"
        lines = kept.read_bytes().splitlines(keepends=True)
        kept.write_bytes(b"".join(lines[:-1]))

    return apply


def dropped_as_empty(rows: Rows) -> Rows:
    return [*rows, {**rows[-1], "id": "d30", "bytes": 9, "kept": False}]


def moved_text(out: Path) -> None:
    """Exchange two kept files of a folder."""
    one, other = sorted((out / "kept").rglob("*.txt"))[:2]
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


Tamperings = Iterator[tuple[str, str, Change]]


def of_tables() -> Tamperings:
    """Yield the base, the name and the change of each tampering with tables."""
    columns = {
        "pairs": "id_a id_b shared size_a size_b resemblance containment_a containment_b",
        "groups": "id group representative similarity kept reason size identical " + " ".join(verifier.LOST),
        "copies": "id copy_of identical_to difference",
        "ranks": "id row first words identical rank reference bytes",
        "located": "row file number",
        "texts": "row text fields",
        "not_judged": "id kind bytes kept reason",
        "places": "file reference format text name path size digest",
    }
    for name, names in columns.items():
        for column in names.split():
            yield "plain", f"{name}: {column}", cell(name, column, 1)
        for what, change in ROWS.items():
            if name != "places":
                yield "plain", f"{name}: {what}", table(name, change)


def of_accounts() -> Tamperings:
    """Yield those with run.json."""
    counts = (
        "read rejected empty short null invalid_utf8 exact_copies identical_copies not_judged different "
        "candidates verified capped"
    )
    for key in (*counts.split(), "pairs", "groups", "near_copies", "removed", "kept"):
        yield "plain", f"run.json: counts {key}", account("counts", key)
    for key in ("removed", "losing", "unknown", "shingles", "lost"):
        yield "plain", f"run.json: lost {key}", account("lost", key)
    for keys in (("bytes", "text"), ("bytes", "removed_text"), ("not_judged", "total"), ("not_judged", "removed")):
        yield "plain", f"run.json: {' '.join(keys)}", account(*keys)
    for keys in (
        ("recall", "statement"),
        ("recall", "at_least"),
        ("recall", "planned"),
        ("recall", "at_threshold"),
    ):
        yield "plain", f"run.json: {' '.join(keys)}", account(*keys)
    for which in ("predicted", "missed"):
        for end in ("estimated", "low", "high"):
            yield "plain", f"run.json: recall {which} {end}", account("recall", which, end)
    yield "plain", "run.json: the largest loss", account("lost", "most", 0, "lost_shingles")
    yield "plain", "run.json: removed by file", account("removed_by", "files", 0, "removed")
    yield "plain", "run.json: chains", account("chaining", "groups")
    yield "plain", "run.json: components", account("chaining", "components_would_chain")
    yield "plain", "run.json: crowds", account("popular", "documents")
    yield "plain", "run.json: threshold", account("settings", "threshold", value=0.75)
    yield "plain", "run.json: rows of kept files", account("kept_files", "listed", 0, "rows")
    yield "plain", "run.json: a name of an input", account("inputs", 0)
    yield "plain", "run.json: the text column", account("columns", "text")


def of_kept_rows() -> Tamperings:
    """Yield those with kept rows."""
    for base in ("csv", "two columns", "tsv", "plain", "nested"):
        for what, change in LINES.items():
            yield base, f"kept rows of {base}: {what}", kept_lines(change)
    for base in ("parquet", "arrow"):
        for what, change in ROWS.items():
            yield base, f"kept rows of {base}: {what}", kept_rows(change)
        for column, value in (("group", "g9"), ("similarity", 0.5), ("note", None), ("text", "x")):
            yield base, f"kept rows of {base}: another {column}", kept_rows(set_value(column, value))
    for base in ("csv", "plain"):
        for old, new in ((b"g1", b"g2"), (b".5", b".6"), (b"1997", b"1979")):
            change = kept_lines(lambda lines, old=old, new=new: [line.replace(old, new) for line in lines])
            yield base, f"kept rows of {base}: {old.decode()} is {new.decode()}", change
    yield "gzip", "kept rows of gzip: another file", lambda out: (out / "kept.jsonl.gz").write_bytes(b"")
    yield "shards", "a shard is missing", lambda out: min((out / "kept").iterdir()).unlink()
    yield (
        "shards",
        "a shard is twice",
        lambda out: shutil.copy(min((out / "kept").iterdir()), out / "kept" / "z.jsonl"),
    )
    yield (
        "several",
        "kept files have each other's rows",
        lambda out: shutil.copy(*sorted((out / "kept").iterdir())[:2]),
    )
    yield "texts", "two kept files are exchanged", moved_text
    yield "texts", "a kept file is missing", lambda out: min((out / "kept").rglob("*.txt")).unlink()
    yield "texts", "a kept file is changed", lambda out: min((out / "kept").rglob("*.txt")).write_bytes(b"other")


def of_several_files() -> Tamperings:
    """Yield those with several files at once, and in other kinds of runs."""
    yield "plain", "a group is hidden", hidden_group
    for old, new in ((b"d05", b"d04"), (b"near copy", b"exact copy"), (b"1997", b"1979")):
        yield "removed", f"removed rows: {old.decode()} is {new.decode()}", replaced("removed.jsonl", old, new)
    yield "removed", "removed rows: the last one is missing", dropped_line("removed.jsonl")
    for column in ("group", "reason", "kept", "similarity"):
        yield "newest", f"groups by a column: {column}", cell("groups", column, 1)
        yield "none", f"groups of keep none: {column}", cell("groups", column, 1)
        yield "zip", f"groups of documents in an archive: {column}", cell("groups", column, 1)
    yield "newest", "ranks by a column", cell("ranks", "rank", 3)
    yield "newest", "ranks by a column: two exchanged", table("ranks", exchanged_ranks)
    yield "zip", "texts of documents in an archive", cell("texts", "text", 1)
    for old, new in ((b'"similarity":1', b'"similarity":0'), (b"true", b"false"), (b"#0", b"#1")):
        yield "annotated", f"annotated rows: {old.decode()} is {new.decode()}", replaced("kept.jsonl", old, new)
    yield "by", "rows by value: one is missing", dropped_line("kept/lang=en/kept.jsonl")
    yield "by", "rows by value: another value", replaced("kept/lang=en/kept.jsonl", b"1997", b"1979")
    yield "plain", "a pair is replaced", table("pairs", replaced_pair)
    pair = together(table("pairs", lambda rows: rows.pop() and None), account("counts", "pairs", value=15))
    yield "plain", "a pair is missing, and not counted", pair
    yield "plain", "a good row is rejected", forged_problem(40)
    yield "plain", "a row is dropped as one without text", table("not_judged", dropped_as_empty)
    yield "drop", "a row without text stays", table("not_judged", lambda rows: rows[0].update(kept=True))
    yield "broken", "a problem is missing", lambda out: (out / "problems.jsonl").write_bytes(b"")
    yield "plain", "a file is added", lambda out: (out / "more.parquet").write_bytes(b"PAR1")
    yield "plain", "kept rows are missing", lambda out: (out / "kept.jsonl").unlink()
    yield "group", "kept rows are added", lambda out: (out / "kept.jsonl").write_bytes(in_json([{"text": "x"}]))
    yield "plain", "a table is missing", lambda out: (out / "groups.parquet").unlink()
    yield "plain", "a table is no table", lambda out: (out / "groups.parquet").write_bytes(b"PAR1")
    for base in ("containment", "vocabulary", "components", "group"):
        for column in ("similarity", "reason", "group", "kept"):
            yield base, f"groups of {base}: {column}", cell("groups", column, 1)
        yield base, f"pairs of {base}: a missing one", table("pairs", lambda rows: rows.pop() and None)
    for column in ("shared", "size_a", "resemblance", "id_b"):
        yield "lsh", f"pairs by LSH: {column}", cell("pairs", column)
    yield "lsh", "groups by LSH: a member elsewhere", cell("groups", "group", 1)
    yield "lsh", "pairs by LSH: one of a family is missing", table("pairs", lambda rows: rows.pop(1) and None)


TAMPERINGS = [*of_tables(), *of_accounts(), *of_kept_rows(), *of_several_files()]


@pytest.mark.parametrize(
    ("base", "name", "change"), TAMPERINGS, ids=[f"{base}: {name}" for base, name, _ in TAMPERINGS]
)
def test_a_change_is_noticed(
    base: str, name: str, change: Change, bases: Callable[[str], Path], tmp_path: Path
) -> None:
    """Some changes, such as that of the path of an input, leave a part that can no longer be looked at."""
    ended, lines = tampered(bases(base), tmp_path, change)
    assert ended == 1 or (ended == 3 and status(bases(base))[0] == 0), lines


def test_without_inputs_what_follows_from_the_stored_texts_is_compared(
    bases: Callable[[str], Path], tmp_path: Path
) -> None:
    gone = table("places", lambda rows: [{**row, "path": "gone.jsonl"} for row in rows])
    assert tampered(bases("plain"), tmp_path, gone)[0] == 3
    ended, lines = tampered(bases("plain"), tmp_path, together(gone, table("ranks", exchanged_ranks)))
    assert (ended, "the order of preference" in lines) == (1, True), lines


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_another_value_in_any_cell_of_any_table_is_noticed(
    data: st.DataObject, bases: Callable[[str], Path], tmp_path: Path
) -> None:
    base = bases(
        data.draw(st.sampled_from(["plain", "parquet", "containment", "vocabulary", "components", "several"]))
    )
    name = data.draw(st.sampled_from(TABLES))
    rows = pq.read_table(base / f"{name}.parquet")
    column = data.draw(st.sampled_from(rows.column_names))
    ended, lines = tampered(base, tmp_path, cell(name, column, data.draw(st.integers(0, rows.num_rows - 1))))
    noticed = ended == 1 or (ended == 3 and status(base)[0] == 0)
    assert noticed or (name, column) in HARMLESS, (name, column, lines)
