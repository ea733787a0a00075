"""Results of every kind of run, as neardup makes them: the verifier accuses none of them."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup import verifier
from support.made_results import (
    INPUTS,
    Case,
    documents,
    in_csv,
    in_json,
    made,
    numbered,
    quiet,
    texts,
    written,
)
from support.sealed import seal

READING = {
    "nested": ("--text", "messages[].content", "--id", "meta.id"),
    "two columns": ("--text", "title,body"),
}
PARTLY = {"invalid bytes", "texts", "zip", "tar", "new characters", "samples", "mails", "office files"}
"""Inputs that are not looked at as a whole: invalid bytes, pictures, archives, new characters, files of samples,
attachments, and office files."""
REMOVED = {"csv": 3, "semicolons": 3, "several": 3}
"""Removed rows that are not looked at as a whole: the added columns of CSV, and rows of several files."""
SEEN = (
    *(("--threshold", value) for value in ("0.3", "0.5", "0.95", "1")),
    ("--method", "exact"),
    *(("--measure", name) for name in ("containment", "overlap", "overlap-max", "dice", "cosine", "multiset")),
    ("--measure", "containment", "--threshold", "0.5"),
    ("--measure", "vocabulary", "--threshold", "0.7"),
    ("--measure", "multiset", "--groups", "complete"),
    ("--groups", "components", "--threshold", "0.5"),
    ("--groups", "complete", "--threshold", "0.4"),
    *(("--keep", policy) for policy in ("first", "last", "longest", "none")),
    *(("--keep", policy) for policy in ("max:year", "min:year", "max:similarity", "min:note", "order:lang=de,en")),
    ("--keep", "order:lang=fr,de", "--keep", "max:year", "--keep", "last"),
    *(("--empty", which) for which in ("drop", "one", "keep")),
    ("--within", "lang"),
    ("--within", "lang", "--within", "family"),
    ("--unit", "char"),
    ("--unit", "char", "--length", "9"),
    *(("--length", length) for length in ("1", "2", "9")),
    ("--length", "3", "--threshold", "0.6"),
    ("--pairs", "all"),
    ("--no-store-texts",),
    ("--memory", "400MB"),
    ("--threads", "1"),
    ("--lose", "1"),
    ("--copies", "words"),
    ("--copies", "identical"),
    ("--write-removed",),
)
"""Options whose results are looked at as a whole."""
PARTS = (
    ("--method", "lsh"),
    ("--method", "lsh", "--threshold", "0.5", "--groups", "components"),
    ("--method", "lsh", "--audit", "10"),
    ("--audit", "50"),
    ("--sketch", "classic:64", "--method", "lsh"),
    ("--recall", "0.6", "--method", "lsh"),
    ("--sketch", "simhash"),
    ("--sketch", "simhash:64,word,10", "--threshold", "0.4"),
    *(("--measure", name, "--threshold", "0.6") for name in ("chunk-union", "chunk-longest", "lcs")),
    ("--measure", "chunk-union", "--matching", "information"),
    ("--only-contained", "0.9"),
    ("--lose", "0"),
    ("--lose", "0.1", "--threshold", "0.5"),
    ("--copies", "identical", "--method", "lsh"),
    ("--count",),
    ("--count", "--sources", "lang"),
    ("--kinds",),
    ("--across", "lang"),
    ("--by", "lang"),
    ("--ignore", "FOLDER/base.jsonl"),
    ("--ignore", "FOLDER/base.jsonl", "--measure", "containment"),
    ("--mask", "[0-9]+"),
    ("--ignore-numbers",),
    ("--stop-words", "en"),
    ("--tokenizer", "code"),
    ("--ignore-common", "0.1"),
    ("--ignore-common", "0.1", "--measure", "vocabulary"),
)
"""Options whose results are not looked at as a whole."""
NOT_OF_GROUP = {"--only-contained", "--lose", "--write-removed", "--file-size"}


def cases() -> Iterator[Case]:
    for name in INPUTS:
        yield Case(name, READING.get(name, ()), 3 if name in PARTLY else 0)
        yield Case(name, (*READING.get(name, ()), "--threshold", "0.4"), 3 if name in PARTLY else 0)
    for status, every in ((0, SEEN), (3, PARTS)):
        for options in every:
            yield Case("jsonl", options, status)
            if not NOT_OF_GROUP & set(options):
                yield Case("jsonl", options, status, "group")
    for name in ("csv", "parquet", "arrow", "texts", "several", "nested"):
        for options in (
            ("--keep", "first"),
            ("--method", "lsh"),
            ("--groups", "components", "--threshold", "0.5"),
        ):
            yield Case(name, (*READING.get(name, ()), *options), 3 if name in PARTLY or "lsh" in options else 0)
    yield Case("jsonl", ("--file-size", "3kB"))
    yield Case("several", ("--file-size", "3kB"))
    yield Case("without ids", ("--annotate",))
    for name in ("csv", "semicolons", "parquet", "arrow", "gzip", "several", "nested", "broken lines"):
        yield Case(name, (*READING.get(name, ()), "--write-removed"), REMOVED.get(name, 0))
        yield Case(name, (*READING.get(name, ()), "--write-removed", "--empty", "drop"), 3)
    for name in ("csv", "parquet", "arrow", "gzipped csv"):
        yield Case(name, ("--keep", "max:year", "--keep", "min:similarity"))
        yield Case(name, ("--by", "lang"), 3)
    yield Case("without ids", ("--annotate", "--count"), 3)


CASES = list(cases())


def verdict(folder: Path, *inputs: Path) -> tuple[int, str]:
    """The exit status of the verifier, and its lines."""
    with redirect_stdout(io.StringIO()) as printed:
        status = verifier.main([str(folder), *map(str, inputs)])
    return status, printed.getvalue()


def check_without(out: Path, *inputs: Path) -> None:
    """Assert that what is no longer there is not looked at: inputs, and then the stored texts also."""
    for path in inputs:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    status, lines = verdict(out)
    assert status == 3, lines
    (out / "texts.parquet").unlink(missing_ok=True)
    seal(out)
    status, lines = verdict(out)
    assert status == 3, lines


@pytest.mark.part(1)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_honest_result_is_not_accused(case: Case, tmp_path: Path) -> None:
    out = made(case, tmp_path)
    status, lines = verdict(out)
    assert status == case.status, lines
    check_without(out, *(path for path in tmp_path.iterdir() if path != out))


AGAINST = (
    (0, ()),
    (0, ("--threshold", "0.4")),
    (0, ("--groups", "components", "--threshold", "0.5")),
    (0, ("--groups", "complete", "--threshold", "0.4")),
    *((0, ("--measure", "containment", "--direction", side)) for side in ("new-in-old", "old-in-new", "either")),
    *((0, ("--measure", measure)) for measure in ("overlap", "overlap-max", "dice", "cosine")),
    (0, ("--empty", "one")),
    (0, ("--within", "lang")),
    (3, ("--across", "lang")),
    (3, ("--no-self",)),
    (0, ("--keep", "none")),
    (3, ("--method", "lsh")),
)


@pytest.mark.part(1)
@pytest.mark.parametrize(("expected", "options"), AGAINST, ids=[" ".join(options) for _, options in AGAINST])
def test_results_against_a_reference_set_with_the_same_ids(
    expected: int, options: tuple[str, ...], tmp_path: Path
) -> None:
    rows = documents()
    old = written(tmp_path / "old.jsonl", in_json(rows[:20]))
    new = written(tmp_path / "new.jsonl", in_json([{**row, "id": f"d{n:02}"} for n, row in enumerate(rows[10:])]))
    for command in ("dedup", "group"):
        out = tmp_path / command
        assert quiet(command, new, "--against", old, "-o", out, *options) == 0
        status, lines = verdict(out)
        assert status == expected, lines
    check_without(tmp_path / "dedup", old)
    check_without(tmp_path / "group", new)


def test_results_made_of_results_and_of_fingerprints(tmp_path: Path) -> None:
    rows = documents()
    new = written(tmp_path / "new.jsonl", in_json(rows[10:]))
    path = written(tmp_path / "rows.jsonl", in_json(rows))
    commands = (
        (0, "plain", ("dedup", path)),
        (3, "stricter", ("regroup", tmp_path / "plain", "--threshold", "0.9")),
        (3, "final", ("apply", tmp_path / "plain")),
        (None, "saved/one", ("fingerprint", path)),
        (0, "merged", ("merge", tmp_path / "saved")),
        (3, "part", ("part", path, "--of", tmp_path / "merged")),
        (3, "passages", ("passages", path, "--length", "10")),
        (3, "clean", ("decontaminate", path, "--against", path)),
        (3, "day", ("dedup", new, "--against", tmp_path / "saved", "--update", tmp_path / "saved")),
        (0, "named", ("merge", tmp_path / "saved", "--name-groups")),
        (3, "next day", ("dedup", new, "--against", tmp_path / "saved")),
        (3, "reported", ("group", new, "--against", tmp_path / "saved")),
    )
    for expected, name, words in commands:
        assert quiet(*words, "-o", tmp_path / name) == 0, name
        if expected is not None:
            status, lines = verdict(tmp_path / name)
            assert status == expected, (name, lines)
        if name in ("part", "passages", "clean"):
            assert "output of neardup" in lines


def test_results_of_documents_in_memory_and_of_moved_inputs(tmp_path: Path) -> None:
    rows = documents()
    nd.find([row["text"] for row in rows]).save(tmp_path / "list")
    nd.find(pa.Table.from_pylist(rows), threshold=0.5, measure="overlap").save(tmp_path / "table")
    for name in ("list", "table"):
        status, lines = verdict(tmp_path / name)
        assert status == 3, lines
    paths = [
        written(tmp_path / folder / "rows.jsonl", in_json(part))
        for folder, part in (("a", rows[:20]), ("b", rows[20:]))
    ]
    assert quiet("dedup", *paths, "-o", tmp_path / "out") == 0
    shutil.move(tmp_path / "a", tmp_path / "x")
    shutil.move(tmp_path / "b", tmp_path / "a")
    assert verdict(tmp_path / "out")[0] == 3
    status, lines = verdict(tmp_path / "out", tmp_path / "x", tmp_path / "a")
    assert status == 0, lines


def test_other_inputs(tmp_path: Path) -> None:
    """Ids that a column repeats; ids of both inputs of different types; tables among texts."""
    rows = documents()
    twice = written(tmp_path / "twice.jsonl", in_json([{**row, "id": "x"} for row in rows]))
    several = written(tmp_path / "other" / "rows.jsonl", in_json(rows[5:25]))
    [mixed] = texts(tmp_path / "mixed")
    written(mixed / "rows.jsonl", in_json(rows))
    alone = written(tmp_path / "alone.jsonl", in_json(rows[-2:]))
    runs = (
        (0, "without groups", ("dedup", alone)),
        (0, "twice", ("dedup", twice)),
        (0, "both", ("dedup", twice, several)),
        (0, "shards", ("dedup", twice, several, "--file-size", "4kB")),
        (0, "numbers", ("dedup", several, "--against", *numbered(tmp_path, range(100)))),
        (3, "of two kinds", ("dedup", mixed)),
        (3, "with pictures", ("dedup", *texts(tmp_path / "new"), "--against", *texts(tmp_path / "old"))),
        (0, "plain texts", ("dedup", tmp_path / "new/letters/de", "--against", tmp_path / "old/letters/en")),
    )
    for expected, name, words in runs:
        assert quiet(*words, "-o", tmp_path / name) == 0, name
        status, lines = verdict(tmp_path / name)
        assert status == expected, (name, lines)


VALUES = {
    "dates": ["2020-01-02", "2019-12-31", "2021-07-01"],
    "powers": ["1e3", "20", "3"],
    "gaps": ["", "b", "a"],
    "nulls": [None, 3, 1],
    "fractions": [1, 2.5, None],
    "words": ["nan", "b", "a"],
    "flags": [True, False, None],
}
"""Values of columns that decide who stays."""


@pytest.mark.part(1)
@pytest.mark.parametrize("column", VALUES)
@pytest.mark.parametrize("end", ["max", "min"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.parquet"])
def test_columns_that_decide_who_stays(name: str, end: str, column: str, tmp_path: Path) -> None:
    rows = [{**row, column: VALUES[column][n % 3]} for n, row in enumerate(documents())]
    writers = {"csv": in_csv, "jsonl": in_json}
    path = tmp_path / name
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        written(path, writers[path.suffix[1:]](rows))
    assert quiet("dedup", path, "-o", tmp_path / "out", "--keep", f"{end}:{column}") in (0, 2)
    status, lines = verdict(tmp_path / "out") if (tmp_path / "out").exists() else (0, "")
    assert status in (0, 3), lines
    assert status == 0 or column != "dates", lines


def test_the_time_of_files_decides_who_stays(tmp_path: Path) -> None:
    assert quiet("dedup", *texts(tmp_path), "-o", tmp_path / "out", "--keep", "max:mtime") == 0
    status, lines = verdict(tmp_path / "out")
    assert status == 3, lines


def test_there_are_as_many_results_as_the_verifier_promises() -> None:
    assert len(CASES) + 2 * len(AGAINST) >= 150
