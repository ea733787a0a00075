"""Normalisation and tokens: the kernels against their naive twins, and against Unicode's own test file."""

from __future__ import annotations

import bz2
import importlib.util
import re
import unicodedata
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup import unicode as face
from neardup.kernels.text import tokens as token_kernel
from neardup.kernels.text import unicode as kernel
from neardup.unicode import TABLE_FILE, UNICODE_VERSION, unicode_tables
from support import reference, strategies
from support.full_run import FULL
from support.messages import assert_refused
from support.paths import ROOT

UCD = Path("/usr/share/unicode")
SCRIPT = ROOT / "scripts" / "make_unicode_tables.py"
# Whole characters, stray bytes, and sequences that are cut short, overlong, surrogates or too large
BYTES = [
    *(b"a", "é".encode(), "東".encode(), "😀".encode(), b"\xc0", b"\xc2", b"\xe0", b"\xe0\xa0", b"\xed"),
    *(b"\xed\xa0", b"\xef\xbf", b"\xbd", b"\xf0", b"\xf0\x90", b"\xf4\x90", b"\xf4\x8f\xbf", b"\xf5"),
    *(b"\xff", b"\x80", b"\x9f", b"\xbf"),
]
# Connector punctuation other than '_' is part of a token (category Pc), but not of Python's \\w
OTHER_CONNECTORS = frozenset("\u203f\u2040\u2054")
# Two in three of all characters; the compatibility ideographs, which become others, are not among them
IDEOGRAPHS_AND_SYLLABLES = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\U00020000-\U0002f7ff\U00030000-\U000323af]"
)


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    """Compile the kernels before hypothesis looks at the clock."""
    face.tokens("é")
    face.shingles("é", unit="char")


def normalise_bytes(data: bytes) -> tuple[str, int]:
    """Return the normalised text of a UTF-8 string and the number of ill-formed sequences."""
    # the bytes stand inside a larger buffer of continuation bytes: reading past the end would show
    padded = np.frombuffer(b"\x80\x80" + data + b"\x80\x80\x80", np.uint8)
    codepoints, n, n_invalid = kernel.normalise(padded, 2, 2 + len(data), unicode_tables())
    return codepoints[:n].tobytes().decode("utf-32-le"), n_invalid


def is_plain(char: str) -> bool:
    """Whether Python's re sees the character as the definition does: no mark, no spaceless script."""
    return not (
        unicodedata.category(char)[0] == "M" or reference.SPACELESS.match(char) or char in OTHER_CONNECTORS
    )


@given(strategies.any_text())
@example("")
@example("ﷺ" * 40)
@example("ﷺ" * 4 + "a\u0301ﷺ\u0323" * 9)
@example("a\u0315\u0300\u05ae\u0062\u0345\u0301")
@example("\u0301\u0300")
def test_normalise_is_nfkc_casefold(text: str) -> None:
    assert face.normalise(text) == reference.nfkc_casefold(text)


@given(strategies.any_text())
def test_normalise_is_idempotent(text: str) -> None:
    once = face.normalise(text)
    assert face.normalise(once) == once


@given(strategies.any_text())
def test_tokens_are_those_of_the_scan_rule(text: str) -> None:
    assert face.tokens(text) == reference.tokens(text)


@given(strategies.any_text(), st.integers(1, 7), st.sampled_from(["word", "char"]))
def test_shingles_are_those_of_the_definition(text: str, length: int, unit: face.Unit) -> None:
    assert face.shingles(text, length, unit) == reference.shingle_set(text, length, unit)


@given(strategies.any_text())
def test_without_marks_and_spaceless_scripts_a_token_is_a_word_of_re(text: str) -> None:
    normalised = face.normalise("".join(filter(is_plain, face.normalise(text))))
    words = [word.strip("_") for word in re.findall(r"\w+", normalised)]
    assert face.tokens(normalised) == list(filter(None, words))


@cache
def code_points() -> str:
    """All characters; in an ordinary run of those without any property of their own one in ten."""
    chars = strategies.comparable()
    alike = [] if FULL else IDEOGRAPHS_AND_SYLLABLES.findall(chars)
    left_out = {*alike} - {*alike[::10]}
    return "".join(char for char in chars if char not in left_out)


def test_the_token_characters_are_those_of_re_on_every_plain_code_point() -> None:
    # a line each, as one by one takes seconds; re sees no word in the end of a line
    plain = re.sub("[\n_]", "", "".join(filter(is_plain, code_points())))
    lines = face.normalise("\n".join(plain)).split("\n")
    plain = "".join(char for char, line in zip(plain, lines, strict=True) if line == char)
    assert "".join(face.tokens(" ".join(plain))) == "".join(re.findall(r"\w", plain))


