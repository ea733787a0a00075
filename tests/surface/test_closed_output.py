"""Standard output that is closed, full, or no longer read: output that is lost is no success, and no traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.messages import has_parts

TEXTS = "the quick brown fox jumps over the lazy dog"
COMMANDS = [
    ["--version"],
    ["--help"],
    ["compare", "--help"],
    ["compare", "--literal", TEXTS, f"{TEXTS} today"],
    ["explain", "--version"],
    ["none"],
]
"""The ways to print: a stored page, the framework, a command, its mistakes."""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="descriptors are closed before the command begins")


def run(words: list[str], redirection: str) -> subprocess.CompletedProcess[str]:
    command = f'exec "$0" -m neardup "$@" {redirection}'
    line = ["sh", "-c", command, sys.executable, *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_a_closed_standard_output_loses_nothing_in_silence(words: list[str]) -> None:
    whole, silent, mute = run(words, ""), run(words, ">&-"), run(words, "2>&-")
    lost = bool(whole.stdout)
    assert (silent.returncode, silent.stdout) == (2 if lost else whole.returncode, "")
    assert silent.stderr == whole.stderr or (lost and "standard output" in silent.stderr)
    assert (mute.returncode, mute.stdout, mute.stderr) == (whole.returncode, whole.stdout, "")


def test_no_file_becomes_standard_output(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(TEXTS)
    page = tmp_path / "page.html"
    done = run(["compare", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "--html", str(page)], ">&- <&-")
    assert done.returncode == 2  # the terminal view is lost
    assert page.read_text().startswith("<!")
    assert page.read_text().rstrip().endswith("</html>")


def test_a_reader_that_has_seen_enough_ends_the_command_quietly() -> None:
    for words in COMMANDS[:4]:
        run(words, "")
        reading, writing = os.pipe()
        os.close(reading)
        try:
            line = [sys.executable, "-m", "neardup", *words]
            done = subprocess.run(
                line, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, timeout=300
            )
        finally:
            os.close(writing)
        assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, ""), words


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the device that is always full is that of Linux")
def test_a_full_disk_is_reported_in_words() -> None:
    for words in COMMANDS[:4]:
        run(words, "")
        done = run(words, ">/dev/full")
        assert done.returncode == 2, words
        assert "No space left" in done.stderr
        assert "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the device that is always full is that of Linux")
def test_rows_for_a_full_disk_are_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # else nothing is left to write at the exit
    texts = [
        TEXTS,
        TEXTS,
        *(f"{number} word " * 2_000 for number in range(99)),
    ]  # the first row stays in the buffer
    lines = (json.dumps({"id": number, "text": text}) + "\n" for number, text in enumerate(texts))
    (tmp_path / "rows.jsonl").write_text("".join(lines))
    done = run(["dedup", str(tmp_path / "rows.jsonl"), "-o", "-", "--threshold", "1"], ">/dev/full")
    assert done.returncode == 2
    assert "No space left" in done.stderr.splitlines()[-3]
    assert "Exception" not in done.stderr


def test_rows_that_nobody_can_receive_are_no_success(tmp_path: Path) -> None:
    lines = (json.dumps({"id": number, "text": f"{number} word " * 2_000}) + "\n" for number in range(99))
    (tmp_path / "rows.jsonl").write_text("".join(lines))
    words = ["dedup", str(tmp_path / "rows.jsonl"), "-o", "-", "--threshold", "1"]
    closed = run(words, ">&-")
    assert closed.returncode == 2
    assert has_parts(closed.stderr, "standard output", "closed")
    assert "documents" not in closed.stderr  # it is refused before the work
    reading, writing = os.pipe()
    line = [sys.executable, "-m", "neardup", *words]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}  # a write that is cut off is then no error by itself
    with subprocess.Popen(line, stdout=writing, stderr=subprocess.PIPE, text=True, env=environment) as process:
        os.close(writing)
        os.read(reading, 10)
        os.close(reading)  # as head does
        _, said = process.communicate(timeout=300)
    assert (process.returncode, "Traceback" in said, "error" in said) == (128 + signal.SIGPIPE, False, False)
