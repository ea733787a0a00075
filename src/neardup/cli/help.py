"""The help of the program and of its commands, as text: written from the records, without loading a command.

Commands with many options show those that most need, and all of them with ``--help-all``, by purpose. ``main``
prints the help before anything slow is imported; the parser of ``app.py`` asks here, too, so there is one form.
"""

import os
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from neardup.cli.commands import COLLECTION, COMMANDS, EXAMPLES, ON_COLLECTIONS, PURPOSES
from neardup.cli.option import REQUIRED, Option
from neardup.cli.options.general import CONFIG, HELP_ALL, MOST_SHOWN, NO_CONFIG, RARE
from neardup.settings import OTHER, PANELS

LONG = 15
"""Commands with this many options or more show them by purpose."""
WIDEST, NARROWEST = 100, 50
"""The columns that the help may use."""
_LEFT = 30
"""The most columns of a spelling beside its meaning; a longer one has a line of its own."""

DESCRIPTION = """Find, prove and show near-duplicate documents.

neardup PATH prints the ten largest groups in a file or folder, and the next command to type.
"""
_COLLECTION = (
    COLLECTION,
    "Commands of a collection, a file of documents: " + ", ".join(ON_COLLECTIONS) + ".",
)
_MORE = f"neardup {COLLECTION} COMMAND --help shows the options of one."
_HELP = ("-h, --help", "Show this message and exit.")
_OF_PROGRAM = (
    ("--version", "Show the version."),
    ("--install-completion", "Install completion for the current shell."),
    ("--show-completion", "Show completion for the current shell, to copy it or customize the installation."),
    _HELP,
)


def show_if_asked(arguments: Sequence[str]) -> None:
    """Print the help of the program or of one command and exit, if the arguments ask for no more than this."""
    *words, last = arguments or [""]
    command = " ".join(words)
    every = last == "--help-all" and is_long(command)
    if (every or last in ("--help", "-h")) and (command in COMMANDS or command in ("", COLLECTION)):
        show(page(command, width(), every=every))


def show(text: str) -> None:
    """Print a text and exit."""
    status = 0
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        status = 141  # as of a program that SIGPIPE ends: the reader has seen enough
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"error: standard output: {error.strerror}\n")
            status = 2
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing may be written at the exit
    sys.exit(status)


def width() -> int:
    """Return the columns to use: those of ``COLUMNS``, of the terminal, or 80, within bounds."""
    try:
        columns = int(os.environ.get("COLUMNS") or os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError):  # no terminal
        columns = 80
    return max(min(columns or 80, WIDEST) - 2, NARROWEST)


def page(command: str, columns: int, *, every: bool = False) -> str:
    """Return the help of a command, of the commands of a collection, or of the program for "".

    ``every``: with all options of a command that has many.
    """
    if command == COLLECTION:
        lines = _of_collections(columns)
    else:
        lines = _of_command(command, columns, every or not is_long(command)) if command else _of_program(columns)
    return "\n".join([*lines, ""])


def _of_program(columns: int) -> Iterator[str]:
    yield from _usage_lines("", "[OPTIONS] COMMAND [ARGS]...", columns)
    yield from _paragraphs(DESCRIPTION, columns)
    yield from _section("Options", _OF_PROGRAM, columns)
    column = max(len(name) for commands in PURPOSES.values() for name in commands)
    for purpose, commands in PURPOSES.items():
        rows = [(f"{name:<{column}}", one.summary) for name, one in commands.items()]
        yield from _section(purpose, rows, columns)
    yield from _section("Keep documents, and ask as new ones arrive", [_COLLECTION], columns)
    yield from _examples(EXAMPLES)


def _of_collections(columns: int) -> Iterator[str]:
    yield from _usage_lines(f"{COLLECTION} ", "COMMAND COLLECTION [ARGS]...", columns)
    yield from _paragraphs(f"{_COLLECTION[1]}\n\n{_MORE}", columns)
    yield from _section("Commands", [(name, one.summary) for name, one in ON_COLLECTIONS.items()], columns)
    yield from _examples(COMMANDS[f"{COLLECTION} add"].record.EXAMPLES)


def is_long(command: str) -> bool:
    """Return whether a command has more options than its ``--help`` shows.

    >>> is_long("dedup"), is_long("demo")
    (True, False)
    """
    return command in COMMANDS and len(COMMANDS[command].options) > MOST_SHOWN


