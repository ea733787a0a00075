"""--kinds from outside: the column of pairs, the counts, the summary; stored, loaded and regrouped."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.deduplication.run import kinds as run_kinds
from neardup.errors import InputError
from support import shared_data
from support.command_line import Run, write_rows
from support.sealed import seal


def own() -> dict[str, str]:
    """Some families of the project's collection: revisions, mails with quotes, forms."""
    texts = shared_data.documents("own")
    return {id: text for id, text in texts.items() if id.split("/")[0] in ("mail", "form", "copy", "short")}


def found_with(**settings: Any) -> nd.Found:
    texts = own()
    table = pa.table({"id": list(texts), "text": list(texts.values())})
    return nd.find(table, id="id", threshold=0.5, **settings)


def test_the_kinds_are_those_of_compare() -> None:
    found, texts = found_with(kinds=True), own()
    pairs = found.pairs.to_pylist()
    assert len(pairs) > 40
    for pair in pairs[::7]:
        assert pair["kind"] == nd.compare(texts[pair["id_a"]], texts[pair["id_b"]]).kind
    assert found.run.kinds.pop("not determined") == 0
    assert found.run.kinds == dict.fromkeys(found.run.kinds, 0) | Counter(pair["kind"] for pair in pairs)
    assert found.pairs.schema.names[-1] == "kind"


def test_the_kinds_of_copies_are_those_of_compare() -> None:
    first = "Hand in your travel costs, with all receipts."
    texts = [
        first,
        first.upper(),
        first,
        f"{first}\r\n",
        "\ufeff" + first,
        "Cafe\u0301 au lait",
        "Caf\xe9 au lait",
        "x",
        "a rate of -5 now",
        "a rate of 5 now",
    ]
    found = nd.find(texts, kinds=True)
    copies = found.copies.to_pylist()
    assert [(row["id"], row["copy_of"]) for row in copies] == [(1, 0), (2, 0), (3, 0), (4, 0), (6, 5), (9, 8)]
    for row in copies:
        assert row["kind"] == nd.compare(texts[row["copy_of"]], texts[row["id"]]).kind
    assert {row["kind"] for row in copies} == {"identical text", "sign or operator", "case or punctuation only"}
    assert nd.find(["a b c"], kinds=True).copies.schema.names[-2:] == ["difference", "kind"]


def test_nothing_else_changes() -> None:
    plain, found = found_with(), found_with(kinds=True)
    assert plain.run.kinds is None
    assert plain.pairs.equals(found.pairs.drop_columns("kind"))
    assert plain.groups.equals(found.groups)
    assert plain.copies.equals(found.copies.drop_columns("kind"))
    changed = {name for name, value in found.run.as_dict().items() if value != plain.run.as_dict().get(name)}
    assert changed <= {"kinds", "settings", "settings_digest", "seconds", "peak_memory_bytes"}


@pytest.mark.parametrize("threads", [1, 4])
def test_portions_and_threads_change_nothing(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = found_with(kinds=True, threads=2)
    monkeypatch.setattr(run_kinds, "HELD_BYTES", 4_000)
    read: list[int] = []
    real = run_kinds.texts_of
    monkeypatch.setattr(run_kinds, "texts_of", lambda rows, wanted: read.append(len(wanted)) or real(rows, wanted))
    assert found_with(kinds=True, threads=threads).pairs.equals(whole.pairs)
    assert len(read) > 5
    assert max(read) < 20


def test_pairs_too_large_are_not_determined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_kinds, "MOST_BYTES", 1_500)
    found, texts = found_with(kinds=True), own()
    large = [len((texts[p["id_a"]] + texts[p["id_b"]]).encode()) > 1_500 for p in found.pairs.to_pylist()]
    assert 0 < sum(large) < len(large)
    assert found.pairs["kind"].is_null().to_pylist() == large
    assert found.run.kinds["not determined"] == sum(large)


@pytest.mark.parametrize(
    "settings", [{"measure": "chunk-union"}, {"unit": "char"}, {"groups": "components", "audit": 3}]
)
def test_with_other_settings(settings: dict[str, Any]) -> None:
    found = found_with(kinds=True, **settings)
    assert sum(found.run.kinds.values()) == found.pairs.num_rows > 0
    if found.missed is not None:
        assert found.missed.schema.equals(found.pairs.schema)


def test_a_result_without_pairs() -> None:
    found = nd.find(["one text of its own", "and quite another text"], kinds=True)
    assert found.pairs["kind"].to_pylist() == []
    assert set(found.run.kinds.values()) == {0}


def test_documents_against_a_reference_set() -> None:
    old, new = (
        ["the mill is closed on Monday the third of May"],
        ["the mill is closed on Monday the 3rd of May", "x"],
    )
    found = nd.find([*new, old[0].replace("closed", "open")], against=old, threshold=0.1, kinds=True)
    assert set(found.pairs["kind"].to_pylist()) == {"wording"}


def test_invalid_bytes_and_missing_texts_do_no_harm(tmp_path: Path) -> None:
    text = "the clerk carried the old church bell to the mill at noon"
    for name, data in {
        "a": text.encode(),
        "b": text.encode() + b" \xff\xfe",
        "c": b"",
        "d": text.encode() + b" today",
    }.items():
        (tmp_path / f"{name}.txt").write_bytes(data)
    found = nd.find(tmp_path, encoding="utf-8", kinds=True, threshold=0.5)
    assert found.pairs["kind"].to_pylist() == ["one is contained"] * found.pairs.num_rows


def test_stored_loaded_and_regrouped(run: Run, tmp_path: Path) -> None:
    source = write_rows(tmp_path / "texts.jsonl", [{"id": id, "text": text} for id, text in own().items()])
    out, stricter = tmp_path / "out", tmp_path / "stricter"
    result = run("dedup", source, "-o", out, "--threshold", 0.5, "--kinds")
    assert result.status == 0
    loaded = nd.load(out)
    assert loaded.pairs.equals(found_with(kinds=True).pairs.cast(loaded.pairs.schema))
    (line,) = [line for line in result.out.splitlines() if line.startswith("kinds ")]
    name, count = max(loaded.run.kinds.items(), key=lambda item: item[1])
    assert line.startswith(f"kinds         {name} {count}, ")
    assert run("regroup", out, "--threshold", 0.8, "-o", stricter).status == 0
    again = nd.load(stricter)
    assert sum(again.run.kinds.values()) == again.pairs.num_rows < loaded.pairs.num_rows
    assert again.run.kinds == loaded.at(0.8).run.kinds
    assert again.copies.equals(loaded.copies)
    assert "kind" in loaded.copies.column_names


def test_a_changed_kind_is_refused(tmp_path: Path) -> None:
    for kind in ("wordings", "moved"):
        folder = tmp_path / kind
        found_with(kinds=True).save(folder)
        pairs = pq.read_table(folder / "pairs.parquet")
        other = pa.array([kind] * pairs.num_rows)
        pq.write_table(pairs.set_column(pairs.num_columns - 1, "kind", other), folder / "pairs.parquet")
        seal(folder)
        with pytest.raises(InputError):
            nd.load(folder)


def test_kinds_without_the_column_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    found_with(kinds=True).save(folder)
    run_file = folder / "run.json"
    content = json.loads(run_file.read_text(encoding="utf-8"))
    del content["kinds"]
    run_file.write_text(json.dumps(content), encoding="utf-8")
    seal(folder)
    with pytest.raises(InputError):
        nd.load(folder)
