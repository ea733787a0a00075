"""The syntax tree of a query, and its one canonical text form: ``parse(canonical(query)) == query``.

The tree is independent of a collection: the planner determines which documents, words and fields exist.
"""

import dataclasses
import re
from dataclasses import dataclass
from decimal import Decimal

Span = tuple[int, int]
"""The position of a clause in the query: characters [begin, end)."""

KEYWORDS = frozenset({"AND", "OR", "NOT", "EXPLAIN"})
MEASURES = {"FINGERPRINT": False, "SIMILAR": True}
"""The words that begin a fingerprint clause, and whether its measure is the symmetric one."""
PASTED, FILED = "TEXT", "FILE"
RESERVED = KEYWORDS | set(MEASURES) | {PASTED, FILED}
"""Words that must be quoted to be searched for."""
OPERATORS = ("<=", ">=", "!=", "=", "<", ">", ":")
"""The operators between a field and a value; longer ones first."""

ENDS_WORD = frozenset('()":=<>!')
ENDS_VALUE = frozenset('()"=<>')
ENDS_ID = frozenset('()"')
TYPOGRAPHIC = frozenset("“”„‟‘’‚«»")

_PERCENTAGE = re.compile(r"(\d{1,3}(?:\.\d{1,4})?)%?", re.ASCII)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True)
class Stored:
    """The stored document of this id."""

    id: str


@dataclass(frozen=True)
class Unresolved:
    """An id typed without quotation marks that has several readings; the stored ids determine the right one."""

    word: str


@dataclass(frozen=True)
class Pasted:
    """The text itself."""

    text: str


@dataclass(frozen=True)
class File:
    """The text of a file on the machine of the user."""

    path: str


Source = Stored | Unresolved | Pasted | File


@dataclass(frozen=True)
class Fingerprint:
    """Documents that overlap the source by at least ``overlap`` %, found with at least ``probability`` %.

    ``overlap`` None: that share a sampled shingle with it. ``probability`` None: by complete look-ups.
    ``symmetric``: the measure is the resemblance instead of the containment of the source in the document.
    """

    source: Source
    overlap: Decimal | None = None
    probability: Decimal | None = None
    symmetric: bool = False
    span: Span = dataclasses.field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True)
class WordsClause:
    """Documents that contain these words consecutively."""

    words: str
    span: Span = dataclasses.field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True)
class FieldClause:
    """Documents whose metadata has a value of ``field`` for which ``operator`` holds with ``value``."""

    field: str
    operator: str
    value: str
    span: Span = dataclasses.field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True)
class Not:
    """Documents for which the part does not hold."""

    part: "Node"


@dataclass(frozen=True)
class And:
    """Documents for which every part holds; two parts or more. An AND in an AND is one AND."""

    parts: "tuple[Node, ...]"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _flat(self.parts, And))


@dataclass(frozen=True)
class Or:
    """Documents for which any part holds; two parts or more. An OR in an OR is one OR."""

    parts: "tuple[Node, ...]"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _flat(self.parts, Or))


Clause = Fingerprint | WordsClause | FieldClause
Node = Clause | Not | And | Or


@dataclass(frozen=True)
class Query:
    """A whole query; ``explain``: show the plan instead of the documents. ``text`` is the query as typed."""

    root: Node
    explain: bool = False
    text: str = dataclasses.field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        """The canonical form."""
        return canonical(self)


@dataclass(frozen=True)
class IdReading:
    """One way to read an id that was typed without quotation marks."""

    id: str
    overlap: Decimal | None = None
    probability: Decimal | None = None


def readings(word: str) -> tuple[IdReading, ...]:
    """All ways to read ``word`` as <id>, <id>_<overlap> or <id>_<overlap>_<probability>, most numbers first.

    >>> [reading.id for reading in readings("a_b_20_80")], [reading.id for reading in readings("report_2020")]
    (['a_b', 'a_b_20', 'a_b_20_80'], ['report_2020'])
    """
    found: list[IdReading] = []
    for n_numbers in (2, 1):
        id, *texts = word.rsplit("_", n_numbers)
        numbers = [percentage(text) for text in texts]
        if id and len(numbers) == n_numbers and all(numbers):
            found.append(IdReading(id, *numbers))
    return (*found, IdReading(word))


