"""A crawl that grows by a day's documents, with its fingerprints in an object store: time, bytes and near copies.

    python benchmarks/crawl_days.py FOLDER [--days 30] [--documents 2000] [--retain 20] [--write]

The store is a moto server of this program (``pip install "moto[server]"``), behind a relay that counts bytes. Each
day has new texts, and near copies of the texts of earlier days; ``neardup dedup --against FP --update FP`` keeps
those without a near copy among the days that are retained, and the oldest part is removed when there are more.
Time is processor time of the command. On some days the same command also runs as on a new machine, without a copy
of the fingerprints. ``--write`` writes benchmarks/results/crawl_days.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from neardup.io.storage.systems import filesystem
from support import storage_servers

RESULTS = Path(__file__).parent / "results" / "crawl_days.md"
WORDS = [f"word{number}" for number in range(5000)]
COPIED, LENGTH, AGES = 0.3, 200, 12
"""The share of near copies in a day, words of a text, and how many days back the originals are."""


def text_of(day: int, number: int) -> str:
    """The text of a document that is new on its day."""
    return " ".join(random.Random(f"{day} {number}").choices(WORDS, k=LENGTH))


def write_day(file: Path, day: int, documents: int) -> int:
    """Write the documents of a day; return how many are near copies of earlier ones."""
    draw, copies = random.Random(day), 0
    with file.open("w") as out:
        for number in range(documents):
            back = draw.randint(1, AGES)
            if number < documents * COPIED and back < day:
                words = text_of(day - back, draw.randrange(int(documents * COPIED), documents)).split()
                words[draw.randrange(LENGTH)] = "changed"
                text, copies = " ".join(words), copies + 1
            else:
                text = text_of(day, number)
            out.write(json.dumps({"id": f"{day}-{number}", "text": text}) + "\n")
    return copies


def run(words: list[str], temporary: Path) -> tuple[dict[str, object], float]:
    """Run neardup; return its JSON and its processor time in seconds."""
    temporary.mkdir(parents=True, exist_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "neardup", *words]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (json.loads(done.stdout) if "--json" in words else {}), seconds


def parts_at(url: str) -> dict[str, int]:
    """The bytes of each part of the fingerprints."""
    system, path = filesystem(url)
    sizes: dict[str, int] = {}
    for name, info in system.find(path, detail=True).items():
        part = name[len(path) + 1 :].partition("/")[0]
        sizes[part] = sizes.get(part, 0) + info["size"]
    return sizes


def main() -> None:
    """Simulate the days."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--retain", type=int, default=20)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    folder, rows = given.folder, []
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(storage_servers.S3_KEYS)
    with storage_servers.relaying(storage_servers.Relay(storage_servers.s3())) as relay:
        os.environ["AWS_ENDPOINT_URL"] = relay.url
        key, fingerprints, here = folder / "crawl.key", "s3://box/fp", folder / "tmp"
        run(["fingerprint", "--new-key", str(key)], here)
        for day in range(1, given.days + 1):
            file = folder / f"day-{day:03}.jsonl"
            planted = write_day(file, day, given.documents)
            relay.sent.clear()
            if day == 1:
                words = ["fingerprint", str(file), "--key", str(key), "-o", f"{fingerprints}/update-000001"]
                _, seconds = run(words, here)
                removed, again, new_machine = 0, 0.0, 0
            else:
                words = [
                    "dedup",
                    str(file),
                    "--against",
                    fingerprints,
                    "--key",
                    str(key),
                    "--json",
                    "--no-store-texts",
                ]
                again, new_machine = 0.0, 0
                if day % 10 == 1 or day == given.days:
                    shutil.rmtree(folder / "new", ignore_errors=True)
                    _, again = run([*words, "--dry-run"], folder / "new")
                    new_machine = sum(relay.sent.values())
                    relay.sent.clear()
                answer, seconds = run([*words, "--update", fingerprints, "-o", f"s3://box/out/{day:03}"], here)
                removed = answer["counts"]["removed"]  # type: ignore[index]
            fetched = sum(relay.sent.values())
            sizes = parts_at(fingerprints)
            for part in sorted(sizes)[: -given.retain]:
                system, path = filesystem(f"{fingerprints}/{part}")
                system.rm(path, recursive=True)
            rows.append(
                (day, len(sizes), sum(sizes.values()), planted, removed, seconds, fetched, again, new_machine)
            )
            print(*rows[-1], flush=True)
    shutil.rmtree(folder / "new", ignore_errors=True)
    if given.write:
        write(rows, given)


def write(rows: list[tuple[int, int, int, int, int, float, int, float, int]], given: argparse.Namespace) -> None:
    """Write the table of the results."""
    lines = [
        "# A crawl that grows by a day",
        "",
        f"`python benchmarks/crawl_days.py FOLDER --days {given.days} --documents {given.documents} "
        f"--retain {given.retain} --write`: {given.documents:,} documents of {LENGTH} words a day, three tenths "
        f"of them near copies of texts that came 1 to {AGES} days before; fingerprints in S3 (moto), and the "
        f"parts of the last {given.retain} days retained. Seconds are processor time of the whole command, start "
        "included; bytes are those that the store sent.",
        "",
        "| day | parts | bytes of them | near copies made | removed | seconds | MB fetched "
        "| on a new machine: seconds | MB fetched |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for day, parts, size, planted, removed, seconds, fetched, again, new in rows:
        if day % 5 == 0 or again or day <= 2:
            rest = f"{again:.1f} | {new / 1e6:.1f}" if again else "– | –"
            lines.append(
                f"| {day} | {parts} | {size / 1e6:.1f} MB | {planted:,} | {removed:,} | {seconds:.1f} "
                f"| {fetched / 1e6:.2f} | {rest} |"
            )
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
