"""How numbers, summaries and groups are shown to people: plain data in, lines of text or HTML out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_DOWN, Decimal
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

from neardup.settings import CHUNK_MEASURES, measure_in_words

if TYPE_CHECKING:
    from neardup.report import Group, Member

Line = tuple[str, str]
"""A label and what is said under it."""

BYTE_UNITS = ("kB", "MB", "GB", "TB", "PB")

WITHOUT_TEXT = "without text"
"""The kind of documents without a token."""

NOUNS = ("image", "font", "program", "spreadsheet", "presentation", "word document", "office file", "e-book")
"""Kinds of files that have a plural."""

# Controls but tab and end of line; marks that turn the direction of text or are not seen at all; what is no
# character. Joiners, soft hyphens and variation selectors stay: scripts and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufdd0-\ufdef"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e00ff]"
)


def printable(id: object) -> str:
    r"""An id on one line, without the control characters with which a document could rule the terminal.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(id))


def escaped_parts(text: str) -> Iterator[tuple[str, bool]]:
    r"""A text of several lines in parts, each with whether it is an escape.

    What cannot be seen, would rule the terminal or turn the direction of the text is written as an escape. Ends
    of lines become a line feed.

    >>> list(escaped_parts("pay\u202e 12\r\n"))
    [('pay', False), ('\\u202e', True), (' 12\n', False)]
    """
    at, text = 0, text.replace("\r\n", "\n")
    for found in _UNSEEN.finditer(text):
        if found.start() > at:
            yield text[at : found.start()], False
        yield found[0].encode("unicode_escape").decode(), True
        at = found.end()
    if at < len(text):
        yield text[at:], False


def visible(text: str) -> str:
    r"""A text of several lines as text that is safe to print: see ``escaped_parts``.

    >>> visible("pay\u202e 12\x1b[2J\r\nnow")
    'pay\\u202e 12\\x1b[2J\nnow'
    """
    return "".join(part for part, _ in escaped_parts(text))


