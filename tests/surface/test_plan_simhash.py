"""``neardup plan --sketch simhash``: the published tables, what they cost, what a distance can find; refusals."""

from __future__ import annotations

import json

import pytest

from support.command_line import Run
from support.messages import has_parts


def test_the_plan_of_the_web(run: Run) -> None:
    result = run("plan", "--sketch", "simhash", "--documents", "8000000000")
    assert (result.status, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == "search   all within 3 of 64 bits"
    assert lines[1] == "tables   20: 6 blocks, 3 chosen, prefixes of 31-33 bits"
    assert has_parts(lines[2], "a query  20 probes", "about 2 fingerprints")
    assert "      10        25-26               167          1,989  5 blocks, 2 chosen" in lines
    assert (
        "      16           28                30            989  4 blocks, 1 chosen, then 4 blocks, 1 chosen"
        in lines
    )
    assert "      20        31-33                 2            681  6 blocks, 3 chosen  <- least work" in lines
    assert "       0.9    0.0903  ####" in lines
    assert any("0.968 half of" in line for line in lines)


def test_the_plan_of_two_bits(run: Run) -> None:
    result = run("plan", "--sketch", "simhash:64,2", "--documents", str(2**34))
    assert "tables   6: 4 blocks, 2 chosen, prefixes of 32 bits" in result.out
    assert "6 probes, about 4 fingerprints" in result.out


def test_json(run: Run) -> None:
    data = json.loads(run("plan", "--sketch", "simhash:128", "--json").out)
    assert (data["bits"], data["distance"], data["documents"]) == (128, 3, 1_000_000)
    assert data["design"]["tables"] == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--documents", "7"],
            "error: --documents was given\n       Allowed: --documents with --sketch",
        ),
        (["--sketch", "simhash", "--recall", "0.9"], "error: --recall cannot be given together with --sketch"),
        (["x.jsonl", "--sketch", "simhash"], "error: SAMPLE cannot be given together with --sketch simhash\n"),
        (["--sketch", "simhash:32"], "error: bits is 32\n       Allowed: a multiple of 64 bits up to 1024\n"),
        (["--sketch", "simhash:64,40"], "error: distance is 40\n       Allowed: a number from 0 to 16"),
        (["--sketch", "simhash", "--documents", "0"], "error: documents is 0\n"),
    ],
)
def test_refused(run: Run, arguments: list[str], said: str) -> None:
    result = run("plan", *arguments)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(said)
