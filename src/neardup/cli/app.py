"""The parser of the command line, built by typer from the table of commands, each when it is asked for."""

import dataclasses
import functools
import inspect
import os
import re
import shlex
from collections.abc import Callable, Iterator
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from neardup.cli import help
from neardup.cli.commands import COLLECTION, COMMANDS, LOOK, ON_COLLECTIONS, PURPOSES, Command
from neardup.cli.config import announced_options, config_parameters
from neardup.cli.messages import guard_command
from neardup.cli.option import (
    FINGERPRINTS_AT_URL,
    OUTPUT_AT_URL,
    RESULT_AT_URL,
    TABLE_AT_URL,
    Option,
    fill_record,
    meant_option,
)
from neardup.cli.options.general import HELP_ALL, LogOptions
from neardup.display import near_miss
from neardup.io.place import require_local, url_in

if TYPE_CHECKING:
    from neardup.io.outputs import Mirror

T = TypeVar("T")

_REPLACED = {
    ("dedup", "--from"): "neardup apply OUT -o DIR",
    ("dedup", "--merged"): "neardup part IN --of OUT -o DIR",
    ("group", "--from"): "neardup regroup OUT --threshold NUMBER -o DIR",
}
"""The commands that replace options of others."""


class _OwnHelp(TyperCommand):
    """A command with the help of ``help.py``."""

    def get_help(self, ctx: Any) -> str:
        return help.page(self.name or "", help.width()).rstrip("\n")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments. The error for an option that is a command now names the command."""
        for word in args:
            if command := _REPLACED.get((self.name or "", word.partition("=")[0])):
                ctx.fail(f"{word} is a command of its own now: {command}")
        for word in self._unknown(args):
            if self.name == f"{COLLECTION} search" and not word.startswith("--"):
                ctx.fail(
                    f"{word} is not an option. A query that begins with a minus sign comes behind --, or has NOT "
                    f"in its place: neardup collection search COLLECTION -- {shlex.quote(word)}"
                )
            if word.startswith("--"):
                ctx.fail(self._in_place_of(word))
        return super().parse_args(ctx, args)

    def _unknown(self, args: list[str]) -> Iterator[str]:
        """Yield the words that the parser would take for options that there are not."""
        known = {spelling for parameter in self.params for spelling in parameter.opts + parameter.secondary_opts}
        known |= {"-h", "--help"}
        valued = {
            at for parameter in self.params if not getattr(parameter, "is_flag", False) for at in parameter.opts
        }
        for before, word in pairwise(["", *takewhile(lambda word: word != "--", args)]):
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            if re.match("--?[^-]", word) and name not in known and before not in valued:
                yield name if word.startswith("--") else word

    def _in_place_of(self, word: str) -> str:
        """The error for an unknown option: the one that may be meant, and the first sentence of its help."""
        name = self.name or ""
        meant = meant_option(word, COMMANDS[name].options)
        if meant is None:
            every = "--help-all" if help.is_long(name) else "--help"
            return f"There is no option {word}. neardup {name} {every} shows those there are."
        return f"There is no option {word}. Did you mean {meant.shown}? {help.first_sentence(meant)}"


class _Commands(TyperGroup):
    """All commands; an input in place of a command is looked at."""

    def get_help(self, ctx: Any) -> str:
        return help.page("", help.width()).rstrip("\n")

    def list_commands(self, ctx: Any) -> list[str]:
        return [*(name for commands in PURPOSES.values() for name in commands), COLLECTION]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, built now, or None."""
        if cmd_name not in self.commands:
            if cmd_name == COLLECTION:
                self.commands[cmd_name] = _OnCollections(name=COLLECTION, no_args_is_help=True)
            elif cmd_name in COMMANDS:
                self.commands[cmd_name] = _build(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command to run: the one of this name, or a look at the inputs."""
        name = args[0]
        if name in ON_COLLECTIONS:
            ctx.fail(f"{name} is a command of a collection now: neardup {COLLECTION} {shlex.join(args)}")
        if name not in self.list_commands(ctx) and looks_like_input(name):
            return LOOK, self.get_command(ctx, LOOK), args
        _require_command(self, ctx, name, "command, file or folder")
        return super().resolve_command(ctx, args)


class _OnCollections(TyperGroup):
    """The commands of a collection."""

    def get_help(self, ctx: Any) -> str:
        return help.page(COLLECTION, help.width()).rstrip("\n")

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the second words of the commands."""
        return [*ON_COLLECTIONS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in ON_COLLECTIONS and cmd_name not in self.commands:
            self.commands[cmd_name] = _build(f"{COLLECTION} {cmd_name}")
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        _require_command(self, ctx, args[0], "command of a collection")
        _, command, rest = super().resolve_command(ctx, args)
        return args[0], command, rest  # the word that was typed, for lines of usage


def _require_command(group: TyperGroup, ctx: Any, name: str, what: str) -> None:
    """Fail with the most similar name unless the group has a command of this name."""
    if ctx.resilient_parsing or name.startswith("-") or group.get_command(ctx, name) is not None:
        return
    ctx.fail(f"There is no {what} {name!r}. {near_miss(name, group.list_commands(ctx))}".rstrip())


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain: errors look the same in a pipe
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from neardup import __version__

        help.show(f"neardup {__version__}\n")


@app.callback()
def neardup(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True)] = False,
) -> None:
    """Find, prove and show near-duplicate documents."""


