"""Writes ``golden/signatures.json``: what a few texts become, by the naive twins alone.

The file says what the format *is*. Run this only when ``FORMAT_VERSION`` or ``UNICODE_VERSION`` changes on
purpose: ``python tests/make_golden_signatures.py``.
"""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from support import reference
from support.paths import GOLDEN

FILE = GOLDEN / "signatures.json"
FORMAT, UNICODE = 2, "15.0.0"
LENGTH, SLOTS = 5, 128
FIRST = 3
"""The number of shingle hashes written for a text."""

ACCENTED = "Élève à l'École, où l'été s'achève déjà"
TEXTS = {
    "empty": "",
    "no token": " … — !",
    "two words": "two words",
    "ASCII": "The night is dark and the moon is red.",
    "digits and underscore": "snake_case x1 2024_10_05 v2 __init__ 3 14159265",
    "accented, composed": unicodedata.normalize("NFC", ACCENTED),
    "accented, decomposed": unicodedata.normalize("NFD", ACCENTED),
    "Greek, lower case": "ο σίσυφος και ο λόγος της ημέρας",
    "Greek, upper case": "Ο ΣΊΣΥΦΟΣ ΚΑΙ Ο ΛΌΓΟΣ ΤΗΣ ΗΜΈΡΑΣ",
    "Chinese": "夜很黑,月亮是红色的。",
    "Thai": "ที่นี่มีน้ำ ภาษาไทย",
    "Hangul": "밤은 어둡고 달은 붉다 그리고 조용하다",
    "soft hyphens": "near-dupli\u00adcate docu\u00adments are found every\u00adwhere today",
    "full width": "ＦＵＬＬ　ＷＩＤＴＨ １２３ ｔｅｘｔ ｉｓ ｔｈｅ ｓａｍｅ",
    "a thousand words": " ".join(f"w{reference.mix64(number) % 997}" for number in range(1000)),
}


def hexadecimal(values: list[int], digits: int) -> list[str]:
    return [f"{value:0{digits}x}" for value in values]


def record(text: str) -> dict[str, Any]:
    """Return everything about one text; a text without a token has no signature."""
    units = reference.unit_hashes(text, "word")
    hashes = reference.shingle_hashes(units, LENGTH)
    one, _ = reference.one_permutation(hashes, SLOTS) if hashes else ([], [])
    classic = reference.classic(hashes, SLOTS) if hashes else []
    return {
        "text": text,
        "tokens": reference.tokens(text),
        "stream_key": hexadecimal(list(reference.stream_key(units)), 16),
        "shingles": hexadecimal(hashes[:FIRST], 16),
        "one-permutation": "".join(hexadecimal(one, 8)),
        "classic": "".join(hexadecimal(classic, 8)),
    }


def golden() -> dict[str, Any]:
    """Return the whole file."""
    texts = {name: record(text) for name, text in TEXTS.items()}
    return {"format": FORMAT, "unicode": UNICODE, "length": LENGTH, "slots": SLOTS, "texts": texts}


def main() -> None:
    # ASCII only, so that no editor and no version control system can normalise the texts
    FILE.write_text(json.dumps(golden(), indent=1, ensure_ascii=True) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
