"""Planted and natural test items in training documents: precision and recall of `neardup` and other programs.

    python benchmarks/decontamination.py [--peers PYTHON] [--data FOLDER]

PYTHON has datatrove (pip install datatrove nltk spacy); FOLDER has license_texts/documents.jsonl.
The rules are written out below: any 13-gram of an item, unless more than ten documents have it, and half of the
8-grams of an item. Appendix C of Brown et al. 2020 (arXiv:2005.14165) has the 13-grams and the limit of ten
documents; it cuts the 13-gram with 200 characters around it, and here the document counts as removed. The 8-gram
rule with a half is an assumption of this benchmark.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

DRAW = random.Random(26)
VOCABULARY = ["".join(DRAW.choices("aeioubcdfghlmnprstvw", k=DRAW.randrange(3, 10))) for _ in range(8000)]
WEIGHTS = [1 / (rank + 10) for rank in range(len(VOCABULARY))]
PREAMBLE = (
    "Read the question below and answer it with the best of the given choices; then explain your choice briefly."
)
ITEMS = 400
EACH = 40
FOUND = ("verbatim", "case", "punctuation", "one word in ten", "answer only", "order changed", "paraphrase")
"""The cases in which a document has an item; the others have none."""
CLEAN = ("common phrases only", "nothing")
PEER = """
import json, sys, numpy as np
from datatrove.data import Document
from datatrove.pipeline.decont.n_grams import NGramsDecontConfig, NGramsDecontFilter, NGramsDecontIndexer
folder, query = sys.argv[1], sys.argv[2] == "query"
NGramsDecontIndexer._requires_dependencies = []
config = NGramsDecontConfig(find_query_ngrams=query)
index = NGramsDecontIndexer(folder, config=config)
items = [json.loads(line) for line in open(folder + "/items.jsonl")]
hashes = {h for item in items for h in index.compute_hashes(item["answer"], item["question"])}
np.array(list(hashes), config.hash_config.np_descr).tofile(folder + "/t.index.hashes")
import shutil, os
os.makedirs(folder + "/index", exist_ok=True)
shutil.move(folder + "/t.index.hashes", folder + "/index/t.index.hashes")
decontaminate = NGramsDecontFilter(folder + "/index", config=config)
train = [json.loads(line) for line in open(folder + "/train.jsonl")]
kept = [decontaminate.filter(Document(row["text"], row["id"])) is True for row in train]
print(json.dumps([row["id"] for row, stays in zip(train, kept) if not stays]))
"""


def prose(least: int, most: int) -> list[str]:
    """Words of invented text, the frequent ones as frequent as in a language."""
    return DRAW.choices(VOCABULARY, WEIGHTS, k=DRAW.randrange(least, most))


def planted(case: str, question: list[str], answer: list[str]) -> str:
    """An item as it is in a document of a case."""
    words = [*PREAMBLE.split(), *question, *answer]
    half = len(question) // 2
    if case == "case":
        return " ".join(words).upper()
    if case == "punctuation":
        return " ".join(f"{word}," if k % 3 else f"“{word}” –" for k, word in enumerate(words))
    if case == "one word in ten":
        return " ".join(DRAW.choice(VOCABULARY) if k % 10 == 5 else word for k, word in enumerate(words))
    if case == "answer only":
        return " ".join(answer)
    if case == "order changed":
        return " ".join([*answer, *question[half:], *question[:half]])
    if case == "paraphrase":
        return " ".join(word if DRAW.random() < 0.4 else DRAW.choice(VOCABULARY) for word in question + answer)
    return {"verbatim": " ".join(words), "common phrases only": PREAMBLE}.get(case, "")


def corpus() -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The items, and documents of all cases: their ids begin with the case."""
    parts = [(prose(20, 45), prose(14, 22)) for _ in range(ITEMS)]
    items = [
        {"id": f"q{k}", "question": " ".join((PREAMBLE, *question)), "answer": " ".join(answer)}
        for k, (question, answer) in enumerate(parts)
    ]
    train = []
    for number, case in enumerate((*FOUND, *CLEAN)):
        for k in range(EACH if case != "nothing" else 2000):
            middle = planted(case, *parts[(number * EACH + k) % ITEMS])
            text = " ".join((*prose(60, 200), middle, *prose(60, 200)))
            train.append({"id": f"{case}:{k}", "text": text})
    DRAW.shuffle(train)
    return items, train


