"""Parts, merged groups and growing fingerprints on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.io.decisions.records import FateOf
from neardup.io.decisions.store import DecisionStore
from support.command_line import Run, run_json
from support.made_texts import Writer
from support.messages import has_parts
from support.paths import DOCS

TEXTS = {name: " ".join(Writer(seed=number).words(90)) for number, name in enumerate(("a", "b", "c", "d"))}


def write(path: Path, rows: dict[str, str]) -> Path:
    path.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in rows.items()))
    return path


def test_a_merge_without_texts_says_that_it_stores_none(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        write(tmp_path / f"{name}.jsonl", {f"{name} {id}": text for id, text in TEXTS.items()})
        assert run("fingerprint", f"{name}.jsonl", "-o", f"FP/{name}", "--sketch", "simhash").status == 0
    assert run("merge", "FP", "-o", "whole").status == 0
    assert json.loads(run("show", "whole", "one a", "--json").out)["text"] == TEXTS["a"]
    (tmp_path / "two.jsonl").unlink()
    for out, options in (("without", ()), ("private", ("--no-store-texts",))):
        assert run("merge", "FP", "-o", out, *options).status == 0
        assert not (tmp_path / out / "texts.parquet").exists()
        notes = run_json(tmp_path / out)["notes"]
        assert any("two.jsonl" in note for note in notes) == (out == "without")
        for table in ("groups", "copies", "ranks", "located"):
            names = (tmp_path / folder / f"{table}.parquet" for folder in (out, "whole"))
            assert pq.read_table(next(names)).equals(pq.read_table(next(names)))
        assert "holds no texts" in json.loads(run("show", out, "one a", "--json").out)["not_read"]


def test_parts_of_folders_name_their_files_as_a_run_over_the_folders(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("one", "two"):
        Path(folder).mkdir()
        Path(folder, "same.txt").write_text(TEXTS["a"])
        Path(folder, f"{folder}.txt").write_text(TEXTS["b"])
        assert run("fingerprint", folder, "-o", f"FP/{folder}").status == 0
    assert run("merge", "FP", "-o", "merged").status == 0
    assert run("group", "one", "two", "-o", "whole").status == 0
    ids = [pq.read_table(f"{out}/groups.parquet").column("id").to_pylist() for out in ("merged", "whole")]
    assert sorted(ids[0]) == sorted(ids[1])
    assert {"one/one.txt", "two/two.txt"} <= set(ids[0]) | set(
        pq.read_table("merged/copies.parquet").column("id").to_pylist()
    )


@pytest.fixture
def day(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two parts, fingerprinted and merged."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "one.jsonl", {"a": TEXTS["a"], "a2": TEXTS["a"] + " again", "b": TEXTS["b"]})
    write(tmp_path / "two.jsonl", {"a3": TEXTS["a"].upper(), "c": TEXTS["c"]})
    for name in ("two", "one"):
        assert run("fingerprint", f"{name}.jsonl", "-o", f"FP/{name}").status == 0
    assert run("merge", "FP/one", "FP/two", "-o", "out", "--name-groups").status == 0
    return tmp_path


def names(folder: str) -> dict[str, tuple[str, list[str]]]:
    table = pq.read_table(Path(folder) / "names.parquet").to_pylist()
    return {row["id"]: (row["group"], row["joined"]) for row in table}


def kept(folder: str) -> list[str]:
    return [json.loads(line)["id"] for line in (Path(folder) / "kept.jsonl").read_text().splitlines()]


def test_the_commands_after_a_merge_can_be_copied(day: Path, run: Run) -> None:
    lines = run("merge", "FP/one", "FP/two", "-o", "again").out.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("next "))
    part, review, report, export = (line.removeprefix("next").split() for line in lines[begin:])
    for name in ("one", "two"):
        words = [{"FILES_OF_A_PART": f"{name}.jsonl", "KEPT": f"stay-{name}"}.get(word, word) for word in part]
        assert run(*words[1:]).status == 0
    assert [kept(f"stay-{name}") for name in ("one", "two")] == [["a2", "b"], ["c"]]
    assert review == ["neardup", "review", "again"]
    assert run(*report[1:]).status == run(*export[1:]).status == 0


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_folder_without_fingerprints_is_named_before_the_key(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    assert has_parts(run("merge", name, "-o", "out").err, name, "Allowed: ", "neardup fingerprint")


def test_a_merge_stores_the_other_columns_of_documents(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that filters and exports use, also where only some parts have them, as one run stores them."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"{name}{part}", "text": TEXTS[name], "n": part} for part in range(3) for name in ("a", "b")]
    pq.write_table(pa.Table.from_pylist(rows[:2]), "0.parquet")
    Path("1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[2:4]))
    Path("2.csv").write_text("id,text,site\n" + "".join(f"{row['id']},{row['text']},x\n" for row in rows[4:]))
    files = ("0.parquet", "1.jsonl", "2.csv")
    for number, name in enumerate(files):
        assert run("fingerprint", name, "-o", f"FP/{number}").status == 0
    assert run("merge", "FP", "-o", "merged").status == run("group", *files, "-o", "whole").status == 0
    merged, whole = (pq.read_table(f"{out}/texts.parquet") for out in ("merged", "whole"))
    assert merged.equals(whole)
    assert set(merged["fields"].to_pylist()) == {'{"n":"0"}', '{"n":"1"}', '{"site":"x"}'}
    assert run("dedup", "2.csv", "--against", "FP/0", "-o", "fresh").status == 0
    assert '{"n":"0"}' in pq.read_table("fresh/texts.parquet")["fields"].to_pylist()


def test_the_rows_of_each_part_that_stay(day: Path, run: Run) -> None:
    for name in ("one", "two"):
        assert run("part", f"{name}.jsonl", "--of", "out", "-o", f"kept-{name}").status == 0
    assert (kept("kept-one"), kept("kept-two")) == (["a2", "b"], ["c"])


def test_fingerprints_grow_and_the_ids_of_groups_stay(day: Path, run: Run) -> None:
    write(day / "monday.jsonl", {"a4": TEXTS["a"] + " and again", "d": TEXTS["d"]})
    assert run("dedup", "monday.jsonl", "--against", "FP", "--update", "FP", "-o", "monday").status == 0
    assert kept("monday") == ["d"]
    # the representative of a, a2 and a3 is the longest one
    assert names("monday") == {"a4": ("a2", [])}
    write(day / "tuesday.jsonl", {"d2": TEXTS["d"], "a5": TEXTS["a"] + " and again"})
    assert run("dedup", "tuesday.jsonl", "--against", "FP", "--update", "FP", "-o", "tuesday").status == 0
    assert kept("tuesday") == []
    assert names("tuesday") == {"d2": ("d", []), "a5": ("a2", [])}
    assert sorted(path.name for path in (day / "FP").iterdir() if not path.name.startswith(".")) == [
        *("one", "two", "update-000001", "update-000002")
    ]
    again = run("dedup", "tuesday.jsonl", "--against", "FP", "--update", "FP", "-o", "again")
    assert again.status == 2
    assert has_parts(again.err, "tuesday.jsonl", "already")
    assert not (day / "again").exists()


def test_a_document_near_two_groups_joins_neither_to_the_other(day: Path, run: Run) -> None:
    both = {"first": TEXTS["b"] + " " + TEXTS["c"], "second": TEXTS["b"] + " " + TEXTS["d"]}
    write(day / "old.jsonl", both)
    assert run("fingerprint", "old.jsonl", "-o", "FP2/old", "--threshold", "0.3").status == 0
    assert run("merge", "FP2", "-o", "out2", "--threshold", "0.9", "--name-groups").status == 0
    write(day / "new.jsonl", {"joint": TEXTS["b"] + " " + TEXTS["c"] + " " + TEXTS["d"]})
    done = run("dedup", "new.jsonl", "--against", "FP2", "-o", "new", "--threshold", "0.3")
    assert done.status == 0
    assert has_parts(done.err, "1 document", "several named groups")
    group, joined = names("new")["joint"]
    assert {group, *joined} == {"first", "second"}


def test_parts_that_do_not_fit_are_refused_by_name(day: Path, run: Run) -> None:
    def error_of(*arguments: str) -> str:
        done = run(*arguments)
        assert done.status == 2
        return " ".join(done.err.split())

    assert has_parts(
        error_of("merge", "FP/one", "FP/three", "-o", "m"), "FP/three cannot be used:", "no such folder"
    )
    (day / "FP" / "torn").mkdir()
    assert has_parts(error_of("merge", "FP", "-o", "m"), "FP/torn cannot be used", "no fingerprints.json")
    (day / "FP" / "torn").rmdir()
    write(day / "four.jsonl", {"x": TEXTS["d"]})
    assert run("fingerprint", "four.jsonl", "-o", "FP/four", "--length", "3").status == 0
    refused = error_of("merge", "FP/one", "FP/four", "-o", "m")
    assert has_parts(refused, "FP/four", "length 3,", "FP/one has 5")
    assert "--length is 3, and it was 5" in error_of("merge", "FP/one", "-o", "m", "--length", "3")
    assert "named one.jsonl" in error_of("merge", "FP/one", "FP/one", "-o", "m")
    assert run("fingerprint", "--new-key", "my.key").status == 0
    assert (day / "my.key").stat().st_mode & 0o77 == 0
    (day / "my.key").write_text("17" * 32)  # new keys are the same in all tests
    assert "the key" in error_of("merge", "FP/one", "--key", "my.key", "-o", "m")
    assert run("fingerprint", "four.jsonl", "-o", "apart/four", "--key", "my.key").status == 0
    assert run("merge", "apart/four", "--key", "my.key", "-o", "m").status == 0
    assert not (day / "apart" / ".neardup-key").exists()
    assert has_parts(
        error_of("dedup", "one.jsonl", "--update", "FP", "-o", "n"),
        "--update cannot be given",
        "without fingerprints",
    )


def test_saved_fingerprints_with_decisions_texts_and_groups_alone(day: Path, run: Run) -> None:
    write(day / "new.jsonl", {"a4": TEXTS["a"] + " and again", "d": TEXTS["d"]})
    assert run("group", "new.jsonl", "--against", "FP", "-o", "grouped").status == 0
    assert not (day / "grouped" / "kept.jsonl").exists()
    assert names("grouped") == {"a4": ("a2", [])}
    texts = pq.read_table(day / "grouped" / "texts.parquet").to_pylist()
    assert TEXTS["a"].encode() in {bytes(row["text"]) for row in texts}  # also those of saved documents
    with DecisionStore(day / "grouped") as store:
        store.act([FateOf("a4", "keep")], by="Ann", what="decided in a test")
    assert run("dedup", "new.jsonl", "--against", "FP", "-o", "plain").status == 0
    assert run("dedup", "new.jsonl", "--against", "FP", "-o", "decided", "--decisions", "grouped").status == 0
    assert (kept("plain"), kept("decided")) == (["d"], ["a4", "d"])
    for option in ("--resume", "--predict"):
        refused = run("group", "new.jsonl", "--against", "FP", "-o", "other", option)
        assert refused.status == 2
        assert f"{option} cannot be given" in " ".join(refused.err.split())


def test_texts_that_have_moved_are_named(day: Path, run: Run) -> None:
    (day / "away").mkdir()
    shutil.move(day / "one.jsonl", day / "away" / "one.jsonl")
    refused = run("merge", "FP", "-o", "m")
    assert refused.status == 2
    assert "one.jsonl of the part FP/one is not there" in " ".join(refused.err.split())
    assert run("merge", "FP", "-o", "m", "--inputs", "away").status == 0
    assert (day / "m" / "groups.parquet").read_bytes() == (day / "out" / "groups.parquet").read_bytes()


def test_the_commands_of_the_guide_run(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts" / "00.jsonl", {"a": TEXTS["a"], "b": TEXTS["b"]})
    write(tmp_path / "parts" / "01.jsonl", {"a2": TEXTS["a"]})
    guide = (DOCS / "howto" / "parts.md").read_text(encoding="utf-8")
    commands = [line.partition("#")[0].split()[1:] for line in guide.split("```")[1].strip().splitlines()]
    assert [command[0] for command in commands] == [*["fingerprint"] * 2, "merge", *["part"] * 2]
    for command in commands:
        assert run(*command).status == 0
    assert (kept("kept/00"), kept("kept/01")) == (["a", "b"], [])


def test_a_missing_number_of_the_parts_in_a_folder_is_named(day: Path, run: Run) -> None:
    (day / "numbered").mkdir()
    for number, name in ((0, "one"), (1, "two"), (3, "one")):
        (day / f"{number}.jsonl").write_text(
            (day / f"{name}.jsonl").read_text().replace('"id": "', f'"id": "{number}')
        )
        assert run("fingerprint", f"{number}.jsonl", "-o", f"numbered/part-{number:02}").status == 0
    result = run("merge", "numbered", "-o", "incomplete")
    assert result.status == 2
    assert "numbered lacks 1 part: part-02" in result.err
    assert not (day / "incomplete").exists()
    parts = [f"numbered/part-{number:02}" for number in (0, 1, 3)]
    assert run("merge", *parts, "-o", "some").status == 0
