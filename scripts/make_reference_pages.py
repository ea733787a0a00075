"""Make docs/reference/cli.md and settings.md from the tables the program itself is made from.

Also the settings as keywords with types, for editors and type checkers.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from neardup.cli.commands import COMMANDS
from neardup.cli.help import usage
from neardup.cli.option import REQUIRED, Declared, Option, options_of
from neardup.cli.options.general import LogOptions
from neardup.deduplication.run import account
from neardup.deduplication.run.find import STAGES
from neardup.deduplication.run.pipeline import Meter
from neardup.settings import COLLECTION_FIELDS, FIELDS, OPTION_FIELDS, RECORDS, Field

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "reference"
KEYWORDS = ROOT / "src" / "neardup" / "settings" / "keywords.py"
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
STAGES_BEGIN, STAGES_END = "<!-- the stages, made by scripts/docs -->", "<!-- end of the stages -->"
KEYS_BEGIN, KEYS_END = "<!-- the keys of run.json, made by scripts/docs -->", "<!-- end of the keys -->"
MADE = "<!-- made by scripts/docs; change the tables in the source, not this page -->"

CLI_CLOSING = """\
## Exit status

| status | meaning |
|---|---|
| 0 | done; also when `compare` found differences |
| 1 | done, but some input was rejected; `problems.jsonl` in the output folder lists it |
| 2 | error: a wrong option or setting, an input that cannot be read, an output that cannot be written |
| 130 | interrupted; nothing was written |

