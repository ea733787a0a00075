"""What each family of fingerprints is worth on real documents; written to benchmarks/results/fingerprints.md.

    python benchmarks/fingerprints.py [--data FOLDER | --corpus FILE] [--runs 100] [--rounds 5]

Documents: the sets of FOLDER (or NEARDUP_SHARED_DATA), or the column text of a Parquet or JSONL file. Their pairs
are joined exactly; then every family estimates the same pairs, over ``--runs`` sets of hashes. Seeds are fixed:
all but the speeds comes out the same again; ``--rounds 0`` leaves them out.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import neardup as nd
from neardup.io.readers import choose_columns, open_documents
from neardup.kernels.shingles import mix_all
from neardup.kernels.sketch.simhash import majority
from neardup.settings import Settings
from neardup.text.keys import PUBLIC
from neardup.text.lsh.index import band_probability
from neardup.text.sketch.documents import shingle_sets
from neardup.text.sketch.minhash import MinHash
from support import shared_data
from table import Report, seconds

BINS = ((0.2, 0.5), (0.5, 0.8), (0.8, 1.0))
THRESHOLD, PLANNED = 0.8, 0.99
MOST = 20_000
"""Pairs of one bin, or of one table: more are thinned out evenly."""

DISTANCES = (3, 6, 10, 14)
"""Bits in which SimHash fingerprints may differ to be candidates."""


@dataclass(frozen=True)
class SimHashOfSets:
    """SimHash of sets of shingles, in which each votes once: ``features="shingle:5"`` of texts without repeats."""

    bits: int = 64

    def sketch(self, texts: pa.Array) -> np.ndarray:
        """Fingerprints of texts, for the speed."""
        return nd.SimHash(self.bits, "shingle:5").sketch(texts)

    def sketch_ids(self, ids: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Fingerprints uint64[n, words] of sets of whole numbers."""
        sizes, words = np.diff(offsets), self.bits // 64
        out, mixed = np.empty((len(sizes), words), np.uint64), np.ascontiguousarray(ids, np.uint64)
        room = np.empty(int(sizes.max(initial=0)) + 8, np.uint64)
        counts, votes = np.empty(64, np.uint8), np.empty(64, np.int64)
        for word in range(words):
            again = np.empty_like(mixed)
            mix_all(mixed + np.uint64(word), again)
            for document, (begin, size) in enumerate(zip(offsets[:-1], sizes, strict=True)):
                room[:size] = again[begin : begin + size]
                out[document, word] = majority(room, size, counts, votes)
        return out

    def distances(self, made: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Bits in which pairs of rows differ."""
        return np.bitwise_count(made[pairs[:, 0]] ^ made[pairs[:, 1]]).sum(axis=1)

    def resemblances(self, made: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """J from the angle, as of two sets of one size: cos θ = 2J / (1 + J)."""
        cosine = np.maximum(np.cos(np.pi * self.distances(made, pairs) / self.bits), 0)
        return cosine / (2 - cosine)


FAMILIES = {
    "one-permutation MinHash, 128 slots": MinHash(128),
    "classic MinHash, 128 slots": MinHash(128, sketch="classic"),
    "mod p, 128 slots": nd.ModP(128),
    "multiply-shift, 128 slots": nd.MultiplyShift(128),
    "8 bits of one-permutation": nd.BBit(MinHash(128)),
    "bottom-k, 128": nd.BottomK(128),
    "bottom-k, 64": nd.BottomK(64),
    "sampled shingles, 1/16": nd.SampledShingles(16),
    "sampled shingles, 1/16, at least 128": nd.SampledShingles(16, 128),
    "sampled shingles, 1/64": nd.SampledShingles(64),
    "512 buckets, rotated": nd.BucketMinHash(),
    "128 buckets of 64 bits": nd.BucketMinHash(bucket_count=128, with_rotation=False),
    "SimHash, 64 bits": SimHashOfSets(64),
    "SimHash, 128 bits": SimHashOfSets(128),
}
FILTER, FULL = "8 bits of one-permutation", "one-permutation MinHash, 128 slots"
NO_BANDS = (nd.SampledShingles, nd.BBit, SimHashOfSets)


@dataclass(frozen=True)
class Documents:
    """Texts, their shingle sets, and what was counted of some of their pairs."""

    texts: pa.Array
    hashes: np.ndarray
    offsets: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Shingles of each document."""
        return np.diff(self.offsets)

    def shared(self, pairs: np.ndarray) -> np.ndarray:
        """Return |A∩B| of each pair, counted with numpy's own sets."""
        sets = [self.hashes[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]
        return np.array([np.intersect1d(sets[a], sets[b], True).size for a, b in pairs])


def documents(given: argparse.Namespace) -> Documents:
    """The documents that were asked for, each text once."""
    if given.corpus:
        source = open_documents(given.corpus)
        column = choose_columns(source, None, None).text
        texts = [text for chunk in source.chunks(None, [column]) for text in chunk.read([column]).table.column(0)]
        texts = [text.as_py() for text in texts[: given.documents]]
        texts = [text if isinstance(text, str) else text.decode("utf-8", "replace") for text in texts]
    else:
        os.environ["NEARDUP_SHARED_DATA"] = given.data or os.environ["NEARDUP_SHARED_DATA"]
        texts = [text for name in shared_data.WORD_SETS for text in shared_data.documents(name).values()]
    array = pa.array(list(dict.fromkeys(texts)), pa.large_string())
    sets = shingle_sets(array, np.arange(len(array)), Settings(), PUBLIC)
    return Documents(array, sets.hashes, sets.offsets)


def exact_pairs(found: Documents, **settings) -> np.ndarray:
    """Every pair that meets the threshold, int64[m, 2], joined exactly."""
    table = nd.find(found.texts, method="exact", memory=4, **settings).pairs
    return np.stack([table.column(name).to_numpy().astype(np.int64) for name in ("id_a", "id_b")], axis=1)


def thinned(pairs: np.ndarray) -> np.ndarray:
    """At most MOST of the pairs, evenly taken."""
    return pairs[np.linspace(0, len(pairs) - 1, min(len(pairs), MOST)).astype(int)]


def signed(family, found: Documents, run: int):
    """The signatures of all sets with the hashes of one run."""
    shift = np.random.default_rng(run).integers(0, 2**63, dtype=np.uint64)
    ids = found.hashes + shift
    base = getattr(family, "base", family)
    if isinstance(base, nd.ModP | nd.MultiplyShift):
        # these take row numbers as they are: numbered at random, as a text's hashes are
        ids = (ids * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)) % np.uint64(nd.ModP.LARGEST)
    made = family.sketch_ids(ids, found.offsets)
    return made[0] if isinstance(family, MinHash) else made


def size_of(made) -> int:
    """Bytes of signatures; of samples with their offsets."""
    return made.nbytes if isinstance(made, np.ndarray) else made.hashes.nbytes + made.offsets.nbytes


def estimates(report: Report, found: Documents, pairs: np.ndarray, given: argparse.Namespace) -> None:
    """Bias and error by bin of resemblance, bytes, speed."""
    shared = found.shared(pairs)
    union = found.sizes[pairs].sum(axis=1) - shared
    exact, volume = shared / union, pc.sum(pc.binary_length(found.texts)).as_py()
    bins = [(low <= exact) & (exact < high) for low, high in BINS]
    rows = []
    for name, family in FAMILIES.items():
        off = np.empty((given.runs, len(pairs)))
        for run in range(given.runs):
            made = signed(family, found, run)
            off[run] = family.resemblances(made, pairs) - exact
        cells = []
        for inside in bins:
            part = off[:, inside]
            bias, error = part.mean(), part.mean(axis=1).std(ddof=1) / np.sqrt(given.runs)
            cells += [f"{bias:+.4f} ± {error:.4f}", f"{np.sqrt((part**2).mean()):.4f}"]
        speed: object = "–"
        if given.rounds:
            speed = volume / 1e6 / seconds(lambda family=family: family.sketch(found.texts), given.rounds)
        rows.append([name, *cells, round(size_of(made) / len(found.texts)), speed])
        print("  ".join(map(str, rows[-1])), file=sys.stderr)
    columns = ["family"]
    columns += [f"{what}, J {low:g}–{high:g}" for low, high in BINS for what in ("bias", "error")]
    note = (
        f"{len(found.texts):,} documents of {volume / 1e6:,.1f} MB, "
        f"{', '.join(f'{int(inside.sum()):,}' for inside in bins)} pairs, {given.runs} sets of hashes. *Error*: "
        "root of the mean square. *Bias*: mean, ± its standard error over the sets of hashes: pairs that share "
        "documents err together. Bytes are those of a document on average."
    )
    report.table("Resemblance", [*columns, "bytes", "MB/s, one core"], rows, note)


def bands(report: Report, found: Documents, given: argparse.Namespace) -> None:
    """Candidates and recall of the families that have bands, and of the filter behind them."""
    pairs = exact_pairs(found, threshold=THRESHOLD)
    wanted = {tuple(pair) for pair in pairs.tolist()}
    rows = []
    for name, family in FAMILIES.items():
        if isinstance(family, NO_BANDS) and name != FILTER:
            continue
        cells = banded(family, found, wanted, given)
        rows.append([name, *cells])
        print("  ".join(map(str, rows[-1])), file=sys.stderr)
    rows += by_distance(found, wanted, given)
    columns = ["family", "bands", "planned", "recall", "candidates", "of them pairs"]
    note = (
        f"{len(pairs):,} pairs at {THRESHOLD}; bands of the most rows with which a pair at {THRESHOLD} is found "
        f"with probability {PLANNED}, the last one filled up with the first slots. Means over {given.runs} sets "
        "of hashes. Buckets without a shingle agree with nothing if not rotated; copies agree together if so. "
        f"*{FILTER}*: the candidates of whole signatures that may reach {THRESHOLD}. *SimHash*: all pairs within "
        f"the distance; planned is what is expected of a pair at {THRESHOLD}, of sets of one size."
    )
    report.table("Candidates and recall", columns, rows, note)


def banded(family, found: Documents, wanted: set, given: argparse.Namespace) -> list[str]:
    """Bands, planned and measured recall, candidates, and the share of them that are pairs."""
    whole = FAMILIES[FULL] if isinstance(family, nd.BBit) else family
    slots = whole.slots if hasattr(whole, "slots") else whole.settings.sketch.slots
    rows = max(r for r in range(1, slots + 1) if band_probability(THRESHOLD, slots, r, True) >= PLANNED)
    recalls, numbers = [], []
    for run in range(given.runs):
        made = signed(whole, found, run)
        if isinstance(whole, nd.BucketMinHash):
            lsh = whole.lsh(made, THRESHOLD, PLANNED)
        else:
            lsh = nd.LSH(made, rows, wrap=True)
        table = lsh.pairs()
        proposed = np.stack([table.column("a").to_numpy(), table.column("b").to_numpy()], axis=1).astype(np.int64)
        if isinstance(family, nd.BBit):
            proposed = proposed[family.may_reach(family.cut(made), proposed, THRESHOLD)]
        hits = sum(pair in wanted for pair in map(tuple, proposed.tolist()))
        recalls.append(hits / max(len(wanted), 1))
        numbers.append(len(proposed))
    share = np.mean(recalls) * len(wanted) / max(np.mean(numbers), 1)
    planned = band_probability(THRESHOLD, slots, rows, True)
    return [
        f"{lsh.bands} × {lsh.rows}",
        f"{planned:.4f}",
        f"{np.mean(recalls):.4f}",
        f"{np.mean(numbers):,.0f}",
        f"{100 * share:.0f} %",
    ]


def by_distance(found: Documents, wanted: set, given: argparse.Namespace) -> list[list[str]]:
    """The rows of SimHash: recall and candidates within each distance."""
    rows = []
    for name, family in FAMILIES.items():
        if not isinstance(family, SimHashOfSets):
            continue
        made = [signed(family, found, run) for run in range(given.runs)]
        for distance in DISTANCES if family.bits == 64 else [2 * distance for distance in DISTANCES]:
            recalls, numbers = [], []
            for fingerprints in made:
                table = nd.hamming_pairs(fingerprints, distance).expanded()
                near = set(zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True))
                recalls.append(len(wanted & near) / max(len(wanted), 1))
                numbers.append(len(near))
            share = np.mean(recalls) * len(wanted) / max(np.mean(numbers), 1)
            planned = nd.hamming_plan(len(found.texts), family.bits, distance).probability(THRESHOLD)
            cells = [
                f"{planned:.4f}",
                f"{np.mean(recalls):.4f}",
                f"{np.mean(numbers):,.0f}",
                f"{100 * share:.0f} %",
            ]
            rows.append([f"{name}, shingles", f"≤ {distance} bits", *cells])
            print("  ".join(rows[-1]), file=sys.stderr)
    return rows


