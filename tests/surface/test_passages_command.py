"""``neardup passages``: outputs, messages and refusals."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.corpus.repetition.cuts import put_back
from support.command_line import Result, result_in, run_json
from support.messages import has_parts

DRAW = random.Random(4)
WORDS = [f"word{number}" for number in range(4000)]
FOOTER = "Ça va — " + " ".join(DRAW.choices(WORDS, k=60))
TEXTS = [" ".join(DRAW.choices(WORDS, k=40)) for _ in range(20)]
WITH_FOOTER = (2, 5, 6, 19)
for number in WITH_FOOTER:
    TEXTS[number] = f"№ {TEXTS[number]}\n{FOOTER}.\n{TEXTS[number][::-1]}"


def run(command: str, folder: Path, *given: str, status: int = 0) -> Result:
    return result_in(folder, *command.split(), *given, status=status)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = {"key": [f"d{k}" for k in range(len(TEXTS))], "stars": list(range(len(TEXTS))), "text": TEXTS}
    pq.write_table(pa.table(rows), tmp_path / "posts.parquet", row_group_size=7)
    return tmp_path


def test_each_place_is_named_by_document_tokens_and_bytes(folder: Path) -> None:
    printed = run("passages", folder, "posts.parquet", "--id", "key", "-o", "out").out
    assert "62 tokens, 4 times in 4 documents, first in d2" in printed
    passages = pq.read_table(folder / "out" / "passages.parquet").to_pylist()
    assert [(row["tokens"], row["times"], row["documents"], row["id"]) for row in passages] == [(62, 4, 4, "d2")]
    places = pq.read_table(folder / "out" / "places.parquet").to_pylist()
    assert [place["id"] for place in places] == [f"d{k}" for k in WITH_FOOTER]
    for place in places:
        text = TEXTS[place["row"]].encode()
        assert text[place["begin"] : place["end"]].decode() == FOOTER
        assert place["first_token"] == 41  # № is the token no
    account = run_json(folder / "out")
    assert account["counts"]["repeated_tokens"] == 4 * 62


def test_documents_whose_guessed_ids_repeat_are_named_by_row(folder: Path) -> None:
    table = pa.table({"url": ["http://a"] * len(TEXTS), "text": TEXTS})
    pq.write_table(table, folder / "crawl.parquet")
    printed = run("passages", folder, "crawl.parquet", "-o", "out").out
    assert "more than once" in printed
    assert "first in crawl.parquet#2" in printed
    places = pq.read_table(folder / "out" / "places.parquet").to_pylist()
    assert [place["id"] for place in places] == [f"crawl.parquet#{k}" for k in WITH_FOOTER]


@pytest.fixture
def parts(folder: Path) -> list[str]:
    """The documents in two files, with a scan of each."""
    rows = pq.read_table(folder / "posts.parquet")
    names = [f"part{k}.parquet" for k in range(2)]
    for k, name in enumerate(names):
        pq.write_table(rows.slice(6 * k, 6 + 8 * k), folder / name, row_group_size=4)
        run("passages", folder, name, "--id", "key", "-o", f"scans/{k}", "--scan", "--threads", "1")
    return names


def test_scans_of_parts_give_the_bytes_of_one_run(folder: Path, parts: list[str]) -> None:
    scans = ["--scanned", "scans/0", "--scanned", "scans/1"]
    given = [*parts, "--id", "key", "--cut", "--keep", "last", "--within-document"]
    run("passages", folder, *given, "-o", "one")
    run("passages", folder, *given, "-o", "scanned", *scans, "--memory", "1GB")
    every = [path for path in (folder / "one").rglob("*") if path.is_file()]
    names = {str(path.relative_to(folder / "one")) for path in every} - {"run.json", "manifest.json"}
    assert {"places.parquet", "report.html", "cuts.parquet", "documents.parquet", "kept/part1.parquet"} < names
    for name in names:
        assert (folder / "scanned" / name).read_bytes() == (folder / "one" / name).read_bytes()
    counts = [run_json(folder / name)["counts"] for name in ("one", "scanned")]
    assert counts[0] == counts[1]
    assert counts[0]["passages"] == 1
    again = json.loads(run("passages", folder, parts[0], "--id", "key", "-o", "scans/0", "--scan", "--json").out)
    assert again["documents"] == 6


def test_scans_of_other_files_are_refused(folder: Path, parts: list[str]) -> None:
    def refused(*given: str) -> str:
        return run("passages", folder, *given, "--id", "key", "--dry-run", status=2).err

    both = ["--scanned", "scans/0", "--scanned", "scans/1"]
    assert "other files" in refused(*parts[::-1], *both)
    assert "other files" in refused(*parts, "--scanned", "scans/0")
    assert "another column" in run("passages", folder, *parts, "--id", "stars", "--dry-run", *both, status=2).err
    assert "no finished parts" in refused(*parts, "--scanned", "nothing")
    assert "--resume" in refused(*parts, *both, "--resume")
    (folder / "other.key").write_text("ab" * 32)
    run("passages", folder, parts[1], "--id", "key", "-o", "scans/2", "--scan", "--key", "other.key")
    assert "another key" in refused(*parts, "--scanned", "scans/0", "--scanned", "scans/2")
    log = folder / "scans" / "1" / "log"
    log.write_bytes(log.read_bytes()[:-10])
    assert "not finished" in refused(*parts, *both)
    for wrong in (["--scan", "--length", "60", "-o", "x"], ["--scan"], ["--key", "other.key", "-o", "x"]):
        assert run("passages", folder, parts[0], *wrong, status=2).err.startswith("error: ")


def test_the_passages_of_a_document_of_a_collection(folder: Path) -> None:
    run("collection add", folder, "posts.neardup", "posts.parquet", "--id", "key")
    quoted = json.loads(run("passages", folder, "posts.neardup", "--of", "d5", "--json").out)
    assert [(one["id"], one["tokens"]) for one in quoted["passages"]] == [("d19", 62), ("d2", 62), ("d6", 62)]
    printed = run("passages", folder, "posts.neardup", "--of", "d5", "--length", "62").out
    assert "62 tokens in d19" in printed
    assert "3 compared" in printed
    for given in (["--of", "nothing"], ["--of", "d5", "--cut"], ["posts.parquet", "--of", "d5"]):
        assert run("passages", folder, "posts.neardup", *given, status=2).err.startswith("error: ")
    assert "no collection" in run("passages", folder, "none.neardup", "--of", "d5", status=2).err


def test_shorter_passages_are_found_on_request(folder: Path) -> None:
    counts = json.loads(run("passages", folder, "posts.parquet", "--length", "63", "--dry-run", "--json").out)[
        "counts"
    ]
    assert (counts["passages"], counts["repeated_tokens"]) == (0, 0)
    counts = json.loads(run("passages", folder, "posts.parquet", "--length", "62", "--dry-run", "--json").out)[
        "counts"
    ]
    assert (counts["passages"], counts["places"]) == (1, 4)


def test_mistakes_are_named(folder: Path) -> None:
    assert "length is 1" in run("passages", folder, "posts.parquet", "--length", "1", "--dry-run", status=2).err
    assert "-o" in run("passages", folder, "posts.parquet", status=2).err
    (folder / "letters").mkdir()
    (folder / "letters" / "a.txt").write_text("dear all")
    refused = run("passages", folder, "letters", "--scan", "-o", "scan", status=2).err
    assert "one document a file" in refused
    assert "--scan" in refused
    assert not (folder / "scan").exists()
    (folder / "broken.jsonl").write_text('{"text": "one"}\n{"text": 5}\nno json\n\n')
    done = run("passages", folder, "broken.jsonl", "-o", "out", status=1)
    assert "2 rows" in done.err
    assert (folder / "out" / "problems.jsonl").read_text().count("\n") == 2


def test_hostile_texts_are_read_and_shown_escaped(folder: Path) -> None:
    spell = "\x1b[31mred\x07 " + " ".join(f"spell{k % 7}" for k in range(60))
    texts = ["", " \n ", spell, "x " * 5000, f"<b>{spell}</b>", "\u202e" + spell, "no"]
    (folder / "hostile.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    done = run("passages", folder, "hostile.jsonl", "-o", "out", "--length", "20")
    assert not {"\x1b", "\x07", "\u202e"} & set(done.out)
    for place in pq.read_table(folder / "out" / "places.parquet").to_pylist():
        text = texts[place["row"]].encode()
        assert len(text[place["begin"] : place["end"]].decode().split()) == place["tokens"]


@pytest.mark.parametrize(
    ("keep", "stays"), [("first", 2), ("last", 19), ("longest-document", 5), ("max:stars", 19)]
)
def test_a_passage_stays_once_and_texts_can_be_put_back(folder: Path, keep: str, stays: int) -> None:
    rows = pq.read_table(folder / "posts.parquet")
    texts = [*TEXTS[:5], TEXTS[5] + " longer", *TEXTS[6:-1], TEXTS[-1], FOOTER]
    stars = [*range(len(TEXTS)), None]
    keys = [*rows["key"].to_pylist(), "only"]
    pq.write_table(pa.table({"key": keys, "stars": stars, "text": texts}), folder / "posts.parquet")
    if keep == "last":
        stays = 20
    run("passages", folder, "posts.parquet", "--id", "key", "-o", "out", "--cut", "--keep", keep)
    kept = pq.read_table(folder / "out" / "kept.parquet")
    assert kept.schema == pq.read_schema(folder / "posts.parquet")
    short = pq.read_table(folder / "out" / "short.parquet").to_pylist()
    left = {keys.index(row["key"]): row["text"] for row in kept.to_pylist()} | {
        row["row"]: row["text"] for row in short
    }
    assert [row for row, text in left.items() if FOOTER in text] == [stays]
    cuts = pq.read_table(folder / "out" / "cuts.parquet").to_pylist()
    whole = {}
    for row, text in left.items():
        of_row = [(cut["begin_byte"], cut["text"].encode()) for cut in cuts if cut["row"] == row]
        whole[row] = put_back(text.encode(), of_row).decode()
    assert [whole[row] for row in range(len(texts))] == texts
    assert [row["id"] for row in short] == ([] if keep == "last" else ["only"])


@pytest.mark.parametrize(("least", "aside"), [(81, []), (82, ["d5", "d6", "d19"])])
def test_documents_that_cuts_leave_few_tokens_are_set_aside(folder: Path, least: int, aside: list[str]) -> None:
    """The cut documents have 81 tokens left; those that are short without a cut stay."""
    given = ("--cut", "--min-tokens", str(least), "-o", "out")
    printed = run("passages", folder, "posts.parquet", "--id", "key", *given).out
    short, kept = (pq.read_table(folder / "out" / f"{name}.parquet") for name in ("short", "kept"))
    assert short["id"].to_pylist() == aside
    assert kept["key"].to_pylist() == [f"d{k}" for k in range(len(TEXTS)) if f"d{k}" not in aside]
    assert ("short.parquet" in printed) == bool(aside)


def test_rows_keep_their_form_and_their_columns(folder: Path) -> None:
    (folder / "parts").mkdir()
    rows = [{"id": f"d{k}", "text": text, "nested": {"stars": [k]}} for k, text in enumerate(TEXTS)]
    for name, some in (("a", rows[:6]), ("b", rows[6:])):
        (folder / "parts" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    run("passages", folder, "parts", "-o", "cut", "--cut")
    run("passages", folder, "parts", "-o", "marked", "--annotate")
    assert sorted(path.name for path in (folder / "cut" / "kept").iterdir()) == ["a.jsonl", "b.jsonl"]
    for name, some in (("a", rows[:6]), ("b", rows[6:])):
        cut, marked = (
            [json.loads(line) for line in (folder / out / "kept" / f"{name}.jsonl").read_text().splitlines()]
            for out in ("cut", "marked")
        )
        first = WITH_FOOTER[0]
        without = [
            {**row, "text": row["text"].replace(FOOTER, "")} if row["id"] != f"d{first}" else row for row in some
        ]
        assert cut == without
        assert [{key: row[key] for key in rows[0]} for row in marked] == some
        assert [row["id"] for row in marked if row["repeated"]] == [
            row["id"] for row in some if FOOTER in row["text"] and row["id"] != f"d{first}"
        ]


def test_files_of_text_become_rows(folder: Path) -> None:
    (folder / "letters").mkdir()
    for number, text in enumerate(TEXTS[:7]):
        (folder / "letters" / f"{number}.txt").write_text(text)
    run("passages", folder, "letters", "-o", "out", "--cut")
    kept = pq.read_table(folder / "out" / "kept.parquet").to_pylist()
    assert [row["text"] for row in kept] == [
        text if number == 2 else text.replace(FOOTER, "") for number, text in enumerate(TEXTS[:7])
    ]


def test_boilerplate_is_text_to_ignore(folder: Path) -> None:
    rows = [f"{' '.join(DRAW.choices(WORDS, k=9))}\n{FOOTER}" for _ in range(12)]
    (folder / "mails.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in rows))
    run("passages", folder, "mails.jsonl", "-o", "out")
    assert json.loads((folder / "out" / "boilerplate.jsonl").read_text())["text"] == FOOTER
    counts = []
    for more in ((), ("--ignore", "out/boilerplate.jsonl")):
        given = ("mails.jsonl", "--threshold", ".5", "--dry-run", "--json", *more)
        counts.append(json.loads(run("dedup", folder, *given).out)["counts"]["removed"])
    assert counts == [11, 0]


def test_a_killed_search_goes_on(folder: Path) -> None:
    """The journal holds the chunks and the portions; the account does not depend on it."""
    given = ("passages", folder, "posts.parquet", "-o", "out", "--resume", "--threads", "1")
    about = [sys.executable, "-c", KILLED, *(str(word) for word in (given[0], *given[2:]))]
    stopped = subprocess.run(about, cwd=folder, capture_output=True, text=True, timeout=300)
    assert stopped.returncode == 9
    assert (folder / ".out.resume").is_dir()
    refused = run("passages", folder, "posts.parquet", "-o", "out", "--resume", "--length", "60", status=2)
    assert "length 60" in refused.err
    assert "going on with 2 finished parts" in run(*given).err
    assert not (folder / ".out.resume").exists()
    run("passages", folder, "posts.parquet", "-o", "other")
    for name in ("passages.parquet", "places.parquet", "report.html"):
        assert (folder / "out" / name).read_bytes() == (folder / "other" / name).read_bytes()


KILLED = """
import os, sys
from neardup.io.writers.scratch import RunJournal
put = RunJournal.put
def put_and_die(journal, name, table):
    put(journal, name, table)
    if name.startswith("windows"):
        os._exit(9)
