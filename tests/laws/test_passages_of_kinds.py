"""Repeated passages in mail, in code, and in texts that nobody would write."""

from __future__ import annotations

import random

import pytest

import neardup as nd

DRAW = random.Random(8)
WORDS = [
    f"{first}{second}" for first in ("ba", "do", "ki", "lu") for second in ("men", "ral", "sto", "tip", "vek")
]


def prose(count: int) -> str:
    return " ".join(f"{DRAW.choice(WORDS)}{DRAW.randrange(900)}" for _ in range(count))


def test_a_quoted_reply_is_the_passage_it_quotes() -> None:
    lines = [prose(9) for _ in range(8)]
    quoted = "\n".join(f"> {line}" for line in lines)
    twice = "\n".join(f"> > {line}" for line in lines)
    mails = [
        f"{prose(30)}\n" + "\n".join(lines),
        f"{prose(12)}\nOn Monday she wrote:\n{quoted}",
        f"{prose(9)}\n{twice}\n--\n",
    ]
    found = nd.passages(mails)
    assert found.passages.select(["tokens", "times", "documents"]).to_pylist() == [
        {"tokens": 72, "times": 3, "documents": 3}
    ]
    samples = [mails[row["row"]].encode()[row["begin"] : row["end"]].decode() for row in found.places.to_pylist()]
    assert [sample.replace("> ", "") for sample in samples] == ["\n".join(lines)] * 3


def test_code_is_repeated_whatever_its_layout() -> None:
    body = [f"total_{k} = read(rows[{k}], scale={k % 7}) * weight_{k}" for k in range(12)]
    files = ["def one():\n    " + "\n    ".join(body), "class Two:\n\tdef one(self):\n\t\t" + ";\n\t\t".join(body)]
    found = nd.passages(files)
    assert found.passages["times"].to_pylist() == [2]
    assert found.passages["tokens"][0].as_py() == 12 * 7


BINARY = bytes(range(256)).decode("utf-8", "replace")


@pytest.mark.parametrize("texts", [[""], ["", " \n", "\0\0\0"], ["one"], [BINARY, BINARY[::-1]]])
def test_texts_without_passages_have_none(texts: list[str]) -> None:
    found = nd.passages(texts)
    assert (found.passages.num_rows, found.places.num_rows, int(found.repeated.sum())) == (0, 0, 0)
    assert "0 repeated passages" in str(found)
    assert "<svg" not in found._repr_html_()


def test_a_million_tokens_in_one_document() -> None:
    """One token over and over, with a stretch of other ones in the middle that occurs twice."""
    stretch = " ".join(f"s{k}" for k in range(60))
    same = "x " * 300_000
    found = nd.passages([f"{same}{stretch} {same}{stretch} {same}"])
    assert int(found.stream.ends[-1]) == 900_120
    assert not found.nested
    assert int(found.repeated.sum()) == 900_120
    assert (
        found.passages["tokens"].to_numpy().max() == 600_060
    )  # the token before, the stretch, and the token after
