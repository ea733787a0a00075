"""``neardup collection add`` beside a server: others write in between; the same command goes on after a kill."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from neardup import Collection
from support import forked
from support.command_line import Run
from support.serve_command import serving

pytestmark = pytest.mark.skipif(os.name == "nt", reason="processes are forked")
N = 2000
ADDING = """
import sys
from neardup.collection.intake import Adding, TransactionSize
from neardup.collection.store import Store

Adding.portions, give_way = TransactionSize(documents=5, most=1), Store.give_way

def giving_way(self, since):
    print("between", since > 0, flush=True)
    give_way(self, since)

Store.give_way = giving_way
sys.argv = ["neardup", "collection", "add", {path!r}, {file!r}, "--threshold", "80%", "--on-near", "link"]
from neardup.cli import main
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_put_is_acknowledged_before_the_addition_ends(run: Run, tmp_path: Path, number: int) -> None:
    path, file = tmp_path / "mail.neardup", tmp_path / "in.jsonl"
    rows = [{"id": f"d{k}", "text": f"the letter {k // 2} of the harbour office, page {k // 2}"} for k in range(N)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    Collection(path).close()
    with serving(path) as server:
        adding = forked.start(
            ADDING.format(path=str(path), file=str(file)), loaded=["neardup.cli", "neardup.collection"]
        )
        try:
            assert adding.line().startswith("between"), adding.err.read_text()
            for k in range(5):
                status, answer = server.ask("PUT", f"/v1/documents/put{k}", {"text": f"a text {k}"})[:2]
                assert status in (200, 201), answer
                assert adding.poll() is None, "the addition goes on"
            with Collection(path, readonly=True) as known:
                while len(known) < 100:
                    time.sleep(0.01)
                    assert adding.poll() is None
            adding.send_signal(number)
            adding.wait(60)
            told = adding.err.read_text()
        finally:
            adding.kill()
            adding.folder.cleanup()
    with Collection(path) as known:
        stored = len(known) - 5
        assert 95 <= stored < N
        assert known.check() == []
        assert {f"put{k}" for k in range(5)} <= set(known)
        assert {f"d{k}" for k in range(stored)} <= set(known)
    if number == signal.SIGINT:
        assert adding.returncode == 130
        assert f"{stored} documents stored" in told
    result = run("collection", "add", path, file, "--threshold", "80%", "--on-near", "link", "--json")
    counts = json.loads(result.out)
    assert (counts["unchanged"], counts["added"], counts["documents"]) == (stored, N - stored, N + 5)
    with Collection(path) as known:
        assert known.check() == []
        assert {group.size for group in known.groups(limit=1000).groups} == {2}
