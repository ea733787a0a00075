"""The account of a run for people: lines for a terminal, a page, and a fragment of it for notebooks."""

from collections.abc import Callable, Iterator
from itertools import zip_longest
from textwrap import wrap
from typing import Any

from neardup.comparison.compare import compare
from neardup.comparison.views import ComparisonBody, style_sheet
from neardup.corpus.contamination.items import SHORTEST
from neardup.corpus.contamination.record import ContaminationRecord, StrongMatch
from neardup.display import counted, number, percent, printable
from neardup.display.view import facts, heading, name_of, page_of_sections, paragraph, table, view

LISTED = 1000
"""The most test sets, training files and common shingles that a page lists."""

_SIDE = 4000
"""The most characters of a match that a page shows side by side."""

_CUT = 400
"""The characters of an item and of a passage on a terminal."""


def lines_of(result: ContaminationRecord, most: int = 5, width: int = 80) -> Iterator[str]:
    """The account for people: the direction, the items found of each test set, and the strongest matches."""
    yield f"A training document contains a test item if {_rule(result)}."
    for row in result.by_test_set():
        common = f", {row['only_common']:,} more by common text alone" if row["only_common"] else ""
        yield (
            f"{printable(row['test_set'])}: {row['found']:,} of {counted(row['items'], 'item')} in "
            f"{counted(row['documents'], 'training document')}{common}"
        )
    for row in result.by_source()[:LISTED]:
        yield f"{printable(row['source'])}: {counted(row['documents'], 'document')} with test items"
    if result.common.num_rows:
        yield (
            f"{counted(result.common.num_rows, 'match', 'matches')} by common text alone, which remove nothing: "
            "common.parquet lists them"
        )
    if result.items.too_short:
        yield f"{_too_short(result)}: not looked for"
    if result.matches.num_rows > most:
        yield f"The strongest of {result.matches.num_rows:,} matches:"
    for shown in result.strongest[:most]:
        match = shown.match
        yield (
            f"  {name_of(match['id'])} contains {_item_of(result, match, name_of)} ({name_of(match['field'])}): "
            f"{_proof(match)}"
        )
        yield from _beside(shown, width)


def _rule(result: ContaminationRecord) -> str:
    share = result.rules.share
    return f"it has {percent(share.numerator, share.denominator)} of the shingles of the item"


def _too_short(result: ContaminationRecord) -> str:
    return f"{counted(result.items.too_short, 'text')} of items with fewer than {SHORTEST} tokens"


def _item_of(result: ContaminationRecord, match: Any, shown: Callable[[Any], str] = str) -> str:
    """The id of an item, with its test set if there are several: both may have an item of that id."""
    several = len(result.items.test_sets) > 1
    return shown(match["item"]) + (f" of {shown(match['test_set'])}" if several else "")


def _proof(match: Any) -> str:
    return f"{match['shared']:,} of {counted(match['size'], 'shingle')}, {match['run']:,} tokens in a row"


def _beside(shown: StrongMatch, width: int) -> Iterator[str]:
    """The item and the passage with the longest run in brackets, side by side."""
    match, half = shown.match, max(20, (width - 9) // 2)
    begin = shown.context.find(match["passage"])
    item = _bracketed_run(shown.item, match["item_begin"], match["item_end"])
    passage = _bracketed_run(shown.context, begin, begin + len(match["passage"]))
    sides = [wrap(side, half) or [""] for side in (f"item: {item}", f"training: {passage}")]
    for left, right in zip_longest(*sides, fillvalue=""):
        yield f"    {left:<{half}} | {right}".rstrip()


def _bracketed_run(text: str, begin: int, end: int) -> str:
    """The text around a run on one line, at most _CUT characters, with the run in brackets."""
    first, last = max(0, begin - _CUT // 4), min(len(text), begin + _CUT)
    pieces = text[first:begin], "[", text[begin : min(end, last)], "]", text[min(end, last) : last]
    line = " ".join(printable("".join(pieces)).replace("\\n", " ").split())
    return "…" * (first > 0) + line + "…" * (last < len(text))


def as_page(result: ContaminationRecord) -> str:
    """A self-contained page: the tables, and the strongest matches side by side."""
    sections = _sections(result, inline=False)
    return page_of_sections("Test items in training documents", sections, "neardup decontaminate", style_sheet())


def as_fragment(result: ContaminationRecord) -> str:
    """The tables, for a notebook."""
    return view(*_tables(result, inline=True))


def _sections(result: ContaminationRecord, inline: bool) -> Iterator[str]:
    yield from _tables(result, inline)
    if result.strongest:
        yield heading("The strongest matches side by side")
        yield paragraph("A is the test item; B is the passage of the training document, with the text around it.")
    for place, shown in enumerate(result.strongest):
        match = shown.match
        yield heading(f"{match['id']} contains {_item_of(result, match)} ({match['field']})")
        yield facts(
            [
                ("test set", str(match["test_set"])),
                (
                    "training file",
                    f"{match['source']}, row {match['row']:,}, characters {match['begin']:,} to {match['end']:,}",
                ),
                ("shared", f"{_proof(match)}; the rarest shingle is in {counted(match['rarest'], 'document')}"),
            ]
        )
        names = f"test item {match['item']}", f"training document {match['id']}"
        body = ComparisonBody(compare(shown.item, shown.context), names, True, f"m{place}-", 3, _SIDE)
        yield body.html("texts")


def _tables(result: ContaminationRecord, inline: bool) -> Iterator[str]:
    yield paragraph(f"A training document contains a test item if {_rule(result)}, and some are not common.")
    lines = [
        ("training documents", number(result.read)),
        (
            "with test items",
            f"{number(result.contaminated)} ({percent(result.contaminated, max(1, result.read))})",
        ),
        ("matches", number(result.matches.num_rows)),
        ("by common text alone", number(result.common.num_rows)),
    ]
    yield facts(lines + [("not looked for", _too_short(result))] * bool(result.items.too_short))
    yield heading("Test sets")
    names = ("test_set", "items", "found", "only_common", "documents")
    head = ("test set", "items", "found", "common text only", "training documents")
    rows = [[_cell(row[name]) for name in names] for row in result.by_test_set()[:LISTED]]
    yield table(head, rows, frozenset(range(1, 5)), inline=inline)
    if result.hits:
        yield heading("Training files")
        sources = [[_cell(value) for value in row.values()] for row in result.by_source()[:LISTED]]
        yield table(("training file", "documents with test items"), sources, frozenset((1,)), inline=inline)
    if result.phrases.num_rows:
        yield heading("Common shingles")
        yield paragraph("Text in many training documents or in several test sets. It proves nothing.")
        phrases = [[_cell(value) for value in row.values()] for row in result.phrases.slice(0, 20).to_pylist()]
        yield table(("shingle", "documents", "test sets"), phrases, frozenset((1, 2)), inline=inline)


def _cell(value: object) -> str:
    return number(value) if isinstance(value, int) else printable(value)
