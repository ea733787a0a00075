"""The answers of neardup, and of the tools that people use today, against the exact truth.

    python benchmarks/quality.py ENVIRONMENTS [--labelled] [--each] [--sdists FOLDER] [--texts NAME=FOLDER]…

ENVIRONMENTS has a virtual environment for each tool, ``env-NAME``, with the published package, for example by
``uv venv env-rensa`` and ``uv pip install rensa==0.5.0``. The sets are all word sets of the shared data as one
(``--labelled``) or each alone (``--each``), the documentation in the source packages of several releases of
Django, cut into pieces (``--sdists``), and the files of a folder, cut into pieces or, after ``NAME:``, whole
(``--texts``). The truth is counted by the naive twins: resemblance of 5-word shingles at .8, every pair that
shares a shingle.

Every tool, ours too, is a process from a file of documents to an answer. Writes ``results/quality.json`` and the
tables ``results/quality.md``, and the table in ``docs/evidence.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

from processes import Spent, spent
from quality_tools import TOOLS, components
from table import cpu_name

HERE = Path(__file__).parent
ROOT = HERE.parent
TOGETHER, ALONE = "The labelled sets together", "Labelled set "
PIECE = 1000
"""Characters after which a piece of documentation ends at the next blank line."""

OWN = {"neardup exact": ["--method", "exact"], "neardup LSH": ["--method", "lsh"]}

COLUMNS = {
    "tool": "tool",
    "found": "pairs found",
    "missed": "missed",
    "below": "reported below .8",
    "harm": "removed without a copy",
    "orphans": "removed, no copy kept",
    "left": "left beside a copy",
    "rand": "adjusted Rand",
    "seconds": "processor s",
    "peak": "peak MB",
}

Pair = tuple[int, int]


def pairs_at(texts: Sequence[str], threshold: tuple[int, int] = (4, 5)) -> set[Pair]:
    """Every pair at or above the threshold (a fraction), counted by the naive twins."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support import reference

    having: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    sizes = []
    for number, text in enumerate(texts):
        found = reference.shingle_set(text, 5, "word")
        sizes.append(len(found))
        for shingle in found:
            having[shingle].append(number)
    shared: Counter[Pair] = Counter()
    for numbers in having.values():
        shared.update(combinations(numbers, 2))
    over, under = threshold
    return {(a, b) for (a, b), n in shared.items() if n * under >= over * (sizes[a] + sizes[b] - n)}


def adjusted_rand(a: Sequence[int], b: Sequence[int]) -> float:
    """The adjusted Rand index of two partitions (Hubert and Arabie 1985); 1 if they agree."""
    both = sum(comb(n, 2) for n in Counter(zip(a, b, strict=True)).values())
    of_a, of_b = (sum(comb(n, 2) for n in Counter(one).values()) for one in (a, b))
    chance = of_a * of_b / max(1, comb(len(a), 2))
    most = (of_a + of_b) / 2
    return 1.0 if most == chance else (both - chance) / (most - chance)


def score(count: int, truth: set[Pair], answer: dict[str, Any]) -> dict[str, float]:
    """The figures of an answer.

    ``labels`` count as every pair within a group. ``harm``: documents removed that have no copy at or above the
    threshold in the whole set; ``orphans``: removed, and each copy of theirs too; ``left``: documents that stay
    beside a copy that is kept too. Groups are compared after transitive closure of both sides.
    """
    if "pairs" in answer:
        reported = {(a, b) for a, b in answer["pairs"]}
        labels, total = components(count, reported), len(reported)
        found = len(reported & truth)
    else:
        labels = answer["labels"]
        total = sum(comb(n, 2) for n in Counter(labels).values())
        found = sum(labels[a] == labels[b] for a, b in truth)
    copies = defaultdict(set)
    for a, b in truth:
        copies[a].add(b)
        copies[b].add(a)
    kept = set(answer["kept"])
    removed = set(range(count)) - kept
    return {
        "found": found,
        "missed": len(truth) - found,
        "below": total - found,
        "removed": len(removed),
        "harm": sum(not copies[one] for one in removed),
        "orphans": sum(bool(copies[one]) and copies[one].isdisjoint(kept) for one in removed),
        "left": sum(not copies[one].isdisjoint(kept) for one in kept),
        "rand": adjusted_rand(components(count, truth), labels),
    }


def pieces(text: str) -> Iterator[str]:
    """A page cut at the first blank line behind every PIECE characters."""
    begin = 0
    while begin < len(text):
        cut = text.find("\n\n", begin + PIECE)
        end = cut + 2 if cut >= 0 else len(text)
        yield text[begin:end]
        begin = end


