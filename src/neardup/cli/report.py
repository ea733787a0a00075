"""``neardup report``: a result as one self-contained page."""

from __future__ import annotations

from datetime import date

import typer

from neardup import display
from neardup.cli.messages import DONE
from neardup.cli.options.on_files import ReportOptions


def report(options: ReportOptions) -> int:
    """Write a page about a result: the figures, the groups to look at first, and pairs side by side."""
    from neardup.io.writers import OutputPage
    from neardup.review.report.page import check_lengths, report_page
    from neardup.run.found import load

    check_lengths(options.most_pairs, options.most_groups)
    found = load(options.result, inputs=options.inputs)
    with OutputPage(options.page, overwrite=options.overwrite, access=found.access) as page:
        title = options.result.resolve().name
        made = report_page(
            found,
            pairs=options.most_pairs,
            groups=options.most_groups,
            title=title,
            written=date.today().isoformat(),
        )
        page.write(made)
    typer.echo(f"written  {display.printable(options.page)}: {display.size(len(made.encode('utf-8', 'replace')))}")
    return DONE
