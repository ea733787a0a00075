"""``--resume``: a run killed at any moment goes on, with the same bytes as an undisturbed run."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from neardup.deduplication.run.find import open_journal
from neardup.errors import InputError
from neardup.io.readers import open_files
from neardup.io.readers.columns import Chosen
from neardup.io.writers.scratch import RunJournal, journal_of
from neardup.settings import Settings

MOMENTS = 50
FILES = 12
COMMAND = "from neardup.cli import main; main()"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12 files of 150 documents, a chunk each, many near copies of others. One has a line that is no JSON."""
    draw, folder = random.Random(4), tmp_path_factory.mktemp("source")
    texts: list[list[str]] = []
    for file in range(FILES):
        with (folder / f"part{file:02}.jsonl").open("w", encoding="utf-8") as lines:
            for number in range(150):
                words = [f"w{draw.randrange(3000)}" for _ in range(draw.randint(20, 60))]
                if texts and draw.random() < 0.3:
                    words = list(draw.choice(texts))
                    words[draw.randrange(len(words))] = "other"
                texts.append(words)
                lines.write(json.dumps({"id": f"{file}-{number}", "text": " ".join(words)}) + "\n")
            lines.write("no JSON\n" if file == 5 else "")
    return folder


def command(source: Path, out: Path, *more: str) -> list[str]:
    options = ["--method", "lsh", "--threshold", "0.7", "--threads", "2", "--mask", r"w29\d+ ", "--resume", *more]
    return [sys.executable, "-c", COMMAND, "dedup", str(source), "-o", str(out), *options]


