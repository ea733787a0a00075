"""``neardup review`` and ``neardup serve --page`` as processes: they print an address, and pages are there."""

from __future__ import annotations

import time
from pathlib import Path

from neardup.collection import Collection
from support.command_line import Run
from support.made_reviews import make_result
from support.messages import has_parts
from support.served import ask, running

TEXT = "the quick brown fox jumps over the lazy dog and runs far away into the dark and quiet wood"


def test_review_serves_a_result_and_stores_decisions_in_it(run: Run, tmp_path: Path) -> None:
    folder = make_result(tmp_path)
    with running("review", folder) as (host, said):
        assert ask(host, "GET", "/")[0] == 200
    assert has_parts(said[-1], "stopped", "nobody", f"{folder}\n")
    assert run("report", folder, "-o", folder.parent / "report.html").status == 0
    with running("review", folder, "--by", "Eve") as (host, said):
        status, text, _ = ask(host, "GET", "/")
        assert status == 200
        assert "fox" in text
        form = {"asked": "pair", "a": 1, "b": 0, "seen": 0, "verdict": "keep both"}
        status, _, place = ask(host, "POST", "/decide", form)
        assert status == 303
        assert "Done: keep both" in ask(host, "GET", place)[1]
        assert "Eve" in ask(host, "GET", "/history")[1]
    assert said[-2] == f"stopped; {folder} holds 1 action: neardup apply {folder} -o DIR\n"
    assert has_parts(
        said[-1], "report.html", "older", "by 1 action", f"neardup report {folder} -o PAGE --overwrite"
    )
    final = run("apply", folder, "-o", tmp_path / "final")
    assert final.status == 0, final.err
    assert "fox-12" in (tmp_path / "final" / "kept.jsonl").read_text()


def test_serve_with_page_adds_the_pages_to_a_collection(tmp_path: Path) -> None:
    path = tmp_path / "mail.neardup"
    with Collection(path) as collection:
        collection.add([TEXT, f"{TEXT} again"], near=0.5, on_near="link")
    with running("serve", path, "--page") as (host, lines):
        assert lines[1].rstrip().endswith("/review/")
        assert ask(host, "GET", "/health")[0] == 200
        until = time.monotonic() + 60
        while ask(host, "GET", "/ready")[0] != 200:
            assert time.monotonic() < until
            time.sleep(0.05)
        for place in ("/review", "/review/"):
            status, text, _ = ask(host, "GET", place)
            assert status == 200
            assert 'href="/review/files/review.css"' in text
        assert "2" in text
        assert ask(host, "GET", "/reviews")[0] == 404
        assert ask(host, "GET", "/review/export")[1].count("jsonl</a>") == 3  # groups, decisions and tags


def test_other_machines_need_tokens(run: Run, tmp_path: Path) -> None:
    refused = run("review", tmp_path, "--host", "0.0.0.0")
    assert refused.status == 2
    assert "--token-file" in refused.err


def test_a_folder_without_a_result_is_refused_in_words(run: Run, tmp_path: Path) -> None:
    refused = run("review", tmp_path, "--port", "0")
    assert refused.status == 2
    assert "error" in refused.err.lower()


def test_the_address_is_printed_before_the_tables_are_read(run: Run, tmp_path: Path) -> None:
    """A large result takes seconds, in which a browser can already wait for its page."""
    folder = make_result(tmp_path)
    (folder / "groups.parquet").write_bytes(b"")
    refused = run("review", folder, "--port", "0")
    assert (refused.status, refused.out[:22]) == (2, "Open http://127.0.0.1:")
    assert "groups.parquet" in refused.err
    (folder / "run.json").unlink()
    refused = run("review", folder, "--port", "0")
    assert (refused.status, refused.out) == (2, "")
