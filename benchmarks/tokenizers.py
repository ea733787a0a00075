"""Words against tokens of source code, on labelled pairs of programs; written to benchmarks/results/tokenizers.md.

    python benchmarks/tokenizers.py [--rounds N]

irplag_java (in NEARDUP_SHARED_DATA) has pairs of Java programs that were plagiarised at six levels, and pairs that
were written independently for the same tasks. "Told apart" is the share of comparisons in which a pair of the
level has a greater resemblance than an independent pair (the area under the ROC curve; a tie counts half).
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import neardup as nd
from neardup.text.tokenizers import tokens_as_words
from support import shared_data
from table import Report, seconds

FORMS = {
    "words, 5": {"length": 5},
    "code, 5": {"tokenizer": "code", "length": 5},
    "code, 12": {"tokenizer": "code", "length": 12},
}


def greater(pairs: list[float], others: list[float]) -> float:
    """Return the share of comparisons in which the pair has the greater value."""
    won = sum((one > other) + (one == other) / 2 for one in pairs for other in others)
    return won / (len(pairs) * len(others))


def main() -> None:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    folder = shared_data.folder("irplag_java")
    lines = (folder / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {row["id"]: row["text"] for row in map(json.loads, lines)}
    with (folder / "truth.tsv").open(encoding="utf-8") as labels:
        pairs = list(csv.DictReader(labels, delimiter="\t"))

    report, rows = Report("Tokens of source code", "otherwise idle"), []
    for name, form in FORMS.items():
        found = defaultdict(list)
        for pair in pairs:
            level = pair["level"] if pair["level"].startswith("L") else "independent"
            compared = nd.compare(texts[pair["id_a"]], texts[pair["id_b"]], **form)
            found[level].append(compared.measures["resemblance"])
        for level, values in sorted(found.items()):
            apart = "" if level == "independent" else f"{greater(values, found['independent']):.3f}"
            rows.append((name, level, len(values), f"{median(values):.3f}", apart))
    columns = ("tokens, shingle length", "level", "pairs", "median resemblance", "told apart")
    report.table("Plagiarised and independent Java programs", columns, rows)

    size = sum(len(text.encode()) for text in texts.values())
    took = seconds(lambda: [tokens_as_words(text, "code") for text in texts.values()], given.rounds)
    report.table("Speed", ("tokenizer", "MB/s, one thread"), [("code", f"{size / took / 1e6:.2f}")])
    report.write(Path(__file__).parent / "results" / "tokenizers.md")


if __name__ == "__main__":
    main()
