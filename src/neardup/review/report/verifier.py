"""Verify a report of a result: count its figures and rows again, then write its page again and compare the two.

The counts are made here, from the tables of the result, its manifest and the log of decisions, without the lists
of the report. They are compared with the words that a reader sees. The second comparison covers the other words,
the order, and anything that a page could hide: the two pages are equal, character by character.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from neardup.deduplication.results import load
from neardup.deduplication.reviews import after_review, page_state, review_in
from neardup.display import counted, number, printable
from neardup.errors import InputError
from neardup.io.outputs import stamped_page
from neardup.review.report.content import (
    GENERATOR,
    MOST_GROUPS,
    MOST_MEGABYTES,
    MOST_PAIRS,
    ReportContent,
    page_of,
)
from neardup.review.report.recount import CountedTable, Name, Recount, shown_name
from neardup.runtime import installed_version

_VOID = frozenset(("br", "hr", "img", "input", "link", "meta", "wbr"))
_STATE = re.compile(r"([0-9a-f]{64}) ([0-9]{1,18})")
_ASKED = re.compile(
    r"It shows at most ([\d,]+) groups? in a list, ([\d,]+) pairs? and "
    r"(\d+(?:\.\d+)?(?:e-\d+)?) MB side by side"
)
_REVIEW = re.compile(r"those of the review in (.*) up to action [\d,]+; later ones are not included", re.DOTALL)
_GONE_ON = re.compile(
    r"The review in .* has gone on since, up to action [\d,]+: this page is older than its decisions\."
)
_CAPTION = 40
"""Characters from which a caption is named by its first part."""
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
        self.sections = {one.attributes.get("aria-labelledby", ""): one for one in root.all("section")}

    def title(self, section: str) -> str:
        """Return the heading of a section, or else its id."""
        return next((one.text for one in self.part(section).all("h2")), section)

    def part(self, section: str) -> Element:
        """Return a section, an empty one if the page lacks it."""
        return self.sections.get(section) or Element("section", {}, 0)

    def fact(self, label: str) -> str:
        """Return the text of a line of the cover, with escapes decoded; "" without it."""
        return self.facts.get(label, "")

    def figures(self) -> Iterator[tuple[str, Element]]:
        """Yield the figures with the name of their section."""
        for name, part in (("Cover", self.cover), *((self.title(id), part) for id, part in self.sections.items())):
            for figure in part.figures():
                yield name, figure

    def tables(self, section: str) -> list[PageTable]:
        """Return the tables of a section."""
        return [_table(one) for one in self.part(section).all("table")]


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


def _key(part: Element) -> str:
    """Return the first name of a document in a part, or else its words."""
    return next((one.text for one in part.all("bdi")), part.text)


def _is_about(section: str, table: PageTable, own: CountedTable) -> bool:
    """Return whether a table of the page is a counted one; it may list the first rows alone."""
    return section == own.section and table.caption.startswith(own.caption)


def _members(opened: Element, head: str) -> list[tuple[str, str]]:
    """Return the members of an opened group beside its head, with reasons; "" for those whose pair is above."""
    parts, members = list(opened.all("h4", "p")), []
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        if part.tag == "h4" and after is not None:
            members.append((_key(part), after.text))
        elif part.text.startswith("Pair ") and part.text.endswith("is above."):
            members.append((next((name.text for name in part.all("bdi") if name.text != head), head), ""))
    return members


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
        lead = next(self.page.part("decisions").all("p"), None)
        review = None if lead is None else _REVIEW.search(_with_controls(lead))
        self._given = given if review is None else replace(given, name=review[1])
        after = after_review(self._run, self._given) if given.state.number else self._run
        self._counts = Recount(self._run, after, given.state)
        self._asked = _ASKED.search(" ".join(self.page.fact("To check").split()))
        self._lengths = (200, 0, 0.0)
        if self._asked is not None:
            groups, pairs, megabytes = (words.replace(",", "") for words in self._asked.groups())
            sizes = min(float(megabytes), MOST_MEGABYTES)
            self._lengths = min(int(groups), MOST_GROUPS), min(int(pairs), MOST_PAIRS), sizes

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
        self._tiles()
        return (
            f"{counted(len(listed), 'figure')} of the page {'was' if len(listed) == 1 else 'were'} counted again"
        )

    def _tiles(self) -> None:
        """Compare the tiles with the figures, and who decided."""
        stated = {}
        for tile in (div for one in self.page.part("results").all("dl") for div in one.all("div")):
            label, *parts = [part.text for part in tile.all("dt", "dd")] or [""]
            stated[label] = " ".join(parts), tile.line
        for label, words in self._counts.tiles().items():
            has, line = stated.get(label, ("", 0))
            if has != words:
                self._differs(f"Results, {label}", has, words, line)
        deciders, has = self._counts.deciders(), " ".join(self.page.fact("Decided by").split())
        if deciders and deciders != has:
            self._differs("Cover, Decided by", has, deciders)

    def _rows(self) -> str:
        """Compare the rows of the tables with those that are counted, cell by cell."""
        listed = [(section, table) for section in self.page.sections for table in self.page.tables(section)]
        rows, tables = 0, 0
        for counted_table in self._counts.tables(self._lengths[0], "appendix" in self.page.sections):
            place = next((place for place, one in enumerate(listed) if _is_about(*one, counted_table)), None)
            stated = None if place is None else listed.pop(place)[1]
            if stated is not None or counted_table.rows:
                self._compare(counted_table, stated)
            rows, tables = rows + len(counted_table.rows), tables + bool(counted_table.rows)
        lists = f"{counted(rows, 'row')} of {counted(tables, 'table')} and {self._compare_opened()}"
        return f"{lists} were counted again; {counted(len(listed), 'other table')} in the next check alone"

    def _compare(self, own: CountedTable, stated: PageTable | None) -> None:
        """Compare the rows of a table with counted ones; the first cell is the name of a document."""
        short = own.caption if len(own.caption) < _CAPTION else own.caption.partition(",")[0]
        title = self.page.title(own.section)
        where = short if short.startswith(title) else f"{title}, {short.strip()}"
        heads, cells_of = ([], []) if stated is None else (stated.heads, [row for row in stated.rows if row])
        known = {shown_name(row[0]): row[0] for row in own.rows}
        keys = [known.get(_key(cells[0]), _key(cells[0])) for cells in cells_of]
        names = [row[0] for row in own.rows]
        for lacking in [head for head in own.heads if stated is not None and head not in heads]:
            self._differs(f"{where}, head {lacking}", "", lacking)
        for kind, a, b, c, d in SequenceMatcher(None, keys, names, autojunk=False).get_opcodes():
            if kind == "equal":
                for cells, row in zip(cells_of[a:b], own.rows[c:d], strict=True):
                    if len(cells) != len(heads):
                        has, allowed = counted(len(cells), "cell"), counted(len(heads), "cell")
                        self._differs(f"{where}, row {_key(cells[0])}", has, allowed, cells[0].line)
                    stated_cells = dict(zip(heads, cells, strict=False))
                    self._compare_cells(
                        f"{where}, row {_key(cells[0])}", stated_cells, dict(zip(own.heads, row, strict=True))
                    )
                continue
            for cells in cells_of[a:b]:
                name = _key(cells[0])
                moved = keys.count(name) == names.count(name)
                has = ", ".join(cell.words for cell in cells)
                why = "a row in another place" if moved else "no such row"
                self._differs(f"{where}, row {name}", has, why, cells[0].line)
            for row in own.rows[c:d]:
                if names.count(row[0]) > keys.count(row[0]):
                    self._differs(f"{where}, row {row[0]}", "", ", ".join(cell or "" for cell in row))

    def _compare_cells(self, where: str, cells: Mapping[str, Element], row: Mapping[str, str | None]) -> None:
        for head, value in row.items():
            cell = cells.get(head)
            if value is None or cell is None or head == next(iter(row)):
                continue
            name, own = (_key(cell), shown_name(value)) if isinstance(value, Name) else (cell.text, value)
            if name != own:
                self._differs(f"{where}, {head}", name or "nothing", own or "nothing", cell.line)

    def _compare_opened(self) -> str:
        """Compare the groups that are side by side: their sizes, and each member with its fate and the reason."""
        groups, members = {shown_name(group.id): group for group in self._counts.groups_after}, 0
        opened = [one for one in self.page.root.all("details") if one.attributes.get("class") == "opened"]
        for one in opened:
            name, words = _key(one), [part.text for part in one.all("span")][:1]
            where, group = f"Groups side by side, {name}", groups.pop(name, None)
            if group is None:
                self._differs(where, " ".join(words) or name, "no such group", one.line)
                continue
            extent = self._counts.extent(group)
            if words != [extent]:
                self._differs(where, " ".join(words), extent, one.line)
            stated, counted_members = _members(one, name), self._counts.members_of(group)
            members += len(stated)
            for place, (id, why) in enumerate(stated):
                own, reason = counted_members[place] if place < len(counted_members) else ("no other member", "")
                if id != own or why not in (reason, ""):
                    self._differs(f"{where}, member {place + 1}", f"{id}: {why}", f"{own}: {reason}", one.line)
            if not stated and counted_members:
                self._differs(where, "no member", counted(len(counted_members), "member"), one.line)
        return f"{counted(members, 'member')} of {counted(len(opened), 'opened group')}"

    def _text(self) -> str:
        """Write the page again, and compare the two character by character."""
        groups, pairs, megabytes = self._lengths
        content = ReportContent(self._run, self._given, groups=groups, pairs=pairs, megabytes=megabytes)
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