def percentage(text: str) -> Decimal | None:
    """A number above 0 and up to 100, with at most four decimals, in its shortest form; None for other text.

    >>> percentage("20.50"), percentage("12.5%"), percentage("0"), percentage("101")
    (Decimal('20.5'), Decimal('12.5'), None, None)
    """
    found = _PERCENTAGE.fullmatch(text)
    value = Decimal(found[1]).normalize() if found else Decimal(0)
    return value if 0 < value <= 100 else None


def canonical(query: Query | Node) -> str:
    """The one text form of all queries that have the same tree.

    Operators are written out, brackets appear only where they are needed, words are quoted only if they must be,
    and numbers have no superfluous zeros.

    >>> from neardup.collection.query import parse
    >>> canonical(parse('(budget   "plan") OR ((from:"ann" AND FINGERPRINT:12_20.0_80))'))
    'budget AND plan OR from:ann AND FINGERPRINT:12_20.0_80'
    """
    if isinstance(query, Query):
        return ("EXPLAIN " if query.explain else "") + canonical(query.root)
    if isinstance(query, Or):
        return " OR ".join(map(canonical, query.parts))
    if isinstance(query, And):
        return " AND ".join(_bracket(part, Or) for part in query.parts)
    if isinstance(query, Not):
        return "NOT " + _bracket(query.part, And, Or)
    return clause_text(query)


def clause_text(clause: Clause) -> str:
    """The canonical form of a single clause."""
    if isinstance(clause, WordsClause):
        return clause.words if is_bare_word(clause.words) else quoted_text(clause.words)
    if isinstance(clause, FieldClause):
        name = clause.field if is_bare_word(clause.field) else quoted_text(clause.field)
        value = clause.value if _is_bare(clause.value, ENDS_VALUE) else quoted_text(clause.value)
        return f"{name}{clause.operator}{value}"
    numbers = "".join(f"_{number:f}" for number in (clause.overlap, clause.probability) if number is not None)
    return f"{'SIMILAR' if clause.symmetric else 'FINGERPRINT'}:{_source_text(clause)}{numbers}"


def _source_text(clause: Fingerprint) -> str:
    source = clause.source
    if isinstance(source, Pasted):
        return f"{PASTED}:{quoted_text(source.text)}"
    if isinstance(source, File):
        return f"{FILED}:{quoted_text(source.path)}"
    if isinstance(source, Unresolved):
        return source.word
    bare = clause.overlap is None and is_bare_id(source.id) and len(readings(source.id)) == 1
    return source.id if bare else quoted_text(source.id)


def quoted_text(text: str) -> str:
    r"""The text between quotation marks, with \" \\ \n \r \t, and \u{…} for all other unprintable characters.

    >>> print(quoted_text('say "no"\x1b'))
    "say \"no\"\u{1b}"
    """
    if text.isprintable():  # and this is fast for long texts
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return (
        '"'
        + "".join(_ESCAPES.get(char) or (char if char.isprintable() else f"\\u{{{ord(char):x}}}") for char in text)
        + '"'
    )


def is_bare_word(word: str) -> bool:
    """Whether a word or a field can be written without quotation marks."""
    return _is_bare(word, ENDS_WORD) and word not in RESERVED and refusal(word) is None


def is_bare_id(id: str) -> bool:
    """Whether an id can be written without quotation marks, apart from numbers after it."""
    return _is_bare(id, ENDS_ID) and not id.startswith((f"{PASTED}:", f"{FILED}:")) and id[0] not in TYPOGRAPHIC


def refusal(word: str) -> tuple[str, str] | None:
    """Return why a word without quotation marks is refused, and what to write instead; None if it is accepted."""
    if word[0] == "-":
        return "A minus sign excludes nothing here", "Write NOT before the word, or the word in quotation marks"
    if word[0] in TYPOGRAPHIC:
        return "These are typographic quotation marks", 'Write "'
    if "*" in word:
        return (
            "Searching for the beginning of a word is not possible",
            "Write the whole word, or quote it to leave * aside",
        )
    return None


def _is_bare(word: str, ends: frozenset[str]) -> bool:
    return bool(word) and word.isprintable() and not any(char.isspace() or char in ends for char in word)


def _bracket(node: Node, *looser: type) -> str:
    return f"({canonical(node)})" if isinstance(node, looser) else canonical(node)


def _flat(parts: tuple[Node, ...], kind: type[And] | type[Or]) -> tuple[Node, ...]:
    return tuple(inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,)))
