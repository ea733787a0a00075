"""The templates of everything shown as HTML: pages, and the parts of views in notebooks.

Autoescape is on, and a name that is missing is an error. A self-contained page holds its style and names it in its
policy by hash. Notebooks that are not trusted drop the style sheet, and some sites drop the pictures. So cells
have their side as an attribute, too, and pictures have their numbers in words.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from neardup.display import words as wording
from neardup.display.spellings import check_keywords_of_methods, missing_attribute_error
from neardup.display.style import notebook_style, page_style

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


_SEPARATORS = re.compile(r"(?<=[/\\_])(?=.)")
UNKNOWN = "unknown"
EMPTY = "(empty)"
LONGEST_NAME = 120
"""Longest name on a page, in columns."""

WORDS = 80
"""Columns of the first words of a text."""

NAME = 60
"""Longest id, in columns."""


class Mark(NamedTuple):
    """The mark of a cell: the number of one of six colours, or bold letters, and ``words`` that appear on it."""

    words: str = ""
    colour: int | None = None
    bold: bool = False


NO_MARKS: Mapping[tuple[int, int], Mark] = {}


@cache
def environment(*packages: str) -> Environment:
    """Return the environment for the templates in ``packages``, then for the shared ones.

    Templates are in the folder ``templates`` of a package. The filters are ``share`` (a similarity or share, cut
    to three digits), ``number``, ``counted("group")``, ``size`` (of bytes), ``percent``, ``printable`` (one line,
    with escapes), ``shown`` (document text with visible marks for invisible characters), ``named`` (an id on one
    line, with its own direction; a long one lacks its middle) and ``whole_name``.
    """
    # here, so that commands without a page need no templates
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=ChoiceLoader([PackageLoader(package, "templates") for package in (*packages, "neardup.display")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters.update(
        share=share,
        number=wording.number,
        counted=wording.counted,
        size=wording.size,
        percent=wording.percent,
        printable=wording.printable,
        shown=shown,
        named=named,
        whole_name=whole_name,
    )
    return templates


def part(macro: str, *values: object) -> Markup:
    """Return the HTML that a macro of the template ``view.html`` makes of the values, which it escapes."""
    markup: Markup = getattr(_macros(), macro)(*values)
    return markup


@cache
def _macros() -> object:
    return environment().get_template("view.html").module


def share(value: float | None, digits: int = 3) -> str:
    """Return a similarity or a share, rounded down; "unknown" for None.

    >>> share(0.99999), share(None)
    ('0.999', 'unknown')
    """
    return UNKNOWN if value is None else wording.similarity(value, digits)


def shown(text: object) -> Markup:
    r"""Return document text as HTML: invisible characters, controls and lone surrogates as boxed escapes.

    >>> shown("<b>\u202e")
    Markup('&lt;b&gt;<code class="unseen">\\u202e</code>')
    """
    from markupsafe import escape

    parts = list(wording.escaped_parts(str(text)))
    return escape(parts[0][0]) if len(parts) == 1 and not parts[0][1] else part("visible", parts)


def named(id: object) -> Markup:
    r"""Return an id as HTML: on one line, with escapes, apart from the direction of the text around it.

    It runs from left to right, as paths do: the suffix is at its end. A long id lacks its middle. A
    line may end behind a separator.

    >>> named("a<b>\n")
    Markup('<bdi dir="ltr" lang="">a&lt;b&gt;\\<wbr>n</bdi>')
    """
    return whole_name(wording.middle_cut(str(id), LONGEST_NAME) or EMPTY)


def whole_name(name: str) -> Markup:
    """Return a name as HTML, in full: see ``named``. A line may end after the separators of a path."""
    return part("name", _SEPARATORS.split(wording.printable(name)))


def self_contained(environment: Environment, template: str, style: str, **values: Any) -> str:
    """Return a page that needs no other file: its style is inside, and its policy allows nothing else."""
    from markupsafe import Markup

    return environment.get_template(template).render(style=Markup(style), policy=policy_for(style), **values)


def page_of_sections(
    heading: str, sections: Iterable[str], generator: str, style: str | None = None, **values: str
) -> str:
    """Return a self-contained page of a heading and sections that are HTML.

    The ``title`` is the heading unless it is given; ``style`` None is that of all pages.
    """
    page = {"title": heading, "heading": heading, "generator": generator, **values}
    sheet = page_style() if style is None else style
    return self_contained(environment(), "sections.html", sheet, sections=list(sections), **page)


def policy_for(style: str) -> str:
    """Return the content security policy of a self-contained page: nothing but this style."""
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def fragment(*parts: str, style: str, kind: str = "neardup") -> str:
    """Return HTML for a notebook: the parts, and the style that only they follow. ``kind`` are its classes."""
    from markupsafe import Markup

    return str(part("fragment", parts, Markup(style), kind))


def view(*parts: str) -> str:
    """Return the view of a value in a notebook: the parts, which the functions below make."""
    return fragment(*parts, style=notebook_style(), kind="neardup view")


def heading(words: str) -> Markup:
    """Return a heading, escaped."""
    return part("heading", words, 4)


def paragraph(words: str) -> Markup:
    """Return a paragraph, escaped."""
    return part("paragraph", words)


def preformatted(words: str) -> Markup:
    """Return lines in a monospaced font, escaped."""
    return part("preformatted", words)


def facts(lines: Iterable[wording.Line]) -> Markup:
    """Return labelled lines as a table; both are escaped."""
    return part("facts", lines)


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: frozenset[int] = frozenset(),
    *,
    inline: bool = True,
    marks: Mapping[tuple[int, int], Mark] = NO_MARKS,
) -> Markup:
    """Return a table of cells, all escaped; the columns ``numbers`` are flush right.

    ``inline``: the cells have their side as a style attribute, too, which pages with a policy do not allow.
    ``marks`` are those of cells, by row and column from 0.
    """
    return part("table", head, rows, numbers, inline, marks)


def name_of(id: object) -> str:
    """Return an id on one line, with escapes; a long one is cut.

    >>> name_of("a\\n")
    'a\\\\n'
    """
    return wording.shorten(wording.printable(id)[: 4 * NAME], NAME)


def excerpt(text: str, width: int = WORDS) -> str:
    r"""Return the beginning of a text on one line, with escapes.

    >>> excerpt("pay\u202e  12\r\nnow and then", 14)
    'pay\\u202e 12…'
    """
    # not more than the line could show: the text may be long
    flat = " ".join(text[: 8 * width].split())
    shown = "".join(part for part, _ in wording.escaped_parts(flat))
    return wording.shorten(shown if len(text) <= 8 * width else shown + "…", width).replace(" …", "…")


class Public:
    """The base of public classes: their view in a notebook; missing attributes and keywords name the right one.

    >>> Public().jaccard
    Traceback (most recent call last):
    AttributeError: 'Public' object has no attribute 'jaccard'
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        check_keywords_of_methods(cls)

    if not TYPE_CHECKING:  # a type checker would take any attribute for one that is there

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or hasattr(type(self), name):
                return object.__getattribute__(self, name)  # fails again, with the error of a property
            raise missing_attribute_error(f"{type(self).__name__!r} object", name, self._spellings(), self)

    def _spellings(self) -> Mapping[str, str]:
        """The names that a missing attribute may mean, with their spellings."""
        union = {"merge": "a | b", "union": "a | b"} if hasattr(type(self), "__or__") else {}
        return {name: repr(name) for name in dir(self)} | union

    def _repr_html_(self) -> str:
        return view(preformatted(repr(self)))


