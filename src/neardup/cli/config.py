"""Options from ``neardup.toml``, or ``[tool.neardup]`` of ``pyproject.toml``, in the working directory only.

Settings, ``text`` and ``id`` may be at the top, for all commands that have them; tables such as ``[dedup]`` hold
the options of one command. The command line wins. The whole file is checked, so that a slip is found at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neardup import display
from neardup.cli.commands import COMMANDS
from neardup.cli.messages import ERROR, error, note
from neardup.cli.option import NEVER, TOP, Option, SettingOptions
from neardup.cli.options.general import CONFIG, NO_CONFIG
from neardup.errors import InputError, NeardupError, SettingError
from neardup.settings import FIELDS, OPTION_FIELDS

if TYPE_CHECKING:
    from neardup.deduplication.results import ConfigAccount

NAMES = ("neardup.toml", "pyproject.toml")
MOST_BYTES = 1 << 20
_SHOWN = 200
"""The most characters of a value in an error."""
_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
    list: "a text in quotes, or a list of them",
}


@dataclass(frozen=True)
class Config:
    """The checked options of a file, by command and by the name of the option."""

    name: str
    options: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class AppliedConfig:
    """The file whose options a command uses, and these options: those of the file that were not typed."""

    file: str
    options: Mapping[str, Any]

    def account(self) -> ConfigAccount:
        """Return the file and the options for ``run.json``."""
        from neardup.deduplication.results import ConfigAccount

        return ConfigAccount(self.file, {name: _meant(name, value) for name, value in self.options.items()})


applied_here: ContextVar[AppliedConfig | None] = ContextVar("applied_here", default=None)


def config_parameters() -> tuple[inspect.Parameter, ...]:
    """Return the parameters of the two options, for the signature of a command."""
    without = typer.Option(*NO_CONFIG.spelling, is_eager=True, help=NO_CONFIG.help)
    named = typer.Option(
        *CONFIG.spelling, is_eager=True, callback=_read_config, metavar=CONFIG.metavar, help=CONFIG.help
    )
    kind = inspect.Parameter.KEYWORD_ONLY
    return (
        inspect.Parameter("no_config", kind, default=False, annotation=Annotated[bool, without]),
        inspect.Parameter("config", kind, default=None, annotation=Annotated[Path | None, named]),
    )


def _read_config(context: typer.Context, value: Path | None) -> Path | None:
    """Make the options of the file the defaults of the command."""
    if context.resilient_parsing or (context.params.get("no_config") and value is None):
        return value
    if value is None and not any(Path(name).is_file() for name in ("neardup.toml", "pyproject.toml")):
        return value
    try:
        entries = find_config(value)
    except NeardupError as failure:
        error(failure.lines())
        raise typer.Exit(ERROR) from None
    options = {} if entries is None else dict(entries.options.get(context.command.name or "", {}))
    if entries is not None and options:
        context.default_map = options
        context.obj = entries.name
    return value


@contextmanager
def announced_options(context: typer.Context, given: dict[str, Any]) -> Iterator[None]:
    """Name on standard error the options ``given`` in a file, and remember them for ``run.json``."""
    if not given or not isinstance(context.obj, str):
        yield
        return
    named = ", ".join(name.replace("_", "-") for name in given)
    note(f"options from {context.obj}: {named}")
    before = applied_here.set(AppliedConfig(context.obj, given))
    try:
        yield
    finally:
        applied_here.reset(before)


def given_here(explicit: frozenset[str]) -> frozenset[str]:
    """Return the names of the options that were typed (``explicit``) or come from a file."""
    applied = applied_here.get()
    return explicit if applied is None else explicit | applied.options.keys()


def given_settings(settings: SettingOptions, explicit: frozenset[str]) -> dict[str, Any]:
    """Return the settings that were given on the command line or in a file of options."""
    given, read = given_here(explicit), settings.read()
    if "sketch" in given:
        given |= settings.in_sketch().keys()
    return {name: getattr(read, name) for name in FIELDS if name in given}


def find_config(file: Path | None) -> Config | None:
    """Read the named file, or the first of NAMES in the working directory that has options; None without one.

    Raises InputError for a file that cannot be read, and SettingError for an option that is wrong.
    """
    if file is not None:
        entries = _read(file)
        return _check(file, {} if entries is None else entries)
    for path in map(Path, NAMES):
        if path.is_file() and (entries := _read(path)) is not None:
            return _check(path, entries)
    return None


def _meant(name: str, value: Any) -> Any:
    """The value of an option; a setting may be written as a text, such as 80%."""
    field = OPTION_FIELDS.get(name)
    return value if field is None or isinstance(value, list) else field.rule.value(value)


def _read(path: Path) -> dict[str, Any] | None:
    """Read the options in a file; None for a ``pyproject.toml`` without any."""
    import tomllib

    from neardup.io.files import beginning

    try:
        data = beginning(path, MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise _unusable_error(path, f"it has more than {MOST_BYTES:,} bytes")
        entries = tomllib.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise _unusable_error(path, error.strerror or str(error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unusable_error(path, str(error)) from error
    except ValueError as error:  # its words are those of a setting of the interpreter
        raise _unusable_error(path, "a number has thousands of digits") from error
    if path.name != "pyproject.toml":
        return entries
    tools = entries.get("tool")
    own = tools.get("neardup") if isinstance(tools, dict) else None
    return own if isinstance(own, dict) else None


def _unusable_error(path: Path, why: str) -> InputError:
    return InputError(
        f"{display.printable(str(path))} cannot be used: {display.printable(why)}",
        "A file in TOML, such as threshold = 0.7",
        "Correct it, or give --no-config",
    )


def _check(path: Path, entries: Mapping[str, Any]) -> Config:
    name = display.printable(str(path))
    commands = {name: command.options for name, command in COMMANDS.items()}
    options: dict[str, dict[str, Any]] = {command: {} for command in commands}
    top = _top(commands)
    for key, value in entries.items():
        if isinstance(value, dict):
            if key not in commands:
                raise _unknown_error(f"{name}: there is no command {_quote(key)}", key, [*commands])
            options[key].update(_of_command(f"{name}, [{key}]", value, commands[key]))
    for key, value in entries.items():
        option = top.get(_name(key))
        if isinstance(value, dict):
            continue
        if option is None:
            raise _misplaced_error(name, key, commands)
        checked = _value(f"{name}: {key}", value, option)
        for command, every in commands.items():
            if option.name in {one.name for one in every if one.from_file == TOP}:
                options[command].setdefault(option.name, checked)
    return Config(str(path), options)


def _top(commands: Mapping[str, tuple[Option, ...]]) -> dict[str, Option]:
    return {option.name: option for every in commands.values() for option in every if option.from_file == TOP}


def _of_command(where: str, entries: Mapping[str, Any], options: tuple[Option, ...]) -> Iterator[tuple[str, Any]]:
    by_name = {_option_name(option): option for option in options if option.spelling}
    for key, value in entries.items():
        option = by_name.get(_name(key))
        if option is None:
            names = [name for name, option in by_name.items() if option.from_file != NEVER]
            raise _unknown_error(f"{where}: there is no option {_quote(key)}", key, names)
        if option.from_file == NEVER:
            raise SettingError(
                f"{where}: {key} cannot be in a file", "Options that open and replace nothing", f"Type --{key}"
            )
        yield option.name, _value(f"{where}: {key}", value, option)


def _option_name(option: Option) -> str:
    return _name(option.spelling[-1].lstrip("-"))


def _name(key: str) -> str:
    return key.replace("-", "_")


def _value(where: str, value: Any, option: Option) -> Any:
    """Return a value as the option has it. Raises SettingError that names the file and the key."""
    many = "list" in str(option.type)
    field = OPTION_FIELDS.get(option.name)
    right = _is_right(value, option, many)
    if field is not None:
        meant = field.rule.value(value) if not isinstance(value, list) else tuple(map(field.rule.value, value))
        if not (right or field.right_type(meant)) or not field.right_type(meant) or not field.rule.holds(meant):
            hint = field.rule.hint(meant) if isinstance(meant, str) else ""
            raise SettingError(f"{where} is {_quote(value)}", field.rule.allowed, hint)
        return [*map(str, value)] if isinstance(value, list) else [value] if many else value
    if not right:
        raise SettingError(f"{where} is {_quote(value)}", _KINDS[list if many else _kind(option)])
    return [value] if many and not isinstance(value, list) else value


def _kind(option: Option) -> type:
    named = str(option.type)
    return next((kind for kind in (bool, int, float) if kind is option.type or f"{kind.__name__} |" in named), str)


def _is_right(value: Any, option: Option, many: bool) -> bool:
    if many:
        values = value if isinstance(value, list) else [value]
        return all(isinstance(one, str) for one in values)
    kind = _kind(option)
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    return isinstance(value, (int, float) if kind is float else kind)


def _quote(value: Any) -> str:
    shown = display.printable(repr(value) if not isinstance(value, bool) else str(value).lower())
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"


def _unknown_error(given: str, key: str, names: list[str]) -> SettingError:
    shown = [name.replace("_", "-") for name in names]
    near = display.meant(key, shown)
    return SettingError(given, ", ".join(shown), f"Did you mean {near[0]}?" if near else "")


def _misplaced_error(name: str, key: str, commands: Mapping[str, tuple[Option, ...]]) -> SettingError:
    """The error for a key at the top that is no setting: of one command, or of none."""
    shared = sorted(one.replace("_", "-") for one in _top(commands))
    near = display.meant(key, shared)
    of = [
        command
        for command, options in commands.items()
        if _name(key) in {_option_name(option) for option in options if option.spelling}
    ]
    if of and not near:
        return SettingError(
            f"{name}: {key} is an option of single commands",
            "Settings, text and id at the top",
            f"Move it to [{of[0]}]",
        )
    return SettingError(
        f"{name}: there is no setting {_quote(key)}",
        "The settings, text and id; and tables of commands, such as [dedup]",
        f"Did you mean {near[0]}?" if near else "neardup dedup --help lists them",
    )
