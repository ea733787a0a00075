"""``neardup serve``: a collection over HTTP."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import typer

from neardup import display
from neardup.cli.collection import opened
from neardup.cli.messages import DONE, warn
from neardup.cli.options.on_collections import ServeOptions
from neardup.cli.stopping import leave
from neardup.errors import InputError, install

if TYPE_CHECKING:
    from neardup.collection import Collection
    from neardup.review.live.app import ReviewApp
    from neardup.web.limits import Limits
    from neardup.web.tokens import Tokens

EXTRA = {
    "fastapi",
    "starlette",
    "pydantic",
    "uvicorn",
    "h11",
    "prometheus_client",
    "itsdangerous",
    "python_multipart",
}
"""Packages of the extra service, by their import names."""
PAGES = "/review"
"""The address of the pages."""


def serve(options: ServeOptions) -> int:
    """Serve a collection over HTTP until it is stopped."""
    with service_required():
        from neardup.service.server import serve as run
        from neardup.web.limits import Limits
        from neardup.web.server import listen
        from neardup.web.tokens import Tokens, read_tokens, require_tokens
    from neardup.collection import Collection

    checked = Limits.of(
        largest_body=options.largest_body,
        most_hits=options.most_hits,
        most_candidates=options.most_candidates,
        seconds=options.seconds,
        requests=options.requests,
        threads=options.threads,
        stop_seconds=options.stop_seconds,
    )
    tokens, warning = read_tokens(options.token_file) if options.token_file else (Tokens(), "")
    require_tokens(options.host, tokens)
    if warning:
        warn(warning)
    with (
        listen(options.host, options.port) as listening,
        Collection(options.path, wait=options.wait)
        if options.create
        else opened(options.path, options.wait) as collection,
    ):
        pages = {PAGES: _pages(collection, tokens, checked)} if options.page else {}
        tell = partial(_tell, pages=options.page)
        if not run(collection, tokens, checked, listening, tell, pages):
            leave(DONE)
    return DONE


def _pages(collection: Collection, tokens: Tokens, limits: Limits) -> ReviewApp:
    """Return the pages on which people decide about the groups of a collection."""
    from neardup.review.desk.desk import Desk
    from neardup.review.live.app import Served, review_app

    return review_app(Desk.of_collection(collection), Served(account(), tokens, limits))


def account() -> str:
    """Return the name of the user's account, or "reviewer" if it has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may have no name for its user
        return "reviewer"


@contextmanager
def service_required() -> Iterator[None]:
    """Raise InputError with the way out if an import within the block lacks a package of the extra service."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        raise InputError(f"The service needs the package {error.name}", "", install("service")) from error


def _tell(address: str, pages: bool) -> None:
    typer.echo(f"listening at {display.printable(address)}")
    if pages:
        typer.echo(f"pages at {display.printable(address)}{PAGES}/")
