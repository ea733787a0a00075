"""Five people use neardup for the first time, and type the commands of the README and the pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pyarrow.parquet as pq
import pytest

import neardup as nd
from support.command_line import Run, run_json
from support.paths import ROOT
from support.served import ask, running

MEMO = (
    "The committee met on Friday at the town hall of the harbour district. It was decided to buy three new boats, "
    "and Dr. Miller pays 1200 for the repair of the crane by the end of March. Receipts must be stapled to it."
)
REVISED = MEMO.replace("1200", "1300").replace("Friday", "Monday")
OTHER = "Lunch is served at noon in the canteen on the second floor, and on Fridays there is fish with potatoes."


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """A folder of documents, one a file."""
    folder = tmp_path / "letters"
    folder.mkdir()
    for name, text in (("memo", MEMO), ("memo-2", REVISED), ("memo-copy", MEMO), ("lunch", OTHER)):
        (folder / f"{name}.txt").write_text(text)
    return folder


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """A data file of our own texts."""
    lines = (ROOT / "tests" / "data" / "own" / "documents.jsonl").read_text(encoding="utf-8").splitlines()[:300]
    path = tmp_path / "crawl.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_reviewer_groups_letters_looks_and_decides(run: Run, letters: Path, tmp_path: Path) -> None:
    """README, docs/howto/pairs.md, report.md, review.md, review-decisions.md."""
    out = tmp_path / "groups"
    grouped = run("group", letters, "-o", out, "--keep", "first", "--threshold", "0.5", "--kinds")
    assert grouped.status == 0, grouped.err
    shown = run("show", out, "memo-2.txt")
    assert "compare   neardup compare" in shown.out
    line = re.search(r"compare   neardup (compare .*)", shown.out)
    assert line
    compared = run(*line[1].split())
    assert compared.status == 0, compared.err
    assert "1200" in compared.out
    assert "1300" in compared.out
    assert "resemblance" in compared.out
    page = tmp_path / "report.html"
    assert run("report", out, "-o", page).status == 0
    assert "memo-2.txt" in page.read_text()
    tags = tmp_path / "decisions.csv"
    assert run("export", out, "-o", tags).status == 0
    assert "memo-2.txt" in tags.read_text()
    with running("review", out, "--by", "Ann") as (host, _):
        assert "memo-2" in ask(host, "GET", "/groups/1")[1].replace("<wbr>", "")
        form = {"asked": "pair", "a": 1, "b": 2, "seen": 0, "verdict": "keep both"}
        assert ask(host, "POST", "/decide", form)[0] == 303
    final = tmp_path / "final"
    written = run("apply", out, "-o", final)
    assert written.status == 0, written.err
    names = ["lunch.txt", "memo-2.txt", "memo-copy.txt"]
    assert sorted(path.name for path in (final / "kept").rglob("*.txt")) == names


def test_a_data_engineer_plans_runs_and_asks_why(run: Run, crawl: Path, tmp_path: Path) -> None:
    """README, docs/howto/trust-removals.md, docs/explanation/memory.md, docs/reference/python.md."""
    planned = run("plan", crawl)
    assert planned.status == 0, planned.err
    [command] = [line.strip() for line in planned.out.splitlines() if line.strip().startswith("neardup dedup")][:1]
    assert str(crawl) in command
    out = tmp_path / "cleaned"
    line = ("dedup", crawl, "-o", out, "--memory", "2GB", "--resume", "--audit", "100", "--threshold", "0.7")
    done = run(*line)
    assert done.status == 0, done.err
    found = nd.load(out)
    assert found.removed.num_rows > 10
    gone = found.removed["id"][0].as_py()
    assert "removed" in str(found.why(gone))
    assert found.at(0.9).removed.num_rows <= found.removed.num_rows
    counts = run_json(out)["counts"]
    lines = (out / "kept.jsonl").read_text().splitlines()
    assert len(lines) == counts["read"] - counts["removed"]
    assert set(lines) <= set(crawl.read_text().splitlines())
    fresh = run("dedup", crawl, "-o", tmp_path / "fresh", "--against", out / "kept.jsonl", "--threshold", "0.7")
    assert fresh.status == 0, fresh.err
    assert nd.load(tmp_path / "fresh").run.counts.removed == counts["read"]


def wait_until_ready(address: str) -> None:
    """Ask /ready until it answers 200, as a balancer does by docs/howto/deploy.md."""
    until = time.monotonic() + 120
    while True:
        try:
            urlopen(f"{address}/ready", timeout=60).close()
            return
        except HTTPError as error:
            error.close()
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_store_owner_adds_searches_and_serves(run: Run, letters: Path, tmp_path: Path) -> None:
    """docs/tutorial/a-collection.md, docs/reference/service.md."""
    path = tmp_path / "mail.neardup"
    assert run("collection", "add", path, letters).status == 0
    searched = run("collection", "search", path, "FINGERPRINT:memo.txt_20_80")
    assert searched.status == 0, searched.err
    assert searched.out.startswith("2 documents found")
    assert run("collection", "search", path, "FINGERPRINT:memo.txt_20_80 AND NOT canteen AND crane").status == 0
    command = [sys.executable, "-m", "neardup", "serve", str(path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout
            address = server.stdout.readline().split()[-1]
            wait_until_ready(address)
            query = quote("FINGERPRINT:memo.txt_20_80")
            with urlopen(f"{address}/v1/search?q={query}", timeout=60) as answer:
                hits = json.load(answer)["hits"]
            body = json.dumps({"text": REVISED, "overlap": 0.2, "probability": 0.8}).encode()
            asked = Request(f"{address}/v1/near", body, {"Content-Type": "application/json"})
            with urlopen(asked, timeout=60) as answer:
                near = json.load(answer)["hits"]
        finally:
            server.terminate()
    assert {hit["id"] for hit in hits} == {"memo-2.txt", "memo-copy.txt"}
    assert near[0]["id"] == "memo-2.txt"
    assert near[0]["resemblance"] == 1
    assert run("collection", "remove", path, "memo-copy.txt").status == 0
    assert run("collection", "check", path).status == 0


def test_a_teacher_shows_shingles_signatures_and_bands(run: Run, tmp_path: Path) -> None:
    """docs/explanation/walkthrough.md, README."""
    shown = run("explain", "--example")
    assert shown.status == 0
    for heading in ("Shingles × documents", "and the moon", "probability"):
        assert heading.lower() in shown.out.lower()
    own = run("explain", "--literal", "a rose is a rose is a rose", "a rose is a flower", "--length", "2")
    assert own.status == 0
    assert "rose is" in own.out
    data = run("explain", "--example", "--json")
    assert json.loads(data.out)["documents"]
    curve = run("plan", "--threshold", "0.7")
    assert curve.status == 0
    assert "0.7" in curve.out
    assert "resemblance" in str(nd.explain(["the night is dark", "the night is red"])).lower()


def test_a_library_developer_builds_with_the_blocks(tmp_path: Path) -> None:
    """docs/reference/python.md, docs/howto/from-datasketch.md, agents.md."""
    assert nd.jaccard(MEMO, REVISED) == pytest.approx(nd.compare(MEMO, REVISED).measures["resemblance"])
    index = nd.Index(threshold=0.5, recall=0.99)
    for name, text in (("memo", MEMO), ("lunch", OTHER)):
        index.add(name, index.family.of(text))
    found = index.query(index.family.of(REVISED))
    assert [hit.id for hit in found] == ["memo"]
    low, high = found[0].resemblance.low, found[0].resemblance.high
    assert low <= nd.jaccard(MEMO, REVISED) <= high
    index.save(tmp_path / "index.parquet")
    assert pq.read_table(tmp_path / "index.parquet").num_rows == 2
    pairs = [("memo", hit.id, hit.resemblance.value) for hit in found] + [("a", "b", 0.9)]
    assert nd.group_pairs(pairs) == [["a", "b"]]
    assert nd.distinct([MEMO, REVISED, OTHER], 0.5).places == [0, 2]
    with pytest.raises(nd.SettingError):
        nd.find([MEMO], threshold=2)
    with pytest.raises(nd.NeardupError):
        nd.find([MEMO], treshold=0.5)