def containment(report: Report, found: Documents, given: argparse.Namespace) -> None:
    """How much of the smaller document is in the larger, at least three times its size."""
    pairs = exact_pairs(found, threshold=0.3, measure="overlap")
    sizes = found.sizes[pairs]
    pairs = np.where((sizes[:, 0] <= sizes[:, 1])[:, None], pairs, pairs[:, ::-1])
    sizes = np.sort(sizes, axis=1)
    pairs = thinned(pairs[sizes[:, 1] >= 3 * sizes[:, 0]])
    sizes = found.sizes[pairs]
    exact = found.shared(pairs) / sizes[:, 0]
    rows = []
    for name in (FULL, "bottom-k, 128", "sampled shingles, 1/16", "sampled shingles, 1/16, at least 128"):
        family, off = FAMILIES[name], []
        for run in range(given.runs):
            made = signed(family, found, run)
            if isinstance(family, MinHash):
                similar = family.resemblances(made, pairs)
                common = np.minimum(similar * sizes.sum(axis=1) / (1 + similar), sizes[:, 0])
                off.append(common / sizes[:, 0] - exact)
            else:
                off.append(made.containments(pairs) - exact)
        told = ~np.isnan(np.array(off))
        part = np.array(off)[told]
        rows.append(
            [
                name,
                f"{part.mean():+.4f}",
                f"{np.sqrt((part**2).mean()):.4f}",
                f"{100 * (1 - told.mean()):.1f} %",
                round(size_of(made) / len(found.texts)),
            ]
        )
    columns = ["family", "bias", "error", "nothing told", "bytes"]
    note = (
        f"{len(pairs):,} pairs of a document and one at least three times as long that holds 30 % of it or more "
        f"(the smaller ones have {int(np.median(sizes[:, 0])) if len(pairs) else 0} shingles in the median); "
        f"{given.runs} sets of hashes. MinHash: |A∩B| = J(|A| + |B|)/(1 + J) from the exact sizes, cut at |A|."
    )
    report.table("Containment", columns, rows, note)


