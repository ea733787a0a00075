"""All errors of neardup.

NeardupError
├── SettingError        a setting has a value that is not allowed (also a ValueError)
│   └── UnknownKeywordError  a function or a run has no such keyword (also a TypeError)
├── InputError          an input cannot be opened, or lacks a requested column
│   └── UnknownIdError  a collection has no document of this id (also a KeyError)
├── OutputError         the result cannot be written to the requested place
├── FormatError         a saved fingerprint or result has another kind, version or Unicode version
├── NetworkError        another machine cannot be reached, or answers wrongly (an InputError and an OutputError)
├── QueryError          a query cannot be parsed, or names something that does not exist
└── LimitError          the request exceeded its time limit

Each error has three parts: the given value, the allowed values and the way out. Their labels are added only here.
"""

import re
from collections.abc import Callable, Iterator
from unicodedata import east_asian_width

ALLOWED, TRY = "Allowed: ", "Try: "

PACKAGE = "."
"""What pip installs: the clone of the repository, until a version is released; then "neardup"."""

CORE = frozenset({"numpy", "pyarrow"})
"""Packages with compiled code that neardup cannot do without."""

_COMMAND = re.compile(r"(neardup [a-z]+ [^;,:]*)")
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?: \((\w+=[^\s)]*)(?: in Python)?\))?")

_PATH = re.compile(
    r"(?<![\w'\"/])(?:~?/|[A-Za-z]:[\\/]|\\\\|[a-z][a-z0-9+.-]*://|\.{1,2}/)(?:(?![:,;] |[\"'()\n]| \().)*"
    r"|(?<=['\"])(?:~?/|[A-Za-z]:[\\/]|\\\\|[a-z][a-z0-9+.-]*://)[^'\"]*"
    r"|(?<![\w'\"/])(?:[\w.-]+/)+[\w-]+\.\w+"
)
"""A path from a root, an address, or a path to a file; in quotation marks only from a root: ids have slashes."""

SHOWN_AROUND = 50
"""Characters of the query to show on either side of the faulty one."""


def install(extra: str) -> str:
    """Return the way out if a package of an extra is missing.

    >>> install("service")
    'pip install ".[service]" in a clone of neardup'
    """
    return f'pip install "{PACKAGE}[{extra}]"' + (" in a clone of neardup" if PACKAGE == "." else "")


def unusable(package: str, extra: str, error: ImportError) -> tuple[str, str]:
    """Return why a package of an extra cannot be imported, to follow its name, and the way out.

    It is not installed only if it is the missing module itself; else the error names what failed.

    >>> unusable("olefile", "formats", ModuleNotFoundError(name="olefile"))
    ('is not installed', 'pip install ".[formats]" in a clone of neardup')
    >>> unusable("trafilatura", "web", ImportError("lxml.html.clean is apart. Install lxml_html_clean."))
    ('cannot be loaded: lxml.html.clean is apart. Install lxml_html_clean', 'pip install "lxml_html_clean"')
    """
    absent = error.name if isinstance(error, ModuleNotFoundError) else None
    if absent == package:
        return "is not installed", install(extra)
    said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    named = re.search(r"\b(?:pip )?install (?:-U )?['\"]?([\w.\[\],-]*\w\]?)", said, re.IGNORECASE)
    wanted = absent or (named[1] if named else None)
    return f"cannot be loaded: {said}", f'pip install "{wanted}"' if wanted else "Install that package again"


def without_core(package: str) -> tuple[str, str, str]:
    """Return the three parts of the error that a package of CORE is missing.

    >>> without_core("pyarrow")[0]
    'The package pyarrow, on which neardup is built, is missing'
    """
    return (
        f"The package {package}, on which neardup is built, is missing",
        "Linux with glibc 2.28 or newer, macOS on Apple silicon and Intel, Windows on x86-64. There are no ready "
        "packages of pyarrow for Windows on ARM",
        f'pip install "{package}", or another machine or image, such as python:3.13-slim',
    )


def labelled_parts(given: str, allowed: str = "", do: str = "") -> Iterator[str]:
    """Yield the parts of an error that are not empty, with their labels.

    A part that begins with its label, and a question in ``do``, stay as they are.

    >>> list(labelled_parts("bits is 32", "64 or 128", "Leave out bits"))
    ['bits is 32', 'Allowed: 64 or 128', 'Try: Leave out bits']
    >>> list(labelled_parts("keep is 'longst'", do="Did you mean 'longest'?"))
    ["keep is 'longst'", "Did you mean 'longest'?"]
    """
    if given:
        yield given
    if allowed:
        yield allowed if allowed.startswith(ALLOWED) else ALLOWED + allowed
    if do:
        yield do if do.startswith(TRY) or do.endswith("?") else TRY + do


def message_of(given: str, allowed: str = "", do: str = "") -> str:
    """Return the labelled parts as sentences in one line.

    >>> message_of("bits is 32", "64 or 128")
    'bits is 32. Allowed: 64 or 128.'
    """
    return " ".join(map(_sentence, labelled_parts(given, allowed, do)))


