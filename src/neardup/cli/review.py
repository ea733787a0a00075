"""``neardup review``: decide about the groups of a result, on pages in a browser."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from neardup import display
from neardup.cli.messages import DONE, warn
from neardup.cli.options.on_files import ReviewOptions
from neardup.cli.serve import account, service_required
from neardup.cli.stopping import leave

if TYPE_CHECKING:
    from neardup.review.live.app import Served


def review(options: ReviewOptions) -> int:
    """Review a result in a browser: look at groups and pairs, and decide."""
    with service_required():
        from neardup.web.server import address_of, listen
    from neardup.run.stored import require_result

    served = served_with(options.host, options.token_file, options.by)
    with listen(options.host, options.port) as listening:
        require_result(options.out)
        # a browser that opens it now waits for its page until the result is loaded
        _announce(address_of(listening))
        from neardup.review.desk.desk import Desk
        from neardup.review.live.serving import serve_review

        with closing(Desk.open(options.out, inputs=options.inputs or None)) as desk:
            ended = False
            with suppress(KeyboardInterrupt):  # a second signal: every decision is stored already
                ended = serve_review(desk, served, listening)
            last = desk.history(limit=1)
            _say_end(options.out, last[0].number if last else 0)
            if not ended:
                leave(DONE)
    return DONE


def served_with(host: str, token_file: Path | None, by: str) -> Served:
    """Return the settings of the pages: who may enter, and under which name.

    Raises SettingError if other machines can reach ``host`` and there are no tokens.
    """
    from neardup.review.live.app import Served
    from neardup.web.tokens import Tokens, read_tokens, require_tokens

    tokens, warning = read_tokens(token_file) if token_file else (Tokens(), "")
    require_tokens(host, tokens)
    if warning:
        warn(warning)
    return Served(by or account(), tokens)


def _say_end(out: Path, actions: int) -> None:
    name = display.printable(out)
    if actions:
        typer.echo(f"stopped; {name} holds {display.counted(actions, 'action')}: neardup apply {name} -o DIR")
    else:
        typer.echo(f"stopped; nobody has decided about {name}")


def _announce(address: str) -> None:
    typer.echo(f"Open {display.printable(address)} in a browser; Ctrl-C stops.")