def rotation(report: Report) -> None:
    """What engines make of short documents: random sets of resemblance one half."""
    family, rows, band = nd.BucketMinHash(), [], 8
    rng = np.random.default_rng(3)
    for n in (10, 30, 100, 300, 600, 1000, 2000, 5000):
        common, trials = round(2 * n / 3), max(100, min(2000, 400_000 // n))
        exact = common / (2 * n - common)
        ids = rng.integers(0, 2**64, (trials, 2 * n - common), dtype=np.uint64)
        offsets, pairs = np.arange(trials + 1) * n, np.arange(trials)[:, None].repeat(2, axis=1)
        a = family.sketch_ids(ids[:, :n].ravel(), offsets)
        b = family.sketch_ids(ids[:, n - common :].ravel(), offsets)
        score, read = family.engine_scores(a, pairs, b), family.resemblances(a, pairs, b)
        agree = (a == b).reshape(trials, -1, band).all(axis=2).mean()
        cells = [f"{value:.3f}" for value in (exact, score.mean(), score.std(), read.mean(), read.std())]
        rows.append([n, *cells, f"{agree / exact**band:.1f}"])
    columns = ["shingles", "J", "engine's score", "spread", "read without copies", "spread", f"bands of {band}"]
    note = (
        "512 buckets, rotated; pairs of random sets of one size. The last column: how many bands agree, over how "
        "many would if slots were independent."
    )
    report.table("Search engines: rotation and short documents", columns, rows, note)


def look_ups(report: Report, rounds: int) -> None:
    """LSH over signatures that others made: 12,000 documents of 100 values, every second one a near copy."""
    rng, rows = np.random.default_rng(1), []
    for kind in (np.uint32, np.int64):
        signatures = rng.integers(0, 2**31, (12_000, 100)).astype(kind)
        signatures[1::2] = np.where(rng.random((6000, 100)) < 0.9, signatures[::2], signatures[1::2])
        built = seconds(lambda signatures=signatures: nd.LSH(signatures, rows=20), rounds)

        def all_of_them(signatures=signatures) -> float:
            lsh = nd.LSH(signatures, rows=20)
            return seconds(lambda: [lsh.candidates(number) for number in range(len(lsh))], 1)

        def fresh(signatures=signatures) -> None:
            lsh = nd.LSH(signatures, rows=20)
            for number in range(len(lsh)):
                lsh.candidates(number)

        both = seconds(fresh, rounds)
        rows.append([np.dtype(kind).name, 1e3 * built, 1e3 * (both - built), 1e3 * all_of_them()])
    columns = ["values", "build, ms", "12,000 look-ups, ms", "the same again, ms"]
    report.table("Buckets over 12,000 × 100 values, 20 rows a band", columns, rows)


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("NEARDUP_SHARED_DATA"))
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--documents", type=int, default=20_000, help="documents taken from the corpus")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "fingerprints.md")
    given = parser.parse_args()
    if not given.corpus and not given.data:
        parser.error("name a folder of data sets (--data) or a file (--corpus)")
    report = Report("Families of fingerprints", f"Python {platform.python_version()}")
    found = documents(given)
    pairs = exact_pairs(found, threshold=BINS[0][0])
    exact = found.shared(pairs) / np.maximum(found.sizes[pairs].sum(axis=1) - found.shared(pairs), 1)
    kept = [thinned(pairs[(low <= exact) & (exact < high)]) for low, high in BINS]
    estimates(report, found, np.concatenate(kept), given)
    bands(report, found, given)
    containment(report, found, given)
    rotation(report)
    if given.rounds:
        look_ups(report, given.rounds)
    report.write(given.out)


if __name__ == "__main__":
    main()