def labelled(folder: Path) -> dict[str, list[str]]:
    """The documents of each word set, in the order of the names of the sets."""
    sets = {}
    for file in sorted(folder.glob("*/documents.jsonl")):
        if file.parent.name not in ("udhr", "thaigov_th"):
            with file.open(encoding="utf-8") as lines:
                sets[file.parent.name] = [json.loads(line)["text"] for line in lines]
    return sets


def documentation(folder: Path) -> list[str]:
    """The pieces of docs/**/*.txt of every source package in a folder, such as Django 5.0, 5.1 and 5.2."""
    found: list[str] = []
    for package in sorted(folder.glob("*.tar.gz"), key=lambda path: path.name.lower()):
        with tarfile.open(package) as archive:
            pages = [one for one in archive if one.isfile() and "/docs/" in one.name and one.name.endswith(".txt")]
            for page in sorted(pages, key=lambda one: one.name):
                content = archive.extractfile(page)
                if content is not None:
                    found += pieces(content.read().decode())
    return found


def texts_of(folder: Path, whole: bool) -> list[str]:
    """The files of a folder, or their pieces."""
    texts: list[str] = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        text = file.read_text(encoding="utf-8", errors="replace")
        texts += [text] if whole else pieces(text)
    return texts


def own_answer(out: Path) -> dict[str, Any]:
    """The pairs of a result of ours, those of exact copies too, and the documents that stay."""
    import pyarrow.parquet as pq

    members: defaultdict[int, list[int]] = defaultdict(list)
    for row in pq.read_table(out / "copies.parquet").to_pylist():
        members[int(row["copy_of"])].append(int(row["id"]))
    pairs = {pair for first, copies in members.items() for pair in combinations(sorted((first, *copies)), 2)}
    for row in pq.read_table(out / "pairs.parquet", columns=["id_a", "id_b"]).to_pylist():
        a, b = int(row["id_a"]), int(row["id_b"])
        pairs |= {(min(x, y), max(x, y)) for x in (a, *members[a]) for y in (b, *members[b])}
    with (out / "kept.jsonl").open(encoding="utf-8") as lines:
        kept = [int(json.loads(line)["id"]) for line in lines]
    return {"pairs": sorted(pairs), "kept": kept}


def run_all(documents: Path, environments: Path, folder: Path) -> Iterator[tuple[str, dict[str, Any], Path]]:
    """The name, the cost or error, and the answer of every tool, which runs alone."""
    for name, options in OWN.items():
        out = folder / name.replace(" ", "-")
        settings = ["--threshold", "0.8", "--length", "5", "--id", "id", "--text", "text", *options]
        cost = spent([sys.executable, "-m", "neardup", "dedup", str(documents), "-o", str(out), *settings])
        yield name, {"error": cost.error, "seconds": cost.seconds, "peak": cost.peak}, out
    for tool, (distribution, _) in TOOLS.items():
        python = environments / f"env-{distribution}" / "bin" / "python"
        for settings in ("page", "equal"):
            out = folder / f"{tool}-{settings}.json"
            # -P: the names of our modules are those of others' packages
            command = [str(python), "-P", str(HERE / "quality_tools.py"), tool, settings, str(documents), str(out)]
            cost = spent(command) if python.exists() else Spent("not installed", 0.0, 0.0, 0.0)
            yield f"{tool}, {settings}", {"error": cost.error, "seconds": cost.seconds, "peak": cost.peak}, out


def measure(name: str, texts: list[str], environments: Path) -> dict[str, Any]:
    """All tools on one set."""
    with tempfile.TemporaryDirectory() as folder:
        documents = Path(folder, "documents.jsonl")
        lines = (json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(texts))
        documents.write_text("".join(lines))
        runs = []
        for tool, cost, out in run_all(documents, environments, Path(folder)):
            print(f"{name}: {tool}: {cost['error'] or 'done'}", flush=True)
            runs.append((tool, cost, out))
        truth = pairs_at(texts)
        rows = []
        for tool, cost, out in runs:
            row: dict[str, Any] = {"tool": tool, **cost}
            if not cost["error"]:
                answer = own_answer(out) if out.is_dir() else json.loads(out.read_text())
                row |= {"version": answer.get("version", ""), **score(len(texts), truth, answer)}
            rows.append(row)
    with_copy = len({one for pair in truth for one in pair})
    counts = {"documents": len(texts), "pairs": len(truth), "documents_with_copy": with_copy}
    return {"set": name, **counts, "rows": rows}


