"""The options of a command: the fields of its record, from which its signature, help and reference page are made.

Each command has one frozen record. Its fields name and type the options, in the order of the help; ``Declared``
adds the spelling, the default and the help. ``app.py`` reads the options, ``fill_record`` makes the record, and
the command receives it, so that mypy follows each value from the command line into the library.
"""

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_type_hints

from neardup.display import meant
from neardup.errors import SettingError
from neardup.settings import (
    COLLECTION_FIELDS,
    FIELDS,
    INPUT,
    NO_LIMIT,
    OPTION_FIELDS,
    OTHER,
    BaseTextSettings,
    Cleaning,
    Field,
    GroupSettings,
    Keep,
    ReadingSettings,
    Relations,
    SampleSettings,
    SearchSettings,
    Settings,
    Shingles,
    SimHashing,
    Sketch,
    Work,
    sketch_settings,
)

REQUIRED = inspect.Parameter.empty
METAVARS = {float: "NUMBER", int: "NUMBER", str: "NAME"}
TOP, TABLE, NEVER = "top", "table", "never"
"""Where an option may be in ``neardup.toml``: at the top, for all commands; in the table of its command; nowhere,
because a folder of another person must neither replace files nor open the network.
"""
OUTPUT_AT_URL, RESULT_AT_URL, WHOLE_AT_URL, FINGERPRINTS_AT_URL = "output", "result", "whole", "fingerprints"
TABLE_AT_URL = "table"
T = TypeVar("T")


@dataclass(frozen=True)
class Declared:
    """The parts of an option that a type does not show; without a spelling it is an argument.

    A switch that is on by default has two spellings, the one with ``--no-`` first.

    ``read`` makes the value from the typed text, such as .8 from 80%. ``panel`` is the purpose under which a long
    help shows it, ``from_file`` the place in ``neardup.toml``, and ``choices`` the words that a shell completes.
    ``at_url`` names the thing that may be at a URL: an output, a result (also with its documents),
    fingerprints or a table.
    """

    spelling: tuple[str, ...]
    default: Any
    help: str
    metavar: str | None = None
    read: Callable[[Any], Any] | None = None
    panel: str = OTHER
    from_file: str = TABLE
    choices: tuple[str, ...] = ()
    at_url: str = ""

    @classmethod
    def of_field(cls, field: Field, *, more: str = "", from_file: str = TOP) -> "Declared":
        """Return the option of a setting; ``more`` is said after its help."""
        text = f"{field.help} {more}".rstrip()
        text = text if field.type is bool else f"{text} Allowed: {field.rule.allowed}."
        default = [field.default] if field.many and field.default else field.default
        metavar = field.metavar or METAVARS.get(field.type)
        spelling, rule = (field.option,), field.rule
        return cls(spelling, default, text, metavar, rule.read, field.panel, from_file, rule.choices)

    def field(self) -> Any:
        """Return the field of a record that holds this option."""
        metadata = {"declared": self}
        if self.default is REQUIRED:
            return dataclasses.field(metadata=metadata)
        if self.default == ():
            return dataclasses.field(default_factory=list, metadata=metadata)
        return dataclasses.field(default=self.default, metadata=metadata)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CommandOptions:
    """The record of a command, whose documentation is its help; ``explicit``: the names of the given options.

    ``EXAMPLES``: what to type, and the effect; commands with a long help have two. ``WITHOUT``: the options of
    long work that make no sense for the command, each with the reason.
    """

    EXAMPLES: ClassVar[tuple[tuple[str, str], ...]] = ()
    WITHOUT: ClassVar[Mapping[str, str]] = {}

    explicit: frozenset[str] = frozenset()


def option(
    spelling: str,
    default: Any,
    help: str,
    metavar: str | None = None,
    read: Callable[[Any], Any] | None = None,
    *,
    panel: str = OTHER,
    from_file: str = TABLE,
    at_url: str = "",
) -> Any:
    """Return a field with an option that only this command has."""
    return Declared((spelling,), default, help, metavar, read, panel, from_file, at_url=at_url).field()


def argument(metavar: str, help: str) -> Any:
    """Return a field with a required argument that only this command has."""
    return Declared((), REQUIRED, help, metavar, panel=INPUT).field()


def setting(name: str, **changed: Any) -> Any:
    """Return a field with the option of a setting; ``changed`` replaces its default."""
    return dataclasses.replace(Declared.of_field(OPTION_FIELDS[name]), **changed).field()


@dataclass(frozen=True)
class SettingOptions(
    Shingles,
    Cleaning,
    BaseTextSettings,
    Sketch,
    SimHashing,
    SearchSettings,
    GroupSettings,
    Relations,
    Keep,
    ReadingSettings,
    Work,
    SampleSettings,
):
    """The options of all settings as they were given, not yet checked: of a run, and of a collection."""

    def read(self) -> "SettingOptions":
        """Read a file of words in place of its name; return options with them, and the parts of ``sketch``.

        Raises SettingError for a sketch that there is not.
        """
        words = stop_words(self.stop_words) if self.stop_words else ""
        return dataclasses.replace(self, stop_words=words, **self.in_sketch())

    def in_sketch(self) -> dict[str, Any]:
        """Return the settings that ``sketch`` names, by name."""
        try:
            return sketch_settings(self.sketch)
        except ValueError:
            rule = OPTION_FIELDS["sketch"].rule
            raise SettingError(f"--sketch is {self.sketch!r}", rule.allowed, rule.hint(self.sketch)) from None

    def to_settings(self) -> Settings:
        """Return the settings. Raises one SettingError that names all mistakes."""
        values = asdict(self.read())
        return Settings.of(**{name: values[name] for name in FIELDS})