Results and `--json` go to standard output; errors, warnings and progress bars to standard error. Bars are
drawn only on a terminal. `--json` prints what [run.json](files.md#runjson) holds and nothing else; `dedup` and
`group` add `out` (the folder, null after a dry run) and `files` (the names in it). `compare` prints
[Comparison.as_dict()](python.md#compare-and-comparison) on one line. `plan` and `explain` print their tables;
those of `explain` are described in [the walk-through](../explanation/walkthrough.md#as-json); with documents
`plan` prints the [advice](python.md#advise-and-advice). The commands for [collections](collection.md) have no
output folder: `neardup collection add --problems FILE` lists what was rejected, `--json` the first 1,000
rows of it, and `neardup collection info --json` prints what `Collection.info` gives.

`NEARDUP_TRACEBACK=1` in the environment shows where in the program an error arose.
"""


def cell(text: object) -> str:
    """Text that cannot break out of its table cell."""
    return str(text).replace("|", "\\|")


def default(option: Option) -> str:
    """The default as it would be typed."""
    if option.default is REQUIRED:
        return "required"
    if option.type is bool or option.default in (None, (), ""):
        return ""
    if isinstance(option.default, list):
        return ", ".join(f"`{value}`" for value in option.default)
    return f"`{option.default_shown}`"


def meaning_of(option: Option) -> tuple[str, str, str]:
    """What a table says of an option: two commands that say the same share a row."""
    return option.shown, default(option), option.help


def shared_rows() -> dict[tuple[str, str, str], list[str]]:
    """The rows that several commands have, each with the names of these commands."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for name, command in COMMANDS.items():
        for option in command.options:
            if option.spelling and not is_setting(option):
                rows.setdefault(meaning_of(option), []).append(name)
    return {row: names for row, names in rows.items() if len(names) > 1}


def is_setting(option: Option) -> bool:
    """Whether the page of the settings describes an option, with the same default and the same words."""
    field = FIELDS.get(option.name)
    if field is None or option.name not in OPTION_FIELDS or option.name == "sketch":
        return False
    same = Option.of(option.name, option.type, Declared.of_field(field))
    return meaning_of(same) == meaning_of(option)


def command_section(name: str, shared: dict[tuple[str, str, str], list[str]]) -> Iterator[str]:
    """One command: its purpose, its usage, its options."""
    command = COMMANDS[name]
    options = command.options
    arguments = "".join(f" {usage(option)}" for option in options if not option.spelling)
    yield from (f"## neardup {name}", "", command.help, "", f"`neardup {name} [OPTIONS]{arguments}`", "")
    own = [one for one in options if not is_setting(one) and meaning_of(one) not in shared]
    if own:
        yield from ("| option | default | meaning |", "|---|---|---|")
        for option in own:
            yield f"| `{option.shown}` | {default(option)} | {cell(option.help)} |"
        yield ""
    others = [one for one in options if meaning_of(one) in shared]
    for title, page, group in (
        ("Also", "#options-of-several-commands", others),
        ("Settings", "settings.md", [one for one in options if is_setting(one)]),
    ):
        if group:
            yield from (f"[{title}]({page}): {', '.join(f'`{one.spelling[-1]}`' for one in group)}.", "")
    if command.record.WITHOUT:
        reasons = ". ".join(f"No `--{name}`: {reason}" for name, reason in command.record.WITHOUT.items())
        yield from (f"{reasons}.", "")


def cli_page() -> str:
    """The page of all commands."""
    shared = shared_rows()
    lines = ["# Commands", "", MADE, ""]
    lines += [
        "`neardup --help` lists the commands, `neardup COMMAND --help` the options that most need, and",
        "`--help-all` all of a command; `neardup --version` shows the version. The [settings](settings.md) of a",
        "run are options of each command that has them: `only_contained` is `--only-contained`.",
        "",
    ]
    for name in COMMANDS:
        lines += command_section(name, shared)
    logged = ", ".join(name for name, one in COMMANDS.items() if one.log_options)
    shared |= {meaning_of(option): [logged] for option in options_of(LogOptions)}
    lines += [
        "## Options of several commands",
        "",
        "| option | default | meaning | commands |",
        "|---|---|---|---|",
    ]
    for (shown, value, text), names in shared.items():
        lines.append(f"| `{shown}` | {value} | {cell(text)} | {', '.join(names)} |")
    return "\n".join([*lines, "", CLI_CLOSING])


def users_of(field: Field) -> str:
    """The commands that take a setting."""
    return ", ".join(
        name for name, one in COMMANDS.items() if field.name in {option.name for option in one.options}
    )


def settings_page() -> str:
    """The page of all settings."""
    lines = ["# Settings", "", MADE, ""]
    lines += [
        "The same names everywhere: keywords of `neardup.find`, options of the commands (`only_contained` is",
        "`--only-contained`), keys of `settings` in `run.json`. Mistakes are reported all at once.",
        "",
    ]
    for record, kind in RECORDS.items():
        lines += [f"## {record}", "", inspect.getdoc(kind) or "", ""]
        lines += ["| setting | default | allowed | meaning | commands |", "|---|---|---|---|---|"]
        for field in FIELDS.values():
            if field.record == record:
                row = (
                    f"`{field.name}`",
                    f"`{field.default}`" if field.default not in ("", ()) else "",
                    field.rule.allowed,
                    field.help,
                    users_of(field),
                )
                lines.append("| " + " | ".join(map(cell, row)) + " |")
        lines.append("")
    return "\n".join(lines)


def keywords() -> str:
    """The module of the settings as keywords with types."""
    lines = [
        '"""The settings as keywords with types: editors complete them, and type checkers find a misspelt one.',
        "",
        "Made by scripts/docs from ``FIELDS`` and ``COLLECTION_FIELDS``; do not edit.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Collection, Sequence",
        "from typing import TypedDict",
        "",
        "",
        "class SettingKeywords(TypedDict, total=False):",
        '    """Every setting of a run, by name; docs/reference/settings.md describes them."""',
        "",
    ]
    lines += [f"    {field.name}: {keyword(field)}" for field in FIELDS.values()]
    lines += [
        "",
        "",
        "class CollectionKeywords(TypedDict, total=False):",
        '    """Every setting of a collection, by name."""',
        "",
    ]
    lines += [f"    {field.name}: {keyword(field)}" for field in COLLECTION_FIELDS.values()]
    return "\n".join([*lines, ""])


def keyword(field: Field) -> str:
    """The type of a keyword: one value or several, or the text that a rule reads."""
    if field.many:
        return "str | Sequence[str]"
    if field.rule.read is not None and field.type is str:
        return "str | Collection[str]"
    also = " | str" if field.rule.read is not None else ""
    return field.type.__name__ + also


def architecture() -> str:
    """ARCHITECTURE.md with the table of stages as the list of stages has it."""
    rows = ["| stage | task | reads | gives | only with |", "|---|---|---|---|---|"]
    for stage in STAGES:
        reads = ", ".join(need.record.__name__ for need in stage.needs if need.record is not Meter)
        gives = ", ".join(record.__name__ for record in stage.gives)
        rows.append(f"| {stage.name} | {stage.summary} | {reads} | {gives} | {stage.when.words} |")
    return with_rows(ARCHITECTURE, STAGES_BEGIN, rows, STAGES_END)


def with_rows(page: Path, begin: str, rows: list[str], end: str) -> str:
    """A page with other rows between two marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    return before + "\n".join([begin, *rows, end]) + rest.partition(end)[2]


def field_texts() -> dict[str, dict[str, str]]:
    """The text below each field of the records of ``run.json``, by record."""
    texts: dict[str, dict[str, str]] = {}
    for record in ast.parse(inspect.getsource(account)).body:
        if isinstance(record, ast.ClassDef):
            texts[record.name] = {
                field.target.id: inspect.cleandoc(text.value.value)
                for field, text in zip(record.body, record.body[1:], strict=False)
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
                if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            }
    return texts


def key_rows(record: type[Any], texts: dict[str, dict[str, str]], above: str = "") -> Iterator[str]:
    """A row for each key of a record with a text, those of records in it below theirs."""
    types = get_type_hints(record)
    for field in msgspec.structs.fields(record):
        text = next(
            (of[field.name] for kind in record.__mro__ if field.name in (of := texts.get(kind.__name__, {}))), ""
        )
        if text:
            key = f"{above}`{field.name}`"
            yield f"| {key} | {cell(' '.join(text.split()))} |"
            for part in (types[field.name], *get_args(types[field.name])):
                if (
                    isinstance(part, type)
                    and issubclass(part, msgspec.Struct)
                    and not field.name.endswith("_against")
                ):
                    yield from key_rows(part, texts, f"{key} ")


def files_page() -> str:
    """The page of the files of a run with the keys of ``run.json`` as its records have them."""
    rows = ["| key | |", "|---|---|", *key_rows(account.RunAccount, field_texts())]
    return with_rows(PAGES / "files.md", KEYS_BEGIN, rows, KEYS_END)


def main() -> int:
    """Write the pages; with --check only say which are out of date."""
    stale = []
    made = {
        PAGES / "cli.md": cli_page(),
        PAGES / "settings.md": settings_page(),
        KEYWORDS: keywords(),
        PAGES / "files.md": files_page(),
        ARCHITECTURE: architecture(),
    }
    for path, text in made.items():
        name = path.name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if "--check" in sys.argv and stale:
        print(f"out of date: {', '.join(stale)}; run scripts/docs")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