def table(result: dict[str, Any]) -> list[str]:
    """The lines of the table of a set."""
    lines = [
        f"## {result['set']}",
        "",
        f"{result['documents']:,} documents, {result['pairs']:,} pairs at or above .8; "
        f"{result['documents_with_copy']:,} documents are in one.",
        "",
        "| " + " | ".join(COLUMNS.values()) + " |",
        "|" + "---|" * len(COLUMNS),
    ]
    failed = []
    for row in result["rows"]:
        if row["error"]:
            failed.append(f"- {row['tool']} did not run: `{row['error'][:200].replace('`', chr(39))}`")
        else:
            lines.append("| " + " | ".join(cell(row[key]) for key in COLUMNS) + " |")
    return [*lines, "", *failed, *([""] if failed else [])]


def by_set(results: Sequence[dict[str, Any]]) -> list[str]:
    """The lines of a table of the labelled sets, each alone: missed, reported below .8, and harm."""
    names = [result["set"].removeprefix(ALONE) for result in results]
    lines = [
        "## Each labelled set alone",
        "",
        "Pairs missed / reported below .8 / documents removed without a copy.",
        "",
        "| tool | " + " | ".join(names) + " |",
        "|" + "---|" * (len(names) + 1),
        "| *documents, pairs* | "
        + " | ".join(f"{one['documents']:,}, {one['pairs']:,}" for one in results)
        + " |",
    ]
    of_tools: defaultdict[str, list[str]] = defaultdict(list)
    for result in results:
        for row in result["rows"]:
            of_tools[row["tool"]].append(
                "error" if row["error"] else " / ".join(cell(row[key]) for key in ("missed", "below", "harm"))
            )
    return [*lines, *("| " + " | ".join([tool, *cells]) + " |" for tool, cells in of_tools.items()), ""]


def cell(value: object) -> str:
    """One figure as the tables show it."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3f}" if value <= 1 else f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def write(result: dict[str, Any]) -> None:
    """The figures of a set, and those stored of others: as JSON, as tables, and as tables of the page."""
    stored = HERE / "results" / "quality.json"
    others = json.loads(stored.read_text())["sets"] if stored.exists() else []
    results = sorted(
        [result, *(one for one in others if one["set"] != result["set"])], key=lambda one: one["documents"]
    )
    machine = f"{cpu_name()}, {platform.machine()}, Python {platform.python_version()}"
    versions = {row["tool"].split(",")[0]: row.get("version") for one in results for row in one["rows"]}
    stated = ", ".join(f"{tool} {version}" for tool, version in versions.items() if version)
    stored.write_text(json.dumps({"machine": machine, "sets": results}, indent=1) + "\n")
    alone = [one for one in results if one["set"].startswith(ALONE)]
    tables = [line for result in results if result not in alone for line in table(result)]
    tables += by_set(alone) if alone else []
    note = f"{machine}; {stated}. Other work was on the machine: processor time, not wall time."
    whole = "\n".join(["# Quality", "", note, "", *tables]).rstrip() + "\n"
    (HERE / "results" / "quality.md").write_text(whole)
    page = ROOT / "docs" / "evidence.md"
    head = page.read_text().split("<!-- tables -->")[0]
    together = [line for one in results if one["set"] == TOGETHER for line in table(one)[2:] if line[:2] != "- "]
    page.write_text("\n".join([head + "<!-- tables -->", "", *together]).rstrip() + "\n")


def main() -> None:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environments", type=Path)
    parser.add_argument("--labelled", action="store_true", help="the labelled sets together")
    parser.add_argument("--each", action="store_true", help="each labelled set alone")
    parser.add_argument("--sdists", type=Path, help="source packages of Django")
    parser.add_argument(
        "--texts", action="append", default=[], help="NAME=FOLDER, or NAME:=FOLDER for whole files"
    )
    given = parser.parse_args()
    sets = labelled(Path(os.environ.get("NEARDUP_SHARED_DATA", ROOT.parent / "shared" / "data")))
    if given.labelled:
        write(measure(TOGETHER, [text for texts in sets.values() for text in texts], given.environments))
    for name, texts in sets.items() if given.each else ():
        write(measure(f"{ALONE}{name}", texts, given.environments))
    if given.sdists:
        texts = documentation(given.sdists)
        write(measure("Documentation of three releases, in pieces", texts, given.environments))
    for name, _, folder in (one.partition("=") for one in given.texts):
        texts = texts_of(Path(folder), name.endswith(":"))
        write(measure(name.removesuffix(":"), texts, given.environments))


if __name__ == "__main__":
    main()
