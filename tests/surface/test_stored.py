"""A result in its folder: read back, grouped at another threshold, refused where it is none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs

import neardup as nd
from neardup.errors import FormatError, InputError, NeardupError, OutputError, SettingError
from support.command_line import ROWS, Run, run_json, write_rows
from support.messages import has_parts
from support.sealed import seal

TABLES = ("pairs", "groups", "copies", "ranks", "not_judged")


@pytest.fixture
def result(run: Run, mails: Path, tmp_path: Path) -> Path:
    """Three mails alike at 95/97, one of them a copy, found at .6."""
    assert run("dedup", mails, "-o", tmp_path / "result", "--threshold", "0.6", "--keep", "max:year").status == 0
    return tmp_path / "result"


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return pq.read_table(folder / f"{name}.parquet").to_pylist()


# --- load and save


def test_what_was_written_is_read_back(result: Path, mails: Path) -> None:
    stored, found = nd.load(result), nd.find(str(mails), threshold=0.6, keep="max:year")
    for name in TABLES:
        assert getattr(stored, name).equals(getattr(found, name)), name
    assert stored.run.as_dict() == run_json(result)
    assert stored.run.counts == found.run.counts
    assert str(stored.why("a")) == str(found.why("a"))
    labels = lambda words, identical: {"words": words, "identical": identical}  # noqa: E731
    assert nd.load(str(result)).ranks.to_pylist() == [
        {
            "id": "a",
            "row": 0,
            "first": 0,
            **labels(0, 0),
            "rank": 2,
            "reference": False,
            "bytes": len(ROWS[0]["text"]),
        },
        {
            "id": "b",
            "row": 1,
            "first": 1,
            **labels(1, 1),
            "rank": 0,
            "reference": False,
            "bytes": len(ROWS[1]["text"]),
        },
        {
            "id": "c",
            "row": 2,
            "first": 0,
            **labels(0, 2),
            "rank": 1,
            "reference": False,
            "bytes": len(ROWS[2]["text"]),
        },
    ]


def test_saved_and_loaded_is_the_same(tmp_path: Path) -> None:
    found = nd.find([row["text"] for row in ROWS], threshold=0.6).at(0.9)
    found.save(tmp_path / "out")
    stored = nd.load(tmp_path / "out")
    for name in TABLES:
        assert getattr(stored, name).equals(getattr(found, name)), name
    # no kept rows are in the folder of a saved result
    assert stored.run == structs.replace(found.run, kept_files=None)
    with pytest.raises(OutputError):
        found.save(tmp_path / "out")
    found.at(0.99).save(tmp_path / "out", overwrite=True)
    assert nd.load(tmp_path / "out").run.settings["threshold"] == 0.99


def test_rejected_rows_are_read_back(mails: Path, run: Run, tmp_path: Path) -> None:
    with mails.open("a", encoding="utf-8") as file:
        file.write('{"id": "e", "text"\n')
    assert run("group", mails, "-o", tmp_path / "out").status == 1
    (problem,) = nd.load(tmp_path / "out").problems
    assert (problem.source, problem.row) == (str(mails), 4)
    result = run("regroup", tmp_path / "out", "--threshold", "0.9", "-o", tmp_path / "strict")
    assert result.status == 1
    copied, before = ((tmp_path / name / "problems.jsonl").read_bytes() for name in ("strict", "out"))
    assert copied == before


def test_an_audit_is_read_back_but_tells_of_its_own_threshold_only(run: Run, mails: Path, tmp_path: Path) -> None:
    assert run("group", mails, "-o", tmp_path / "out", "--audit", "10").status == 0
    stored = nd.load(tmp_path / "out")
    assert stored.missed is not None
    assert stored.missed.equals(nd.find(str(mails), audit=10).missed)
    assert stored.run.audit.drawn == 3
    assert (stored.at(0.9).missed, stored.at(0.9).run.audit) == (None, None)
    stored.save(tmp_path / "again")
    assert (tmp_path / "again" / "missed.parquet").read_bytes() == (
        tmp_path / "out" / "missed.parquet"
    ).read_bytes()


def test_nothing_in_it_is_a_result_too(tmp_path: Path) -> None:
    for documents in (["one text"], ["", " "]):
        found = nd.find(documents)
        assert found.at(0.9).groups.equals(found.groups)
        found.save(tmp_path / str(len(documents)))
        assert nd.load(tmp_path / str(len(documents))).at(0.9).run.counts == found.run.counts


# --- refused


def test_a_folder_that_is_no_result(tmp_path: Path) -> None:
    of_command = '{{"command": "{}", "neardup_version": "1", "format": 2}}'
    (tmp_path / "empty").mkdir()
    for place, content, words in (
        ("nothing", None, r"nothing is not .*no such folder"),
        ("empty", None, r"it has no run\.json"),
        ("", '{"name": "other"}', r"its run\.json is another program's"),
        ("", "[1]", r"its run\.json is another program's"),
        ("", "{", r"run\.json cannot be used: .*truncated.*Make the result again"),
        ("", of_command.format("passages"), r"the output of neardup passages.*report\.html"),
        ("", of_command.format("decontaminate"), r"the output of neardup decontaminate.*report\.html"),
    ):
        if content is not None:
            (tmp_path / "run.json").write_text(content)
        with pytest.raises(InputError, match=words):
            nd.load(tmp_path / place)


def without_counts(result: Path) -> None:
    whole = run_json(result)
    (result / "run.json").write_text(json.dumps({key: whole[key] for key in whole if key != "counts"}))
    seal(result)


def of_format_99(result: Path) -> None:
    (result / "run.json").write_text(json.dumps({**run_json(result), "format": 99, "neardup_version": "7.0"}))


def with_ranks(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    def spoil(result: Path) -> None:
        pq.write_table(change(pq.read_table(result / "ranks.parquet")), result / "ranks.parquet")
        seal(result)

    return spoil


RANK, LETTERS = 5, pa.array(["a", "b", "c"])


def without_parquet(result: Path) -> None:
    (result / "ranks.parquet").write_bytes(b"no Parquet at all")
    seal(result)


@pytest.mark.parametrize(
    ("spoil", "kind", "words"),
    [
        (lambda out: (out / "manifest.json").unlink(), InputError, r"no manifest\.json.* Make the result again"),
        (of_format_99, FormatError, r"has format 99, written by neardup 7.0. Allowed: This program"),
        (without_counts, InputError, r"run\.json cannot be used: .*counts"),
        (lambda out: (out / "ranks.parquet").unlink(), InputError, r"ranks\.parquet is not there"),
        (lambda out: (out / "ranks.parquet").write_bytes(b"x" * 17), InputError, r"has 17 bytes, and [\d,]+ were"),
        (without_parquet, InputError, "ranks.parquet cannot be used: "),
        (with_ranks(lambda _: pa.table({"id": ["a"]})), InputError, r"row, first, words.*reference, bytes"),
        (with_ranks(lambda table: table.set_column(RANK, "rank", LETTERS)), InputError, r"another type .* rank"),
    ],
)
def test_a_spoiled_result_is_refused(
    result: Path, spoil: Callable[[Path], object], kind: type[NeardupError], words: str
) -> None:
    spoil(result)
    with pytest.raises(kind, match=words):
        nd.load(result)


def test_what_a_folder_says_cannot_rule_the_terminal(run: Run, result: Path) -> None:
    """It may come from anybody."""
    said = {name: ["a\x1b[2Jb"] for name in ("notes", "warnings")}
    (result / "run.json").write_text(json.dumps({**run_json(result), **said}))
    seal(result)
    for threshold in (0.6, 0.9):
        shown = run("regroup", result, "--threshold", threshold, "--dry-run")
        assert shown.status == 0
        assert "\x1b[2J" not in shown.out + shown.err
        assert "a\\x1b[2Jb" in shown.out


@pytest.mark.parametrize("left", [[], [0], [1, 2], [0, 1], [0, 0, 1, 2]])
def test_tables_of_different_runs(result: Path, left: list[int]) -> None:
    ranks = pq.read_table(result / "ranks.parquet")
    pq.write_table(ranks.take(pa.array(left, pa.int64())), result / "ranks.parquet")
    seal(result)
    with pytest.raises(InputError, match="not belong together"):
        nd.load(result).at(0.9)


def test_a_result_made_by_hand_has_no_ranks(result: Path) -> None:
    found = nd.load(result)
    by_hand = nd.Found(found.pairs, found.groups, found.copies, found.run)
    with pytest.raises(InputError, match="no table of ranks"):
        by_hand.at(0.9)


@pytest.mark.parametrize(
    ("threshold", "said"),
    [
        (0.5, "threshold is 0.5, but this result holds pairs at 0.6 and above only. Allowed: A number"),
        (1.5, "threshold is 1.5. Allowed: a number above 0 and at most 1"),
        ("high", "threshold is 'high'. Allowed: "),
    ],
)
def test_a_threshold_that_cannot_be(result: Path, threshold: Any, said: str) -> None:
    with pytest.raises(SettingError) as refused:
        nd.load(result).at(threshold)
    assert str(refused.value).startswith(said)


# --- the command


def test_group_from_writes_the_tables_of_a_run_at_that_threshold(
    run: Run, result: Path, mails: Path, tmp_path: Path
) -> None:
    strict, fresh = tmp_path / "strict", tmp_path / "fresh"
    mails.unlink()  # documents are not read
    said = run("regroup", result, "--threshold", "0.98", "-o", strict)
    assert (said.status, said.err) == (0, "")
    assert has_parts(said.out, "note", "stored pairs", "0.6\n")
    assert "to remove     1 document (25.0 %)" in said.out
    files = {f"{name}.parquet" for name in (*TABLES, "places", "located", "texts")}
    files |= {"problems.jsonl", "run.json", "manifest.json"}
    assert {path.name for path in strict.iterdir()} == files
    write_rows(mails, ROWS)
    assert run("dedup", mails, "-o", fresh, "--threshold", "0.98", "--keep", "max:year").status == 0
    for name in TABLES:
        assert rows(strict, name) == rows(fresh, name), name
    for key in ("counts", "bytes", "settings", "settings_digest", "warnings"):
        assert run_json(strict)[key] == run_json(fresh)[key], key
    assert [row["id"] for row in rows(strict, "groups")] == ["c", "a"]
    stored = {"threshold": 0.6, "large_clusters": 0, "cluster_members": 0, "popular": 0}
    assert run_json(strict)["regrouped_from"] == stored
    assert run_json(fresh)["regrouped_from"] is None


def test_group_keeps_all_of_a_result_of_group(run: Run, mails: Path, tmp_path: Path) -> None:
    assert run("group", mails, "-o", tmp_path / "all").status == 0
    assert run("regroup", tmp_path / "all", "--threshold", "0.9", "-o", tmp_path / "strict").status == 0
    assert [row["kept"] for row in rows(tmp_path / "strict", "groups")] == [True, True, True]


def test_group_from_can_be_tried_and_printed(run: Run, result: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    said = run("regroup", result, "--threshold", "0.98", "--dry-run")
    assert has_parts(said.out, "to keep    c", "1 other", "\nto remove  a", "copy of c: same words; case: ")
    assert said.out.endswith("written       nothing (dry run)\n")
    printed = json.loads(run("regroup", result, "--threshold", "0.98", "--dry-run", "--json").out)
    assert printed["counts"]["groups"] == 1
    assert printed["files"] == []
    assert sorted(tmp_path.rglob("*")) == before


def test_a_result_is_not_replaced_by_what_is_made_from_it(run: Run, result: Path) -> None:
    refused = run("regroup", result, "--threshold", "0.9", "-o", result, "--overwrite")
    assert refused.status == 2
    assert "result itself" in refused.err
    assert (result / "kept.jsonl").exists()


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        (["dedup", "--from", "out"], "neardup apply"),
        (["dedup", "--from=out", "-o", "x"], "neardup apply"),
        (["dedup", "one.jsonl", "--merged", "out"], "neardup part"),
        (["group", "--from", "out", "--threshold", "0.9"], "neardup regroup"),
    ],
)
def test_an_option_that_became_a_command_names_it(run: Run, typed: list[str], command: str) -> None:
    refused = run(*typed)
    assert refused.status == 2
    assert command in " ".join(refused.err.split())
