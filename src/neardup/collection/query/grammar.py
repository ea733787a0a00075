"""Parse text into a syntax tree, by recursive descent. Depends only on the language, not on a collection.

query      = ["EXPLAIN"] any
any        = all { "OR" all }
all        = not { ["AND"] not }
not        = { "NOT" } ( "(" any ")" | fingerprint | comparison | words )
fingerprint= ( "FINGERPRINT" | "SIMILAR" ) ":" source | source with TEXT: or FILE:
source     = ( id | string | "TEXT:" string | "FILE:" ( path | string ) ) [ "_" overlap [ "_" probability ] ]
comparison = ( word | string ) ( ":" | "=" | "!=" | "<" | "<=" | ">" | ">=" ) ( value | string )
words      = word | string
"""

import re
from decimal import Decimal
from typing import NoReturn

from neardup.collection.query import syntax
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
    Source,
    Stored,
    Unresolved,
    WordsClause,
    readings,
)
from neardup.errors import QueryError

MOST_CHARACTERS = 1_000_000
"""The most characters of a query, including pasted text."""
MOST_CLAUSES = 1_000
COUNTED_CLAUSES = 10 * MOST_CLAUSES
"""Parsing continues up to this many clauses, so that the error can state their number."""
MOST_FINGERPRINTS = 100
"""The most fingerprint clauses: each compares documents, which takes milliseconds."""
DEEPEST = 40
"""The deepest nesting of brackets and NOTs."""

_NUMBER = re.compile(r"[^_\s()\"]*")
_SPACE = re.compile(r"\s*")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_BARE = {
    ends: re.compile(rf"[^\s{re.escape(''.join(sorted(ends)))}]*")
    for ends in (syntax.ENDS_WORD, syntax.ENDS_VALUE, syntax.ENDS_ID)
}
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_CODE_POINT = re.compile(r"u\{([0-9A-Fa-f]{1,6})\}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN = re.compile(r'[^"\\]*')
_SPACED = tuple(operator for operator in syntax.OPERATORS if operator != ":")
PERCENTAGE = "A percentage is a number above 0 and up to 100 with at most four decimals, with or without a % sign"


def parse(text: str) -> Query:
    """Parse a query. Raises QueryError, with the position and the input allowed there, for invalid text.

    >>> parse("budget AND NOT from:ann").root
    And(parts=(WordsClause(words='budget'), Not(part=FieldClause(field='from', operator=':', value='ann'))))
    """
    if len(text) > MOST_CHARACTERS:
        raise QueryError(
            f"A query of {len(text):,} characters is too long",
            f"{MOST_CHARACTERS:,} characters at most",
            "Store a long text, or give it as a FILE on the command line",
        )
    surrogate = _SURROGATE.search(text)
    if surrogate:
        where = surrogate.start()
        raise QueryError(
            "This is not a character", "Text that can be written as UTF-8", query=text, position=where
        )
    return _Reader(text).query()


Numbers = tuple[Decimal | None, Decimal | None]