def _of_command(name: str, columns: int, every: bool) -> Iterator[str]:
    command = COMMANDS[name]
    arguments = (usage(option) for option in command.options if not option.spelling)
    yield from _usage_lines(f"{name} ", " ".join(("[OPTIONS]", *arguments)), columns)
    yield from _paragraphs(command.help, columns)
    special = [Option.of("no_config", bool, NO_CONFIG), Option.of("config", str, CONFIG)]
    options = [one for one in [*command.options, *special, *command.log_options] if every or one.name not in RARE]
    for heading, rows in _by_purpose(options, every).items():
        if rows:
            yield from _section(heading, rows, columns)
    if every and command.record.WITHOUT:
        reasons = [(f"--{name}", reason) for name, reason in command.record.WITHOUT.items()]
        yield from _section("Not offered, and why", reasons, columns)
    if not every:
        yield from ("", *_wrap(f"neardup {name} --help-all shows {len(command.options)} options.", columns))
    yield from _examples(command.record.EXAMPLES)


def _usage_lines(command: str, arguments: str, columns: int) -> Iterator[str]:
    """How the program is called, and an empty line."""
    begin = f"Usage: neardup {command}"
    yield from textwrap.wrap(arguments, columns, initial_indent=begin, subsequent_indent=" " * len(begin))
    yield ""


def usage(option: Option) -> str:
    """Return an argument as the line of its command shows it."""
    shown = f"{option.metavar}" if option.default is REQUIRED else f"[{option.metavar}]"
    return f"{shown}..." if option.type == list[str] else shown


def _by_purpose(options: Sequence[Option], every: bool) -> dict[str, list[tuple[str, str]]]:
    """The lines of the options under their headings: purposes, if there are many."""
    long = len(options) + 1 >= LONG
    headings = PANELS if long else ("Arguments", "Options")
    rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading in headings}
    for option in options:
        heading = option.panel if long else headings[bool(option.spelling)]
        rows[heading].append((_first_column(option), _meaning(option, whole=every)))
    rows[OTHER if long else "Options"].append(_HELP)
    if not every:
        rows[OTHER if long else "Options"].append(
            (_first_column(Option.of("help_all", bool, HELP_ALL)), HELP_ALL.help)
        )
    return rows


def _first_column(option: Option) -> str:
    """An option, or an argument, as the first column shows it."""
    return option.shown + " …" * (not option.spelling and option.type == list[str])


def _meaning(option: Option, *, whole: bool) -> str:
    """The help of an option, or its first sentence, and its default."""
    text = option.help if whole else first_sentence(option)
    if option.default is REQUIRED:
        return f"{text}  [required]"
    if option.type is bool or option.default in (None, (), ""):
        return text
    return f"{text}  [default: {option.default_shown}]"


def first_sentence(option: Option) -> str:
    """Return the first sentence of the help; the words of a choice in place of what each of them means."""
    sentence = re.split(r"(?<=\.) ", option.help, maxsplit=1)[0]
    before, colon, _ = sentence.partition(": ")
    if colon and option.choices and before not in option.choices:
        return f"{before}: {', '.join(option.choices)}."
    return sentence


def _section(heading: str, rows: Sequence[tuple[str, str]], columns: int) -> Iterator[str]:
    yield from ("", f"{heading}:")
    left = min(max(len(first) for first, _ in rows), _LEFT) + 2
    for first, meaning in rows:
        lines = _wrap(meaning, max(columns - left - 2, 10))
        beside = len(first) <= left - 2
        yield f"  {first:<{left}}{lines[0]}".rstrip() if beside else f"  {first}"
        for line in lines[beside:]:
            yield f"  {'':<{left}}{line}"


def _paragraphs(text: str, columns: int) -> Iterator[str]:
    """The paragraphs of a text, indented, with an empty line between them."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        if number:
            yield ""
        for line in _wrap(paragraph, columns - 2):
            yield f"  {line}"


def _wrap(text: str, columns: int) -> list[str]:
    return textwrap.wrap(text.replace("\n", " "), columns, replace_whitespace=False)


def _examples(examples: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What to type, and the effect, a line each."""
    if not examples:
        return
    yield from ("", "Examples:")
    for typed, effect in examples:
        yield from (f"  {typed}", f"      {effect}")