def finished(given: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(given, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr  # one line was rejected
    return done


def files_of(out: Path) -> dict[str, bytes]:
    """The files of a run without what differs between any two runs."""
    files = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    account = json.loads(files.pop("run.json"))
    del files["manifest.json"], account["seconds"], account["peak_memory_bytes"]
    return {**files, "run.json": json.dumps(account).encode()}


@pytest.fixture(scope="module")
def undisturbed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], float]:
    """The files of a run that nobody kills, and its seconds from the first sign of its journal."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    running = subprocess.Popen(command(source, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begin = begun(running, out)
    assert running.wait(300) == 1
    seconds = time.monotonic() - begin
    assert not journal_of(out).exists()
    return files_of(out), seconds


def begun(running: subprocess.Popen[bytes], out: Path) -> float:
    """The moment at which a run begins its journal."""
    while not journal_of(out).exists() and running.poll() is None:
        time.sleep(0.002)
    return time.monotonic()


@pytest.mark.part(50)
@pytest.mark.parametrize("moment", range(MOMENTS))
def test_a_run_goes_on_after_kill_9(
    moment: int, source: Path, undisturbed: tuple[dict[str, bytes], float], tmp_path: Path
) -> None:
    expected, seconds = undisturbed
    draw, out = random.Random(moment), tmp_path / "out"
    limit = ["--memory", "300MB"] if moment % 2 else []
    for _ in range(1 + moment % 3):
        running = subprocess.Popen(
            command(source, out, *limit), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        begun(running, out)
        time.sleep(draw.random() * seconds)
        running.kill()
        if running.wait(60) == 1:  # it had finished
            break
    if not out.exists():
        finished(command(source, out, *limit))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    found = files_of(out)
    for files in (found, expected):
        account = json.loads(files["run.json"])
        account.pop("settings_digest", None)
        account["settings"].pop("memory", None)
        files["run.json"] = json.dumps(account).encode()
    assert found == expected


def test_finished_parts_are_not_done_again(
    source: Path, undisturbed: tuple[dict[str, bytes], float], tmp_path: Path
) -> None:
    """A run that is stopped by a full disk keeps its parts; the next one says how many it found."""
    pytest.importorskip("resource")
    out = tmp_path / "out"
    little = COMMAND.replace(
        "; main()", "; import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, -1)); main()"
    )
    given = [little if part == COMMAND else part for part in command(source, out)]
    stopped = subprocess.run(given, capture_output=True, text=True, timeout=300)
    assert stopped.returncode == 2
    assert "finished parts" in stopped.stderr
    assert not out.exists()
    parts = len(list_of_parts(out))
    assert 0 < parts < FILES
    assert f"going on with {parts} finished part" in finished(command(source, out)).stderr


def list_of_parts(out: Path) -> list[str]:
    """The names of the parts in a journal, read by hand."""
    data, at, names = (journal_of(out) / "log").read_bytes(), 0, []
    while at + 26 <= len(data):
        length = int.from_bytes(data[at : at + 8], "little")
        name_length = int.from_bytes(data[at + 8 : at + 10], "little")
        begin = at + 26
        at = begin + name_length + length
        if at <= len(data):
            names.append(data[begin : begin + name_length].decode())
    return names


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("setting", "setting threshold was 0.7 and is 0.75"),
        ("column", "column id was id and is absent"),
        ("input", "part03.jsonl content was"),
        ("version", "neardup_version was 0.0.1 and is"),
    ],
)
def test_another_run_is_refused_with_the_difference(change: str, said: str, source: Path, tmp_path: Path) -> None:
    documents, out = open_files([str(source)]), tmp_path / "out"
    settings, columns = Settings.of(threshold=0.7), Chosen("text", "id", (), False)

    def opened() -> None:
        open_journal(out, "dedup", settings, columns, {"input": documents}, None, None).close()

    opened()
    opened()
    if change == "setting":
        settings = Settings.of(threshold=0.75)
    elif change == "column":
        columns = Chosen("text", None, (), False)
    elif change == "version":
        about = journal_of(out) / "about.json"
        told = json.loads(about.read_text())
        about.write_text(json.dumps({**told, "run": {**told["run"], "neardup_version": "0.0.1"}}))
    else:
        data = (source / "part03.jsonl").read_bytes()
        (source / "part03.jsonl").write_bytes(data[:-2] + b" \n")
    with pytest.raises(InputError) as caught:
        opened()
    assert said in str(caught.value)


def test_a_copy_with_the_same_content_is_the_same_input(source: Path, tmp_path: Path) -> None:
    columns = Chosen("text", "id", (), False)
    for _ in range(2):
        documents = open_files([str(source)])
        open_journal(tmp_path / "out", "dedup", Settings(), columns, {"input": documents}, None, None).close()
        copy = (source / "part03.jsonl").rename(source.parent / "copied")
        shutil.copyfile(copy, source / "part03.jsonl")
        os.utime(source / "part03.jsonl", ns=(0, 10**18))


def test_of_a_large_file_every_byte_counts_and_its_time_does_not(tmp_path: Path) -> None:
    documents, columns = tmp_path / "large.jsonl", Chosen("text", None, (), False)
    documents.write_text('{"text": "the quick brown fox jumps over the lazy dog"}\n' * 100_000)

    def opened() -> None:
        inputs = {"input": open_files([str(documents)])}
        open_journal(tmp_path / "out", "dedup", Settings(), columns, inputs, None, None).close()

    opened()
    os.utime(documents, ns=(0, 10**18))
    opened()
    with documents.open("r+b") as file:
        file.seek(700_001)  # between the blocks of a digest that samples
        file.write(b"x")
    with pytest.raises(InputError):
        opened()


def test_outputs_with_long_names_have_journals_of_their_own(tmp_path: Path) -> None:
    for char in ("x", "ü", "語"):
        most = 255 // len(char.encode())
        one, other = tmp_path / (char * most), tmp_path / (char * (most - 1) + "y")
        one.mkdir()
        assert journal_of(one) != journal_of(other)
        journal_of(one).mkdir()
        journal_of(other).mkdir()


def test_a_journal_that_others_may_write_into_is_refused(source: Path, tmp_path: Path) -> None:
    folder = journal_of(tmp_path / "out")
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(InputError):
        RunJournal(folder, {}, b"secret")


def test_a_torn_end_is_cut_off_and_a_damaged_part_is_missing(tmp_path: Path) -> None:
    folder, table = journal_of(tmp_path / "out"), pa.table({"a": [1, 2, 3]})
    first = RunJournal(folder, {}, b"secret")
    for name in ("one", "two"):
        first.put(name, table)
    first.close()
    log = folder / "log"
    whole = log.read_bytes()
    log.write_bytes(whole + whole[: len(whole) // 3])
    again = RunJournal(folder, {}, b"other")
    assert (len(again), again.secret, log.read_bytes()) == (2, b"secret", whole)
    assert again.get("two") == table
    again.put("three", table)
    again.close()
    damaged = bytearray(log.read_bytes())
    damaged[len(whole) // 4] ^= 1
    log.write_bytes(damaged)
    last = RunJournal(folder, {}, b"other")
    assert [last.get(name) for name in ("one", "two", "three", "four")] == [None, table, table, None]
    last.close()


def killed_and_finished(typed: list[str], out: Path, kills: int, draw: random.Random, seconds: float) -> None:
    """Run a command that is killed some times after it has begun its journal, and then to its end."""
    for _ in range(kills):
        running = subprocess.Popen(typed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        begun(running, out)
        time.sleep(draw.random() * seconds)
        running.kill()
        running.wait(60)
        if out.exists():  # it had finished
            return
    done = subprocess.run(typed, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    assert not journal_of(out).exists()


@pytest.mark.part(12)
@pytest.mark.parametrize("moment", range(12))
def test_parts_and_their_merge_go_on_after_kill_9(moment: int, source: Path, tmp_path: Path) -> None:
    draw, results = random.Random(moment), list[dict[str, bytes]]()
    key = tmp_path / "key"
    subprocess.run([sys.executable, "-c", COMMAND, "fingerprint", "--new-key", str(key)], check=True, timeout=60)
    for name, kills in (("calm", 0), ("killed", 1 + moment % 3)):
        parts, merged = tmp_path / name / "parts" / "1", tmp_path / name / "merged"
        shared = ["--key", str(key), "--method", "lsh", "--threshold", "0.7", "--threads", "2", "--resume"]
        made = [sys.executable, "-c", COMMAND, "fingerprint", str(source), "-o", str(parts), *shared]
        killed_and_finished(made, parts, kills, draw, 0.5)
        joined = [sys.executable, "-c", COMMAND, "merge", str(parts), "-o", str(merged), *shared]
        killed_and_finished(joined, merged, kills, draw, 0.5)
        files = files_of(merged)
        files = {path: data.replace(str(tmp_path / name).encode(), b"") for path, data in files.items()}
        results.append({path: data for path, data in files.items() if path.endswith((".parquet", ".jsonl"))})
    assert results[0].keys() == results[1].keys()
    assert results[0] == results[1]


def test_a_merge_of_other_parts_does_not_go_on(source: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        typed = ["fingerprint", str(source / "part00.jsonl"), "-o", str(tmp_path / "FP" / name)]
        subprocess.run([sys.executable, "-c", COMMAND, *typed], check=True, capture_output=True, timeout=120)
    columns, settings = Chosen("text", "id", (), False), Settings()
    records = [tmp_path / "FP" / "a" / "fingerprints.json"]
    open_journal(tmp_path / "out", "merge", settings, columns, {}, None, None, records).close()
    records[0].write_bytes(records[0].read_bytes() + b" ")
    with pytest.raises(InputError) as refused:
        open_journal(tmp_path / "out", "merge", settings, columns, {}, None, None, records)
    assert str(records[0]) in str(refused.value)
