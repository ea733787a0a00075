"""One tool on one file of documents, in the environment of the tool: started by ``quality.py``, not by hand.

    python quality_tools.py TOOL SETTINGS documents.jsonl answer.json

The answer has ``kept``, the numbers of the documents that stay, and either ``pairs``, which the tool reports, or
``labels``, the group number of each document, for tools that report groups only. SETTINGS is ``page``, those on
the page of the tool, or ``equal``: resemblance of 5-word shingles at .8, 18 bands of 7 rows.
Each function imports its package alone: no environment has two of them.
"""

from __future__ import annotations

import importlib.metadata
import json
import pickle
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

THRESHOLD, LENGTH, BANDS, ROWS = 0.8, 5, 18, 7
WORDS = re.compile(r"\w+")


def shingles(text: str, settings: str) -> set[str]:
    """The set that a package without a tokenizer gets: words on the pages, else lower-cased 5-word shingles."""
    if settings == "page":
        return set(text.split())
    words = WORDS.findall(text.lower())
    return {" ".join(words[k : k + LENGTH]) for k in range(max(min(1, len(words)), len(words) - LENGTH + 1))}


def first_kept(count: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Documents that stay in the usual loop: one goes if it forms a pair with an earlier one that stays."""
    earlier: defaultdict[int, list[int]] = defaultdict(list)
    for a, b in pairs:
        earlier[max(a, b)].append(min(a, b))
    kept: set[int] = set()
    for document in range(count):
        if kept.isdisjoint(earlier[document]):
            kept.add(document)
    return sorted(kept)


def of_pairs(count: int, pairs: Iterable[tuple[int, int]]) -> dict[str, Any]:
    """The answer of a tool that reports pairs."""
    found = sorted({(min(pair), max(pair)) for pair in pairs})
    return {"pairs": found, "kept": first_kept(count, found)}


def datasketch(texts: list[str], settings: str, checked: bool = False) -> dict[str, Any]:
    """MinHashLSH; with ``checked`` the candidates whose estimate is at or above the threshold."""
    from datasketch import MinHash, MinHashLSH

    sketches = MinHash.bulk([[one.encode() for one in shingles(text, settings)] for text in texts], num_perm=128)
    if settings == "page":
        lsh = MinHashLSH(threshold=THRESHOLD, num_perm=128)
    else:
        lsh = MinHashLSH(threshold=THRESHOLD, num_perm=128, params=(BANDS, ROWS))
    pairs = []
    for number, sketch in enumerate(sketches):
        met = lsh.query(sketch)
        pairs += [(k, number) for k in met if not checked or sketch.jaccard(sketches[k]) >= THRESHOLD]
        lsh.insert(number, sketch)
    return of_pairs(len(texts), pairs)


def rensa(texts: list[str], settings: str) -> dict[str, Any]:
    """The deduplicator of the page; with equal settings the index, whose candidates the sketches check."""
    from rensa import RMinHash, RMinHashDeduplicator, RMinHashLSH

    if settings == "page":
        tool = RMinHashDeduplicator(threshold=THRESHOLD, num_perm=128, use_lsh=True)
        pairs, kept = [], []
        for number, text in enumerate(texts):
            sketch = RMinHash(num_perm=128, seed=42)
            sketch.update(text.split())
            pairs += [(int(other), number) for other in tool.get_duplicates(sketch)]
            if tool.add(str(number), sketch):
                kept.append(number)
        # what was removed is in no index: the groups of its pairs are closed by transitivity
        return {"labels": components(len(texts), pairs), "kept": kept}
    slots = BANDS * ROWS
    sketches = RMinHash.from_token_sets(
        [list(shingles(text, settings)) for text in texts], num_perm=slots, seed=42
    )
    lsh = RMinHashLSH(threshold=THRESHOLD, num_perm=slots, num_bands=BANDS)
    pairs = []
    for number, sketch in enumerate(sketches):
        pairs += [(k, number) for k in lsh.query(sketch) if sketch.jaccard(sketches[k]) >= THRESHOLD]
        lsh.insert(number, sketch)
    return of_pairs(len(texts), pairs)


def components(count: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """The least document of the connected component of each document."""
    parent = list(range(count))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    for a, b in pairs:
        low, high = sorted((root(a), root(b)))
        parent[high] = low
    return [root(k) for k in range(count)]


def sklearn(texts: list[str], settings: str) -> dict[str, Any]:
    """Every pair: the product of the binary document-shingle matrix with itself."""
    from sklearn.feature_extraction.text import CountVectorizer

    pattern = {} if settings == "page" else {"token_pattern": r"\w+"}
    matrix = CountVectorizer(binary=True, ngram_range=(LENGTH, LENGTH), **pattern).fit_transform(texts)
    sizes = matrix.sum(axis=1).A1.astype(int)
    shared = (matrix @ matrix.T).tocoo()
    pairs = []
    for a, b, both in zip(shared.row.tolist(), shared.col.tolist(), shared.data.tolist(), strict=True):
        if a < b and both >= THRESHOLD * (sizes[a] + sizes[b] - both):
            pairs.append((a, b))
    return of_pairs(len(texts), pairs)


def semhash_exact(texts: list[str], settings: str) -> dict[str, Any]:
    """The exact stage alone, which needs no model."""
    from semhash.records import remove_exact_duplicates

    records = [{"text": text, "number": str(number)} for number, text in enumerate(texts)]
    kept, copies = remove_exact_duplicates(records, ["text"])
    pairs = [(int(one["number"]), int(firsts[0]["number"])) for one, firsts in copies]
    return {"labels": components(len(texts), pairs), "kept": [int(one["number"]) for one in kept]}


def semhash(texts: list[str], settings: str) -> dict[str, Any]:
    """The whole tool, whose default model its hub provides."""
    from semhash import SemHash

    SemHash.from_records(records=texts).self_deduplicate()
    raise NotImplementedError("the answer of the whole tool is not read yet")


def text_dedup(texts: list[str], settings: str) -> dict[str, Any]:
    """The command of the page, on a data set in a folder."""
    from datasets import Dataset, load_from_disk

    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "in"), Path(folder, "out")
        Dataset.from_dict({"text": texts, "number": list(range(len(texts)))}).save_to_disk(source)
        command = [sys.executable, "-m", "text_dedup.minhash", "--path", source, "--local", "--output", out]
        command += ["--column", "text", "--batch_size", "10000", "--num_proc", "1", "--debug"]
        if settings == "equal":
            command += ["--threshold", "0.8", "--ngram", "5", "--num_perm", "126", "--b", "18", "--r", "7"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        kept = load_from_disk(out)["number"]
        with (out / "uf.pkl").open("rb") as stored:
            held = pickle.load(stored)
        parent = getattr(held, "parent", held)
        return {"labels": components(len(texts), parent.items()), "kept": list(kept)}


def datatrove(texts: list[str], settings: str) -> dict[str, Any]:
    """The four steps, each with the local executor."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import minhash as steps
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    config = steps.MinhashConfig()
    if settings == "equal":
        config = steps.MinhashConfig(n_grams=LENGTH, num_buckets=BANDS, hashes_per_bucket=ROWS)
    with tempfile.TemporaryDirectory() as folder:
        at = {name: f"{folder}/{name}" for name in ("in", "signed", "buckets", "clusters", "kept", "removed")}
        Path(at["in"]).mkdir()
        lines = (json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(texts))
        Path(at["in"], "all.jsonl").write_text("".join(lines))
        cluster_ids = {"save_cluster_id": True}
        removed = JsonlWriter(at["removed"], compression=None)
        kept = JsonlWriter(at["kept"], compression=None)
        pipelines: list[tuple[int, list[Any]]] = [
            (1, [JsonlReader(at["in"]), steps.MinhashDedupSignature(at["signed"], config=config)]),
            (config.num_buckets, [steps.MinhashDedupBuckets(at["signed"], at["buckets"], config=config)]),
            (1, [steps.MinhashDedupCluster(at["buckets"], at["clusters"], config=config, **cluster_ids)]),
            (1, [JsonlReader(at["in"]), steps.MinhashDedupFilter(at["clusters"], removed, True), kept]),
        ]
        for number, (tasks, pipeline) in enumerate(pipelines):
            logs = f"{folder}/logs{number}"
            LocalPipelineExecutor(pipeline=pipeline, tasks=tasks, workers=1, logging_dir=logs).run()
        stay, go = (
            [json.loads(line) for file in Path(at[one]).glob("*") for line in file.open()]
            for one in ("kept", "removed")
        )
    members: defaultdict[object, list[int]] = defaultdict(list)
    for row in (*stay, *go):
        cluster = row["metadata"].get("minhash_cluster_id", -1)
        members[row["id"] if cluster == -1 else cluster].append(int(row["id"]))
    pairs = ((one[0], other) for one in members.values() for other in one[1:])
    return {"labels": components(len(texts), pairs), "kept": [int(row["id"]) for row in stay]}


TOOLS: dict[str, tuple[str, Callable[[list[str], str], dict[str, Any]]]] = {
    "text-dedup": ("text-dedup", text_dedup),
    "datatrove": ("datatrove", datatrove),
    "datasketch": ("datasketch", datasketch),
    "datasketch-checked": ("datasketch", lambda texts, settings: datasketch(texts, settings, checked=True)),
    "rensa": ("rensa", rensa),
    "semhash-exact": ("semhash", semhash_exact),
    "semhash": ("semhash", semhash),
    "scikit-learn": ("scikit-learn", sklearn),
}
"""Name → the distribution, and what runs it."""


def main(tool: str, settings: str, documents: str, out: str) -> None:
    """Run one tool, and write its answer."""
    distribution, run = TOOLS[tool]
    with Path(documents).open(encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    answer = run(texts, settings)
    answer["version"] = importlib.metadata.version(distribution)
    Path(out).write_text(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
