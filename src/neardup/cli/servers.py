"""Commands that run until they are stopped: ``serve``, ``review`` and ``mcp``."""

from __future__ import annotations

import getpass
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from neardup import display
from neardup.cli.collection import open_existing, opened_shards, service_required
from neardup.cli.messages import DONE, leave, warn
from neardup.cli.option import typed_text
from neardup.cli.options.on_collections import McpOptions, ServeOptions
from neardup.cli.options.on_results import ReviewOptions
from neardup.errors import InputError, SettingError, install

if TYPE_CHECKING:
    from neardup.collection import Collection
    from neardup.review.live.app import ReviewApp
    from neardup.service.web.limits import Limits
    from neardup.service.web.middleware import Tokens

PAGES = "/review"
"""The address of the pages."""


def serve(options: ServeOptions) -> int:
    """Serve a collection over HTTP until it is stopped."""
    with service_required():
        from neardup.service.server import serve as run
        from neardup.service.server import serve_front
        from neardup.service.web import monitoring
        from neardup.service.web.limits import Limits
        from neardup.service.web.server import listen
        from neardup.service.workers import require_workers, serve_in_workers
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
    _require_together(options)
    require_workers(options.workers)
    tokens = _tokens(options.host, options.token_file)
    if options.path is None:
        with (
            listen(options.host, options.port) as listening,
            opened_shards(
                options.shard,
                options.shard_token_file,
                options.shard_seconds,
                wait=options.wait,
                readonly=options.read_only,
                most_candidates=options.most_candidates,
            ) as shards,
        ):
            monitoring.log_to_stderr()
            if not serve_front(shards, tokens, checked, listening, _announce, readonly=options.read_only):
                leave(DONE)
        return DONE
    with (
        listen(options.host, options.port) as listening,
        Collection(options.path, wait=options.wait)
        if options.create
        else open_existing(options.path, options.wait, readonly=options.read_only) as collection,
    ):
        if options.workers > 1:
            serve_in_workers(options.workers, collection, options.wait, tokens, checked, listening, _announce)
            return DONE
        pages = {PAGES: _pages(collection, tokens, checked)} if options.page else {}
        announce = partial(_announce, pages=options.page)
        monitoring.log_to_stderr()
        if not run(collection, tokens, checked, listening, announce, pages):
            leave(DONE)
    return DONE


def _require_together(options: ServeOptions) -> None:
    """Raise SettingError for options that contradict one another."""
    if (options.path is None) == (not options.shard):
        given = "Neither a collection nor --shard" if options.path is None else "A collection and --shard"
        raise SettingError(f"{given} was given", "One collection, or --shard for each of several")
    alone = {"--create": options.create, "--page": options.page, "--workers": options.workers > 1}
    if options.shard and any(alone.values()):
        raise SettingError(
            f"{next(name for name, given in alone.items() if given)} is given with --shard",
            "Options for the collection of one service",
            "Give it to the service of each shard",
        )
    if options.read_only and options.create:
        raise SettingError("--read-only is given with --create", "One of them")
    if options.page and options.read_only:
        raise SettingError("--page is given with --read-only", "One of them: people decide on the pages")
    if options.page and options.workers > 1:
        raise SettingError(
            f"--page is given with --workers {options.workers}",
            "Pages in one process, which has the sessions of the browsers",
            "Start a second service with --page and another --port",
        )


def _pages(collection: Collection, tokens: Tokens, limits: Limits) -> ReviewApp:
    """Return the pages on which people decide about the groups of a collection."""
    from neardup.review.desk.desk import Desk
    from neardup.review.live.app import Served, review_app

    return review_app(Desk.of_collection(collection, threaded=True), Served(account(), tokens, limits))


def _announce(address: str, pages: bool = False) -> None:
    typer.echo(f"listening at {display.printable(address)}")
    if pages:
        typer.echo(f"pages at {display.printable(address)}{PAGES}/")


def review(options: ReviewOptions) -> int:
    """Review a result in a browser: look at groups and pairs, and decide."""
    with service_required():
        from neardup.review.live.app import Served
        from neardup.service.web.server import address_of, listen
    from neardup.deduplication.results import require_result

    served = Served(options.by or account(), _tokens(options.host, options.token_file))
    with listen(options.host, options.port) as listening:
        require_result(options.out)
        # a browser that opens it now waits for its page until the result is loaded
        typer.echo(f"Open {display.printable(address_of(listening))} in a browser; Ctrl-C stops.")
        from neardup.review.desk.desk import Desk
        from neardup.review.live.app import serve_review

        with closing(Desk.open(options.out, threaded=True)) as desk:
            ended = False
            with suppress(KeyboardInterrupt):  # a second signal: every decision is stored already
                ended = serve_review(desk, served, listening)
            last = desk.history(limit=1)
            _say_end(options.out, last[0].number if last else 0)
            if not ended:
                leave(DONE)
    return DONE


def _say_end(out: Path, actions: int) -> None:
    from neardup.deduplication.reviews import older_report

    name = display.printable(typed_text(out))
    if actions:
        typer.echo(f"stopped; {name} holds {display.counted(actions, 'action')}: neardup apply {name} -o DIR")
        if older := older_report(out, actions):
            typer.echo(f"{older}: neardup report {name} -o PAGE --overwrite")
    else:
        typer.echo(f"stopped; nobody has decided about {name}")


def mcp(options: McpOptions) -> int:
    """Offer compare, find and search to an agent by the Model Context Protocol, on standard input and output."""
    if not 0 < options.seconds <= 3600:
        raise SettingError(f"--seconds is {options.seconds:g}", "A number above 0 and at most 3,600")
    if not 0 < options.largest <= 10_000:
        raise SettingError(f"--largest is {options.largest:g}", "A number of megabytes above 0 and at most 10,000")
    try:
        from neardup.cli.agents import server_of
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"mcp", "mcp_types", "pydantic", "anyio"}:
            raise
        raise InputError(f"A server for agents needs the package {error.name}", "", install("mcp")) from error
    from neardup.cli.agents import Roots, Tools

    roots = Roots.of(options.root, int(options.largest * 1e6))
    server_of(Tools(roots, options.seconds), write=options.write).run("stdio")
    return DONE


def account() -> str:
    """Return the name of the user's account, or "reviewer" if it has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may have no name for its user
        return "reviewer"


def _tokens(host: str, file: Path | None) -> Tokens:
    """Return the tokens that open the pages. Raises SettingError if other machines reach ``host`` without one."""
    from neardup.service.web.middleware import Tokens, read_tokens, require_tokens

    tokens, warning = read_tokens(file) if file else (Tokens(), "")
    require_tokens(host, tokens)
    if warning:
        warn(warning)
    return tokens
