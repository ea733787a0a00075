"""A run that finds all its parts in a journal gives the same bytes as the run that made them, in every format."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.deduplication.join.base_documents import open_base
from neardup.deduplication.run.find import run
from neardup.deduplication.run.save import save
from neardup.deduplication.run.stages.records import Inputs
from neardup.io.fingerprints.chunk import ReadChunk
from neardup.io.readers import choose_columns, open_files
from neardup.io.writers import scratch
from neardup.io.writers.scratch import RunJournal
from support import shared_data

FORMS: dict[str, dict[str, Any]] = {
    "jsonl": {"method": "lsh", "memory": 1},
    "csv": {"method": "lsh", "keep": "max:score", "count": True, "sources": "side"},
    "parquet": {"method": "exact", "across": "side", "within": "half"},
    "ipc": {"sketch": "simhash", "bits": 128, "distance": 9},
    "mixed": {"method": "lsh", "keep": "max:score", "within": "half"},
    "text": {"method": "lsh"},
    "base": {"method": "lsh", "sketch": "classic", "slots": 100},
    "common": {"ignore_common": 0.02},
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same documents in several formats; an id of JSONL is a number in one line, and one line is no JSON."""
    folder = tmp_path_factory.mktemp("inputs")
    texts = list(shared_data.documents("own").values())[:120]
    texts += [f"{text} again" for text in texts[:40]] + texts[:5]
    rows = [
        {"id": f"d{k}", "text": text, "score": k % 7, "side": f"s{k % 3}", "half": k % 2}
        for k, text in enumerate(texts)
    ]
    lines = [json.dumps(row) for row in rows]
    (folder / "jsonl.jsonl").write_text("\n".join([*lines, "no JSON"]), encoding="latin-1")
    with (folder / "csv.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, folder / "parquet.parquet", row_group_size=50)
    with pa.ipc.new_file(folder / "ipc.arrow", table.schema) as stream:
        stream.write_table(table, max_chunksize=30)
    (folder / "mixed").mkdir()
    for name in ("jsonl.jsonl", "parquet.parquet"):
        (folder / "mixed" / name).write_bytes((folder / name).read_bytes())
    (folder / "text").mkdir()
    for k, text in enumerate(texts[:60] + texts[120:150]):
        (folder / "text" / f"{k}.txt").write_text(text, encoding="utf-8")
    (folder / "text" / "old.txt").write_bytes(f"caf\u00e9 na\u00efve {texts[0]}".encode("latin-1"))
    (folder / "text" / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    (folder / "text" / "page.html").write_text(f"<html><title>T</title><p>{texts[1]}</p></html>", encoding="utf-8")
    (folder / "template.txt").write_text(" ".join(texts[0].split()[:30]), encoding="utf-8")
    files = {path.stem: path for path in folder.iterdir()}
    return {**files, "base": files["parquet"], "common": files["parquet"]}


def files_of(form: str, inputs: dict[str, Path], out: Path, journal: RunJournal | None) -> dict[str, bytes]:
    settings = nd.Settings.of(threshold=0.6, **FORMS[form])
    documents = open_files([str(inputs[form])], reading=settings.reading)
    columns = choose_columns(documents, None, None)
    ignore = open_base([str(inputs["template"])], columns, settings.reading) if form == "base" else None
    with scratch.working_in(out.parent, journal):
        outcome = run(Inputs(documents, columns, settings, action="dedup", ignore=ignore))
    save(outcome, out, action="dedup")
    files = {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    account = json.loads(files.pop("run.json"))
    del files["manifest.json"], account["seconds"], account["peak_memory_bytes"]
    return {**files, "run.json": json.dumps(account).encode()}


@pytest.mark.part(4)
@pytest.mark.parametrize("form", FORMS)
def test_all_parts_from_a_journal_change_no_byte(
    form: str, inputs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = files_of(form, inputs, tmp_path / "plain", None)
    journal = RunJournal(tmp_path / "journal", {}, b"s" * 32)
    first = files_of(form, inputs, tmp_path / "first", journal)
    parts = len(journal)
    journal.close()
    again = RunJournal(tmp_path / "journal", {}, b"t" * 32)
    assert len(again) == parts
    assert any(name.startswith("chunk") for name in again._places)
    assert ("candidates" in again._places) == (form not in ("parquet", "common"))  # these are joined exactly
    resumed = files_of(form, inputs, tmp_path / "resumed", again)
    assert len(again) == parts  # nothing was done again that can be kept
    again.close()
    assert first == plain
    assert resumed == plain


def test_a_chunk_is_the_same_after_it_was_a_table(inputs: dict[str, Path]) -> None:
    from neardup.deduplication.join.corpus import Corpus, Part
    from neardup.deduplication.join.first_pass import read_chunks
    from neardup.settings import Relations

    documents = open_files([str(inputs["parquet"])])
    part = Part(documents, "text", "id", ("score",), Relations(within=("half",), across="side"))
    documents.require("text", "id")
    read = next(read_chunks(Corpus((part,), nd.Settings.of()), 128))
    back = ReadChunk.of_table(read.with_facts(memory="memory").table())
    assert back.batch.equals(read.batch)
    assert {"row", "units", "bytes", "key", "signature", "within", "across", "id"} < set(back.batch.schema.names)
    for name in ("units", "key", "signature"):
        assert back.numbers(name).tolist() == read.numbers(name).tolist()
    assert back.facts.memory == "memory"
    assert back.with_facts(memory=None, problems=()).facts == read.with_facts(problems=()).facts
