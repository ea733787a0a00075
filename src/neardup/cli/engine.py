"""The engines on which ``dedup`` and ``group`` run: one contract, and the check of the options they support."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from neardup.cli.option import options_of
from neardup.cli.options.on_files import DedupOptions, GroupOptions
from neardup.errors import OutputError, SettingError

if TYPE_CHECKING:
    from neardup.run.review_decisions import ReviewedResult
    from neardup.run.stages.records import Action

Options: TypeAlias = DedupOptions | GroupOptions

ALL_OPTIONS = frozenset(option.name for option in options_of(DedupOptions))
"""The names of the options of ``dedup``; those of ``group`` are among them."""


class Engine(Protocol):
    """A way to run; ``where`` and ``allowed`` complete the error for options that are not ``supported``."""

    where: str
    allowed: str
    supported: frozenset[str]

    def run(self, action: Action, options: Options) -> int:
        """Find, write and print; return the exit status."""


def run_on(engine: Engine, action: Action, options: Options) -> int:
    """Run on an engine. Raises SettingError for options that it does not support."""
    unsupported = options.explicit - engine.supported
    names = [option.spelling[-1] for option in options_of(DedupOptions) if option.name in unsupported]
    if names:
        raise SettingError(f"{', '.join(names)} cannot be given {engine.where}", engine.allowed, "Leave it out")
    return engine.run(action, options)


def review_of(options: Options) -> ReviewedResult | None:
    """Return the decisions to follow. Raises OutputError if the output would replace them."""
    from neardup.run.stored_review import reviewed

    if not isinstance(options, DedupOptions) or options.decisions is None:
        return None
    if options.out is not None and options.out.resolve() == options.decisions.resolve():
        raise OutputError(
            f"{options.out} holds the decisions themselves", "Another folder", "Choose another with -o"
        )
    return reviewed(options.decisions)
