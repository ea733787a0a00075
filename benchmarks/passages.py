"""Repeated passages: speed, memory and disk of `neardup passages`, beside the suffix array of another library.

    python benchmarks/passages.py [--data FOLDER... | --files FILE...] [--sizes 10,100] [--memory 0,400MB]

The corpus has the text files below the folders (default: the installed packages and the standard library), each
once, up to a size in MB; or, with --files, the columns text of Parquet files. The peer is pydivsufsort: the array
of all suffixes of the bytes and their longest common prefixes, as the published tools for exact substrings make it
(Lee et al. 2022, "Deduplicating Training Data Makes Language Models Better"). It finds the bytes that are in a
stretch of at least 250 equal ones, without places.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

SUFFIXES = {
    ".py",
    ".pyi",
    ".txt",
    ".md",
    ".rst",
    ".c",
    ".h",
    ".js",
    ".css",
    ".html",
    ".csv",
    ".json",
    ".java",
    ".xml",
}
BYTES = 250
"""The least bytes of a stretch of the peer: about 50 tokens."""
PEER = f"""
import sys, numpy as np, pydivsufsort
data = np.fromfile(sys.argv[1], np.uint8)
order = pydivsufsort.divsufsort(data)
common = pydivsufsort.kasai(data, order)
long = common[:-1] >= {BYTES}
covered = np.zeros(len(data) + 1, np.int32)
for side in (order[:-1][long], order[1:][long]):
    np.add.at(covered, side, 1)
    np.add.at(covered, np.minimum(side + {BYTES}, len(data)), -1)
print((np.cumsum(covered)[:-1] > 0).mean())
"""

TEXT_BYTES = """
import sys, pyarrow.compute as pc, pyarrow.parquet as pq
parts = pq.ParquetFile(sys.argv[1]).iter_batches(columns=["text"])
print(sum(pc.sum(pc.binary_length(part["text"])).as_py() or 0 for part in parts))
"""


def texts_in(folders: list[Path]) -> Iterator[str]:
    """The text files of folders, each text once."""
    seen: set[bytes] = set()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file() or path.stat().st_size > 3_000_000:
                continue
            data = path.read_bytes()
            digest = hashlib.sha256(data).digest()
            try:
                text = data.decode()
            except UnicodeDecodeError:
                continue
            if digest not in seen and "\0" not in text:
                seen.add(digest)
                yield text


def measured(typed: list[str]) -> dict[str, float]:
    """Processor and elapsed seconds of a process, its largest resident MB, and MB of unnamed files."""
    begin, most = time.perf_counter(), 0
    process = subprocess.Popen(typed, stdout=subprocess.PIPE, text=True)
    while True:
        done, status, used = os.wait4(process.pid, os.WNOHANG)
        if done:
            break
        most = max(most, unnamed(process.pid))
        time.sleep(0.05)
    if status:
        raise SystemExit(f"{typed} failed")
    assert process.stdout is not None
    return {
        "cpu": used.ru_utime + used.ru_stime,
        "seconds": time.perf_counter() - begin,
        "MB": used.ru_maxrss * 1024 / 1e6,
        "disk": most / 1e6,
        "said": process.stdout.read(),  # type: ignore[dict-item]
    }


def unnamed(process: int) -> int:
    """The bytes of the files without a name that a process has open."""
    total = 0
    try:
        for entry in os.scandir(f"/proc/{process}/fd"):
            if os.readlink(entry.path).endswith(" (deleted)"):
                total += os.stat(entry.path).st_blocks * 512
    except OSError:
        pass
    return total


def text_bytes(file: str) -> int:
    """The bytes of the texts of a Parquet file; counted by a process whose memory is not that of the next ones."""
    return int(subprocess.run([sys.executable, "-c", TEXT_BYTES, file], stdout=subprocess.PIPE, check=True).stdout)


def own_row(files: list[str], size: int, out: Path, length: int, memory: str) -> None:
    """Measure `neardup passages` on files with ``size`` bytes of text, and print its row of the table."""
    command = [sys.executable, "-m", "neardup", "passages", *files, "-o", str(out)]
    one = measured([*command, "--length", str(length), "--memory", memory])
    counts = json.loads((out / "run.json").read_text())["counts"]
    share = counts["repeated_tokens"] / counts["tokens"]
    limit = "" if memory == "0" else f" --memory {memory}"
    print(
        f"| neardup {version('neardup')}{limit} | {size / 1e6:.0f} MB | {share:.1%} | {one['cpu']:.1f} s |"
        f" {size / 1e6 / one['cpu']:.0f} | {one['seconds']:.1f} s | {size / 1e6 / one['seconds']:.0f} |"
        f" {one['MB']:.0f} MB | {one['disk'] * 1e6 / counts['tokens']:.1f} | {counts['places']:,} |",
        flush=True,
    )


def main() -> None:
    """Measure, and print the rows of the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", type=Path)
    parser.add_argument("--sizes", default="10,100")
    parser.add_argument("--length", type=int, default=50)
    parser.add_argument("--memory", default="0")
    parser.add_argument("--peer-up-to", type=int, default=100, help="MB of text")
    parser.add_argument("--files", nargs="*", default=())
    given = parser.parse_args()
    if given.files:
        size = sum(text_bytes(file) for file in given.files)
        with tempfile.TemporaryDirectory(dir=Path(given.files[0]).parent) as made:
            for memory in given.memory.split(","):
                own_row(given.files, size, Path(made, f"out{memory}"), given.length, memory)
        return
    folders = given.data or [Path(sysconfig.get_path(name)) for name in ("purelib", "stdlib")]
    for mb in map(int, given.sizes.split(",")):
        with tempfile.TemporaryDirectory() as made:
            lines, plain = Path(made, "texts.jsonl"), Path(made, "texts.bin")
            size = 0
            with lines.open("w") as rows, plain.open("wb") as data:
                for text in texts_in(folders):
                    rows.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
                    data.write(text.encode())
                    size += len(text.encode())
                    if size >= mb * 1_000_000:
                        break
            for memory in given.memory.split(","):
                own_row([str(lines)], size, Path(made, f"out{memory}"), given.length, memory)
            if mb <= given.peer_up_to:
                peer = measured([sys.executable, "-c", PEER, str(plain)])
                print(
                    f"| pydivsufsort {version('pydivsufsort')} | {size / 1e6:.0f} MB | {float(peer['said']):.1%} |"
                    f" {peer['cpu']:.1f} s | {size / 1e6 / peer['cpu']:.0f} | {peer['seconds']:.1f} s |"
                    f" {size / 1e6 / peer['seconds']:.0f} |"
                    f" {peer['MB']:.0f} MB | | |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
