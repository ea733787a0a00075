"""The query language: what texts mean, how mistakes are shown, and that the canonical form reads as itself."""

import re
from decimal import Decimal

import pytest
from hypothesis import given

from neardup.collection.query import canonical, parse
from neardup.collection.query.grammar import DEEPEST, MOST_CHARACTERS, MOST_CLAUSES
from neardup.collection.query.syntax import (
    And,
    FieldClause,
    File,
    Fingerprint,
    Node,
    Not,
    Or,
    Pasted,
    Query,
    Stored,
    Unresolved,
    WordsClause,
    readings,
)
from neardup.errors import QueryError
from support.messages import assert_refused
from support.query_strategies import LIKE_QUERIES, NODES, QUERIES

D = Decimal
A, B, C = WordsClause("a"), WordsClause("b"), WordsClause("c")

MEANINGS: list[tuple[str, Node]] = [
    ("budget", WordsClause("budget")),
    ('"two words"', WordsClause("two words")),
    ("FINGERPRINT:1234", Fingerprint(Stored("1234"))),
    ("FINGERPRINT:1234_20", Fingerprint(Unresolved("1234_20"))),
    ("FINGERPRINT:1234_20_80", Fingerprint(Unresolved("1234_20_80"))),
    ('FINGERPRINT:"1234"_20_80', Fingerprint(Stored("1234"), D(20), D(80))),
    ('FINGERPRINT:"a_b c"_20_80', Fingerprint(Stored("a_b c"), D(20), D(80))),
    ('FINGERPRINT:"a_20"', Fingerprint(Stored("a_20"))),
    ('FINGERPRINT:"x"_0.5_99.99', Fingerprint(Stored("x"), D("0.5"), D("99.99"))),
    ('FINGERPRINT:"x"_100_100', Fingerprint(Stored("x"), D(100), D(100))),
    ("FINGERPRINT:report_2020", Fingerprint(Stored("report_2020"))),
    ("FINGERPRINT:<x@y.org>", Fingerprint(Stored("<x@y.org>"))),
    ('FINGERPRINT:TEXT:"say \\"no\\"\\n\\u{1f600}"_20', Fingerprint(Pasted('say "no"\n😀'), D(20))),
    ('TEXT:"a b"_20_80', Fingerprint(Pasted("a b"), D(20), D(80))),
    ("FILE:/tmp/a_b.txt_20_80", Fingerprint(File("/tmp/a_b.txt"), D(20), D(80))),
    ('FILE:"/tmp/notes_20"', Fingerprint(File("/tmp/notes_20"))),
    ('SIMILAR:"x"_50', Fingerprint(Stored("x"), D(50), symmetric=True)),
    ('SIMILAR:TEXT:"a b"_50_90', Fingerprint(Pasted("a b"), D(50), D(90), symmetric=True)),
    ("from:ann", FieldClause("from", ":", "ann")),
    ("date >= 2020-01-01", FieldClause("date", ">=", "2020-01-01")),
    ("at<2020-01-01T10:00", FieldClause("at", "<", "2020-01-01T10:00")),
    ('"from whom"!="ann lee"', FieldClause("from whom", "!=", "ann lee")),
    ('"FILE":x', FieldClause("FILE", ":", "x")),
    ("x=-5", FieldClause("x", "=", "-5")),
    ("a b", And((A, B))),
    ("a AND b OR c", Or((And((A, B)), C))),
    ("a OR b AND c", Or((A, And((B, C))))),
    ("a AND (b OR c)", And((A, Or((B, C))))),
    ("a (b c)", And((A, B, C))),
    ("NOT a b", And((Not(A), B))),
    ("NOT (a b)", Not(And((A, B)))),
    ("NOT NOT a", Not(Not(A))),
    ("(((a)))", A),
    ("a and b", And((A, WordsClause("and"), B))),
    ('NOT"AND"', Not(WordsClause("AND"))),
    ("TEXT", WordsClause("TEXT")),
    ("\ta\n\u00a0b ", And((A, B))),
]


