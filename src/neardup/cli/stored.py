"""``neardup apply`` and ``neardup regroup``: another result from a stored one, without another search."""

from __future__ import annotations

from pathlib import Path

from neardup import display
from neardup.cli import target
from neardup.cli.messages import warn
from neardup.cli.options.on_files import ApplyOptions, RegroupOptions
from neardup.cli.shown import print_result, watcher
from neardup.errors import OutputError


def apply(options: ApplyOptions) -> int:
    """Write the documents that stay after the review of a result, as people decided."""
    from neardup.io.writers import common_access
    from neardup.run.final import fill_final, final_result
    from neardup.run.found import load
    from neardup.run.stored_review import review_in

    with target.reports_aside(options.out):
        target.refuse_unusable_out(options)
        if options.out is None or options.dry_run:
            found = load(options.result, inputs=options.moved)
            return print_result(final_result(found, review_in(found.ranks, options.result))[0], options)
        _refuse_same_folder(options.out, options.result)
        with watcher() as progress, target.open_output(options.out, overwrite=options.overwrite) as folder:
            folder.restrict(common_access(options.moved))
            found = load(options.result, inputs=options.moved)
            final = fill_final(found, review_in(found.ranks, options.result), folder, progress)
        return print_result(final, options)


def regroup(options: RegroupOptions) -> int:
    """Group the pairs of an earlier result at a stricter threshold."""
    from neardup.io.writers import OutputFolder
    from neardup.run.found import load, write_result
    from neardup.tables import DECISIONS_FILE

    target.refuse_unusable_out(options)
    if (options.result / DECISIONS_FILE).exists():
        name = display.printable(options.result)
        warn(f"the decisions in {name} are not followed; neardup dedup --decisions does that")
    if options.out is None or options.dry_run:
        return print_result(load(options.result).at(options.stricter), options)
    _refuse_same_folder(options.out, options.result)
    with OutputFolder(options.out, overwrite=options.overwrite) as folder:
        found = load(options.result).at(options.stricter)
        write_result(found, folder)
    return print_result(found, options)


def _refuse_same_folder(out: Path, result: Path) -> None:
    if out.resolve() == result.resolve():
        raise OutputError(
            f"{out} is the given result itself",
            "Another folder, since a result cannot replace its source",
            "Choose another folder with -o",
        )
