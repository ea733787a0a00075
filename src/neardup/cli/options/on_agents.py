"""The options of the server for agents."""

# ruff: noqa: RUF009  the calls return fields

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neardup.cli.option import NEVER, Declared, option


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class McpOptions:
    """Offer compare, find and search to an agent by the Model Context Protocol, on standard input and output.

    Only files below --root can be read, and nothing is changed unless --write is given. Needs the extra mcp.
    """

    root: list[Path] = Declared(
        ("--root",),
        (),
        "Folder whose files may be read; by default the working folder. May be repeated.",
        "DIR",
        from_file=NEVER,
    ).field()
    write: bool = option(
        "--write", False, "Also offer a tool that adds documents to collections.", from_file=NEVER
    )
    largest: float = option("--largest", 64.0, "Largest number of megabytes of files in one call.", "NUMBER")
    seconds: float = option("--seconds", 60.0, "Time limit of a call in seconds.", "NUMBER")