@pytest.mark.parametrize(("text", "root"), MEANINGS, ids=[text for text, _ in MEANINGS])
def test_what_a_query_means(text: str, root: Node) -> None:
    assert parse(text) == Query(root)
    assert parse(f"EXPLAIN {text}") == Query(root, explain=True)


def test_the_query_of_the_reference() -> None:
    text = "from:ann AND date>=2020-01-01 AND FINGERPRINT:1234_20_80 AND budget"
    assert canonical(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"budget"', "budget"),
        ("a   b", "a AND b"),
        ("((a OR b)) c", "(a OR b) AND c"),
        ("(a AND b) OR (c)", "a AND b OR c"),
        ("NOT (NOT (a))", "NOT NOT a"),
        ('date  >=  "2020-01-01"', "date>=2020-01-01"),
        ('FINGERPRINT:"x"_020.50_100.0', 'FINGERPRINT:"x"_20.5_100'),
        ('TEXT:"x"', 'FINGERPRINT:TEXT:"x"'),
        ("FILE:x_20", 'FINGERPRINT:FILE:"x"_20'),
        ('FINGERPRINT:"x"', "FINGERPRINT:x"),
        ('"tab\there"', '"tab\\there"'),
        ('"esc\\u{1B}"', '"esc\\u{1b}"'),
        ('"a:b"', '"a:b"'),
        ('"from":"ann lee"', 'from:"ann lee"'),
    ],
)
def test_canonical_form(text: str, expected: str) -> None:
    assert canonical(parse(text)) == expected
    assert canonical(parse(expected)) == expected


@given(QUERIES)
def test_the_canonical_form_reads_as_the_tree_it_was_made_of(query: Query) -> None:
    text = canonical(query)
    assert text.isprintable()
    assert parse(text) == query


@given(NODES)
def test_brackets_around_everything_change_nothing(node: Node) -> None:
    assert parse(bracketed(node)).root == parse(canonical(node)).root


def bracketed(node: Node) -> str:
    if isinstance(node, And | Or):
        return (" AND " if isinstance(node, And) else " OR ").join(f"({bracketed(part)})" for part in node.parts)
    return f"(NOT ({bracketed(node.part)}))" if isinstance(node, Not) else f"({canonical(node)})"


@given(LIKE_QUERIES)
def test_any_text_is_read_or_refused_with_its_place(text: str) -> None:
    found = read(text)
    if isinstance(found, QueryError):
        assert 0 <= found.position <= len(text)
        assert all(line.isprintable() for line in str(found).splitlines())
    else:
        assert parse(canonical(found)) == found


def read(text: str) -> Query | QueryError:
    try:
        return parse(text)
    except QueryError as error:
        return error


@pytest.mark.parametrize(
    ("text", "position", "said"),
    [
        ("", 0, "A clause is missing"),
        ("a AND", 5, "A clause is missing"),
        ("AND a", 0, "before AND"),
        ("a OR OR b", 5, "before OR"),
        ("NOT", 3, "A clause is missing"),
        ("(a OR b", 0, "not closed"),
        ("a) b", 1, "never opened"),
        ("()", 1, "Expected "),
        ('a "bc', 2, "quotation mark is not closed"),
        ('""', 0, "nothing between"),
        ('TEXT:""_20', 5, "nothing between"),
        ('"a\\q"', 2, "backslash"),
        ('"a\\u{110000}"', 2, "backslash"),
        ('"a\\u{d800}"', 2, "backslash"),
        ("a\ud800", 1, "not a character"),
        ("a\x1b[2J", 1, "control character"),
        ("-a", 0, "NOT"),
        ("“a b”", 0, "typographic"),
        ("budg*", 0, "beginning of a word"),
        ("!a", 0, "Expected "),
        ("from: ann", 5, "Expected a value here"),
        ("from :ann", 5, "Expected "),
        ("date>=", 6, "Expected a value here"),
        ('a"b"', 1, "space"),
        ("a(b)", 1, "space"),
        ("FINGERPRINT", 0, "FINGERPRINT is not followed by :"),
        ("FINGERPRINT 12", 0, "FINGERPRINT is not followed by :"),
        ("FINGERPRINT:", 12, "Expected an id here"),
        ("FINGERPRINT: 12", 12, "Expected an id here"),
        ("FINGERPRINT:“x”_20", 12, "typographic"),
        ('FINGERPRINT:"x"_0', 16, "not a percentage"),
        ('FINGERPRINT:"x"_101', 16, "not a percentage"),
        ('FINGERPRINT:"x"_20_0', 19, "not a percentage"),
        ('FINGERPRINT:"x"_20%%', 16, "not a percentage"),
        ('FINGERPRINT:"x"_1e1', 16, "not a percentage"),
        ('FINGERPRINT:"x"_٢', 16, "not a percentage"),
        ('FINGERPRINT:"x"_20.12345', 16, "not a percentage"),
        ('FINGERPRINT:"x"_20_30_40', 21, "third number"),
        ("TEXT:abc_20", 5, "not in quotation marks"),
    ],
)
def test_mistakes_and_their_places(text: str, position: int, said: str) -> None:
    with pytest.raises(QueryError, match=re.escape(said)) as caught:
        parse(text)
    assert caught.value.position == position
    assert caught.value.query == text


