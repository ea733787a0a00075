"""A result that leaves text out: the review compares two of its documents by the same rules."""

from __future__ import annotations

from pathlib import Path

import neardup as nd
from neardup.review.desk.desk import Desk

BODY = "the harbour office asks for the keys of the blue shed by noon and for the book of the tides"
TEXTS = [f"Re: {BODY} on 2024-01-0{day} page {day}" for day in range(1, 4)]


def test_a_pair_is_compared_by_the_rules_of_the_run(tmp_path: Path) -> None:
    file = tmp_path / "mails.jsonl"
    file.write_text("".join(f'{{"text": "{text}"}}\n' for text in TEXTS))
    found = nd.find(file, mask=[r"\d{4}-\d\d-\d\d"], ignore_numbers=True, stop_words=["of", "the"])
    found.save(tmp_path / "out")
    desk = Desk.open(tmp_path / "out")
    try:
        view = desk.pair(0, 1)
        assert view.comparison.measures["resemblance"] == 1.0
        assert view.comparison.left_out["a"] == {"masks": [1], "numbers": 1, "stop_words": 7}
    finally:
        desk.close()
