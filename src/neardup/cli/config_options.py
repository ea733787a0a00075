"""``--config`` and ``--no-config``: every command reads its options from a file first."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from neardup.cli.messages import ERROR, error
from neardup.cli.options.shared import CONFIG, NO_CONFIG
from neardup.errors import NeardupError


def config_parameters() -> tuple[inspect.Parameter, ...]:
    """Return the parameters of the two options, for the signature of a command."""
    without = typer.Option(*NO_CONFIG.spelling, is_eager=True, help=NO_CONFIG.help)
    named = typer.Option(*CONFIG.spelling, is_eager=True, callback=_read, metavar=CONFIG.metavar, help=CONFIG.help)
    kind = inspect.Parameter.KEYWORD_ONLY
    return (
        inspect.Parameter("no_config", kind, default=False, annotation=Annotated[bool, without]),
        inspect.Parameter("config", kind, default=None, annotation=Annotated[Path | None, named]),
    )


def _read(context: typer.Context, value: Path | None) -> Path | None:
    """Make the options of the file the defaults of the command."""
    if context.resilient_parsing or (context.params.get("no_config") and value is None):
        return value
    if value is None and not any(Path(name).is_file() for name in ("neardup.toml", "pyproject.toml")):
        return value
    from neardup.cli.configured import find_config

    try:
        found = find_config(value)
    except NeardupError as failure:
        error(failure.lines())
        raise typer.Exit(ERROR) from None
    options = {} if found is None else dict(found.options.get(context.info_name or "", {}))
    if found is not None and options:
        context.default_map = options
        context.obj = found.name
    return value


@contextmanager
def configured(context: typer.Context, given: dict[str, Any]) -> Iterator[None]:
    """Name on standard error the options ``given`` in a file, and remember them for ``run.json``."""
    if not given or not isinstance(context.obj, str):
        yield
        return
    from neardup.cli.configured import AppliedConfig, applied_here

    named = ", ".join(name.replace("_", "-") for name in given)
    typer.echo(f"options from {context.obj}: {named}", err=True)
    before = applied_here.set(AppliedConfig(context.obj, given))
    try:
        yield
    finally:
        applied_here.reset(before)