RunJournal.put = put_and_die
from neardup.cli import main
sys.argv[0] = "neardup"
main()
"""
"""A process that ends when the first portion is in the journal."""


def test_graphemes_count_as_parts_of_words(folder: Path) -> None:
    characters = [chr(0x4E00 + k) for k in range(3000)]
    passage = "".join(DRAW.sample(characters, 90))
    rows = ["".join(DRAW.sample(characters, 200)) + passage[: 90 - 15 * k] for k in (0, 1, 0)]
    (folder / "letters.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in rows))
    printed = run("passages", folder, "letters.jsonl", "--dry-run").out
    assert has_parts(printed, "1 repeated passage", "80 tokens", "2 places")
    assert "1.6 to a word: 80 are about 50 words" in printed


def test_the_report_has_pictures_of_all_and_of_each_file(folder: Path) -> None:
    rows = pq.read_table(folder / "posts.parquet")
    pq.write_table(pa.concat_tables([rows.slice(0, 3)] * 2), folder / "more.parquet")
    run("passages", folder, "posts.parquet", "more.parquet", "--text", "text", "-o", "out")
    page = (folder / "out" / "report.html").read_text()
    assert ' data-label="first in">' in page  # on narrow screens each cell is a line with its name
    assert page.count("<svg") >= 4
    assert all(part in page for part in ("by length", "by count", "posts.parquet", "Ça va"))
    assert "script" not in page


def test_marks_cut_nothing(folder: Path) -> None:
    printed = run("passages", folder, "posts.parquet", "-o", "out", "--annotate").out
    assert "marked: 186 tokens" in printed
    kept = pq.read_table(folder / "out" / "kept.parquet").to_pylist()
    assert [row["text"] for row in kept] == TEXTS
    marked = {row["stars"]: row["repeated"] for row in kept if row["repeated"]}
    assert list(marked) == list(WITH_FOOTER[1:])
    for row, ((begin, end),) in ((row, [mark.values() for mark in marks]) for row, marks in marked.items()):
        assert TEXTS[row].encode()[begin:end].decode() == FOOTER


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (("--keep", "last"), "--cut"),
        (("--cut", "--keep", "best"), "max:COLUMN"),
        (("--cut", "--keep", "max:text"), "stars"),
        (("--cut", "--annotate"), "--annotate"),
    ],
)
def test_cuts_that_cannot_be_made_are_refused(folder: Path, given: tuple[str, ...], part: str) -> None:
    assert part in run("passages", folder, "posts.parquet", "-o", "out", *given, status=2).err
    assert not (folder / "out").exists()


def test_units_and_the_repetition_within_documents_are_written(folder: Path) -> None:
    printed = run(
        "passages", folder, "posts.parquet", "--unit", "line", "-o", "out", "--within-document", "--cut"
    ).out
    assert "1 repeated line" in printed
    assert pq.read_table(folder / "out" / "places.parquet")["row"].to_pylist() == list(WITH_FOOTER)
    documents = pq.read_table(folder / "out" / "documents.parquet")
    assert documents["row"].to_pylist() == list(range(len(TEXTS)))
    assert [row for row, tokens in enumerate(documents["repeated_tokens"].to_pylist()) if tokens] == list(
        WITH_FOOTER
    )
    cuts = pq.read_table(folder / "out" / "cuts.parquet")["text"].to_pylist()
    assert cuts == [FOOTER] * 3
