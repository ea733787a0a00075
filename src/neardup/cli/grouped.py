"""Help by purpose: options of long commands in sections, examples at the end, and inputs instead of a command."""

from __future__ import annotations

import os
from typing import Any

from typer.core import TyperCommand, TyperGroup

from neardup.cli.panels import COMMANDS, EXAMPLES, LONG
from neardup.settings.panels import OTHER, PANELS

LOOK = "look"
"""The command that bare inputs run."""


class GroupedCommand(TyperCommand):
    """A command whose options have purposes, if there are many."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options under their purposes."""
        params = self.get_params(ctx)
        sections: dict[str, list[Any]] = {"Arguments": [], "Options": [], **{panel: [] for panel in PANELS}}
        for param in params:
            record = param.get_help_record(ctx)
            if record is None:
                continue
            if param.param_type_name == "argument":
                record = (f"{param.metavar}{' …' * (param.nargs == -1)}", record[1])
            short = "Arguments" if param.param_type_name == "argument" else "Options"
            panel = getattr(param, "rich_help_panel", None) or OTHER
            sections[panel if len(params) >= LONG else short].append(record)
        for panel, records in sections.items():
            if records:
                with formatter.section(panel):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        write_examples(self.name or "", formatter)


class GroupedCommands(TyperGroup):
    """All commands by purpose; an input instead of a command is looked at."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their purposes."""
        column = max(map(len, self.commands))
        known = {name for names in COMMANDS.values() for name in names}
        others = tuple(name for name, command in self.commands.items() if name not in known and not command.hidden)
        for purpose, names in {**COMMANDS, **({"Others": others} if others else {})}.items():
            with formatter.section(purpose):
                commands = ((name, self.commands[name]) for name in names)
                limit = formatter.width - 6 - column
                formatter.write_dl(
                    [(f"{name:<{column}}", command.get_short_help_str(limit)) for name, command in commands]
                )

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        write_examples("", formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command to run: that of its name, or a look at the inputs."""
        if args[0] not in self.commands and looks_like_input(args[0]):
            return LOOK, self.commands[LOOK], args
        return super().resolve_command(ctx, args)


def write_examples(command: str, formatter: Any) -> None:
    """Write the examples of a command, one line each for what to type."""
    if examples := EXAMPLES.get(command):
        with formatter.section("Examples"):
            for typed, effect in examples:
                formatter.write(f"{'':>{formatter.current_indent}}{typed}\n")
                formatter.write(f"{'':>{formatter.current_indent + 4}}{effect}\n")


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