class _Reader:
    """A query and the position up to which it has been read."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.depth = self.clauses = self.fingerprints = 0
        self.too_many_at = self.too_alike_at = 0

    def query(self) -> Query:
        explain = self.keyword("EXPLAIN")
        root = self.any_of()
        if self.peek():
            self.fail("This closing bracket was never opened", "Leave it out, or open it before")
        self.require_few()
        return Query(root, explain, self.text)

    def require_few(self) -> None:
        """Fail for more clauses than allowed; called after all are read, so that their number is known."""
        if self.clauses > MOST_CLAUSES:
            allowed = f"{MOST_CLAUSES:,} at most; ask in several queries"
            self.fail(f"There are {self.clauses:,} clauses", "", self.too_many_at, allowed=allowed)
        if self.fingerprints > MOST_FINGERPRINTS:
            allowed = f"{MOST_FINGERPRINTS} at most; ask in several queries"
            given = f"There are {self.fingerprints:,} fingerprint clauses"
            self.fail(given, "", self.too_alike_at, allowed=allowed)

    def any_of(self) -> Node:
        parts = [self.all_of()]
        while self.keyword("OR"):
            parts.append(self.all_of())
        return Or(tuple(parts)) if len(parts) > 1 else parts[0]

    def all_of(self) -> Node:
        parts = [self.negation()]
        while self.keyword("AND") or not (self.peek() in ("", ")") or self.stands_here("OR")):
            parts.append(self.negation())
        return And(tuple(parts)) if len(parts) > 1 else parts[0]

    def negation(self) -> Node:
        negations = 0
        while self.keyword("NOT"):
            self.deeper()
            negations += 1
        node = self.primary()
        self.depth -= negations
        for _ in range(negations):
            node = Not(node)
        return node

    def primary(self) -> Node:
        if self.peek() == "(":
            return self.bracket()
        begin = self.at
        self.clauses += 1
        if self.clauses == MOST_CLAUSES + 1:
            self.too_many_at = begin
        if self.clauses > COUNTED_CLAUSES:
            allowed = f"{MOST_CLAUSES:,} at most; ask in several queries"
            self.fail(f"There are more than {COUNTED_CLAUSES:,} clauses", "", self.too_many_at, allowed=allowed)
        is_string = self.peek() == '"'
        word = self.string() if is_string else self.word()
        if not is_string and self.text[self.at : self.at + 1] == ":":
            if word in syntax.MEASURES:
                self.at += 1
                return self.fingerprint(begin, syntax.MEASURES[word])
            if word in (syntax.PASTED, syntax.FILED):
                self.at = begin
                return self.fingerprint(begin, False)
        if not is_string:
            self.refuse(word, begin)
        operator = self.operator()
        if operator:
            value = self.value(operator)
            return FieldClause(word, operator, value, (begin, self.at))
        self.separate()
        return WordsClause(word, (begin, self.at))

    def bracket(self) -> Node:
        opened = self.at
        self.deeper()
        self.at += 1
        node = self.any_of()
        if self.peek() != ")":
            self.fail("This bracket is not closed", "Write the closing bracket, or quote it if it is text", opened)
        self.at += 1
        self.depth -= 1
        return node

    def refuse(self, word: str, begin: int) -> None:
        """Fail for words that would silently mean something else than they seem to."""
        if word in syntax.MEASURES:
            self.fail(f"{word} is not followed by :", f"Write {word}:<id>_<overlap %>, or quote the word", begin)
        if word in syntax.KEYWORDS:
            self.fail(f"A clause is missing before {word}", "Write one, or quote the word to search for it", begin)
        reasons = syntax.refusal(word)
        if reasons:
            self.fail(*reasons, begin)

    def fingerprint(self, begin: int, symmetric: bool) -> Fingerprint:
        self.fingerprints += 1
        if self.fingerprints == MOST_FINGERPRINTS + 1:
            self.too_alike_at = begin
        source, (overlap, probability) = self.source()
        return Fingerprint(source, overlap, probability, symmetric, (begin, self.at))

    def source(self) -> tuple[Source, Numbers]:
        begin = self.at
        if self.text.startswith(f"{syntax.PASTED}:", begin):
            self.at += len(syntax.PASTED) + 1
            if self.text[self.at : self.at + 1] != '"':
                self.fail("Pasted text is not in quotation marks", 'Write TEXT:"…"; inside of it " is written \\"')
            return Pasted(self.string()), self.numbers()
        if self.text.startswith(f"{syntax.FILED}:", begin):
            self.at += len(syntax.FILED) + 1
            if self.text[self.at : self.at + 1] == '"':
                return File(self.string()), self.numbers()
            first = readings(self.bare(syntax.ENDS_ID, "a path"))[0]
            self.separate()
            return File(first.id), (first.overlap, first.probability)
        if self.text[begin : begin + 1] == '"':
            return Stored(self.string()), self.numbers()
        word = self.bare(syntax.ENDS_ID, "an id")
        if word[0] in syntax.TYPOGRAPHIC:
            self.fail("These are typographic quotation marks", 'Write "', begin)
        self.separate()
        return (Stored(word) if len(readings(word)) == 1 else Unresolved(word)), (None, None)

    def numbers(self) -> Numbers:
        """The overlap and the probability after a closing quotation mark."""
        found: list[Decimal] = []
        while self.text[self.at : self.at + 1] == "_":
            if len(found) == 2:
                self.fail("There is a third number", "", allowed="An overlap and a probability")
            match = _NUMBER.match(self.text, self.at + 1)
            value = syntax.percentage(match[0]) if match else None
            if match is None or value is None:
                self.fail("This is not a percentage", "", self.at + 1, allowed=PERCENTAGE)
            self.at = match.end()
            found.append(value)
        self.separate()
        overlap, probability = (*found, None, None)[:2]
        return overlap, probability

    def operator(self) -> str:
        """The next operator, or ""; only a colon must follow without a space."""
        after = self.behind_space()
        for operator in syntax.OPERATORS if after == self.at else _SPACED:
            if self.text.startswith(operator, after):
                self.at = after + len(operator)
                return operator
        return ""

    def value(self, operator: str) -> str:
        if operator != ":":
            self.peek()
        is_string = self.text[self.at : self.at + 1] == '"'
        value = self.string() if is_string else self.bare(syntax.ENDS_VALUE, "a value")
        self.separate()
        return value

    def word(self) -> str:
        if not self.peek():
            self.fail("A clause is missing", 'Write a word, a "phrase", field:value or FINGERPRINT:<id>')
        return self.bare(syntax.ENDS_WORD, "a word, a field or (")

    def bare(self, ends: frozenset[str], expected: str) -> str:
        """Read the text up to white space or one of ``ends``."""
        found = _BARE[ends].match(self.text, self.at)
        word = found[0] if found else ""
        control = _CONTROL.search(word)
        if control:
            where = self.at + control.start()
            self.fail("There is a control character here", "Quote the text and write it as \\u{…}", where)
        if not word:
            self.fail(f"Expected {expected} here", 'Write it, or put the text there in quotation marks "…"')
        self.at += len(word)
        return word

    def string(self) -> str:
        r"""Read the text between the quotation marks that begin here; decodes the escapes \" \\ \n \r \t \u{…}."""
        opened = self.at
        self.at += 1
        parts = []
        while True:
            plain = _PLAIN.match(self.text, self.at)
            assert plain is not None
            parts.append(plain[0])
            self.at = plain.end()
            if self.at == len(self.text):
                self.fail("This quotation mark is not closed", 'Write the closing ", or \\" if it is text', opened)
            self.at += 1
            if self.text[self.at - 1] == '"':
                break
            parts.append(self.escape())
        text = "".join(parts)
        if not text:
            self.fail("There is nothing between these quotation marks", "Write some text there", opened)
        return text

    def escape(self) -> str:
        """The character for the escape after a backslash."""
        place = self.at - 1
        code = _CODE_POINT.match(self.text, self.at)
        if code and int(code[1], 16) <= 0x10FFFF and not _SURROGATE.match(chr(int(code[1], 16))):
            self.at = code.end()
            return chr(int(code[1], 16))
        char = _ESCAPED.get(self.text[self.at : self.at + 1])
        if char is None:
            self.fail("This backslash begins an unknown escape", "", place, allowed=r"\" \\ \n \r \t \u{hex}")
        self.at += 1
        return char

    def separate(self) -> None:
        """Fail unless a clause can end here: nothing may be attached to it by accident."""
        char = self.text[self.at : self.at + 1]
        if char and not char.isspace() and char != ")":
            self.fail("The clause before ends here", "Put a space here, or all of it in quotation marks")

    def keyword(self, word: str) -> bool:
        """Skip ``word`` if it comes next, and return whether it did."""
        self.peek()
        if not self.stands_here(word):
            return False
        self.at += len(word)
        return True

    def stands_here(self, word: str) -> bool:
        after = self.text[self.at + len(word) : self.at + len(word) + 1]
        return self.text.startswith(word, self.at) and (not after or after.isspace() or after in '()"')

    def peek(self) -> str:
        """The next character that is not white space; "" at the end."""
        self.at = self.behind_space()
        return self.text[self.at : self.at + 1]

    def behind_space(self) -> int:
        """The end of the white space that begins here."""
        found = _SPACE.match(self.text, self.at)
        return found.end() if found else self.at

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"Brackets and NOTs are nested more than {DEEPEST} deep", "Ask in several queries")

    def fail(self, what: str, do: str, position: int | None = None, *, allowed: str = "") -> NoReturn:
        raise QueryError(what, allowed, do, query=self.text, position=self.at if position is None else position)