def test_a_mistake_is_shown_under_the_query() -> None:
    with pytest.raises(QueryError) as caught:
        parse("a AND (b OR c")
    assert str(caught.value) == (
        "This bracket is not closed (character 7):\n"
        "  a AND (b OR c\n"
        "        ^\n"
        "Try: Write the closing bracket, or quote it if it is text."
    )


def test_the_caret_stands_right_behind_wide_and_escaped_characters_and_in_long_queries() -> None:
    with pytest.raises(QueryError) as caught:
        parse('"東京\x07" (')
    *_, shown, caret, _ = str(caught.value).splitlines()
    assert shown == '  "東京\\x07" ('
    assert caret == "  " + " " * len('"xxxx\\x07" (') + "^"
    with pytest.raises(QueryError) as caught:
        parse("word " * 100 + ") " + "word " * 100)
    _, shown, caret, _ = str(caught.value).splitlines()
    assert shown[caret.index("^")] == ")"
    assert len(shown) < 120


def test_long_deep_and_many() -> None:
    deepest = "(" * DEEPEST + "a" + ")" * DEEPEST
    assert parse(deepest).root == A
    for text in (f"({deepest})", "NOT " * (DEEPEST + 1) + "a", "NOT (" * 30 + "a" + ")" * 30):
        with pytest.raises(QueryError, match="nested more than"):
            parse(text)
    assert parse("a " * MOST_CLAUSES).root == And((A,) * MOST_CLAUSES)
    assert_refused(
        (QueryError, "There are 1,001 clauses", lambda: parse("a " * (MOST_CLAUSES + 1))),
        (QueryError, r"1,000,001 characters.*too long", lambda: parse("a" * (MOST_CHARACTERS + 1))),
    )


def test_a_long_pasted_text_is_read_in_one_piece() -> None:
    text = 'word "quoted" \\ ' * 20_000
    query = Query(Fingerprint(Pasted(text), D(20)))
    assert parse(canonical(query)) == query


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("1234", [("1234", None, None)]),
        ("1234_20", [("1234", D(20), None), ("1234_20", None, None)]),
        ("a_b_20_80", [("a_b", D(20), D(80)), ("a_b_20", D(80), None), ("a_b_20_80", None, None)]),
        ("1_2_3_4", [("1_2", D(3), D(4)), ("1_2_3", D(4), None), ("1_2_3_4", None, None)]),
        ("a_0_80", [("a_0", D(80), None), ("a_0_80", None, None)]),
        ("a_20_x", [("a_20_x", None, None)]),
        ("_20_80", [("_20", D(80), None), ("_20_80", None, None)]),
        ("_20", [("_20", None, None)]),
        ("a__20", [("a_", D(20), None), ("a__20", None, None)]),
        ("a_20_", [("a_20_", None, None)]),
    ],
)
def test_readings_of_an_id_without_quotation_marks(word: str, expected: list[object]) -> None:
    assert [(reading.id, reading.overlap, reading.probability) for reading in readings(word)] == expected
