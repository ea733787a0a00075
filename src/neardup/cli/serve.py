"""``neardup serve``: a collection over HTTP."""

from __future__ import annotations

from pathlib import Path

import typer

from neardup import display
from neardup.cli.collection import opened
from neardup.cli.messages import DONE, warn
from neardup.errors import InputError

EXTRA = {"fastapi", "starlette", "pydantic", "uvicorn", "h11", "prometheus_client"}
"""Packages of neardup[service], by their import names."""


def serve(
    path: Path, host: str, port: int, token_file: Path | None, create: bool, wait: float, **limits: float
) -> int:
    """Serve a collection over HTTP until it is stopped.

    Without --token-file all users of this machine may read and write, and nobody else. Needs
    neardup[service]. Ctrl-C or SIGTERM finishes pending requests and stops; a second one stops at once.
    """
    try:
        from neardup.service.limits import Limits
        from neardup.service.server import listen
        from neardup.service.server import serve as run
        from neardup.service.tokens import Tokens, read_tokens, require_tokens
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        raise InputError(
            f"The service needs the package {error.name}", "", 'pip install "neardup[service]"'
        ) from error
    from neardup.collection import Collection

    checked = Limits.of(**limits)
    tokens, warning = read_tokens(token_file) if token_file else (Tokens(), "")
    require_tokens(host, tokens)
    if warning:
        warn(warning)
    with (
        listen(host, port) as listening,
        Collection(path, wait=wait) if create else opened(path, wait) as collection,
    ):
        run(collection, tokens, checked, listening, _tell)
    return DONE


def _tell(address: str) -> None:
    typer.echo(f"listening at {display.printable(address)}")