def grams(text: str, length: int) -> set[tuple[str, ...]]:
    """The n-grams of a text, lower-cased and without punctuation."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[k : k + length]) for k in range(len(words) - length + 1)}


def by_13_grams(items: list[dict[str, str]], train: list[dict[str, str]]) -> set[str]:
    """The documents with a 13-gram of an item that at most ten documents have."""
    wanted = set().union(*(grams(f"{item['question']} {item['answer']}", 13) for item in items))
    of_train = {row["id"]: grams(row["text"], 13) & wanted for row in train}
    counts = Counter(gram for found in of_train.values() for gram in found)
    return {id for id, found in of_train.items() if any(counts[gram] <= 10 for gram in found)}


def by_8_grams(items: list[dict[str, str]], train: list[dict[str, str]]) -> set[str]:
    """The documents with half of the 8-grams of an item."""
    of_items = [grams(f"{item['question']} {item['answer']}", 8) for item in items]
    holders: dict[tuple[str, ...], list[int]] = {}
    for k, found in enumerate(of_items):
        for gram in found:
            holders.setdefault(gram, []).append(k)
    hit = set()
    for row in train:
        shared = Counter(k for gram in grams(row["text"], 8) for k in holders.get(gram, ()))
        if any(2 * count >= len(of_items[k]) for k, count in shared.items()):
            hit.add(row["id"])
    return hit


def by_neardup(folder: Path, *given: str) -> set[str]:
    """The command, as a process, on Parquet that pyarrow has written."""
    out = folder / "out"
    command = [sys.executable, "-m", "neardup", "decontaminate", folder / "train.parquet", "--against"]
    more = [folder / "items.jsonl", "--fields", "question,answer", "-o", out, "--overwrite", *given]
    subprocess.run([*map(str, (*command, *more))], check=True, capture_output=True)
    return set(pq.read_table(out / "matches.parquet")["id"].to_pylist())


def written(folder: Path, items: list[dict[str, str]], train: list[dict[str, str]]) -> None:
    """Write the items and the documents for all programs."""
    for name, rows in (("items", items), ("train", train)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(train), folder / "train.parquet")


def rows_of(file: Path) -> list[dict[str, str]]:
    """The rows of a JSONL file."""
    return [json.loads(line) for line in file.read_text().split("\n") if line]


def found_by(folder: Path, peers: str | None) -> dict[str, set[str]]:
    """The documents that each program or rule removes."""
    items, train = (rows_of(folder / f"{name}.jsonl") for name in ("items", "train"))
    found = {
        f"neardup {version('neardup')}": by_neardup(folder),
        "neardup --threshold 50%": by_neardup(folder, "--threshold", "50%"),
        "13-gram rule": by_13_grams(items, train),
        "8-gram rule, 50 %": by_8_grams(items, train),
    }
    if peers:
        ask = [peers, "-c", "from importlib.metadata import version as v; print(v('datatrove'))"]
        name = f"datatrove {subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()}"
        for how in ("default", "query"):
            done = subprocess.run([peers, "-c", PEER, folder, how], check=True, capture_output=True, text=True)
            found[f"{name}{', query n-grams' * (how == 'query')}"] = set(json.loads(done.stdout.splitlines()[-1]))
    return found


def planted_table(folder: Path, peers: str | None) -> list[str]:
    """Precision and recall for each case; false: documents without an item that are removed."""
    items, train = corpus()
    written(folder, items, train)
    lines = [f"| | {' | '.join(FOUND)} | removed of {EACH} with common phrases only | of 2,000 with nothing |"]
    lines.append("|---" * (len(FOUND) + 3) + "|")
    for name, removed in found_by(folder, peers).items():
        of_case = Counter(id.partition(":")[0] for id in removed)
        false = sum(of_case[case] for case in CLEAN)
        cells = []
        for case in FOUND:
            precision = of_case[case] / max(1, of_case[case] + false)
            cells.append(f"{precision:.2f} / {of_case[case] / EACH:.2f}" if of_case[case] else "– / 0.00")
        lines.append(f"| {name} | {' | '.join(cells)} | {of_case[CLEAN[0]]} | {of_case[CLEAN[1]]} |")
    return lines


def natural_table(folder: Path, data: Path, peers: str | None) -> list[str]:
    """Passages of real documents as items: the documents that have all tokens of one in order, and the others."""
    rows = rows_of(data / "license_texts" / "documents.jsonl")
    train = [{"id": str(row["id"]), "text": row["text"]} for row in rows if len(row["text"].split()) > 80]
    items = []
    for k, row in enumerate(DRAW.sample(train, 60)):
        words = row["text"].split()
        begin = DRAW.randrange(len(words) - 60)
        question, answer = words[begin : begin + 30], words[begin + 30 : begin + 50]
        items.append({"id": f"q{k}", "question": " ".join(question), "answer": " ".join(answer)})
    written(folder, items, train)
    streams = {row["id"]: f" {' '.join(re.findall(r'[a-z0-9]+', row['text'].lower()))} " for row in train}
    holders = Counter[str]()
    truth, rare = set(), set()
    for item in items:
        text = f" {' '.join(re.findall(r'[a-z0-9]+', (item['question'] + ' ' + item['answer']).lower()))} "
        having = {id for id, stream in streams.items() if text in stream}
        truth |= having
        rare |= having if len(having) <= 10 else set()
        holders[f"{'at most 10' if len(having) <= 10 else 'more'}"] += 1
    lines = [
        f"{len(train):,} licence texts, {len(items)} passages of 50 words from them. {len(truth):,} texts have "
        f"one whole; {len(rare):,} have one that at most ten texts have ({holders['at most 10']} passages).",
        "",
        "| | removed | of those with a whole passage | of those with a rare whole passage |",
        "|---|---|---|---|",
    ]
    for name, removed in found_by(folder, peers).items():
        found = [f"{len(removed & having)} of {len(having)}" for having in (truth, rare)]
        lines.append(f"| {name} | {len(removed)} | {' | '.join(found)} |")
    return lines


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers")
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("\n".join(planted_table(Path(folder), options.peers)), "\n")
        if options.data:
            print("\n".join(natural_table(Path(folder), options.data, options.peers)))


if __name__ == "__main__":
    main()
