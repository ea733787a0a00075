"""Unknown options name the one that is meant."""

import pytest

from neardup.cli.commands import COMMANDS
from neardup.cli.option import meant_option


@pytest.mark.parametrize(
    ("command", "word", "meant"),
    [
        ("dedup", "--num-perm", "--sketch"),
        ("dedup", "--jaccard_threshold", "--threshold"),
        ("dedup", "--ngram-size", "--length"),
        ("dedup", "--Output", "--out"),
        ("dedup", "--treshold", "--threshold"),
        ("pairs", "--at", "--threshold"),
        ("passages", "--remove", "--cut"),
        ("collection add", "--near", "--threshold"),
        ("collection add", "--skip-near", "--on-near"),
        ("dedup", "--frobnicate", ""),
        ("demo", "--threshold", ""),
    ],
)
def test_the_meaning_of_a_word(command: str, word: str, meant: str) -> None:
    option = meant_option(word, COMMANDS[command].options)
    assert (option.spelling[-1] if option else "") == meant
