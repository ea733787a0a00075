"""Facts that the documentation of the package simhash states, one a row, held against this library.

The texts are those of its README and of its author's article; no code of theirs is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import neardup as nd
from neardup.errors import InputError, NeardupError, SettingError
from support.facts import held_test, refused_test

SHORT = "How are you? I am fine. Thanks."
TEXTS = (
    "How are you? I Am fine. blar blar blar blar blar Thanks.",
    "How are you i am fine. blar blar blar blar blar than",
    "This is simhash test.",
)
NEAR = "How are you i am fine. blar blar blar blar blar thank"
FAMILY = nd.SimHash(features="joined:3")


def windows(text: str, width: int) -> Counter[str]:
    """Return the features of the README: lower case, runs of word characters joined, windows."""
    joined = "".join(re.findall(r"\w+", text.lower()))
    return Counter(joined[at : at + width] for at in range(max(len(joined) - width + 1, 1)))


def index(distance: int = 10) -> nd.HammingIndex:
    made = nd.HammingIndex(distance=distance)
    made.add(FAMILY.sketch(list(TEXTS)))
    return made


def added() -> list[int]:
    made = index()
    made.add(FAMILY.of(NEAR))
    return made.query(FAMILY.of(NEAR)).tolist()


def removed() -> list[int]:
    made = index()
    made.remove(0)
    return made.query(FAMILY.of(TEXTS[0])).tolist()


HELD: dict[str, Callable[[], bool]] = {
    "the features of a text are windows of its word characters": lambda: all(
        dict(FAMILY.features_of(text)) == windows(text, 3) for text in (SHORT, *TEXTS)
    ),
    "white space and punctuation do not count": lambda: (
        FAMILY.of(SHORT) == FAMILY.of("How are you?I    am fine, Thanks")
    ),
    "equal texts have the distance 0": lambda: FAMILY.of("aa") ^ FAMILY.of("aa") == 0,
    "texts that differ in a word are near, and others are far": lambda: (
        (FAMILY.of(TEXTS[1]) ^ FAMILY.of(NEAR)).bit_count()
        < 10
        < (FAMILY.of(TEXTS[2]) ^ FAMILY.of(NEAR)).bit_count()
    ),
    "features may have weights": lambda: (
        FAMILY.of_features([("aaa", 5), ("bbb", 1)]) == FAMILY.of_features([("aaa", 1)])
    ),
    "a fingerprint is made of a list of features": lambda: (
        FAMILY.of_features(windows(SHORT, 3).items()) == FAMILY.of(SHORT)
    ),
    "a fingerprint may have more bits": lambda: nd.SimHash(256).of(SHORT).bit_length() > 200,
    "near duplicates are found by an index": lambda: 1 in index().query(FAMILY.of(NEAR)).tolist(),
    "far texts are not found": lambda: 2 not in index().query(FAMILY.of(NEAR)).tolist(),
    "an added fingerprint is found": lambda: 3 in added(),
    "a deleted fingerprint is not found": lambda: 0 not in removed(),
    "the order of features does not matter": lambda: (
        FAMILY.of_features([("a", 1), ("b", 2)]) == FAMILY.of_features([("b", 2), ("a", 1)])
    ),
}

REFUSED: dict[str, tuple[type[NeardupError], str, Callable[[], object]]] = {
    "a width between multiples of 64": (SettingError, "multiple of 64", lambda: nd.SimHash(96)),
    "a distance that unrelated texts are within": (
        SettingError,
        "from 0 to 16",
        lambda: nd.HammingIndex(distance=20),
    ),
    "a feature that is bytes": (InputError, "A str", lambda: FAMILY.of_features([(b"a", 1)])),  # type: ignore[list-item]
}


test_a_fact_holds = held_test(HELD)
test_what_is_not_there_names_the_way = refused_test(REFUSED)