def stop_words(given: str) -> str:
    """Return the choice of stop words: of a language, or of the words in the file of that name.

    Raises InputError for a file that cannot be read.
    """
    from neardup.settings import chosen, is_choice, is_language

    if is_language(given) or is_choice(given):
        return str(chosen(given))
    from neardup.io.inputs import words_in

    return str(chosen(words_in(Path(given))))


def all_settings(*, without: frozenset[str] = frozenset()) -> Any:
    """Return a field with ``SettingOptions``: the command has the options of all settings but ``without``."""
    return settings_of(*(name for name in OPTION_FIELDS if name not in without))


def settings_of(*names: str) -> Any:
    """Return a field with ``SettingOptions``: the command has the options of the settings ``names``."""
    fields = {name: OPTION_FIELDS[name] for name in names}
    return _of_fields({name: (field, Declared.of_field(field)) for name, field in fields.items()})


def settings_of_new_collection() -> Any:
    """Return a field with ``SettingOptions``: the command has the options of the settings of a collection."""
    more = "Fixed when the collection is made."
    declared = {
        field: Declared.of_field(field, more=more, from_file=TABLE) for field in COLLECTION_FIELDS.values()
    }
    return _of_fields({field.name: (field, option) for field, option in declared.items()})


def _of_fields(options: Mapping[str, tuple[Field, Declared]]) -> Any:
    return dataclasses.field(default=SettingOptions(), metadata={"settings": options})


@dataclass(frozen=True)
class Option(Declared):
    """An option of a command, or an argument if it has no spelling, with the name and the type of its field."""

    name: str = ""
    type: Any = str

    @classmethod
    def of(cls, name: str, type: Any, declared: Declared) -> "Option":
        """Return the option of a field, which is text before ``read``."""
        if declared.read is not None:
            type = str if declared.default is not None else str | None
        return cls(**vars(declared), name=name, type=type)

    @property
    def default_shown(self) -> str:
        """The default as it would be typed."""
        if isinstance(self.default, list):
            return ", ".join(map(str, self.default))
        return NO_LIMIT if self.name == "memory" and not self.default else str(self.default)

    @property
    def shown(self) -> str:
        """The option as the reference page shows it."""
        if not self.spelling:
            return f"{self.metavar}"
        return ", ".join(self.spelling) + (f" {self.metavar}" if self.metavar else "")


_LAST = ("dry_run", "quiet", "verbose", "json", "overwrite")
"""The options that end each list, in this order."""


def options_of(record: type) -> tuple[Option, ...]:
    """Return the options of a record in the order of its fields: the arguments first, those of ``_LAST`` last."""
    return tuple(sorted(_options(record), key=_place))


def _place(option: Option) -> tuple[bool, int]:
    return bool(option.spelling), _LAST.index(option.name) if option.name in _LAST else -1


def _options(record: type) -> Iterator[Option]:
    types = get_type_hints(record)
    for field in dataclasses.fields(record):
        if declared := field.metadata.get("declared"):
            yield Option.of(field.name, types[field.name], declared)
        for name, (of, declared) in field.metadata.get("settings", {}).items():
            written = of.written
            yield Option.of(name, list[written] if of.many else written, declared)  # type: ignore[valid-type]


def fill_record(record: type[T], values: Mapping[str, Any], explicit: frozenset[str]) -> T:
    """Return a record with the values of its options.

    A field ``explicit`` receives ``explicit``, the names of the options that were given.
    """
    found: dict[str, Any] = {}
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        if "settings" in field.metadata:
            # texts are read where settings are checked: a list of stop words may be missing
            given = {
                name: values[name] if of.type is str else of.rule.value(values[name])
                for name, (of, _) in field.metadata["settings"].items()
            }
            found[field.name] = SettingOptions(**given)
        elif field.name in values:
            declared = field.metadata.get("declared")
            value = values[field.name]
            value = declared.read(value) if declared is not None and declared.read and value is not None else value
            found[field.name] = list(value) if isinstance(value, tuple) else value
        elif field.name == "explicit":
            found[field.name] = explicit
    return record(**found)


def meant_option(word: str, options: Sequence[Option]) -> Option | None:
    """Return the option of a command that ``word``, such as ``--num-perm``, may mean; None if none comes to mind.

    >>> from neardup.cli.commands import COMMANDS
    >>> dedup = COMMANDS["dedup"].options
    >>> [meant_option(word, dedup).spelling[-1] for word in ("--num-perm", "--n_jobs", "--treshold")]
    ['--sketch', '--threads', '--threshold']
    """
    by_spelling = {spelling: option for option in options for spelling in option.spelling}
    return next((by_spelling[spelling] for spelling in meant(word, by_spelling)), None)


if TYPE_CHECKING:
    _Path = Path
else:
    _Path = type(Path())  # before Python 3.12, only the class of this system can be derived from


class TypedPath(_Path):
    """A path with the text that the user ``typed``."""

    typed: str


def typed_path(text: str | None) -> Path | None:
    """Return the path of a text, or None for None.

    >>> typed_path("hdfs:///clean").typed
    'hdfs:///clean'
    """
    if text is None:
        return None
    path = TypedPath(text)
    path.typed = text
    return path


def typed_text(path: Path | None) -> str:
    """Return the text that a path was made of, or the URL that it stands for."""
    return str(getattr(path, "typed", path))