def looks_like_input(name: str) -> bool:
    """Return whether a word is meant as an input: a file, a folder, a pattern, a URL, or - for standard input.

    >>> looks_like_input("posts.jsonl"), looks_like_input("data/*"), looks_like_input("dedpu")
    (True, True, False)
    """
    if name == "-" or "://" in name or os.sep in name or set(name) & set("*?["):
        return True
    return os.path.exists(os.path.expanduser(name)) or (
        bool(os.path.splitext(name)[1]) and not name.startswith("-")
    )


def _build(name: str) -> TyperCommand:
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    command = COMMANDS[name]
    alone.command(name, cls=_OwnHelp, help=command.summary, hidden=name == LOOK)(_typer_function(name, command))
    built = typer.main.get_command(alone)
    assert isinstance(built, TyperCommand)
    return built


def _typer_function(name: str, command: Command) -> Callable[..., None]:
    """Return the function that typer calls: its signature is made from the options of the command."""
    program = guard_command(_program(name, command), name)

    def run(context: typer.Context, **values: Any) -> None:
        names = {option.name for option in command.options}
        explicit = frozenset(name for name in names if _source(context, name) == "COMMANDLINE")
        given = {name: values[name] for name in names if _source(context, name) == "DEFAULT_MAP"}
        with announced_options(context, given):
            program((values, explicit), lambda: fill_record(LogOptions, values, frozenset()))

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [*map(_parameter, command.options), *config_parameters(), context]
    parameters += map(_parameter, command.log_options)
    if help.is_long(name):
        parameters.append(_help_all(name))
    face: Any = run
    face.__signature__ = inspect.Signature(parameters, return_annotation=None)
    face.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _help_all(name: str) -> inspect.Parameter:
    def show(wanted: bool) -> None:
        if wanted:
            help.show(help.page(name, help.width(), every=True))

    declared = typer.Option(*HELP_ALL.spelling, is_eager=True, callback=show, help=HELP_ALL.help)
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter("help_all", kind, default=False, annotation=Annotated[bool, declared])


def _program(name: str, command: Command) -> Callable[[Any], int]:
    """Return the function of a command, which is loaded when it is called.

    It receives the values of the options and the names of those that were given.
    """

    def program(given: tuple[dict[str, Any], frozenset[str]]) -> int:
        options: Any = fill_record(command.record, *given)
        return _with_local_paths(command.load())(options)

    return program


def _with_local_paths(command: Callable[[T], int]) -> Callable[[T], int]:
    """Wrap a command, which receives paths of this machine for the URLs in its options.

    Outputs are put to their URLs when they are whole; results and fingerprints are copied here, and the
    additions of the command are put there. Raises OutputError for a URL where none can be, such as that of a
    collection. Names of inputs are not paths. Spark itself writes to URLs.
    """

    @functools.wraps(command)
    def run(options: T) -> int:
        if getattr(options, "engine", None) == "spark":
            return command(options)
        changed: dict[str, Any] = {}
        copies: dict[str, Mirror] = {}
        for field in dataclasses.fields(options):  # type: ignore[arg-type]
            given = getattr(options, field.name)
            declared = field.metadata.get("declared")
            kind = declared.at_url if declared else ""
            if isinstance(given, list):
                changed[field.name] = [_here(one, kind, copies) for one in given]
            elif isinstance(given, Path):
                changed[field.name] = _here(given, kind, copies)
        status = command(dataclasses.replace(options, **changed))  # type: ignore[type-var]
        for copy in copies.values():
            copy.put()
        return status

    return run


def _here(given: Any, kind: str, copies: "dict[str, Mirror]") -> Any:
    """Return the path here of a URL that an option of a kind names; any other value as it is."""
    is_path = isinstance(given, Path)
    if not (is_path or (isinstance(given, str) and kind == FINGERPRINTS_AT_URL)):
        return given
    url = url_in(given)
    if url is None or not kind:
        if is_path:
            require_local(given)
        return given
    if kind == TABLE_AT_URL:  # its library writes there
        return given
    from neardup.io.outputs import LEFT_OUT, Mirror, holds_fingerprints, staging_path, url_of

    if kind == OUTPUT_AT_URL:
        if url_of(given) is None:
            require_local(given)
        return staging_path(url)
    if kind == FINGERPRINTS_AT_URL and not is_path and not holds_fingerprints(url):
        return given
    if url not in copies:
        copies[url] = Mirror(url, LEFT_OUT if kind == RESULT_AT_URL else ())
        copies[url].fetch()
    return copies[url].folder if is_path else str(copies[url].folder)


def _parameter(option: Option) -> inspect.Parameter:
    declared: Any
    if option.spelling:
        complete = _completer(option.choices) if option.choices else None
        spelling = option.spelling
        if option.default is True:  # the form in typer of a switch that is on by default
            spelling = ("/".join(reversed(spelling)),)
        elif len(spelling) == 2 and spelling[1].startswith("--no-"):
            spelling = ("/".join(spelling),)
        declared = typer.Option(*spelling, help=option.help, metavar=option.metavar, autocompletion=complete)
    else:
        declared = typer.Argument(help=option.help, metavar=option.metavar)
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(
        option.name, kind, default=option.default, annotation=Annotated[option.type, declared]
    )


def _completer(choices: tuple[str, ...]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


def _source(context: typer.Context, name: str) -> str:
    """Where a value comes from: COMMANDLINE, DEFAULT_MAP for a file, or DEFAULT."""
    source = context.get_parameter_source(name)
    return "" if source is None else str(source.name)
