"""One table of the options of every command, made from the records of the commands.

Options that are settings are derived from ``settings.FIELDS``.
"""

from __future__ import annotations

from collections.abc import Mapping

from neardup.cli.option import Option, options_of
from neardup.cli.options.on_agents import McpOptions
from neardup.cli.options.on_collections import (
    AddOptions,
    BackupOptions,
    CheckOptions,
    CompactOptions,
    DecideOptions,
    GroupsOptions,
    InfoOptions,
    ListOptions,
    RemoveOptions,
    SearchOptions,
    ServeOptions,
)
from neardup.cli.options.on_files import (
    CompareOptions,
    DedupOptions,
    DemoOptions,
    ExplainOptions,
    ExportOptions,
    GroupOptions,
    ImportOptions,
    LookOptions,
    PlanOptions,
    ReportOptions,
    ReviewOptions,
    ShowOptions,
    WarmOptions,
)
from neardup.cli.options.on_shards import FingerprintOptions, MergeOptions, ShinglesOptions

RECORDS: Mapping[str, type] = {
    "dedup": DedupOptions,
    "group": GroupOptions,
    "fingerprint": FingerprintOptions,
    "merge": MergeOptions,
    "shingles": ShinglesOptions,
    "compare": CompareOptions,
    "show": ShowOptions,
    "report": ReportOptions,
    "review": ReviewOptions,
    "export": ExportOptions,
    "import": ImportOptions,
    "plan": PlanOptions,
    "explain": ExplainOptions,
    "add": AddOptions,
    "remove": RemoveOptions,
    "list": ListOptions,
    "search": SearchOptions,
    "groups": GroupsOptions,
    "decide": DecideOptions,
    "serve": ServeOptions,
    "mcp": McpOptions,
    "info": InfoOptions,
    "check": CheckOptions,
    "compact": CompactOptions,
    "backup": BackupOptions,
    "look": LookOptions,
    "demo": DemoOptions,
    "warm": WarmOptions,
}
"""The record that each command receives."""

COMMANDS: Mapping[str, tuple[Option, ...]] = {name: options_of(record) for name, record in RECORDS.items()}
"""The options of every command, in the order of its help."""
