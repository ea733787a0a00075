"""The same documents through other packages: end to end from raw text, and the sketch stage alone.

Word 5-grams and 128 slots everywhere, one thread. Packages that take tokens get what their own documentation
shows: lower-cased ``\\w+`` tokens, joined 5-grams, as a Python set. gaoya has a tokeniser of its own (Rust).
rensa's *rho* path hashes a sample of token positions: it is listed, but is no sketch of the whole text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from table import Report, seconds
from text_speed import sample

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

WORDS = re.compile(r"\w+")
PEER_BYTES = 8_000_000


def shingles(text: str) -> set[str]:
    """Lower-cased word 5-grams, as the packages' own examples make them."""
    words = WORDS.findall(text.lower())
    return {" ".join(words[i : i + 5]) for i in range(len(words) - 4)} or {" ".join(words)}


def measure(report: Report, corpus: Path, texts: Path | None, rounds: int) -> None:
    """Raw text to signatures with each package."""
    batch = sample(corpus, PEER_BYTES)
    documents = batch.to_pylist()
    size = sum(map(len, documents))
    rows = []
    for name, work in end_to_end(batch, documents).items():
        taken = seconds(work, max(1, rounds // 2))
        rows.append([name, size / 1e6 / taken, 1e6 * taken / len(documents)])
    ours = rows[0][1]
    whole = [row for row in rows[1:] if "sampled" not in row[0]]
    best = max(row[1] for row in whole)
    rows = [[*row, ours / row[1]] for row in rows]
    columns = ["package, raw text in", "MB/s", "µs a document", "ours is faster by"]
    note = f"{len(documents):,} documents of the corpus; ours against the best full sketch: {ours / best:.1f} ×."
    report.table("End to end from raw text, one thread", columns, rows, note)


def end_to_end(batch: pa.Array, documents: list[str]) -> dict[str, Callable[[], object]]:
    """Name → work, ours first."""
    from datasketch import MinHash as Datasketch
    from FastSketchLSH import FastSimilaritySketch
    from gaoya.minhash import MinHashStringIndex
    from rensa import RMinHash

    from neardup.text.sketch.minhash import MinHash

    family = MinHash(128)
    fast = FastSimilaritySketch(size=128, seed=1)

    def gaoya() -> object:
        # the package gives no signatures away: its index is the smallest thing that makes them
        index = MinHashStringIndex(32, 0.8, 16, 8, None, "word", True, (5, 5), id_container="vec")
        for number, text in enumerate(documents):
            index.insert_document(number, text)
        return index

    return {
        "neardup": lambda: family.sketch(batch),
        "datasketch 2 (bulk)": lambda: Datasketch.bulk(
            [[s.encode() for s in shingles(text)] for text in documents], num_perm=128
        ),
        "rensa 0.5, full set": lambda: RMinHash.digest_matrix_from_token_sets(
            [list(shingles(text)) for text in documents], 128, 1
        ),
        "rensa 0.5, rho (sampled positions)": lambda: RMinHash.digest_matrix_from_token_sets_rho(
            [list(shingles(text)) for text in documents], 128, 1
        ),
        "gaoya 0.2 (insert into an index)": gaoya,
        "fastsketchlsh 1.0": lambda: fast.batch([list(shingles(text)) for text in documents], num_threads=1),
    }


def measure_sketch(report: Report, corpus: Path, texts: Path | None, rounds: int) -> None:
    """Hashed shingles in, signatures out: sets of random 64-bit hashes of several sizes."""
    from FastSketchLSH import FastSimilaritySketch
    from rensa import RMinHash

    from neardup.kernels.sketch.minhash import sketch_sets
    from neardup.text.sketch.documents import classic_coefficients

    a, b = classic_coefficients(128)
    fast = FastSimilaritySketch(size=128, seed=1)
    rows = []
    for n in (10, 50, 100, 300, 700, 3000):
        documents = 2_000_000 // n
        hashes = np.random.default_rng(n).integers(0, 2**64, documents * n, dtype=np.uint64)
        offsets = np.arange(0, documents * n + 1, n)
        out = np.empty((documents, 128), np.uint32)
        chosen = np.empty((documents, 128), np.bool_)
        unsigned = offsets.astype(np.uint64)
        works = [
            lambda h=hashes, o=offsets, s=out, c=chosen: sketch_sets(h, o, False, a, b, s, c),
            lambda h=hashes, o=offsets, s=out, c=chosen: sketch_sets(h, o, True, a, b, s, c),
            lambda h=hashes, o=unsigned: RMinHash.digest_matrix_from_flat_token_hashes(h, o, 128, 1),
            lambda h=hashes, o=unsigned: fast.batch_csr(h, o, prehashed=True, num_threads=1),
        ]
        taken = [seconds(work, rounds) / documents * 1e9 for work in works]
        rows.append([n, *taken, min(taken[2:]) / taken[0]])
    columns = [
        *("shingles", "one-permutation, ns a set", "classic, ns", "rensa 0.5, ns", "fastsketchlsh 1.0, ns"),
        "ours is faster than the best by",
    ]
    report.table("The sketch stage alone, 128 slots, one thread", columns, rows)
