"""--sketch simhash from outside: what is typed, printed and written; the page shows what the program prints."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.cli.demo_documents import documents_path
from support.closed_pairs import closed
from support.command_line import Run, run_json
from support.messages import assert_refused, has_parts
from support.paths import DOCS

PAGE = DOCS / "explanation" / "simhash.md"
OF_THE_MOMENT = ("time", "memory", "written")


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(documents_path(), "sample.jsonl"))


def ids_in(table: Path) -> set[tuple[str, str]]:
    rows = pq.read_table(table)
    return set(zip(rows["id_a"].to_pylist(), rows["id_b"].to_pylist(), strict=True))


def test_the_page_shows_what_the_command_prints(run: Run, sample: Path) -> None:
    text = PAGE.read_text(encoding="utf-8").partition("\n$ neardup group ")[2].partition("\n```")[0]
    typed, *shown = text.removesuffix("\n...").splitlines()
    result = run("group", *typed.split())
    assert (result.status, result.err) == (0, "")
    printed = [line for line in result.out.splitlines() if not line.startswith(OF_THE_MOMENT)]
    assert printed[: len(shown)] == shown
    assert all("neardup " in line for line in printed[len(shown) :]), "only the next commands follow"


def test_the_table_of_the_page(run: Run, sample: Path) -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## A run by SimHash")[2]
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \| (\S+) \|$", text, flags=re.MULTILINE)
    assert [row[0] for row in rows] == ["0", "3", "6", "10"]
    for distance, compared, pairs, recall in rows:
        told = run("group", sample, "--dry-run", "--sketch", f"simhash:64,{distance}", "--audit", 104)
        assert f"{pairs} at resemblance 0.8 or above, of {compared} compared exactly" in told.out
        assert f"recall {recall if recall[0] == '1' else '0' + recall}\n" in told.out


def test_group_and_dedup_write_the_files_of_any_run(run: Run, sample: Path) -> None:
    every = ids_in_found(nd.find(sample, text="text", id="id"))
    texts = {row["id"]: row["text"] for row in map(json.loads, sample.read_text(encoding="utf-8").splitlines())}
    family = nd.SimHash(128, "shingle:2")
    near = {(a, b) for a, b in every if (family.of(texts[a]) ^ family.of(texts[b])).bit_count() <= 7}
    near = closed(near, every)
    assert 0 < len(near) < len(every)
    asked = ("--sketch", "simhash:128,shingle:2,7")
    assert run("group", sample, "-o", "groups", *asked).status == 0
    assert run("dedup", sample, "-o", "cleaned", *asked).status == 0
    for folder in (Path("groups"), Path("cleaned")):
        assert ids_in(folder / "pairs.parquet") == near
        told = run_json(folder)
        assert (told["choice"]["asked"], told["choice"]["method"]) == ("auto", "simhash")
        assert has_parts(told["choice"]["why"], "Hamming distance at most 7", "128-bit", "shingle:2")
        assert {name: told["settings"][name] for name in ("sketch", "bits", "features", "distance")} == {
            "sketch": "simhash",
            "bits": 128,
            "features": "shingle:2",
            "distance": 7,
        }
        assert told["plan"] == nd.hamming_plan(told["counts"]["different"], 128, 7).as_dict()
        assert told["recall"]["predicted"] is told["recall"]["missed"] is told["recall"]["planned"] is None
    kept = [json.loads(line)["id"] for line in Path("cleaned/kept.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(kept) == run_json(Path("cleaned"))["counts"]["kept"] < 104


def ids_in_found(found: nd.Found) -> set[tuple[str, str]]:
    return set(zip(found.pairs["id_a"].to_pylist(), found.pairs["id_b"].to_pylist(), strict=True))


def test_keys_of_such_a_run_are_documented(run: Run, sample: Path) -> None:
    told = json.loads(run("group", sample, "--dry-run", "--json", "--sketch", "simhash").out)
    page = (DOCS / "reference" / "files.md").read_text(encoding="utf-8").partition("## run.json")[2]
    keys = [*told["recall"], *told["large_buckets"], *told["choice"], *told["plan"], told["choice"]["method"]]
    assert not [key for key in keys if f"`{key}`" not in page]


@pytest.mark.parametrize(
    ("sketch", "said"),
    [
        ("simhash:64,3,9", "error: --sketch is 'simhash:64,3,9'\n       Allowed: one-perm"),
        ("simhash:64,17", "error: distance is 17\n       Allowed: a number from 0 to"),
        ("simhash:words", "error: features is 'words'\n       Allowed: char:N, joined:N,"),
    ],
)
def test_refused(run: Run, mails: Path, sketch: str, said: str) -> None:
    result = run("group", mails, "--dry-run", "--sketch", sketch)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(said)


def test_what_makes_no_sense_in_python() -> None:
    assert_refused(
        (nd.SettingError, r"'simhash'\. Allowed: one of one-permutation", lambda: nd.MinHash(sketch="simhash")),
        (nd.SettingError, r"'simhash'\. Allowed: Advice on", lambda: nd.advise(["one text"], sketch="simhash")),
    )


def test_the_plan_names_the_run(run: Run) -> None:
    told = run("plan", "--sketch", "simhash:128,6").out.splitlines()[-1]
    command = told.partition(": neardup ")[2].split()
    assert command == "group IN -o DIR --sketch simhash:128,6".split()  # noqa: SIM905
    assert run("plan", "--sketch", "simhash").out.endswith("--sketch simhash:64,3\n")
