"""Settings: the table of fields, the messages, exact ratios and the digest."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.errors import NeardupError, SettingError
from neardup.settings import FIELDS, RECORDS, Settings, ratio
from support.messages import assert_refused, has_parts

# Every field: values that are allowed, the edges among them, and values that are not
ALLOWED: dict[str, list[Any]] = {
    "unit": ["word", "char"],
    "length": [1, 5, 64],
    "tokenizer": ["", "code"],
    "mask": [[r"\d{4}-\d\d"], ["a", "(?i)b$"]],
    "ignore_numbers": [False, True],
    "stop_words": ["en@883fc88a", "de@00000000,en@883fc88a", "words:and the"],
    "ignore_common": [0, 0.0, 0.01, 0.999999, "1%", "0.01"],
    "sketch": ["one-permutation", "classic", "simhash"],
    "slots": [1, 2, 128, 4096],
    "bits": [64, 128, 192, 1024],
    "features": ["char:1", "char:4", "char:64", "word", "shingle:5"],
    "distance": [0, 3, 16],
    "method": ["auto", "lsh", "exact"],
    "measure": [
        "resemblance",
        "containment",
        "overlap",
        "overlap-max",
        "dice",
        "cosine",
        "vocabulary",
        "multiset",
        "chunk-longest",
        "chunk-union",
        "lcs",
    ],
    "matching": ["literal", "information"],
    "threshold": [0.000001, 0.5, 0.8, 0.999999, 1.0, 1, "80%", "0.8", ".5", "100 %"],
    "copies": ["words", "identical"],
    "recall": [0.5, 0.99, 0.999999, "99%", "0.9"],
    "memory": [0, 0.001, 1, 2.0, 1_000_000],
    "audit": [0, 1, 2000, 1_000_000],
    "groups": ["principal", "components", "complete"],
    "pairs": ["needed", "all"],
    "kinds": [False, True],
    "within": [["lang"], ["lang", "mailbox"]],
    "across": ["split"],
    "no_self": [True],
    "keep": [
        *("longest", "first", "last", "digital", ["digital", "longest"], "max:date", "min:x"),
        *("order:split=test", "order:a=b,c,d", ["max:date", "longest"], ["order:a=b", "min:x", "last"]),
    ],
    "only_contained": [0, 0.0, 0.9, 1, "90%"],
    "direction": ["new-in-old", "old-in-new", "either"],
    "lose": [0, 0.0, 0.02, 1, "2%", "0"],
    "most_removed": [0, 0.5, 1, "50%"],
    "empty": ["keep", "drop", "one"],
    "count": [True],
    "sources": ["site"],
    "encoding": ["auto", "utf-8", "cp1252", "UTF-16-LE", "shift_jis"],
    "delimiter": ["auto", "tab", ",", ";", "\t", " "],
    "pages": ["all", "main"],
    "text_suffix": ["auto", "txt", ".caption.txt"],
    "query": ["", "SELECT 1"],
    "threads": [0, 1, 1024],
}
REFUSED: dict[str, list[Any]] = {
    "unit": ["line", "", "Word", 5, None],
    "length": [0, -1, 65, 5.0, "5", True, None],
    "tokenizer": ["Code", "no such", " ", 3, None, True, ["code"]],
    "mask": ["", "(", "a(?=b)", "x*", r"\C", "x" * 1001, ["a", "a"], ["a", ""], 3, None, [None], True],
    "ignore_numbers": [0, 1, "yes", "", None],
    "stop_words": ["stop.txt", "en@1", "e n", 3, True],
    "ignore_common": [-0.1, 1, 5, 1e-7, float("nan"), "100%", "most", True],
    "sketch": ["minhash", "", 1],
    "slots": [0, 4097, 8192, -128, 128.0, True],
    "bits": [0, 32, 63, 96, 1088, 64.0, "64", True, None],
    "features": ["", "char", "char:0", "char:04", "char:65", "words", "word:2", "shingle:", "char:4 ", 4, None],
    "distance": [-1, 256, 3.0, "3", True, None],
    "method": ["", "LSH", "both", 1, None],
    "measure": ["", "Jaccard", "Overlap", "chunk_union", "LCS", 0, None],
    "matching": ["", "Literal", "both", 1, None],
    "threshold": [0, -0.5, 1.1, 0.0000001, 1 / 3, float("nan"), float("inf"), "80", "0%", "120%", "0,8", None],
    "copies": ["", "Identical", "same", 1, None],
    "recall": [0, 0.49, 1, 1.0, float("nan"), "100%", "99", True],
    "memory": [0.0009, -1, 1_000_001, float("nan"), float("inf"), "2G B", "GB", "0.5MB", "-2", "1e3", True],
    "audit": [-1, 1_000_001, 0.5, "10", True, None],
    "groups": ["center", "", None],
    "pairs": ["some", "", 1],
    "kinds": [0, 1, "yes", "", None],
    "within": ["", ["a", ""], ["a", "a"], 3, None, [None], True],
    "across": [3, None, True, ["a"]],
    "no_self": [1, 0, "yes", None],
    "keep": [
        *("shortest", "max:", "min:", "max", "", 3, None, [], ["longest", 3]),
        *("order", "order:", "order:a", "order:=b", "order:a=", "order:a=b,", "order:a=b,b"),
        *(["first", "longest"], ["last", "max:a"], ["none", "longest"], ["max:a", "max:a"]),
        *("digital:", "scan", ["first", "digital"], ["none", "digital"]),
    ],
    "only_contained": [-0.1, 1.1, float("nan"), "110%", True],
    "direction": ["old", "", 1, None],
    "lose": [-0.1, 1.1, 1e-7, float("nan"), "101%", True],
    "most_removed": [-0.1, 1.1, 1e-7, float("nan"), "101%", True],
    "empty": ["none", "", 1],
    "count": [1, 0, "yes", None],
    "sources": [3, None, True, ["a"]],
    "encoding": ["", "latin-77", "hex", "idna", "a\0", 8, None],
    "delimiter": ["", "ab", "ä", '"', "'", "\n", None],
    "pages": ["", "none", None, 1],
    "text_suffix": ["", ".", "a/b", None, 1],
    "query": [None, 1],
    "threads": [-1, 1025, 1.5, "2", False],
}


WITH: dict[str, dict[str, Any]] = {
    **{name: {"sketch": "simhash"} for name in ("bits", "features", "distance")},
    "sources": {"count": True},
    "direction": {"measure": "containment"},
}
"""What else must be set for a setting to mean anything."""


def cases(table: dict[str, list[Any]]) -> list[Any]:
    return [
        pytest.param(name, value, id=f"{name}={value!r}") for name, values in table.items() for value in values
    ]


def test_every_field_is_tested_here() -> None:
    assert list(ALLOWED) == list(REFUSED) == list(FIELDS)


@pytest.mark.parametrize(("name", "value"), cases(ALLOWED))
def test_allowed(name: str, value: Any) -> None:
    context = WITH.get(name, {})
    made = Settings.of(**{name: value}, **context)
    held = getattr(getattr(made, FIELDS[name].record), name)
    value = FIELDS[name].rule.value(value)
    assert held == (tuple(value) if isinstance(value, list) else value)
    assert FIELDS[name].right_type(held)
    assert made.as_dict() == Settings().as_dict() | context | {name: value}


@pytest.mark.parametrize(("name", "value"), cases(REFUSED))
def test_refused(name: str, value: Any) -> None:
    with pytest.raises(SettingError) as caught:
        Settings.of(**{name: value})
    said, _, hint = str(caught.value).partition(" Did you mean")
    assert said.startswith(f"{name} is {value!r}. Allowed: {FIELDS[name].rule.allowed}.")
    assert (caught.value.given, caught.value.allowed) == (f"{name} is {value!r}", FIELDS[name].rule.allowed)
    assert not hint or hint.endswith("?")


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        ({"keep": "all"}, "To remove nothing, use neardup group or --dry-run."),
        ({"keep": ["max:date", "longst"]}, "Did you mean 'longest'?"),
        ({"keep": ["first", "longest"]}, "Give first last: it leaves no ties for the policies after it."),
        ({"keep": ["none", "longest"]}, "Give none alone: no document of a group is kept"),
        ({"keep": ["max:a", "max:a"]}, "Give each policy once."),
        ({"keep": "order:split"}, "Name each value of the column once, the preferred one first"),
        ({"keep": "order:"}, "Name the column and its values"),
        ({"keep": "order"}, "Name the column and its values, the preferred one first: order:COLUMN=a,b,c."),
        ({"keep": "newest"}, "To keep the newest one, name the column of dates: max:COLUMN."),
        ({"keep": "max"}, "Name the column: max:COLUMN."),
        ({"keep": "longst"}, "Did you mean 'longest'?"),
        ({"measure": "chunk_union"}, "Did you mean 'chunk-union'?"),
        ({"measure": "LCS"}, "Did you mean 'lcs'?"),
        ({"sketch": "one permutation"}, "Did you mean 'one-permutation'?"),
        ({"unit": "words"}, "Did you mean 'word'?"),
        ({"method": "exakt"}, "Did you mean 'exact'?"),
        ({"groups": "principle"}, "Did you mean 'principal'?"),
        ({"features": "chars"}, "Did you mean 'char:4'?"),
        ({"threshold": 80}, "Did you mean 0.8?"),
        ({"threshold": "80"}, "Did you mean 0.8?"),
        ({"recall": 99}, "Did you mean 0.99?"),
        ({"treshold": 0.8}, "Did you mean 'threshold'?"),
        ({"only-contained": 0.8}, "Did you mean 'only_contained'?"),
        ({"keep": "best"}, "Allowed: longest, first, last, digital, max:COLUMN, min:COLUMN, order:COLUMN=a,b,c,"),
        ({"method": "minhash"}, "Allowed: one of auto, lsh, exact."),
    ],
)
def test_near_misses_get_a_hint(values: dict[str, Any], hint: str) -> None:
    with pytest.raises(SettingError) as caught:
        Settings.of(**values)
    assert hint in str(caught.value)
    assert "None" not in str(caught.value)


@pytest.mark.parametrize(("alias", "measure"), [("jaccard", "resemblance"), ("bag-of-words", "vocabulary")])
def test_an_alias_of_a_measure_is_stored_under_its_name(alias: str, measure: str) -> None:
    made = Settings.of(measure=alias)
    assert made.search.measure == measure
    assert made == Settings.of(measure=measure)
    assert made.digest() == Settings.of(measure=measure).digest()
    assert f"{measure} (or {alias})" in FIELDS["measure"].rule.allowed


def test_an_alias_meets_the_rules_of_its_measure() -> None:
    assert_refused(
        (SettingError, "'char' and measure is 'vocab", lambda: Settings.of(measure="bag-of-words", unit="char")),
        (SettingError, "Did you mean 'jaccard'", lambda: Settings.of(measure="Jaccard")),
    )


def test_a_size_may_have_a_unit() -> None:
    sizes = {"2": 2.0, "2GB": 2.0, "500 mb": 0.5, "1.5 GB": 1.5, "2000000KB": 2.0, "1TB": 1000.0}
    assert {text: Settings.of(memory=text).search.memory for text in sizes} == sizes
    assert Settings.of(memory="2GB").search.limit == Settings.of(memory=2).search.limit == 2 * 10**9
    assert Settings.of().search.limit is None
    assert Settings.of().search.join_bytes == 10**9


def test_bounds_are_shown_as_people_write_them() -> None:
    allowed = "a size such as 500MB or 2GB, a number from 0.001 to 1,000,000 (GB), or none"
    assert FIELDS["memory"].rule.allowed == allowed
    assert FIELDS["threads"].rule.allowed == "a number from 0 to 1,024"


def test_slots_are_a_power_of_two_only_where_that_is_needed() -> None:
    assert Settings.of(sketch="classic", slots=100).sketch.slots == 100
    with pytest.raises(SettingError) as caught:
        Settings.of(slots=100)
    assert has_parts(
        str(caught.value),
        "slots is 100 and sketch is 'one-permutation'",
        "Allowed: A power of two",
        "Try: Choose 64 or 128",
        "sketch classic",
        "1 to 4,096",
    )


def test_all_mistakes_at_once() -> None:
    with pytest.raises(SettingError) as caught:
        Settings.of(length=0, treshold=0.8, slots=5000, unit="word", keep="best")
    assert str(caught.value).splitlines() == [
        "length is 0. Allowed: a number from 1 to 64 tokens or characters.",
        f"There is no setting 'treshold'. Allowed: {', '.join(FIELDS)}. Did you mean 'threshold'?",
        "slots is 5000. Allowed: a number from 1 to 4,096.",
        f"keep is 'best'. Allowed: {FIELDS['keep'].rule.allowed}.",
    ]
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, NeardupError)


def test_the_table_of_fields() -> None:
    """Each field once, in the record it names, with the default of that record and its own option."""
    in_records = [(record, field) for record, kind in RECORDS.items() for field in dataclasses.fields(kind)]
    assert [(field.record, field.name) for field in FIELDS.values()] == [(r, f.name) for r, f in in_records]
    for name, field in FIELDS.items():
        assert field.right_type(field.default)
        assert field.rule.holds(field.default)
        assert field.canonical(field.default) == field.default
        assert field.help.endswith(".")
        assert field.option == "--" + name.replace("_", "-")
    assert {field.name for field in dataclasses.fields(Settings)} == set(RECORDS)


def test_defaults() -> None:
    assert Settings.of() == Settings()
    assert Settings().as_dict() == {name: field.default for name, field in FIELDS.items()} | {
        "within": [],
        "tokenizer": "",
        "mask": [],
    }
    assert list(Settings().as_dict()) == list(FIELDS)


@pytest.mark.parametrize("one", ["max:date", ["max:date"], ("max:date",)])
def test_one_of_several_is_the_same_as_that_one(one: Any) -> None:
    assert Settings.of(keep=one) == Settings.of(keep="max:date")
    assert Settings.of(keep=one).as_dict()["keep"] == "max:date"
    assert Settings.of(within=one) == Settings.of(within=["max:date"])
    several = Settings.of(keep=["max:date", "longest"]).as_dict()["keep"]
    assert json.loads(json.dumps(several)) == several == ["max:date", "longest"]


def test_none_asks_for_whole_families() -> None:
    assert Settings.of(keep="none").grouping.groups == "components"
    assert Settings.of(keep="none", groups="principal") == Settings.of(keep="none", groups="components")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"keep": "none", "groups": "complete"}, "groups is 'complete' and keep is 'none'"),
        ({"keep": "none", "only_contained": 0.9}, "only_contained is 0.9 and keep is 'none'"),
        ({"keep": "none", "empty": "one"}, "empty is 'one' and keep is 'none'"),
        ({"across": "split", "empty": "one"}, "empty is 'one' and across is 'split'"),
        ({"across": "a", "within": ["b", "a"]}, "across and within both name 'a'"),
        ({"sources": "site"}, "sources is 'site' without count"),
        ({"direction": "either"}, "direction is 'either' and measure is 'resemblance'"),
        ({"no_self": True, "across": "split"}, "no_self is given and across is 'split'"),
        ({"no_self": True, "empty": "one"}, "no_self is given and empty is 'one'"),
    ],
)
def test_choices_that_contradict_each_other(values: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError) as caught:
        Settings.of(**values)
    assert str(caught.value).startswith(f"{said}. Allowed: ")
    assert "Try: " in str(caught.value)


def test_settings_are_frozen() -> None:
    made = Settings()
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.search = made.search  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.search.threshold = 0.5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.8, (4, 5)),
        (1.0, (1, 1)),
        (1, (1, 1)),
        (0.1, (1, 10)),
        (0.7, (7, 10)),
        (0.000001, (1, 1_000_000)),
        (0.0, (0, 1)),
    ],
)
def test_ratio_of_a_decimal(value: float, expected: tuple[int, int]) -> None:
    assert ratio(value) == expected


@given(st.integers(0, 1_000_000))
def test_ratio_is_that_of_the_digits_typed(millionths: int) -> None:
    typed = f"{millionths // 1_000_000}.{millionths % 1_000_000:06d}"
    assert Fraction(*ratio(float(typed))) == Fraction(millionths, 1_000_000)


def test_ratio_of_a_numpy_number() -> None:
    assert ratio(np.float64(0.8)) == (4, 5)
    assert Settings.of(threshold=np.float64(0.8)) == Settings.of(threshold=0.8)


def test_the_digest_names_what_changes_a_result() -> None:
    plain = Settings().digest()
    assert len(plain) == 16
    assert int(plain, 16) >= 0
    assert Settings.of(threads=7).digest() == plain
    others = {
        name: Settings.of(
            **{name: next(value for value in ALLOWED[name] if value != FIELDS[name].default)}, **WITH.get(name, {})
        ).digest()
        for name in FIELDS
        if FIELDS[name].record != "work"
    }
    assert len({plain, *others.values()}) == len(others) + 1


def test_the_digest_does_not_ask_how_a_number_was_typed() -> None:
    assert Settings.of(threshold=1).digest() == Settings.of(threshold=1.0).digest()
    assert Settings.of(only_contained=0).digest() == Settings().digest()


def test_the_values_are_plain_data() -> None:
    assert json.loads(json.dumps(Settings().as_dict())) == Settings().as_dict()
