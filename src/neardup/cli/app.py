"""The commands of ``neardup``, built from the table of options."""

from __future__ import annotations

from typing import Annotated

import typer

from neardup.cli.adding import add
from neardup.cli.batch import dedup, group
from neardup.cli.collection import check, compact, info, remove
from neardup.cli.compare import compare
from neardup.cli.compiling import watched
from neardup.cli.demo import demo
from neardup.cli.explain import explain
from neardup.cli.groups import decide, groups
from neardup.cli.messages import guarded
from neardup.cli.option import with_options
from neardup.cli.options import COMMANDS
from neardup.cli.plan import plan
from neardup.cli.search import search
from neardup.cli.serve import serve
from neardup.cli.warm import warm

# plain help: it looks the same in a pipe, and importing rich would double the time of --help
app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from neardup import __version__

        typer.echo(f"neardup {__version__}")
        raise typer.Exit


@app.callback()
def neardup(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Find, prove and show near-duplicate documents."""


_SAY_IT_THEMSELVES = {"serve", "warm"}
"""Commands that report compiling in their own way."""

for _command in (
    *(dedup, group, compare, plan, explain),
    *(add, remove, search, groups, decide, serve, info, check, compact),
    *(demo, warm),
):
    _name = _command.__name__
    _summary = (_command.__doc__ or "").partition("\n")[0]
    _run = _command if _name in _SAY_IT_THEMSELVES else watched(_command)
    app.command(_name, short_help=_summary)(with_options(guarded(_run), COMMANDS[_name]))