def in_batches(form: str) -> Iterator[tuple[str, str]]:
    """Each code point in a form and on a line of its own, a thousand of them at a time, and their names."""
    chars = code_points()
    for begin in range(0, len(chars), 1000):
        batch = chars[begin : begin + 1000]
        yield "\n".join(form.format(char) for char in batch), f"U+{ord(batch[0]):04X} to U+{ord(batch[-1]):04X}"


def test_every_code_point_alone() -> None:
    for text, names in in_batches("{}"):
        assert face.normalise(text) == reference.nfkc_casefold(text), names
        assert face.tokens(text) == reference.tokens(text), names
    for char in {*strategies.marks(), *code_points()[::50]}:  # at the begin and the end of a text
        assert face.normalise(char) == reference.nfkc_casefold(char), f"U+{ord(char):04X}"
        assert face.tokens(char) == reference.tokens(char), f"U+{ord(char):04X}"


def test_every_code_point_between_letters() -> None:
    for text, names in in_batches("a{0}b東{0}京"):
        assert face.tokens(text) == reference.tokens(text), names


def test_every_pair_of_base_and_mark() -> None:
    """Bases: what composes or decomposes canonically, without the thousand compatibility ideographs."""
    decomposition = {char: unicodedata.decomposition(char) for char in strategies.comparable()}
    composites = [char for char, parts in decomposition.items() if " " in parts and parts[0] != "<"]
    letters = {*composites, *(chr(int(decomposition[char].split()[0], 16)) for char in composites), "q", "カ"}
    ends = {part for char in composites for part in decomposition[char].split()[1:]}
    for number, mark in enumerate(strategies.marks()):
        # a mark that composes with no letter meets a third of them
        some = slice(None) if FULL or f"{ord(mark):04X}" in ends else slice(number % 3, None, 3)
        text = "".join(f"{base}{mark} " for base in sorted(letters)[some])
        assert face.normalise(text) == reference.nfkc_casefold(text), f"U+{ord(mark):04X}"


def test_every_hangul_syllable_composes_from_its_jamo() -> None:
    syllables = "".join(map(chr, range(0xAC00, 0xD7A4)))
    assert face.normalise(unicodedata.normalize("NFD", syllables)) == syllables


@given(st.text(st.sampled_from("ᄀ하ᅵᆨᇂ가갛각\u1113\u1176\u11c3\ua960\ud7b0\u0301\u302e"), max_size=30))
def test_hangul_jamo_in_any_order(text: str) -> None:
    assert face.normalise(text) == reference.nfkc_casefold(text)


def normalisation_test() -> Iterator[list[str]]:
    """Yield the five columns of each line of NormalizationTest.txt."""
    plain, packed = UCD / "NormalizationTest.txt", UCD / "NormalizationTest.txt.bz2"
    if not plain.exists() and not packed.exists():
        pytest.skip(f"NormalizationTest.txt of Unicode {UNICODE_VERSION} is not in {UCD}")
    content = plain.read_bytes() if plain.exists() else bz2.decompress(packed.read_bytes())
    for line in content.decode("utf-8").splitlines():
        columns = line.split("#")[0].split(";")
        if len(columns) >= 5:
            yield ["".join(chr(int(part, 16)) for part in column.split()) for column in columns[:5]]


def test_unicodes_own_normalisation_test() -> None:
    """NFC of NormalizationTest.txt on what NFKC_CF leaves alone, toNFKC_Casefold on everything."""
    known = set(strategies.comparable())
    n_nfc = 0
    for columns in normalisation_test():
        source, nfc = columns[:2]
        if face.normalise(nfc) == nfc and all(face.normalise(char) == char for char in nfc):
            for variant in columns[:3]:
                n_nfc += 1
                assert face.normalise(variant) == nfc, ascii(source)
        if known.issuperset("".join(columns)):
            for variant in columns:
                assert face.normalise(variant) == reference.nfkc_casefold(variant), ascii(source)
    assert n_nfc > 3 * 11_000


@given(st.one_of(st.binary(max_size=40), st.lists(st.sampled_from(BYTES), max_size=20).map(b"".join)))
def test_ill_formed_utf8_as_python_replaces_it(data: bytes) -> None:
    replaced = data.decode("utf-8", errors="replace")
    normalised, n_invalid = normalise_bytes(data)
    assert normalised == face.normalise(replaced)
    assert n_invalid == replaced.count("\ufffd") - sum(
        data[i : i + 3] == b"\xef\xbf\xbd" for i in range(len(data) - 2)
    )