class PlainData(Public):
    """The base of public records, which are dataclasses: plain data, and a view of their fields in a notebook.

    A field that begins with "_" is left out. ``_data`` names other attributes than the fields, if it is not empty.
    """

    __slots__ = ()

    _data: ClassVar[tuple[str, ...]] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the values as plain data: records as dicts; tuples, arrays and tables as lists."""
        return {name: plain_data(getattr(self, name)) for name in self._names_of_data()}

    def _names_of_data(self) -> Iterable[str]:
        names: Iterable[str] = self._data or (field.name for field in fields(self))  # type: ignore[arg-type]
        return (name for name in names if not name.startswith("_"))

    def _repr_html_(self) -> str:
        lines = [(name.replace("_", " "), _brief(getattr(self, name))) for name in self._names_of_data()]
        return view(heading(type(self).__name__), facts(lines))


def plain_data(value: Any) -> Any:
    """Return a value as plain data, as ``json`` takes it.

    >>> plain_data({"places": (1, 2), "of": frozenset("a")})
    {'places': [1, 2], 'of': ['a']}
    """
    if hasattr(value, "as_dict"):
        return value.as_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain_data(inner) for name, inner in value.items()}
    if isinstance(value, Set | Sequence) and not isinstance(value, str | bytes):
        items = sorted(value, key=str) if isinstance(value, Set) else value
        return [plain_data(inner) for inner in items]
    for method in ("to_pylist", "tolist"):  # of tables, and of arrays
        if hasattr(value, method):
            return getattr(value, method)()
    return str(value) if isinstance(value, PurePath) else value


def _brief(value: Any) -> str:
    """Return a value on one line: a record, text or number, or how many items there are."""
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return excerpt(value if isinstance(value, str) else repr(value))
    return wording.counted(len(value), "item")
