"""The commands of ``neardup``, built from the table of options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

import typer

from neardup.cli.adding import add
from neardup.cli.batch import dedup, group
from neardup.cli.collection import backup, check, compact, info, list_documents, remove
from neardup.cli.compare import compare
from neardup.cli.compiling import watched
from neardup.cli.config_options import config_parameters, configured
from neardup.cli.demo import demo
from neardup.cli.explain import explain
from neardup.cli.exporting import export, import_tags
from neardup.cli.grouped import LOOK, GroupedCommand, GroupedCommands
from neardup.cli.groups import decide, groups
from neardup.cli.look import look
from neardup.cli.mcp import mcp
from neardup.cli.messages import guarded
from neardup.cli.option import with_options
from neardup.cli.options import RECORDS, on_agents, on_collections, on_files, on_shards
from neardup.cli.plan import plan
from neardup.cli.report import report
from neardup.cli.review import review
from neardup.cli.search import search
from neardup.cli.serve import serve
from neardup.cli.shards import fingerprint, merge, shingles
from neardup.cli.show import show
from neardup.cli.stored_help import show_version
from neardup.cli.target import with_local_paths
from neardup.cli.warm import warm

# plain help: it looks the same in a pipe, and importing rich would double the time of --help
app = typer.Typer(
    cls=GroupedCommands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        show_version()


@app.callback()
def neardup(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Find, prove and show near-duplicate documents.

    neardup PATH prints the ten largest groups in a file or folder, and the next command to type.
    """


_SAY_IT_THEMSELVES = {"serve", "warm"}
"""Commands that report compiling in their own way."""

T = TypeVar("T")


def _add(command: Callable[[T], int], record: type[T], name: str = "") -> None:
    """Register a command that receives a record of options; its name is that of the function unless given."""
    name = name or command.__name__
    if RECORDS[name] is not record:
        raise TypeError(f"{name} receives {record.__name__}, not {RECORDS[name].__name__} of the table")
    summary = (command.__doc__ or "").partition("\n")[0]
    run = with_local_paths(command if name in _SAY_IT_THEMSELVES else watched(command))
    declared = with_options(guarded(run), record, config_parameters(), configured)
    app.command(name, cls=GroupedCommand, short_help=summary, hidden=name == LOOK)(declared)


_add(dedup, on_files.DedupOptions)
_add(group, on_files.GroupOptions)
_add(fingerprint, on_shards.FingerprintOptions)
_add(merge, on_shards.MergeOptions)
_add(shingles, on_shards.ShinglesOptions)
_add(compare, on_files.CompareOptions)
_add(show, on_files.ShowOptions)
_add(report, on_files.ReportOptions)
_add(review, on_files.ReviewOptions)
_add(export, on_files.ExportOptions)
_add(import_tags, on_files.ImportOptions, "import")
_add(plan, on_files.PlanOptions)
_add(explain, on_files.ExplainOptions)
_add(add, on_collections.AddOptions)
_add(remove, on_collections.RemoveOptions)
_add(list_documents, on_collections.ListOptions, "list")
_add(search, on_collections.SearchOptions)
_add(groups, on_collections.GroupsOptions)
_add(decide, on_collections.DecideOptions)
_add(serve, on_collections.ServeOptions)
_add(mcp, on_agents.McpOptions)
_add(info, on_collections.InfoOptions)
_add(check, on_collections.CheckOptions)
_add(compact, on_collections.CompactOptions)
_add(backup, on_collections.BackupOptions)
_add(look, on_files.LookOptions)
_add(demo, on_files.DemoOptions)
_add(warm, on_files.WarmOptions)