@pytest.mark.parametrize("mark", ["\u0300", "\u0f74", "\u1161", "\u3099", "\u0345"])
def test_two_megabytes_of_one_mark(mark: str) -> None:
    text = "a" + mark * (2_000_000 // len(mark.encode()))
    assert face.normalise(text) == reference.nfkc_casefold(text)


def test_two_megabytes_of_marks_in_the_worst_order() -> None:
    # Python's own normalisation sorts by insertion, so the answer is written down instead of computed
    count = 300_000
    text = "q" + "\u0301" * count + "\u0323" * count + "\u0334" * count
    assert face.normalise(text) == "q" + "\u0334" * count + "\u0323" * count + "\u0301" * count
    assert len(face.tokens(text)) == 1


def test_a_megabyte_that_grows_eighteenfold() -> None:
    count = 50_000
    assert face.normalise("ﷺ" * count) == reference.nfkc_cf("ﷺ") * count


@pytest.mark.parametrize(
    ("variant", "plain"),
    [
        ("ＦＵＬＬ　ＷＩＤＴＨ", "full width"),
        ("co\u00adop\u200bera\u2060tion", "cooperation"),
        (unicodedata.normalize("NFD", "Ångström ṩ"), "ångström ṩ"),
        ("s\u0307\u0323", "ṩ"),
        ("ﬁnd ﬂat oﬃce ﬅop", "find flat office stop"),
        ("STRASSE Straße", "strasse strasse"),
        ("ΣΊΣΥΦΟΣ σίσυφος", "σίσυφοσ σίσυφοσ"),
        ("ｶﾞｷﾞ", "ガギ"),
        ("x² ½ ⅷ ℌ", "x2 1⁄2 viii h"),
        ("كتـــاب \ufe71", "كتاب \u064b"),
        ("İ", "i̇"),
        ("\ud800", "\ufffd"),
    ],
)
def test_variants_are_one(variant: str, plain: str) -> None:
    assert face.normalise(variant) == plain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n—…", []),
        ("snake_case __x ﹏", ["snake_case", "x"]),
        ("_committee_, __init__ \u203fa\u2054b\u2040 _\u203f", ["committee", "init", "a\u2054b"]),
        ("ä_b_ é_ _", ["ä_b", "é"]),
        ("東_京 a_東 東_a __東", ["東", "京", "a", "東", "東", "a", "東"]),
        ("a_\u0301b_", ["a_\u0301b"]),
        ("كتـــاب ـكتاب كتابـ ـ", ["كتاب", "كتاب", "كتاب"]),
        ("كِتَاب", ["كِتَاب"]),
        ("東京 2024年", ["東", "京", "2024", "年"]),
        ("カタカナです", ["カタカナ", "で", "す"]),
        ("ภาษาไทย", ["ภ", "า", "ษ", "า", "ไ", "ท", "ย"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("น้ำ", ["น้ํ", "า"]),
        ("मुम्बई को", ["मुम्बई", "को"]),
        ("ខ្មែរ", ["ខ្", "មែ", "រ"]),  # a coeng does not join clusters before Unicode 15.1
        ("か\u3099あ\u3099", ["が", "あ\u3099"]),
        ("\u0e48x", ["\u0e48", "x"]),
        ("\u0301x", ["\u0301x"]),
        ("a東b", ["a", "東", "b"]),
    ],
)
def test_tokens_by_hand(text: str, expected: list[str]) -> None:
    assert face.tokens(text) == expected
    assert reference.tokens(text) == expected


def test_low_line_is_written_as_the_ascii_kernel_writes_it() -> None:
    tables = unicode_tables()
    data = np.frombuffer("ä_b\x7fc_d_".encode(), np.uint8)
    codepoints, n, _ = kernel.normalise(data, 0, data.size, tables)
    out, ends = np.zeros(4 * n + 64, np.uint8), np.zeros(n, np.int64)
    n_tokens = token_kernel.tokenise(codepoints, n, tables, out, ends)
    assert n_tokens == 2
    assert out[: ends[1]].tobytes() == "ä\x7fbc\x7fd".encode()
    assert ends[:2].tolist() == [4, 7]


def test_white_space_is_collapsed_and_trimmed() -> None:
    assert face.shingles("\u3000a \u2028\tB\xa0\n", 3, "char") == {("a", " ", "b")}
    assert face.shingles(" \n", 3, "char") == set()


def test_settings_that_are_not_allowed() -> None:
    assert_refused(
        (ValueError, "length of 0", lambda: face.shingles("a", 0)),
        (ValueError, "word, char", lambda: face.shingles("a", 1, "line")),  # type: ignore[arg-type]
    )


def members(path: Path) -> dict[str, tuple[bytes, object]]:
    """Return content and date of the members of the table file; the packed bytes differ between zlibs."""
    with zipfile.ZipFile(path) as archive:
        return {info.filename: (archive.read(info), info.date_time) for info in archive.infolist()}


def test_the_tables_are_those_of_the_database(tmp_path: Path) -> None:
    if not (UCD / "UnicodeData.txt").exists():
        pytest.skip(f"the Unicode Character Database is not in {UCD}")
    spec = importlib.util.spec_from_file_location("make_unicode_tables", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    try:
        script.write_tables(UCD, tmp_path / "again.npz")
    except ValueError as error:
        pytest.skip(str(error))
    assert members(tmp_path / "again.npz") == members(TABLE_FILE)