def number(count: int) -> str:
    """An integer with thousands separators.

    >>> number(1234567)
    '1,234,567'
    """
    return f"{count:,}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """An integer and what it counts.

    >>> counted(1, "group"), counted(2048, "near copy", "near copies")
    ('1 group', '2,048 near copies')
    """
    return f"{number(count)} {noun if count == 1 else plural or noun + 's'}"


def similarity(value: float, digits: int = 3) -> str:
    """A similarity rounded down: .9997 is not shown as 1, nor anything below a threshold as reaching it.

    The decimal that is cut is the shortest one that names the float, so that 57/100 stays .570.

    >>> similarity(0.99999), similarity(0.57), similarity(1)
    ('0.999', '0.570', '1.000')
    """
    return str(Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits), ROUND_DOWN))


def percent(part: float, whole: float) -> str:
    """A share in per cent with one decimal; a share that is not all is never shown as 100.

    >>> percent(1, 3), percent(999_999, 1_000_000), percent(0, 0)
    ('33.3 %', '99.9 %', '0.0 %')
    """
    return f"{similarity(100 * part / whole if whole else 0.0, 1)} %"


def size(amount: int) -> str:
    """An amount of bytes in decimal units.

    >>> size(999), size(1_500_000)
    ('999 bytes', '1.5 MB')
    """
    value, unit = float(amount), ""
    for larger in BYTE_UNITS:
        if value < 999.95:
            break
        value, unit = value / 1000, larger
    return f"{value:.1f} {unit}" if unit else counted(amount, "byte")


def duration(seconds: float) -> str:
    """A time span in the unit that suits it.

    >>> duration(0.0123), duration(4.21), duration(3723)
    ('0.01 s', '4.2 s', '1 h 02 min')
    """
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def summary(run: Mapping[str, Any]) -> list[Line]:
    """What a run did, as labelled lines; the command line and the notebook both show these."""
    counts = run["counts"]
    lines = [("note", printable(text)) for text in run["notes"]]
    lines += [("documents", _documents(counts)), *_not_judged(run)]
    lines.append(("exact copies", number(counts["exact_copies"])))
    lines += [("near copies", number(counts["near_copies"])), ("groups", number(counts["groups"]))]
    lines.append(("pairs", _pairs(run)))
    if run["action"] != "group":
        written = run["action"] == "dedup" and run["regrouped_from"] is None
        removed = "removed" if written else "to remove"
        lines += [(removed, _removed(run)), ("kept", _kept(run))]
    lines.append(("method", printable(_method(run["choice"]))))
    lines += [("recall", printable(run["recall"]["statement"])), *_audited(run), *_unusual(run)]
    total = sum(run["seconds"].values())
    spent = {name: seconds for name, seconds in run["seconds"].items() if seconds >= 0.01}
    stages = ", ".join(f"{name} {duration(seconds)}" for name, seconds in spent.items())
    lines.append(("time", f"{duration(total)} ({stages})" if stages else duration(total)))
    lines.append(("memory", f"{size(run['peak_memory_bytes'])} at most"))
    return lines


def _documents(counts: Mapping[str, int]) -> str:
    parts = [
        f"{number(counts[key])} {words}"
        for key, words in (
            ("rejected", "rejected"),
            ("null", "without text"),
            ("empty", "without a word"),
            ("short", "shorter than one shingle"),
            ("invalid_utf8", "invalid UTF-8 sequences replaced"),
        )
        if counts[key]
    ]
    return f"{number(counts['read'])} read" + (f" ({', '.join(parts)})" if parts else "")


def _not_judged(run: Mapping[str, Any]) -> Iterator[Line]:
    """What was compared with nothing, by kind, and what becomes of it."""
    found = run.get("not_judged")
    if not found or not found["total"]:
        return
    in_order = sorted(found["kinds"].items(), key=lambda item: (item[0] != WITHOUT_TEXT, -item[1]))
    kinds = ", ".join(
        counted(count, printable(kind), "" if kind in NOUNS else printable(kind)) for kind, count in in_order
    )
    gone, stays = found["removed"], found["total"] - found["removed"]
    fate = "kept" if not gone else "removed" if not stays else f"{number(gone)} removed, {number(stays)} kept"
    yield "not judged", f"{counted(found['total'], found['unit'])}: {kinds} ({fate})"


def _kept(run: Mapping[str, Any]) -> str:
    """How many documents stay, and files that are none."""
    kept, aside = number(run["counts"]["kept"]), run.get("not_judged", {}).get("files_left_aside", 0)
    return f"{kept}, and {counted(aside, 'file')} that could not be judged" if aside else kept


def _pairs(run: Mapping[str, Any]) -> str:
    counts, settings = run["counts"], run["settings"]
    measure = measure_in_words(settings["measure"], settings.get("matching", "literal"))
    asked = f"{number(counts['pairs'])} at {measure} {settings['threshold']:g} or above"
    if run["choice"]["method"] == "exact" and not counts["verified"]:
        return f"{asked}, joined exactly"
    return f"{asked}, of {number(counts['verified'])} compared exactly"


def unit_of(settings: Mapping[str, Any]) -> str:
    """What a measure counts that does not count shingles.

    >>> unit_of({"measure": "chunk-union", "matching": "literal"})
    'tokens'
    """
    if settings["measure"] == "lcs":
        return "tokens in the same order"
    if settings["measure"] in CHUNK_MEASURES:
        return "tokens" if settings["matching"] == "literal" else "tokens (repeats left out)"
    return "different words" if settings["measure"] == "bag-of-words" else "shingles (with repeats)"


def _method(choice: Mapping[str, Any]) -> str:
    return f"{choice['method']} ({choice['why']})"


def _audited(run: Mapping[str, Any]) -> Iterator[Line]:
    """What an audit found, when there was one."""
    audit = run["audit"]
    if audit is None:
        return
    compared = f"{number(audit['drawn'])} of {counted(audit['documents'], 'document')} compared with all others: "
    if not audit["pairs"]:
        yield "audit", compared + "they have no pairs"
        return
    seen = f"{number(audit['found'])} of their {counted(audit['pairs'], 'pair')} found"
    recall, low, high = (similarity(audit[key]) for key in ("recall", "low", "high"))
    if audit["drawn"] < audit["documents"]:
        recall = f"about {recall} over all documents (95 % interval {low} to {high})"
    yield "audit", f"{compared}{seen}; recall {recall}"


def _removed(run: Mapping[str, Any]) -> str:
    counts, sizes = run["counts"], run["bytes"]
    return (
        f"{counted(counts['removed'], 'document')} ({percent(counts['removed'], counts['read'])}), "
        f"{size(sizes['removed_text'])} of {size(sizes['text'])} text "
        f"({percent(sizes['removed_text'], sizes['text'])})"
    )


def _unusual(run: Mapping[str, Any]) -> Iterator[Line]:
    """What is worth a line only when it happened."""
    crowds, chaining = run["crowds"], run["chaining"]
    if crowds:
        left_out = sum(crowd["pairs_left_out"] for crowd in crowds)
        members = sum(crowd["members"] for crowd in crowds)
        yield (
            "crowds",
            f"{counted(len(crowds), 'crowd')} of {number(members)} documents that are all alike; "
            f"{counted(left_out, 'pair')} among them not written (--pairs all writes every pair)",
        )
    if chaining["groups"]:
        groups = counted(chaining["groups"], "group")
        yield "chaining", f"{groups} joined only by a chain of pairs{_weakest(chaining['weakest'])}"


def _weakest(link: Mapping[str, Any] | None) -> str:
    if link is None:
        return ""
    ends = f"{printable(link['id_a'])} and {printable(link['id_b'])}"
    return f"; weakest: {ends} at {similarity(link['similarity'])}"


def aligned(lines: Sequence[Line], width: int | None = None) -> Iterator[str]:
    """Labelled lines as text, the labels in a column of their own; long lines are folded to ``width``."""
    column = max((len(label) for label, _ in lines), default=0) + 2
    for label, said in lines:
        line = f"{label:<{column}}{said}"
        yield line if width is None else fill(line, max(width, 2 * column), subsequent_indent=" " * column)


def group_lines(groups: Sequence[Group], total: int) -> Iterator[str]:
    """Each group as text, the representative first, a blank line after each; then how many are left."""
    for group in groups:
        width = max(len(printable(member.id)) for member in group.members)
        for member in group.members:
            yield f"{member.fate:<7}  {printable(member.id):<{width}}  {_evidence(member)}"
        yield ""
    if total > len(groups):
        yield f"... and {counted(total - len(groups), 'more group', 'more groups')}"
        yield ""


def _evidence(member: Member) -> str:
    reason = printable(member.reason)
    return reason if member.pair is None else f"{reason} ({member.pair})"


def html(run: Mapping[str, Any], groups: Sequence[Group], total: int) -> str:
    """Summary and groups as two small HTML tables; every text is escaped, for ids come from the documents."""
    facts = "".join(f"<tr><th>{escape(label)}</th><td>{escape(said)}</td></tr>" for label, said in summary(run))
    warnings = "".join(f"<p><strong>warning:</strong> {escape(text)}</p>" for text in run["warnings"])
    head = "".join(f"<th>{name}</th>" for name in ("group", "document", "", "similarity", "evidence"))
    body = "".join(_html_row(group, member) for group in groups for member in group.members)
    more = f"<p>… and {counted(total - len(groups), 'more group')}</p>" if total > len(groups) else ""
    listed = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}" if groups else ""
    return f"<div><table><tbody>{facts}</tbody></table>{warnings}{listed}</div>"


def _html_row(group: Group, member: Member) -> str:
    cells = (
        str(group.id) if member.representative else "",
        str(member.id),
        member.fate,
        "" if member.representative or member.similarity is None else similarity(member.similarity),
        _evidence(member),
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
