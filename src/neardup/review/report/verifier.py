"""Verify a report of a result: count its figures and rows again, then write its page again and compare the two.

The counts are made here, from the tables of the result, its manifest and the log of decisions, without the lists
of the report. They are compared with the words that a reader sees. The second comparison covers the other words,
the order, and anything that a page could hide: the two pages are equal, character by character.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, get_args

from neardup.deduplication.results import load
from neardup.deduplication.reviews import after_review, page_state, review_in
from neardup.display import counted, middle_cut, number, printable, similarity, size
from neardup.display.view import EMPTY, LONGEST_NAME
from neardup.errors import InputError
from neardup.io.decisions import NO_DECISIONS, DecisionState, Verdict
from neardup.io.outputs import stamped_page
from neardup.io.sources import read_manifest
from neardup.review.report.content import (
    GENERATOR,
    MOST_GROUPS,
    MOST_MEGABYTES,
    MOST_PAIRS,
    ReportContent,
    page_of,
)
from neardup.runtime import installed_version
from neardup.tables import column

if TYPE_CHECKING:
    from neardup.deduplication.results import Found, Id

_VOID = frozenset(("br", "hr", "img", "input", "link", "meta", "wbr"))
_STATE = re.compile(r"([0-9a-f]{64}) ([0-9]{1,18})")
_ASKED = re.compile(
    r"Asked for were up to ([\d,]+) groups? in a list, ([\d,]+) pairs? and "
    r"(\d+(?:\.\d+)?(?:e-\d+)?) MB side by side"
)
_REVIEW = re.compile(r"those of the review in (.*) up to action [\d,]+; later ones are not included", re.DOTALL)
_GONE_ON = re.compile(
    r"The review in .* has gone on since, up to action [\d,]+: this page is older than its decisions\."
)
_GROUPS = "Groups as the run found them"
_DEEPEST = 100
"""Most elements inside each other; those further inside are beside them. A report has fewer."""
MOST_LINES = 5_000
"""Most different lines of two pages to align; of more, only the first difference is named."""
_BEFORE = 40
"""Characters to show before a difference."""
_SHOWN = 160
"""Longest part of a page in a message, in characters."""


class Mismatch(NamedTuple):
    """A part of a page that is not as counted: its place, its words on the page, the counted ones, and its line.

    ``again``: the other words are those of the page as it was written again.
    """

    where: str
    page: str
    counted: str
    line: int = 0
    again: bool = False

    @property
    def sentence(self) -> str:
        """The mismatch in words; an empty side means that the part is not there, or is in ``where``."""
        if not (self.page or self.counted):
            return self.where
        how = "the page written again has" if self.again else "counted"
        has = f"the page has {_short(self.page)}" if self.page else "the page lacks it"
        return f"{self.where}: {has}; {how} {_short(self.counted)}"


def _short(text: str) -> str:
    words = printable(" ".join(text.split())) or ("white space" if text else "nothing")
    return words if len(words) <= _SHOWN else words[: _SHOWN - 1] + "…"


def _around(a: str, b: str) -> tuple[str, str]:
    """Return two texts from shortly before their first difference."""
    begin = max(0, _equal(a, b) - _BEFORE)
    return a[begin:], b[begin:]


def _equal(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the number of equal items at the beginning of two sequences."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(a), len(b)))


@dataclass
class Element:
    """An element of a page: its tag, attributes, line, and the elements and strings inside."""

    tag: str
    attributes: dict[str, str]
    line: int
    inside: list[Element | str] = field(default_factory=list)

    @property
    def raw(self) -> str:
        """All text inside, as it is in the page."""
        return "".join(part if isinstance(part, str) else part.raw for part in self.inside)

    @property
    def text(self) -> str:
        """All text inside, on one line."""
        return " ".join(self.raw.split())

    @property
    def words(self) -> str:
        """All text inside, on one line, with a space between elements."""
        parts = (
            part if isinstance(part, str) else part.raw if part.tag == "bdi" else f" {part.words} "
            for part in self.inside
        )
        return " ".join("".join(parts).split())

    def all(self, *tags: str) -> Iterator[Element]:
        """Yield the elements inside that have one of some tags, in their order; none inside of one of them."""
        for part in self.inside:
            if isinstance(part, Element):
                if part.tag in tags:
                    yield part
                else:
                    yield from part.all(*tags)

    def figures(self) -> Iterator[Element]:
        """Yield the elements that are figures."""
        for part in self.inside:
            if isinstance(part, Element):
                if "data-figure" in part.attributes:
                    yield part
                yield from part.figures()


class _PageParser(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.root = Element("", {}, 0)
        self._open = [self.root]
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, self.getpos()[0])
        self._open[-1].inside.append(element)
        if tag not in _VOID and len(self._open) < _DEEPEST:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].inside.append(Element(tag, {}, self.getpos()[0]))

    def handle_endtag(self, tag: str) -> None:
        if tag in (element.tag for element in self._open[1:]):
            while self._open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        self._open[-1].inside.append(data)


class PageTable(NamedTuple):
    """A table of a page: its caption, the words of its head, and the cells of its rows."""

    caption: str
    heads: list[str]
    rows: list[list[Element]]


class StatedPage:
    """A report as a reader sees it: the labelled lines of its cover, its figures, and the tables of its sections.

    Raises InputError for a file that is not a report of this program.
    """

    def __init__(self, name: str, data: bytes) -> None:
        try:
            self.source = data.decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError:
            raise _foreign_error(name, "its bytes are not UTF-8") from None
        root = _PageParser(self.source).root
        self.root = root
        self.metas = {one.attributes.get("name"): one.attributes.get("content", "") for one in root.all("meta")}
        headings = [one.text for one in root.all("h1")]
        if self.metas.get("generator") != GENERATOR or len(headings) != 1:
            raise _foreign_error(name, "it is empty" if not data.strip() else f"it does not name {GENERATOR}")
        self.heading = headings[0]
        self.chapters = [(one.line, one.text) for one in root.all("h2")]
        self.cover = next(root.all("header"), root)
        self.facts = dict(_lines(self.cover))
        self.sections = {
            next((heading.text for heading in section.all("h2")), ""): section for section in root.all("section")
        }

    def fact(self, label: str) -> str:
        """Return the text of a line of the cover, with escapes decoded; "" without it."""
        return self.facts.get(label, "")

    def figures(self) -> Iterator[tuple[str, Element]]:
        """Yield the figures with the name of their section."""
        for name, section in (("Cover", self.cover), *self.sections.items()):
            for figure in section.figures():
                yield name, figure

    def tables(self, section: str) -> list[PageTable]:
        """Return the tables of a section."""
        part = self.sections.get(section)
        return [] if part is None else [_table(one) for one in part.all("table")]


def _foreign_error(name: str, why: str) -> InputError:
    return InputError(
        f"{printable(name)} is not a report: {why}",
        f"A page that {GENERATOR} has written",
        f"Write one with {GENERATOR} RESULT -o PAGE",
    )


def _lines(part: Element) -> Iterator[tuple[str, str]]:
    """Yield the labelled lines of a part: the label, and the text with decoded escapes."""
    label = ""
    for one in part.all("dt", "dd"):
        if one.tag == "dt":
            label = one.text
        else:
            yield label, _with_controls(one)


def _with_controls(part: Element) -> str:
    texts = []
    for one in part.inside:
        if isinstance(one, str):
            texts.append(one)
        elif one.attributes.get("class") == "unseen":
            texts.append(one.raw.encode("latin-1", "replace").decode("unicode_escape", "replace"))
        else:
            texts.append(_with_controls(one))
    return "".join(texts)


def _table(part: Element) -> PageTable:
    rows = [list(row.all("th", "td")) for row in part.all("tr")]
    caption = next((one.text for one in part.all("caption")), "")
    return PageTable(caption, [cell.text for cell in rows[0]] if rows else [], rows[1:])


class CountedGroup(NamedTuple):
    """A group counted again: its members, exact copies, similarities, and the verdicts on its pairs."""

    id: Id
    size: int
    exact: int
    near: tuple[float, ...]
    pairs: int
    verdicts: Counter[str]

    @property
    def undecided(self) -> int:
        """The number of pairs without a verdict."""
        return self.pairs - self.verdicts.total()


class Recount:
    """A result counted again, one row at a time: the result of a ``run``, and ``after`` the decisions about it.

    ``state`` has these decisions, None for a result without a folder.
    """

    def __init__(self, run: Found, after: Found, state: DecisionState) -> None:
        self.run, self.after, self.account = run, after, after.run
        self.judging, self.only_reviewed = run.run.decisions is None, after is not run
        self.documents = {row["id"]: row for row in run.ranks.to_pylist()}
        members: dict[Id, list[dict[str, Any]]] = {}
        for row in run.groups.to_pylist():
            members.setdefault(row["group"], []).append(row)
        verdicts = state if self.judging else NO_DECISIONS
        self.groups = [self._group(id, rows, verdicts) for id, rows in members.items()]
        self.verdicts = sum((group.verdicts for group in self.groups), Counter[str]())
        self.pairs = sum(group.pairs for group in self.groups)
        self._kinds = self._kinds_inside()

    def _group(self, id: Id, rows: list[dict[str, Any]], state: DecisionState) -> CountedGroup:
        others = [row for row in rows if not row["representative"]]
        copies = {row["id"] for row in others if self._is_copy(row)}
        near = [row["similarity"] for row in others if row["id"] not in copies and row["similarity"] is not None]
        inside = [id, *(row["id"] for row in others)]
        chosen = state.represents.get(id, id)
        head = chosen if chosen in inside else id
        texts, pairs, verdicts = {self.documents[head]["identical"]}, 0, Counter[str]()
        for member in inside:
            if self.documents[member]["identical"] not in texts:
                texts.add(self.documents[member]["identical"])
                pairs += 1
                judged = state.verdict(member, head)
                verdicts += Counter() if judged is None else Counter([judged.verdict])
        return CountedGroup(id, len(rows), len(copies), tuple(near), pairs, verdicts)

    def _is_copy(self, row: Mapping[str, Any]) -> bool:
        """Return whether a member has the words of its representative, or of an earlier document."""
        own, head = self.documents[row["id"]], self.documents[row["group"]]
        return bool(own["first"] == head["first"] or own["first"] != own["row"])

    def _kinds_inside(self) -> dict[Id, Counter[str]] | None:
        """Return the kinds of difference of the stored pairs inside each group; None if they are not stored."""
        if "kind" not in self.run.pairs.column_names:
            return None
        group_of = dict(zip(*(self.run.groups[name].to_pylist() for name in ("id", "group")), strict=True))
        kinds = {group.id: Counter[str]() for group in self.groups}
        for a, b, kind in zip(
            *(self.run.pairs[name].to_pylist() for name in ("id_a", "id_b", "kind")), strict=True
        ):
            if a in group_of and group_of.get(b) == group_of[a]:
                kinds[group_of[a]][kind or "not determined"] += 1
        return kinds

    def figures(self) -> dict[str, str]:
        """Return the figures that a report has, by their names."""
        run, settings = self.run, self.account.settings
        figures = {"read": self.account.counts.read, "pairs": run.pairs.num_rows, "length": settings["length"]}
        figures |= {self._name(name): value for name, value in self._outcome(self.after).items()}
        figures["exact copies"] = run.copies.num_rows
        if self.judging:
            figures |= {"to judge": self.pairs, "decided": self.verdicts.total()}
            figures |= {"undecided": self.pairs - self.verdicts.total()}
            figures |= {"open groups": sum(group.undecided > 0 for group in self.groups)}
        figures |= {name: value for name, value in self._conditional().items() if value}
        shown = {name: number(value) for name, value in figures.items()}
        shown["threshold"] = f"{float(settings['threshold']):g}"
        return shown | self._digests() | self._before_and_after()

    def _name(self, name: str) -> str:
        return f"after {name}" if self.only_reviewed else name

    def _conditional(self) -> dict[str, int]:
        """Return the figures that a page has only if they are not 0."""
        figures = {"capped": self.account.counts.capped, "short": self.account.counts.short}
        figures["unsure"] = self.verdicts["unsure"]
        if "not_compared" in self.run.pairs.column_names:
            beside = (kinds.split(", ") for kinds in self.run.pairs["not_compared"].to_pylist() if kinds)
            figures |= {f"parts {kind}": n for kind, n in Counter(chain.from_iterable(beside)).items()}
        return figures

    def _outcome(self, result: Found) -> dict[str, int]:
        """Return the groups, near copies, removed and kept documents of a result."""
        rows = result.groups.to_pylist()
        near = sum(not row["representative"] and not self._is_copy(row) for row in rows)
        gone = sum(not row["kept"] for row in rows) + result.not_judged["kept"].to_pylist().count(False)
        figures = {"groups": sum(row["representative"] for row in rows), "near copies": near}
        return figures | {"removed": gone, "kept": result.run.counts.read - gone}

    def _removed_bytes(self, result: Found) -> int:
        gone = sum(self.documents[row["id"]]["bytes"] for row in result.groups.to_pylist() if not row["kept"])
        gone += sum(row["bytes"] or 0 for row in result.not_judged.to_pylist() if not row["kept"])
        return int(gone)

    def _before_and_after(self) -> dict[str, str]:
        """Return the figures before and after the decisions. An applied result has stored the first ones."""
        decisions = self.account.decisions
        if decisions is None or decisions.before is None or not decisions.last_action:
            return {}
        before = dict(decisions.before)
        if self.only_reviewed:
            before = {**self._outcome(self.run), "removed_text": self._removed_bytes(self.run)}
        removed_text = before.pop("removed_text", 0)
        shown = {f"before {name.replace('_', ' ')}": number(value) for name, value in before.items()}
        shown["before text removed"] = size(removed_text)
        return shown | {self._name("text removed"): size(self._removed_bytes(self.after))}

    def _digests(self) -> dict[str, str]:
        """Return the numbers and digests of the cover."""
        run = self.run
        tables = {} if run.places is None else run.places.tables(column(run.ranks, "row"))
        files, shown = tables["places"].to_pylist() if "places" in tables else [], {}
        if files:
            digests = [one["digest"].hex() if one["digest"] else "not recorded" for one in files]
            shown = {"files": number(len(files)), "bytes of files": number(sum(one["size"] or 0 for one in files))}
            shown["inputs"] = _digest(
                f"{digest}  {one['size'] or 0}  {one['name']}" for digest, one in zip(digests, files, strict=True)
            )
        listed = sorted(read_manifest(Path(run.folder or "")).files.items())
        return shown | {"result": _digest(f"{file.sha256}  {name}" for name, file in listed if file.sha256)}

    def rows_of_groups(self, most: int) -> list[Cells]:
        """Return the cells of the table of groups."""
        return [self._cells(group) for group in self.groups[:most]]

    def _cells(self, group: CountedGroup) -> Cells:
        low, high = (similarity(how(group.near)) if group.near else "" for how in (min, max))
        none = "exact copies" if group.exact == group.size - 1 else "unknown"
        values = none if not low else low if min(group.near) == max(group.near) else f"{low} to {high}"
        kinds = None
        if self._kinds is not None:
            inside = sorted(self._kinds[group.id].items(), key=lambda kind: (-kind[1], kind[0]))
            kinds = ", ".join(f"{kind} {number(n)}" for kind, n in inside[:3])
        cells = [str(group.id), number(group.size), number(group.exact), values, kinds]
        if self.judging:
            named = (f"{name} {number(n)}" for name in get_args(Verdict) if (n := group.verdicts[name]))
            cells += [", ".join(named), number(group.undecided)]
        return cells


Cells: TypeAlias = list[str | None]
"""The words of a row, None for a cell that is not counted here."""


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def _shown_name(id: str | None) -> str:
    """Return the name of a document as a page shows it; a long one lacks its middle."""
    return " ".join(printable(middle_cut(id or "", LONGEST_NAME) or EMPTY).split())


class ReportVerifier:
    """A report beside its result. Each check returns a line; ``mismatches`` are the differences, ``unseen`` counts
    the parts left out, and ``stated`` are words of the page that nothing in the result says.

    Raises InputError for a file that is not a report.
    """

    CHECKS = "page", "state", "figures", "rows", "text"

    def __init__(self, folder: Path, name: str, data: bytes) -> None:
        self.page = StatedPage(name, data)
        self.mismatches: list[Mismatch] = []
        self.unseen, self.stated = Counter[str](), dict[str, str]()
        self._run = load(folder).named
        mark = _STATE.fullmatch(self.page.metas.get("neardup-state", ""))
        self._mark = "" if mark is None else mark[1]
        self._last = review_in(self._run.ranks, folder).state.number
        self._until = self._last if mark is None else int(mark[2])
        made_of = self._run.run.decisions
        if made_of is not None and self._until == made_of.last_action:
            self._until = 0  # the actions are those of the review that the result was made of
        given = review_in(self._run.ranks, folder, self._until)
        lead = (
            next(iter(self.page.sections["Decisions"].all("p")), None)
            if "Decisions" in self.page.sections
            else None
        )
        review = None if lead is None else _REVIEW.search(_with_controls(lead))
        self._given = given if review is None else replace(given, name=review[1])
        after = after_review(self._run, self._given) if given.state.number else self._run
        self._counts = Recount(self._run, after, given.state)
        self._asked = _ASKED.search(" ".join(self.page.fact("To check").split()))

    def check(self, name: str) -> str:
        """Make one of CHECKS, in their order, and return a line about its extent."""
        line: str = getattr(self, f"_{name}")()
        return line

    def _differs(self, where: str, page: str, counted: str, line: int = 0) -> None:
        self.mismatches.append(Mismatch(where, page, counted, line))

    def _page(self) -> str:
        """Compare the version and the lists that were asked for: another program writes another page."""
        own = f"neardup {self._counts.account.neardup_version} for the run, "
        own += f"neardup {installed_version('neardup')} for this page"
        program = self.page.fact("Program")
        if program != own:
            self._differs("Cover, Program", program, own)
        if self._asked is None:
            self._differs(
                "Cover, To check", self.page.fact("To check"), "the lengths of the lists that were asked for"
            )
        return f"written by {program.rpartition(', ')[2].removesuffix(' for this page') or 'an unknown program'}"

    def _state(self) -> str:
        """Compare the result and the last action that the page names with those of the folder."""
        last, until = self._last, self._until
        words = f"the decisions up to action {number(until)}" if until else "no decisions"
        own = page_state(
            self._run.folder, self._counts.account.decisions.last_action if self._counts.account.decisions else 0
        )
        if self._mark != own.partition(" ")[0]:
            self._differs("The page is about another result, or does not name its result", "", "")
        elif until < last:
            later = counted(last - until, "later action")
            state = f"It was compared with the result as {words.removeprefix('the ')} left it"
            self._differs(f"The page has {words}: it is older than the review by {later}. {state}", "", "")
        elif until > last:
            lacks = f"this folder lacks {counted(until - last, 'action')} of the review"
            self._differs(f"The page has {words}: it is newer than this result; {lacks}", "", "")
        return f"the page has {words}; the review is at action {number(last)}"

    def _figures(self) -> str:
        """Compare each figure, wherever it is."""
        figures, seen, listed = self._counts.figures(), set(), list(self.page.figures())
        for section, element in listed:
            name = element.attributes["data-figure"]
            seen.add(name)
            if element.text != figures.get(name):
                self._differs(
                    f"{section}, {name}", element.text, figures.get(name, "no such figure"), element.line
                )
        for name in figures.keys() - seen:
            self._differs(name, "", figures[name])
        return (
            f"{counted(len(listed), 'figure')} of the page {'was' if len(listed) == 1 else 'were'} counted again"
        )

    def _rows(self) -> str:
        """Compare the rows of the tables, cell by cell."""
        most = int(self._asked[1].replace(",", "")) if self._asked else 0
        tables = [table for table in self.page.tables("Groups") if table.caption.startswith(_GROUPS)]
        rows = self._counts.rows_of_groups(most)
        self._compare("Groups", tables[0] if tables else None, rows)
        return f"{counted(len(rows), 'row')} were counted again"

    def _compare(self, where: str, table: PageTable | None, rows: list[Cells]) -> None:
        """Compare the rows of a table with counted ones; the first cell is the name of a document."""
        heads, own = ([], []) if table is None else (table.heads, [row for row in table.rows if row])
        known = {_shown_name(row[0]): row[0] for row in rows}
        keys, names = [known.get(row[0].text, row[0].text) for row in own], [row[0] for row in rows]
        for kind, a, b, c, d in SequenceMatcher(None, keys, names, autojunk=False).get_opcodes():
            if kind == "equal":
                for cells, row in zip(own[a:b], rows[c:d], strict=True):
                    self._compare_cells(where, heads, cells, row)
                continue
            for cells in own[a:b]:
                words = "a row in another place" if keys.count(cells[0].text) == names.count(cells[0].text) else ""
                has = ", ".join(cell.text for cell in cells)
                self._differs(f"{where}, row {cells[0].text}", has, words or "no such row", cells[0].line)
            for row in rows[c:d]:
                if row[0] not in keys:
                    self._differs(f"{where}, row {row[0]}", "", ", ".join(cell or "" for cell in row))

    def _compare_cells(self, where: str, heads: Sequence[str], cells: Sequence[Element], row: Cells) -> None:
        name = f"{where}, row {cells[0].text}"
        if len(cells) != len(row):
            self._differs(name, counted(len(cells), "cell"), counted(len(row), "cell"), cells[0].line)
        for head, cell, value in zip(heads[1:], cells[1:], row[1:], strict=False):
            if value is not None and cell.text != value:
                self._differs(f"{name}, {head}", cell.text or "nothing", value or "nothing", cell.line)

    def _text(self) -> str:
        """Write the page again, and compare the two character by character."""
        lengths = (200, 0, 0.0)
        if self._asked is not None:
            groups, pairs, megabytes = (words.replace(",", "") for words in self._asked.groups())
            lengths = (
                min(int(groups), MOST_GROUPS),
                min(int(pairs), MOST_PAIRS),
                min(float(megabytes), MOST_MEGABYTES),
            )
        content = ReportContent(self._run, self._given, groups=lengths[0], pairs=lengths[1], megabytes=lengths[2])
        title = "" if self.page.heading == "Near-duplicates" else self.page.fact("Matter")
        by, written = self._author(content.includes)
        self.stated = {"matter": title, "report by": by, "written on": written}
        again = page_of(content, title=title, written=written, by=by)
        if "neardup_version" in self.page.metas:  # only pages of the command have it
            again = stamped_page(again)
        again = again.encode("utf-8", "replace").decode()
        own, new = self.page.source.split("\n"), again.split("\n")
        if own != new and self._counts.account.decisions is not None:
            own, new = (
                self._without_others(own, self.page.root),
                self._without_others(new, _PageParser(again).root),
            )
        if own == new:
            return "written again from the result, the page is the same, character by character"
        self._compare_lines(own, new)
        return "written again from the result, the page is another one"

    def _without_others(self, lines: list[str], root: Element) -> list[str]:
        """Return the lines of a page without its note on another review, which may be out of reach here."""
        notes = [
            one for one in root.all("p") if one.attributes == {"class": "note"} and _GONE_ON.fullmatch(one.text)
        ]
        self.unseen["notes on the review of another folder"] |= len(notes)
        places = {one.line - 1 for one in notes}
        return [line for place, line in enumerate(lines) if place not in places]

    def _author(self, includes: str) -> tuple[str, str]:
        """Return who made the page, and when."""
        words = self.page.fact("Report by").removesuffix(".").removesuffix(f", with {includes}")
        by, _, written = words.rpartition(". Written on ")
        return (by, written) if by else (words, "")

    def _compare_lines(self, own: Sequence[str], new: Sequence[str]) -> None:
        """Name the lines that are not equal, but those of which a part is named already."""
        named = {one.line for one in self.mismatches}
        first = _equal(own, new)
        last = _equal(own[first:][::-1], new[first:][::-1])
        a, b = own[first : len(own) - last], new[first : len(new) - last]
        if max(len(a), len(b)) > MOST_LINES:
            a, b = a[:1], b[:1]
        for kind, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            if kind == "equal" or named & set(range(first + i + 1, first + j + 1)):
                continue
            place = first + i + 1
            has, lacks = "\n".join(a[i:j]), "\n".join(b[k:m])
            shown = [_PageParser(part).root.words for part in (has, lacks)]
            has, lacks = _around(*([has, lacks] if shown[0] == shown[1] else shown))
            above = [heading for line, heading in self.page.chapters if line <= place]
            where = f"{(above or ['Cover'])[-1]}, line {number(place)}"
            self.mismatches.append(Mismatch(where, has, lacks, place, again=True))