def in_python(text: str) -> str:
    """Return words about options of the command line as words about keywords; commands stay as they are.

    >>> in_python('Choose another name, or give --overwrite (overwrite=True) to replace it')
    'Choose another name, or give overwrite=True to replace it'
    >>> in_python("raise --slots or use --ignore-common"), in_python("Fingerprint it: neardup fingerprint --key K")
    ('raise slots or use ignore_common', 'Fingerprint it: neardup fingerprint --key K')
    """
    return with_options(text, lambda option, keyword: keyword or option.replace("-", "_"))


def with_options(text: str, spelled: Callable[[str, str], str]) -> str:
    """Return words in which each option is spelled anew, by its name and by its keyword in brackets, or "".

    >>> with_options("Give --overwrite (overwrite=True)", lambda option, keyword: f"{option} or {keyword}")
    'Give overwrite or overwrite=True'
    """
    parts = _COMMAND.split(text)
    parts[::2] = [_OPTION.sub(lambda found: spelled(found[1], found[2] or ""), part) for part in parts[::2]]
    return "".join(parts)


class NeardupError(Exception):
    """Root of all errors of neardup.

    Parameters: ``given`` (the value or state that is wrong), ``allowed`` (the values that would be right), ``do``
    (the way out). The message consists of these parts in this order, with the labels "Allowed:" and "Try:". The
    parts name options as the command line does; the message, which Python shows, names the keywords.

    >>> str(NeardupError("bits is 32", "64 or 128", "Leave out bits"))
    'bits is 32. Allowed: 64 or 128. Try: Leave out bits.'
    """

    def __init__(self, given: str, allowed: str = "", do: str = "") -> None:
        self.given, self.allowed, self.do = given, allowed, do
        super().__init__(in_python(message_of(given, allowed, do)))

    def public(self) -> dict[str, str]:
        """Return the parts for strangers, without paths and addresses of this machine.

        A path ends at a quotation mark, a bracket or a sign between parts of a sentence: names may hold spaces.

        >>> NeardupError("There is no document 'a/1' in /srv/my mails/c.neardup", "An id").public()
        {'given': "There is no document 'a/1' in …", 'allowed': 'An id', 'do': ''}
        """
        parts = {"given": self.given, "allowed": self.allowed, "do": self.do}
        return {name: _PATH.sub("…", part) for name, part in parts.items()}

    def lines(self) -> str:
        """Return the message with each part on a line of its own, without full stops."""
        return "\n".join(labelled_parts(self.given, self.allowed, self.do))


class SettingError(NeardupError, ValueError):
    """A setting has a value that is not allowed."""


class UnknownKeywordError(SettingError, TypeError):
    """A function, a class or a run has no such keyword; a TypeError, too, as for any function."""


class InputError(NeardupError):
    """An input cannot be opened, or lacks a requested column."""


class UnknownIdError(InputError, KeyError):
    """A collection has no document of this id; a KeyError, too, as for a mapping.

    >>> try:
    ...     raise UnknownIdError("There is no document 'a'", "An id of a document in the collection")
    ... except KeyError as error:
    ...     print(error)
    There is no document 'a'. Allowed: An id of a document in the collection.
    """

    __str__ = Exception.__str__  # that of KeyError shows the message as a Python string


class SecondReviewError(InputError):
    """A decision would replace a first verdict on which the same person is to give a second one."""


class OutputError(NeardupError):
    """The result cannot be written to the requested place."""


class NetworkError(InputError, OutputError):
    """Another machine cannot be reached, or does not answer as it should; no message has a password of its URL."""


class FormatError(NeardupError):
    """A saved fingerprint or result has another kind, version or Unicode version than this program writes."""


class ChangedMeanwhileError(NeardupError):
    """Someone else decided about the same documents after they were read; nothing was stored."""


class LimitError(NeardupError):
    """The request exceeded its time limit."""


class QueryError(NeardupError):
    """A query cannot be parsed, or names something that does not exist.

    ``position`` is the index of the faulty character in ``query`` (int, from 0); the message shows this character
    with a caret under it.
    """

    def __init__(self, given: str, allowed: str = "", do: str = "", *, query: str = "", position: int = 0) -> None:
        super().__init__(given, allowed, do)
        self.query, self.position = query, position
        if query:
            self.given = f"{given} (character {position + 1}):\n{_pointed_at(query, position)}"
            rest = message_of("", allowed, do)
            self.args = (f"{self.given}\n{rest}".rstrip(),)


def _pointed_at(query: str, position: int) -> str:
    """Return the surroundings of the position on one line, without control characters, and a caret under it."""
    begin, end = max(0, position - SHOWN_AROUND), position + SHOWN_AROUND
    before = ("…" if begin else "") + "".join(map(_visible, query[begin:position]))
    after = "".join(map(_visible, query[position:end])) + ("…" if end < len(query) else "")
    columns = sum(2 if east_asian_width(char) in "WF" else 1 for char in before)
    return f"  {before}{after}\n  {' ' * columns}^"


def _visible(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode()


def _sentence(part: str) -> str:
    return part if part.endswith((".", "!", "?", ":", "\n")) else part + "."
