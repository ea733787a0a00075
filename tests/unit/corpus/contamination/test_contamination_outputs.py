"""Outputs of a run: rows that stay, tags, cuts in every format, stored scans, and the page."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.corpus.contamination.contamination import rules_of
from neardup.corpus.contamination.items import items_with_windows, read_items
from neardup.corpus.contamination.matches import ItemSearch
from neardup.corpus.contamination.stream import scan_training, stored_scan
from neardup.deduplication.run.pipeline import Meter
from neardup.errors import InputError, NeardupError, SettingError
from neardup.io.readers import choose_columns, open_documents
from neardup.io.writers.scratch import RunJournal, working_in
from neardup.runtime import Silent
from neardup.settings import Settings
from neardup.tables import CUTS
from neardup.text.keys import new_key
from support.messages import assert_refused

DRAW = random.Random(6)
WORDS = [f"word{number}" for number in range(4000)]


def prose(tokens: int) -> str:
    return " ".join(DRAW.choices(WORDS, k=tokens))


ITEMS = [prose(30) for _ in range(4)]
TEXTS = [prose(40), f"Ü½ {ITEMS[1]}, <b>end</b>", prose(40), f"{prose(9)} \u4e2d{ITEMS[2].upper()} {ITEMS[2]}."]


@pytest.fixture
def against(tmp_path: Path) -> Path:
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps({"question": item}) + "\n" for item in ITEMS))
    return path


def written(folder: Path, name: str) -> Path:
    """The training texts as a file of this name."""
    path = folder / name
    rows = [{"key": f"k{k}", "body": text, "n": k} for k, text in enumerate(TEXTS)]
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".arrow":
        kinds = [("key", pa.string()), ("body", pa.dictionary(pa.int32(), pa.string())), ("n", pa.int64())]
        with pa.ipc.new_file(path, pa.schema(kinds)) as file:
            file.write_table(pa.Table.from_pylist(rows, pa.schema(kinds)))
    elif path.suffix == ".csv":
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["key", "body", "n"])
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_in(path: Path) -> list[dict[str, object]]:
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    if path.suffix == ".arrow":
        return list(pa.ipc.open_file(path).read_all().to_pylist())
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(lines)) if path.suffix == ".csv" else [json.loads(line) for line in lines]


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.csv", "t.jsonl"])
def test_passages_are_cut_at_tokens_and_all_else_stays(name: str, tmp_path: Path, against: Path) -> None:
    train = written(tmp_path, name)
    account = nd.decontaminate(train, text="body", against=against).save(tmp_path / "out", "cut", marker="<>")
    before, after = rows_in(train), rows_in(tmp_path / "out" / f"kept{train.suffix}")
    assert [row["body"] for row in after] == [
        TEXTS[0],
        "Ü½ <>, <b>end</b>",
        TEXTS[2],
        TEXTS[3].partition(" \u4e2d")[0] + " \u4e2d<>.",
    ]
    for row in (*before, *after):
        del row["body"]
    assert before == after
    cuts = pq.read_table(tmp_path / "out" / "cuts.parquet").to_pylist()
    assert [(cut["row"], cut["text"]) for cut in cuts] == [(1, ITEMS[1]), (3, f"{ITEMS[2].upper()} {ITEMS[2]}")]
    whole = [TEXTS[cut["row"]].encode() for cut in cuts]
    found = [text[cut["begin_byte"] : cut["end_byte"]].decode() for text, cut in zip(whole, cuts, strict=True)]
    assert found == [cut["text"] for cut in cuts], "bytes, as in the cuts of passages"
    matches = pq.read_table(tmp_path / "out" / "matches.parquet").to_pylist()
    assert {(cut["id"], cut["source"], cut["row"]) for cut in cuts} == {
        (match["id"], match["source"], match["row"]) for match in matches
    }
    assert [name for name, _ in zip(cuts[0], range(6), strict=True)] == CUTS.names
    assert (account["kept"], account["cuts"]) == (4, 2)


def test_bytes_that_are_not_utf8_stay_beside_a_cut(tmp_path: Path, against: Path) -> None:
    texts = pa.array([b"\xff\xfe one " + ITEMS[0].encode() + b" \xff"], pa.binary()).cast(pa.string(), safe=False)
    found = nd.decontaminate(pa.table({"text": texts}), against=against)
    pq.write_table(pa.table({"text": texts}), tmp_path / "t.parquet")
    assert found.contaminated == 1
    nd.decontaminate(tmp_path / "t.parquet", against=against).save(tmp_path / "out", "cut", marker="-")
    kept = pq.read_table(tmp_path / "out" / "kept.parquet")["text"].cast(pa.binary()).to_pylist()
    assert kept == [b"\xff\xfe one - \xff"]


def test_texts_of_several_fields_and_files_of_their_own_are_not_cut(tmp_path: Path, against: Path) -> None:
    found = nd.decontaminate(written(tmp_path, "t.jsonl"), text=["key", "body"], against=against)
    with pytest.raises(SettingError, match="cut"):
        found.save(tmp_path / "out", "cut")
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text(f"Dear all, {ITEMS[0]}")
    (tmp_path / "letters" / "b.txt").write_text(prose(30))
    found = nd.decontaminate(tmp_path / "letters", against=against)
    with pytest.raises(SettingError):
        found.save(tmp_path / "out", "cut")
    found.save(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out" / "kept").iterdir()] == ["b.txt"]


def test_scans_of_parts_are_weighed_together(tmp_path: Path, against: Path) -> None:
    phrase = ITEMS[0]
    parts = []
    for number in range(3):
        parts.append(tmp_path / f"part{number}.jsonl")
        texts = [f"{phrase} {prose(3)}" for _ in range(5)] + [f"{prose(4)} {ITEMS[number]}"]
        parts[-1].write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        alone = nd.decontaminate(parts[-1], against=against)
        assert alone.contaminated == 6  # the phrase is not common in one part
        alone.save(tmp_path / f"scan{number}", "report")
    settings = Settings.of()
    items = read_items([against], [], None, settings, Meter(Silent()))
    search = ItemSearch.of(items, settings, rules_of(0.8, 13, 0.001))
    together = stored_scan([tmp_path / f"scan{number}" for number in range(3)], search)
    assert (together.counts.texts, together.candidates.num_rows) == (18, 18)
    assert sorted(together.sources) == [str(part) for part in parts]
    looser = ItemSearch.of(items, settings, rules_of(0.7, 13, 0.001))
    assert_refused(
        (InputError, r"part0\.jsonl", lambda: stored_scan([tmp_path / "scan0", tmp_path / "scan0"], search)),
        (InputError, "other test items", lambda: stored_scan([tmp_path / "scan0"], looser)),
    )
    (tmp_path / "scan0" / "scan.json").write_text("{}")
    with pytest.raises(InputError, match="no scan"):
        stored_scan([tmp_path / "scan0"], search)


def test_finished_parts_of_a_journal_are_not_read_again(tmp_path: Path, against: Path) -> None:
    settings = Settings.of()
    items = read_items([against], [], None, settings, Meter(Silent()))
    search, texts = ItemSearch.of(items, settings, rules_of(0.8, 13, 0.001)), list(TEXTS)

    def scanned() -> list[dict[str, object]]:
        documents = open_documents(texts)
        journal = RunJournal(tmp_path / "journal", {}, bytes(32))
        with working_in(tmp_path, journal):
            scan = scan_training(documents, choose_columns(documents, None, None), search, Meter(Silent()))
        journal.close()
        assert scan.counts.texts == len(texts)
        return [*scan.candidates.to_pylist(), *scan.counts.documents.tolist()]

    first = scanned()
    texts[:] = ["nothing"] * len(texts)
    assert scanned() == first
    assert len(first) > 2


def test_fields_of_usual_layouts(tmp_path: Path) -> None:
    question, choices, turns = prose(20), [prose(6), prose(7)], [prose(12), prose(14)]
    layouts = {
        "mmlu.jsonl": {"question": question, "choices": choices, "answer": 1},
        "arc.jsonl": {"id": "a", "question": question, "choices": {"text": choices, "label": ["A", "B"]}},
        "chat.jsonl": {"messages": [{"role": "user", "content": turn} for turn in turns]},
    }
    for name, row in layouts.items():
        (tmp_path / name).write_text(json.dumps(row) + "\n")
    against = [tmp_path / name for name in layouts]
    train = ["\n".join(choices), question, " ".join(turns), f"{question}\n{choices[0]}\n{choices[1]}"]
    found = nd.decontaminate(train, against=against, fields=["question", "choices", "messages"])
    of_set = {(Path(match["test_set"]).name, match["field"], match["row"]) for match in found.matches.to_pylist()}
    assert {
        ("mmlu.jsonl", "choices", 0),
        ("arc.jsonl", "choices", 0),
        ("mmlu.jsonl", "question", 1),
        ("chat.jsonl", "messages", 2),
        ("arc.jsonl", "together", 3),
    } <= of_set
    assert not any(name == "chat.jsonl" and field == "together" for name, field, _ in of_set)
    assert any("chat.jsonl has no field question" in note for note in found.notes)
    with pytest.raises(NeardupError):
        nd.decontaminate(train, against=against, fields=["solution"])


def test_the_page_and_the_view_escape_all_names_and_texts(tmp_path: Path) -> None:
    item = f"<script>alert(1)</script> {prose(20)}"
    (tmp_path / "s.jsonl").write_text(json.dumps({"id": "<i>x\u202e", "question": item}) + "\n")
    found = nd.decontaminate([f"<img src=x> {item}", prose(20)], against=tmp_path / "s.jsonl")
    found.save(tmp_path / "out")
    for page in ((tmp_path / "out" / "report.html").read_text(), found._repr_html_()):
        assert not [part for part in ("<script", "<img", "<i>x", "\u202e") if part in page]
    assert "alert(1)" in (tmp_path / "out" / "report.html").read_text()
    assert "1 of 1 item" in str(found)
    assert "\u202e" not in str(found)


def test_items_without_a_window_are_no_error() -> None:
    assert items_with_windows([], Settings.of(), new_key()).distinct == 0
