"""The columns of a reference set: those of the input, named ones, or a refusal; never a silent guess."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import neardup as nd
from neardup.errors import InputError, SettingError
from support.command_line import Run, run_json, write_rows

FOX = "which animal jumps over the lazy dog and runs far away from all the others in the forest"
LONG = (
    "It is of course the quick brown fox, " + "as everybody knows who has ever learned to type on a machine " * 3
)
OLD = [{"question": FOX, "answer": LONG}, {"question": "What else is there to ask", "answer": LONG}]
NEW = [{"id": "copy", "text": FOX}, {"id": "other", "text": "Nothing that anybody would ever want to test at all"}]


def test_another_guess_than_that_of_the_input_is_refused_before_the_work(run: Run, tmp_path: Path) -> None:
    new, old = write_rows(tmp_path / "new.jsonl", NEW), write_rows(tmp_path / "old.jsonl", OLD)
    said = run("dedup", new, "--against", old, "-o", tmp_path / "out")
    assert said.status == 2
    for part in ('no column "text"', "question, answer", "--against-text answer", "--against-text"):
        assert part in said.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("columns", "left"), [("question", ["other"]), ("answer", ["copy", "other"])])
def test_a_named_column_is_read_and_recorded(run: Run, tmp_path: Path, columns: str, left: list[str]) -> None:
    new, old = write_rows(tmp_path / "new.jsonl", NEW), write_rows(tmp_path / "old.jsonl", OLD)
    out = tmp_path / "out"
    said = run("dedup", new, "--against", old, "--against-text", columns, "-o", out)
    assert said.status == 0, said.err
    assert [json.loads(line)["id"] for line in (out / "kept.jsonl").read_text().splitlines()] == left
    account = run_json(out)
    assert account["columns"] == {"text": "text", "id": "id"}
    assert account["columns_against"] == {"text": columns, "id": None}


def test_several_columns_are_one_text_and_an_id_of_its_own(tmp_path: Path) -> None:
    old = pa.table({"key": ["q1", "q2"], "question": [FOX, "What"], "answer": ["It jumps", "Else"]})
    found = nd.find(
        pa.table({"text": [f"{FOX}\nIt jumps", FOX]}),
        against=old,
        against_text=["question", "answer"],
        against_id="key",
        threshold=0.95,
    )
    assert found.removed.select(["id", "kept_id"]).to_pylist() == [{"id": "0", "kept_id": "q1"}]
    columns = found.run.columns_against
    assert (columns.text, columns.id) == ("question,answer", "key")


def test_the_only_text_beside_the_ids_is_used_with_a_note(run: Run, tmp_path: Path) -> None:
    new = write_rows(tmp_path / "new.jsonl", NEW)
    old = write_rows(tmp_path / "old.jsonl", [{"id": "o", "prompt": FOX, "year": 1990}])
    said = run("dedup", new, "--against", old, "--dry-run")
    assert said.status == 0, said.err
    assert '--against: text column: "prompt"' in said.out + said.err
    assert "exact copy of o" in said.out + said.err


def test_a_mistaken_column_names_the_option_of_the_reference_set(run: Run, tmp_path: Path) -> None:
    new, old = write_rows(tmp_path / "new.jsonl", NEW), write_rows(tmp_path / "old.jsonl", OLD)
    said = run("dedup", new, "--against", old, "--against-text", "questoin", "--dry-run")
    assert said.status == 2
    assert 'Did you mean "question"?' in said.err
    said = run("dedup", new, "--against", old, "--against-text", "question", "--against-id", "no", "--dry-run")
    assert "--against-id" in said.err


def test_an_id_that_is_named_has_to_name_each_row_once() -> None:
    old = pa.table({"text": [FOX, LONG], "key": ["same", "same"]})
    with pytest.raises(InputError, match="key"):
        nd.find(pa.table({"text": [FOX]}), against=old, against_id="key")


def test_columns_without_a_reference_set_are_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SettingError):
        nd.find([FOX], against_text="question")
    said = run("dedup", write_rows(tmp_path / "new.jsonl", NEW), "--against-text", "question", "--dry-run")
    assert said.status == 2
    assert "--against" in said.err
