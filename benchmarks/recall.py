"""What the recall statement is worth: simulated pairs, and real ones; written to benchmarks/results/recall.md.

    python benchmarks/recall.py [--runs 10000] [--data FOLDER] [--families]

Parts: how often the real sketch kernel misses a pair against the probability it is reckoned with; how many of
the 95 % intervals hold the true number of missed pairs; the same over the families of real texts, before and
after closing, if FOLDER (or NEARDUP_SHARED_DATA) holds them. Seeds are fixed: the tables come out the same again.
The exit status is 1 where intervals of real families hold the truth too rarely.
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

from neardup.deduplication.join.misses import SEEDS, missed_with
from neardup.text.lsh.bands import plan
from support import shared_data
from support.simulated_families import runs_of, texts_of
from support.simulated_pairs import Regime, coverage, coverage_by_the_kernel, missed_by_the_kernel
from table import Report

UNIONS = (2, 5, 10, 20, 50, 100, 150, 300, 700, 2000)
PLANS = ((0.5, 128), (0.7, 128), (0.8, 64), (0.8, 128), (0.9, 128), (0.9, 256))
SKETCHES = ("one-permutation", "classic")
TRIALS = 20_000
REAL_RUNS = 200
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)
RECALLS = (0.5, 0.9, 0.99)
LEAST = 0.93
"""The share of the intervals that must hold the truth, whatever the set, the threshold and the plan."""


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


def real(report: Report) -> bool:
    """Coverage over families of real texts, whose shingles get other hashes in every run; whether it is LEAST."""
    rows, enough = [], True
    for name in (*shared_data.WORD_SETS, *shared_data.CHAR_SETS):
        for threshold in THRESHOLDS:
            if not (texts_of(name).shared >= threshold * texts_of(name).union).any():
                continue
            for sketch in SKETCHES:
                for recall, got in zip(RECALLS, runs_of(name, threshold, sketch, RECALLS, REAL_RUNS), strict=True):
                    enough &= got.held >= LEAST
                    row = [name, threshold, sketch, recall, got.pairs, f"{got.before:.2f}", f"{got.after:.2f}"]
                    held = f"{100 * got.held:.1f} %" + ("" if got.held >= LEAST else " **too few**")
                    rows.append([*row, f"{got.estimated:.2f}", got.widest, held])
    columns = ["set", "threshold", "sketch", "planned", "pairs", "missed by LSH", "missed after closing"]
    note = (
        f"Seeds 1 to {REAL_RUNS}; families are sketched again with {SEEDS} later seeds, the same ones for all "
        "runs. *Missed by LSH*: pairs that no band proposes, mean of the runs; *after closing*: those whose "
        f"documents no chain of found pairs joins either. At least {100 * LEAST:.0f} % of the intervals must hold "
        "the truth in every row; standard error of that column: 1.5 points. Where fewer than one pair is missed "
        "on average, most intervals are 0 to 1 or 0 to 2, which holds the truth more often."
    )
    columns += ["estimated", "most missed", "hold the truth"]
    report.table("Families of real texts: before and after closing", columns, rows, note)
    return enough


def shown(got) -> list[str]:
    """The figures of a Coverage as cells."""
    return [f"{got.missed:.2f}", f"{got.estimated:.2f}", f"{100 * got.held:.1f} %"]


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--data", default=os.environ.get("NEARDUP_SHARED_DATA"))
    parser.add_argument("--families", action="store_true", help="only the table of real families")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "recall.md")
    given = parser.parse_args()
    report = Report("The recall statement", f"Python {platform.python_version()}")
    if not given.families:
        probabilities(report)
        intervals(report, given.runs)
        sketched(report)
    enough = True
    if given.data:
        os.environ["NEARDUP_SHARED_DATA"] = given.data
        enough = real(report)
    report.write(given.out)
    if not enough:
        sys.exit(f"Some intervals hold the truth less often than in {100 * LEAST:.0f} % of the runs")


if __name__ == "__main__":
    main()
