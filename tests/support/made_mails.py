"""A small folder of mails and papers, for the page on collections of mail and its tests."""

from __future__ import annotations

from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from textwrap import indent

from support.made_files import docx, pdf_of

BUDGET = """\
The budget of the harbour for next year has been drawn up. It sets aside
40,000 for the new crane, 12,500 for the repair of the northern pier, and
3,200 for paint and rope. The fees of the berths stay as they are. Whoever
has objections to the budget sends them to the office by the end of the month,
in writing and with a reason, so that the board can deal with them in its
next meeting."""

LUNCH = "There is fish soup in the canteen on Friday. Please tell the kitchen by noon whether you come."


def mail(sender: str, to: str, when: datetime, subject: str, text: str) -> bytes:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = sender, to, subject
    made["Date"] = format_datetime(when)
    made.set_content(text, cte="quoted-printable")
    return made.as_bytes()


def day(month: int, number: int, hour: int) -> datetime:
    return datetime(2020, month, number, hour, 15, tzinfo=UTC)


def write(folder: Path) -> Path:
    """The folder."""
    office, board = "Harbour office <office@example.org>", "Board <board@example.org>"
    answer = "We agree, with one exception: the pier cannot wait.\n\n" + indent(BUDGET, "> ")
    minutes = f"Minutes of the board\n\nThe office reported.\n{BUDGET}\nThe board agreed after a short debate."
    files = {
        "inbox/budget.eml": mail(office, board, day(1, 30, 9), "Budget of the harbour", BUDGET),
        "inbox/lunch.eml": mail("Canteen <canteen@example.org>", office, day(2, 3, 10), "Friday", LUNCH),
        "sent/answer.eml": mail(board, office, day(1, 31, 17), "Re: Budget of the harbour", answer),
        "papers/minutes.docx": docx(
            "".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in minutes.splitlines()),
            "<dc:title>Minutes</dc:title><dc:creator>Board</dc:creator>",
        ),
        "papers/plan.pdf": pdf_of(
            "The plan of the berths: numbers one to forty, from the lock to the lighthouse."
        ),
        "papers/scan.pdf": b"%PDF-1.4 cut off",
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder
