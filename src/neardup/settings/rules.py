"""Fields of settings records: their rows in the table of all settings, and the rules for their values."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from neardup.display import near_miss
from neardup.errors import SettingError
from neardup.settings.extensions import tokenizer_names
from neardup.settings.stop_words import chosen, is_choice

KEEP_ORDERS = ("longest", "first", "last")
KEEP_COLUMN = ("max:", "min:")
KEEP_VALUES = "order:"
KEEP_NONE = "none"
KEEP_DIGITAL = "digital"
_ORIGINS = "order:origin=digital,unknown,scan"
"""The meaning of ``digital``: an order of the origins of documents."""

NO_LIMIT = "none"
_GIGABYTES = {"KB": 1e-6, "MB": 1e-3, "GB": 1.0, "TB": 1e3}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(KB|MB|GB|TB)?", re.IGNORECASE | re.ASCII)
_ONE_BYTE = re.compile(r"(?:^|[^\\])(?:\\\\)*\\C")
_SHARE = re.compile(r"(\d+(?:\.\d*)?|\.\d+) ?(%)?", re.ASCII)

_NOT_FOR_DOCUMENTS = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "mbcs", "oem", "undefined"}
_SUFFIX = re.compile(r"auto|\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")

_KEEP = {
    "order": "Name the column and its values, the preferred one first: order:COLUMN=a,b,c.",
    "all": "To remove nothing, use neardup group or --dry-run.",
    "both": "To remove nothing, use neardup group or --dry-run.",
    "newest": "To keep the newest one, name the column of dates: max:COLUMN.",
    "latest": "To keep the latest one, name the column of dates: max:COLUMN.",
    "oldest": "To keep the oldest one, name the column of dates: min:COLUMN.",
    "earliest": "To keep the earliest one, name the column of dates: min:COLUMN.",
    "shortest": "To keep the shortest one, name a column of lengths: min:COLUMN.",
    "max": "Name the column: max:COLUMN.",
    "min": "Name the column: min:COLUMN.",
}
"""Advice for common values that are neither an order nor a column."""

MOST_MASKS, MOST_CHARACTERS = 32, 1_000
SYNTAX = "https://github.com/google/re2/wiki/Syntax"

WIDTHS = range(64, 1025, 64)
"""The widths of a fingerprint in bits."""
WIDTHS_ALLOWED = "a multiple of 64 bits up to 1024"
LONGEST_FEATURE = 64

INPUT, ACCESS, COMPARED, SEARCH, GROUPS = "Input", "Access", "What is compared", "Search", "Groups"
STAY, EARLIER, OUTPUT, WORK, OTHER = "Kept documents", "Earlier results", "Output", "Work", "Help"

PANELS = (INPUT, ACCESS, COMPARED, SEARCH, GROUPS, STAY, EARLIER, OUTPUT, WORK, OTHER)
"""The purposes, in the order of the help."""


@dataclass(frozen=True)
class Rule:
    """The allowed values of a field: ``allowed`` describes them, ``holds`` tests a value of the right type.

    ``hint`` suggests the intended value for a refused one, or returns "". ``read`` makes a value of the right type
    from a text that people write, and returns any other value as it is. ``choices`` are the words among the
    allowed values, for a shell to complete.
    """

    allowed: str
    holds: Callable[[Any], bool]
    hint: Callable[[Any], str] = lambda value: ""
    read: Callable[[Any], Any] | None = None
    choices: tuple[str, ...] = ()

    def value(self, given: Any) -> Any:
        """The value that a ``given`` one means."""
        return given if self.read is None else self.read(given)


TRUE_OR_FALSE = Rule("true or false", lambda value: True)
OPTIONAL_COLUMN = Rule("the name of a column", lambda value: True)


def number(low: float, high: float, unit: str = "") -> Rule:
    """Return the rule for a number from ``low`` to ``high``, both included.

    >>> number(0.001, 1_000_000, "GB").allowed
    'a number from 0.001 to 1,000,000 GB'
    """
    words = f"a number from {_number_text(low)} to {_number_text(high)}" + (f" {unit}" if unit else "")
    return Rule(words, lambda value: low <= value <= high)


def memory_size(low: float, high: float) -> Rule:
    """Return the rule for an amount of memory in gigabytes from ``low`` to ``high``; 0, "none", is no limit.

    >>> rule = memory_size(0.001, 1_000_000)
    >>> rule.value("500MB"), rule.value("1.5 GB"), rule.value("2"), rule.value("none"), rule.value("much")
    (0.5, 1.5, 2.0, 0.0, 'much')
    """
    least, most = _number_text(low), _number_text(high)
    words = f"a size such as 500MB or 2GB, a number from {least} to {most} (GB), or {NO_LIMIT}"
    return Rule(words, lambda value: value == 0 or low <= value <= high, read=_gigabytes)


def _gigabytes(given: Any) -> Any:
    """The gigabytes that a text names; anything else as it is."""
    if given == NO_LIMIT:
        return 0.0
    match = _SIZE.fullmatch(given.strip()) if isinstance(given, str) else None
    if match is None:
        return given
    return float(match[1]) * _GIGABYTES[(match[2] or "GB").upper()]


def _number_text(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def similarity(low: float, words: str) -> Rule:
    """Return the rule for a threshold above ``low`` and at most 1.

    It is a ratio of whole numbers up to 1,000,000, which the kernels compare exactly.
    """

    def holds(value: float) -> bool:
        return low < value <= 1 and Fraction(repr(float(value))).denominator <= 1_000_000

    return Rule(f"{words}, with at most six decimals, or a percentage such as 80%", holds, of_share, share_of)


def share(words: str) -> Rule:
    """Return the rule for a share from 0 to 1: a ratio of whole numbers up to 1,000,000, like a threshold."""

    def holds(value: float) -> bool:
        return 0 <= value <= 1 and Fraction(repr(float(value))).denominator <= 1_000_000

    def hint(value: object) -> str:
        is_percent = isinstance(value, int | float) and not isinstance(value, bool) and 1 < value <= 100
        return f"Did you mean {value / 100:g}?" if is_percent else ""  # type: ignore[operator]

    return Rule(f"{words}, with at most six decimals, or a percentage such as 5%", holds, hint, share_of)


def share_of(given: Any) -> Any:
    """Return the share that a text means, and any other value as it is: "80%" and "0.8" are 0.8.

    This is the one parser of shares: for settings, options, parameters of requests and of methods.

    >>> share_of("80%"), share_of("0.8"), share_of(" 33.3333 % "), share_of(0.8), share_of("most")
    (0.8, 0.8, 0.333333, 0.8, 'most')
    """
    match = _SHARE.fullmatch(given.strip()) if isinstance(given, str) else None
    if match is None:
        return given
    return float(Decimal(match[1]) / (100 if match[2] else 1))  # as decimals: 0.29 * 100 is not 29


def required_share(name: str, given: Any) -> float:
    """Return a share above 0 and at most 1, of at most six decimals; text such as "80%" is read.

    Raises SettingError for anything else.

    >>> required_share("overlap", "80%")
    0.8
    """
    value = share_of(given)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value <= 1 or Fraction(repr(float(value))).denominator > 1_000_000:
        allowed = "A number above 0, at most 1, of at most 6 decimals, or a percentage such as 80%"
        raise SettingError(f"{name} is {value!r}", allowed, of_share(value))
    return float(value)


def one_of(*names: str, aliases: Mapping[str, str] | None = None, elsewhere: Mapping[str, str] = {}) -> Rule:
    """Return the rule for one of ``names``, or one of ``aliases``, which maps further names to them.

    ``elsewhere`` has values that something else takes, each with the advice.

    >>> one_of("resemblance", "overlap", aliases={"jaccard": "resemblance"}).allowed
    'one of resemblance (or jaccard), overlap'
    """
    further = aliases or {}
    known = (*names, *further)
    also = {name: alias for alias, name in further.items()}
    words = ", ".join(f"{name} (or {also[name]})" if name in also else name for name in names)
    return Rule(
        f"one of {words}",
        lambda value: value in known,
        lambda value: elsewhere.get(str(value)) or near_miss(value, known),
        choices=known,
    )


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return a value that may be one or several as several.

    >>> as_tuple("longest"), as_tuple(["max:date", "first"])
    (('longest',), ('max:date', 'first'))
    """
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def several(rule: Rule, least: int = 0) -> Rule:
    """Return the rule for at least ``least`` different values, each of which meets ``rule``."""

    def holds(value: Any) -> bool:
        given = as_tuple(value)
        return least <= len(given) == len(set(map(repr, given))) and all(map(rule.holds, given))

    def hint(value: Any) -> str:
        given = list(map(repr, as_tuple(value)))
        if len(set(given)) < len(given):
            return "Give each one once."
        return next((hint_of_one for one in as_tuple(value) if (hint_of_one := rule.hint(one))), "")

    return Rule(rule.allowed, holds, hint)


def keep_policy(value: str) -> bool:
    """Whether ``value`` is an order, a column whose largest or smallest value decides, or a list of values."""
    if value == KEEP_DIGITAL or value.startswith(KEEP_VALUES):
        return order_of(value) is not None
    return value in (*KEEP_ORDERS, KEEP_NONE) or (value.startswith(KEEP_COLUMN) and len(value) > 4)


def keep_policies(value: Any) -> bool:
    """Whether each policy in ``value`` can decide: none stands alone, and first and last leave no ties."""
    policies = as_tuple(value)
    return (KEEP_NONE not in policies or len(policies) == 1) and not set(policies[:-1]) & {"first", "last"}


def order_of(policy: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the column and the values of ``order:COLUMN=a,b,c`` or ``digital``; None for another policy.

    >>> order_of("order:split=test,train"), order_of("order:split=a,a"), order_of("order:split")
    (('split', ('test', 'train')), None, None)
    >>> order_of("digital")
    ('origin', ('digital', 'unknown', 'scan'))
    """
    policy = _ORIGINS if policy == KEEP_DIGITAL else policy
    column, _, values = policy.removeprefix(KEEP_VALUES).partition("=")
    listed_values = tuple(value.strip() for value in values.split(","))
    fits = policy.startswith(KEEP_VALUES) and column and all(listed_values)
    return (column, listed_values) if fits and len(set(listed_values)) == len(listed_values) else None


def is_suffix(value: object) -> bool:
    """Return whether this is auto or the suffix of a file."""
    return isinstance(value, str) and bool(_SUFFIX.fullmatch(value))


def is_encoding(name: str) -> bool:
    """Whether ``name`` is auto, or a text encoding that Python supports."""
    if name == "auto":
        return True
    if name.lower().replace("-", "_") in _NOT_FOR_DOCUMENTS:
        return False
    try:
        return "\n" in "\n".encode(name).decode(name)
    except (LookupError, ValueError, TypeError):
        return False


def is_delimiter(value: str) -> bool:
    """Whether ``value`` may separate the fields of a line."""
    return len(value) == 1 and value.isascii() and (value == "\t" or value.isprintable()) and value not in "\"'"


def of_keep(value: object, orders: Iterable[str]) -> str:
    """Suggest the intended keep policy.

    >>> of_keep("max", ["first", "last"])
    'Name the column: max:COLUMN.'
    """
    policies = as_tuple(value)
    if KEEP_NONE in policies and len(policies) > 1:
        return "Give none alone: no document of a group is kept, so nothing is left to choose."
    early = [policy for policy in policies[:-1] if policy in ("first", "last")]
    if early:
        return f"Give {early[0]} last: it leaves no ties for the policies after it."
    if len(set(map(str, policies))) < len(policies):
        return "Give each policy once."
    return next((hint for policy in policies if (hint := _of_policy(policy, orders))), "")


def _of_policy(policy: object, orders: Iterable[str]) -> str:
    if not isinstance(policy, str) or keep_policy(policy):
        return ""
    if policy.startswith(KEEP_VALUES) and len(policy) > len(KEEP_VALUES):
        return "Name each value of the column once, the preferred one first: order:COLUMN=a,b,c."
    return _KEEP.get(policy.lower().strip().removesuffix(":")) or near_miss(policy, orders)


def of_features(value: object) -> str:
    """Suggest the intended name of features: the kind, or the missing number.

    >>> of_features("words"), of_features("char"), of_features("char:99")
    ("Did you mean 'word'?", "Did you mean 'char:4'?", '')
    """
    if not isinstance(value, str) or any(map(str.isdigit, value)):
        return ""
    return near_miss(value, ("word", "char:4", "joined:4", "shingle:5"))


def of_share(value: object) -> str:
    """Suggest a share for a number that looks like per cent.

    >>> of_share(80), of_share(2)
    ('Did you mean 0.8?', '')
    """
    is_percent = isinstance(value, int | float) and not isinstance(value, bool) and 10 <= value <= 100
    return f"Did you mean {value / 100:g}?" if is_percent else ""  # type: ignore[operator]


def masks_rule() -> Rule:
    """Return the rule for masks, one or several.

    >>> rule = masks_rule()
    >>> rule.holds([r"\\d{4}", "(?i)page"]), rule.holds("a(?=b)"), rule.hint("a(?=b)")
    (True, False, 'Correct it; RE2 says: invalid perl operator: (?=')
    """
    allowed = (
        f"RE2 expressions ({SYNTAX}: no look-ahead, look-behind, backreferences or \\C), up to {MOST_MASKS} of at "
        f"most {MOST_CHARACTERS:,} characters, that do not match the empty text"
    )
    each = several(Rule(allowed, lambda value: not _fault(value), _fault))
    return Rule(allowed, lambda value: len(as_tuple(value)) <= MOST_MASKS and each.holds(value), each.hint)


def tokenizer_rule() -> Rule:
    """Return the rule for the name of a tokenizer.

    >>> tokenizer_rule().holds("code"), tokenizer_rule().holds("no such")
    (True, False)
    """

    return Rule(
        "the name of a tokenizer: code, or one that an installed package registers (neardup.tokenizers)",
        lambda value: value == "" or value in tokenizer_names(),
        lambda value: f"Choose one of {', '.join(tokenizer_names())}, or install the package that has it",
    )


def stop_words_rule() -> Rule:
    """Return the rule for a choice of stop words: languages, words, or a choice that was made of these.

    >>> stop_words_rule().value(["The", "and"])
    'words:and the'
    """

    return Rule("a language such as en, several with commas, or words", is_choice, read=chosen)


def fault_of(mask: str) -> str:
    """Return the way to correct a mask that cannot be used; "" for one that can.

    >>> fault_of(r"\\d{4}-\\d\\d"), fault_of("a(?=b)"), fault_of("x*")
    ('', 'Correct it; RE2 says: invalid perl operator: (?=', 'Write it so that it matches at least one character')
    """
    if _ONE_BYTE.search(mask):
        return r"Leave out \C, which matches a part of a character"
    import pyarrow as pa  # imported late: few settings have masks
    import pyarrow.compute as pc

    try:
        empty = pc.count_substring_regex(pa.array([""]), pattern=mask)[0].as_py()
    except (pa.ArrowException, UnicodeError) as error:
        message = str(error).strip().splitlines()[0].removeprefix("Invalid regular expression: ")
        return f"Correct it; RE2 says: {message}"
    return "Write it so that it matches at least one character" if empty else ""


def _fault(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    size = len(value)
    return fault_of(value) if size <= MOST_CHARACTERS else f"Shorten it: it has {size:,} characters"


def features_of(name: object) -> tuple[str, int] | None:
    """Return the kind (char, joined, word, shingle) and length of the features; None for an unknown ``name``.

    >>> features_of("char:4"), features_of("word"), features_of("char:0")
    (('char', 4), ('word', 1), None)
    """
    if name == "word":
        return "word", 1
    matched = re.fullmatch(r"(char|joined|shingle):([1-9][0-9]?)", name) if isinstance(name, str) else None
    if matched is None or int(matched[2]) > LONGEST_FEATURE:
        return None
    return matched[1], int(matched[2])


def check(bits: int, distance: int) -> None:
    """Raise SettingError unless ``bits`` is a supported width and ``distance`` is allowed for it."""
    if bits not in WIDTHS:
        raise SettingError(f"bits is {bits}", WIDTHS_ALLOWED)
    most = min(bits // 4, 255)  # tables of pairs have a byte for it
    if not 0 <= distance <= most:
        raise SettingError(
            f"distance is {distance}",
            f"a number from 0 to {most}, since unrelated fingerprints differ in about {bits // 2} of {bits} bits",
        )


@dataclass(frozen=True)
class Field:
    """One row of the table of settings.

    ``many``: several values of the type may be given. ``panel``: the purpose under which the help shows it.
    ``metavar``: the word for a value in the help; "" for a name or a number.
    """

    record: str
    name: str
    default: Any
    type: type
    rule: Rule
    help: str
    many: bool = False
    panel: str = ""
    metavar: str = ""

    @property
    def written(self) -> Any:
        """The type of a value on the command line, before ``rule.read``."""
        return self.type if self.rule.read is None else str

    @property
    def option(self) -> str:
        """The spelling on the command line, for example ``--only-contained``."""
        return "--" + self.name.replace("_", "-")

    def right_type(self, value: Any) -> bool:
        """Whether ``value`` is of the type of the setting, or a list of such values if it may be several."""
        accepted = (int, float) if self.type is float else (self.type,)
        given = as_tuple(value) if self.many else (self.rule.value(value),)
        return all(isinstance(one, accepted) and (self.type is bool or type(one) is not bool) for one in given)

    def canonical(self, value: Any) -> Any:
        """Return an allowed value as the records hold it: several as a tuple, one ``keep`` policy as itself."""
        if not self.many:
            return self.type(self.rule.value(value))
        values = tuple(map(self.type, as_tuple(value)))
        return values[0] if len(values) == 1 and isinstance(self.default, self.type) else values


def setting(default: Any, rule: Rule, text: str, *, many: bool = False, panel: str = "", metavar: str = "") -> Any:
    """Return the declaration of a field of a record; without ``panel`` it has the ``PANEL`` of its record."""
    described = {"rule": rule, "help": text, "many": many, "panel": panel, "metavar": metavar}
    return dataclasses.field(default=default, metadata=described)
