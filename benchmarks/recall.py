"""What the recall statement is worth: simulated pairs, and real ones; written to benchmarks/results/recall.md.

    python benchmarks/recall.py [--runs 10000] [--data FOLDER]

Parts: how often the real sketch kernel misses a pair against the probability it is reckoned with; how many of
the 95 % intervals hold the true number of missed pairs; the same over the pairs of real texts, which share
documents, if FOLDER (or NEARDUP_SHARED_DATA) holds them. Seeds are fixed: the tables come out the same again.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from math import sqrt
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import neardup as nd
import shared_data
from neardup.plan import plan
from neardup.recall import missed_pairs, missed_with
from simulated_pairs import Regime, coverage, coverage_by_the_kernel, missed_by_the_kernel, no_band_equal
from table import Report

UNIONS = (2, 5, 10, 20, 50, 100, 150, 300, 700, 2000)
PLANS = ((0.5, 128), (0.7, 128), (0.8, 64), (0.8, 128), (0.9, 128), (0.9, 256))
SKETCHES = ("one-permutation", "classic")
TRIALS = 20_000
REAL_RUNS = 400


def probabilities(report: Report) -> None:
    """1 − π of random pairs against the kernel: mean relative error, each cell weighted by how sure it is."""
    rows = []
    for threshold, slots in PLANS:
        bands, cells = plan(threshold, 0.9, slots), []
        for union in UNIONS:
            for shared in sorted({round((threshold + off) * union) for off in (-0.05, 0, 0.05)} - {0, union}):
                chance = missed_with(bands, "one-permutation", np.array([shared]), np.array([union]))[0]
                curve = 1 - bands.probability(shared / union)
                if chance * TRIALS >= 20:
                    missed = missed_by_the_kernel(
                        shared, union, bands, "one-permutation", TRIALS, shared + 7 * union
                    )
                    cells.append((missed.mean() / chance, curve / chance, sqrt((1 - chance) / chance / TRIALS)))
        measured, curves, errors = np.array(cells).T
        weights = 1 / errors**2
        off = np.average(measured, weights=weights) - 1
        farthest = np.abs((measured - 1) / errors).max()
        rows.append(
            [
                threshold,
                slots,
                len(cells),
                f"{100 * off:+.2f} ± {100 / sqrt(weights.sum()):.2f} %",
                f"{farthest:.1f}",
                f"{100 * (curves.max() - 1):+.0f} %",
            ]
        )
    columns = [
        "threshold",
        "slots",
        "cells",
        "mean error of 1 − π",
        "farthest, in s.e.",
        "error of the curve, at most",
    ]
    note = (
        f"Cells: unions of {UNIONS[0]} to {UNIONS[-1]:,} shingles, resemblance .05 below, at and .05 above the "
        f"threshold, {TRIALS:,} pairs each, sketched by the kernel. The curve of the plan takes slots for "
        "independent."
    )
    report.table("How often a one-permutation sketch misses a pair", columns, rows, note)


def intervals(report: Report, runs: int) -> None:
    """Coverage over regimes of independent pairs."""
    rows = []
    for sketch in SKETCHES:
        for threshold, recall in ((0.5, 0.9), (0.8, 0.5), (0.8, 0.9), (0.8, 0.95), (0.8, 0.99), (0.9, 0.99)):
            for pairs in (10, 50, 500, 5000):
                for spread in ("uniform", "bunched"):
                    regime = Regime(threshold, recall, pairs, spread, sketch)
                    got = coverage(regime, runs if pairs < 5000 else runs // 2)
                    rows.append([sketch, threshold, recall, pairs, spread, *shown(got)])
    columns = ["sketch", "threshold", "planned", "pairs", "spread", "missed", "estimated", "hold the truth"]
    note = (
        f"Means over {runs:,} runs ({runs // 2:,} with 5,000 pairs), unions of 20 to 2,000 shingles. Standard "
        f"error of the last column: {100 * sqrt(0.0475 / runs):.1f} points. Where fewer than about nine missed "
        "pairs are expected, a whole number weighs more than two per cent, and the interval takes it in: it holds "
        "the truth more often than 95 %."
    )
    report.table("How many of the 95 % intervals hold the truth: independent pairs", columns, rows, note)


def sketched(report: Report) -> None:
    """Coverage with sets that are drawn, sketched and banded as in a run."""
    rows = []
    for sketch in SKETCHES:
        for threshold, recall in ((0.5, 0.9), (0.8, 0.9)):
            regime = Regime(threshold, recall, 400, "bunched", sketch)
            rows.append([sketch, threshold, recall, 400, *shown(coverage_by_the_kernel(regime, 2000))])
    columns = ["sketch", "threshold", "planned", "pairs", "missed", "estimated", "hold the truth"]
    report.table("The same with sketched sets, 2,000 runs", columns, rows, "Standard error: 0.5 points.")


def real(report: Report) -> None:
    """Coverage over the pairs of real texts, whose shingles get other hashes in every run."""
    rows = []
    for name in shared_data.PROSE:
        pairs = shared_data.all_pairs(name)
        number: dict[tuple[str, ...], int] = {}
        sets = [[number.setdefault(s, len(number)) for s in sorted(of)] for of in shared_data.sets(name)]
        ids = np.array([shingle for of in sets for shingle in of], np.uint64)
        offsets = np.cumsum([0, *map(len, sets)]).astype(np.int64)
        for threshold in (0.5, 0.8):
            chosen = [(pair, counted) for pair, counted in pairs.items() if counted.resemblance >= threshold]
            rows += [
                [name, threshold, len(chosen), sketch, *real_runs(ids, offsets, chosen, threshold, sketch)]
                for sketch in SKETCHES
            ]
    columns = ["set", "threshold", "pairs", "sketch", "missed", "estimated", "spread", "hold the truth"]
    note = (
        f"{REAL_RUNS} runs with other seeds, planned .9. *Spread*: standard deviation of (estimated − missed), "
        "over that of independent pairs. Pairs that share a document are missed together, so that the truth "
        "varies more than the interval reckons with, while the estimate stays unbiased. Standard error of the "
        "last column: 1.1 points."
    )
    report.table("Pairs of real texts, which share documents", columns, rows, note)


def real_runs(ids, offsets, chosen, threshold: float, sketch: str) -> list[str]:
    """Missed, estimated, spread and coverage over REAL_RUNS seeds."""
    a, b = np.array([pair for pair, _ in chosen]).T
    shared, union = np.array([(counted.shared, counted.union) for _, counted in chosen]).T
    bands, family = plan(threshold, 0.9), nd.MinHash(sketch=sketch)
    chances, at_threshold = missed_with(bands, sketch, shared, union), 1 - bands.probability(threshold)
    rng, held, off, missed = np.random.default_rng(23), 0, [], []
    for _ in range(REAL_RUNS):
        signatures, _ = family.sketch_ids(ids + np.uint64(rng.integers(0, 2**63)), offsets)
        lost = no_band_equal(signatures[a] == signatures[b], bands)
        interval = missed_pairs(chances[~lost], at_threshold)
        held += interval.low <= lost.sum() <= interval.high
        missed.append(lost.sum())
        off.append(interval.estimated - lost.sum())
    alone = sqrt((chances / (1 - chances)).sum())
    estimated = np.mean(off) + np.mean(missed)
    return [
        f"{np.mean(missed):.2f}",
        f"{estimated:.2f}",
        f"{np.std(off) / alone:.1f}" if np.mean(missed) >= 0.1 else "–",
        f"{100 * held / REAL_RUNS:.1f} %",
    ]


def shown(got) -> list[str]:
    """The figures of a Coverage as cells."""
    return [f"{got.missed:.2f}", f"{got.estimated:.2f}", f"{100 * got.held:.1f} %"]


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--data", default=os.environ.get("NEARDUP_SHARED_DATA"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "recall.md")
    given = parser.parse_args()
    report = Report("The recall statement", f"Python {platform.python_version()}")
    probabilities(report)
    intervals(report, given.runs)
    sketched(report)
    if given.data:
        os.environ["NEARDUP_SHARED_DATA"] = given.data
        real(report)
    report.write(given.out)


if __name__ == "__main__":
    main()
