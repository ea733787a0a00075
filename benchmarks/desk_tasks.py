"""A reviewer's day in ten tasks: keys or clicks, and pixels to scroll, in headless Chromium.

    python benchmarks/desk_tasks.py FOLDER [--write before|after] [--show]

FOLDER gets a matter made by this program: contracts in versions, one of them of forty pages, mails of two
people, and memos that differ in numbers only. ``neardup dedup`` compares its documents, and ``neardup review``
serves the result in a process of its own. Each task is done with the fewest actions that the pages allow: a key, a
click, or a text that is typed counts as one. Pixels are those that a reader scrolls to see what the task needs, in
a window of 1,366 × 768. ``--write`` puts them into a column of benchmarks/results/desk.md; ``--show`` prints
the actions.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "desk.md"
WINDOW = {"width": 1366, "height": 768}
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
)
TASKS = (
    "first decision, from the first page",
    "next undecided pair, its difference in view",
    "decide five of eight members",
    "decide all pairs of a kind",
    "find the groups of a custodian",
    "the difference in a contract of forty pages",
    "change the representative",
    "undo",
    "decisions to a spreadsheet and back",
    "hand on a report that has the decisions",
)
BY_HAND = (
    "The report before is counted by hand: the script of that day ran `apply` first, which takes two actions, and "
    "a report of the reviewed result took one."
)
VOCABULARY = str.split(
    "the party of first second part shall deliver goods to port on or before date that schedule names and buyer "
    "pays price within days after receipt unless notice is given in writing by either side under this clause "
    "where law requires consent no change takes effect until both have signed it harbour freight insurance "
    "delay damage repair claim court award cost interest rate bank account transfer invoice tax duty permit"
)


def sentence(draw: random.Random) -> str:
    """A sentence of eight to thirty words."""
    words = draw.choices(VOCABULARY, k=draw.randint(8, 30))
    return " ".join(words).capitalize() + "."


def paragraphs(draw: random.Random, count: int, sentences: int) -> list[str]:
    """Some paragraphs, each on one line."""
    return [" ".join(sentence(draw) for _ in range(sentences)) for _ in range(count)]


def make_matter(folder: Path) -> None:
    """Write the documents of the matter."""
    draw = random.Random(5)
    for contract in range(12):
        long = contract == 11
        text = paragraphs(draw, 70 if long else 8, 12)
        versions = 8 if contract == 3 else 2 if long else draw.randint(2, 5)
        for version in range(1, versions + 1):
            if version > 1:
                at = 50 if long else draw.randrange(2, len(text))
                words = text[at].split()
                words[len(words) // 2] = f"{draw.randint(100, 999)}"
                text = [*text[:at], " ".join(words), *text[at + 1 :]]
            name = folder / "contracts" / f"24{contract:02}" / f"agreement_24{contract:02}_v{version}.txt"
            write(name, f"Agreement 24{contract:02}\n\n" + "\n\n".join(text) + "\n")
    for person in ("anna", "boris"):
        for thread in range(10):
            body = "\n\n".join(paragraphs(draw, 2, 5))
            for turn in range(3):
                more = f"{sentence(draw)}\n\n" * turn
                head = (
                    f"From: {person}@example.com\nTo: office@example.com\nSubject: Delivery {thread}\n"
                    f"Date: {thread + 1:02} Mar 2024 1{turn}:00:00 +0000\n"
                    f"Message-ID: <{person}.{thread}.{turn}@example.com>\n\n"
                )
                write(
                    folder / "custodians" / person / "mail" / f"{thread:02}_{turn}.eml", head + more + body + "\n"
                )
    for memo in range(8):
        memo_text = paragraphs(draw, 1, 9)[0]
        for copy in range(3):
            write(
                folder / "memos" / f"memo_{memo}_{copy}.txt",
                f"Memo {10 * memo + copy} of 20{copy + 10}. {memo_text}\n",
            )


def write(path: Path, text: str) -> None:
    """Write a file, and the folders around it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def served(result: Path) -> Iterator[str]:
    """The address of the review of a result, in a process of its own."""
    command = [sys.executable, "-m", "neardup", "review", str(result), "--by", "Ann", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://\S+?(?=[\s;]|$)", server.stdout.readline())
            assert found is not None, "the server did not start"
            yield found[0]
        finally:
            server.terminate()


SCROLL = """element => {
  let moved = 0;
  const bars = [...document.querySelectorAll('header.bar, form.decide')].map(bar => bar.getBoundingClientRect());
  for (let box = element.parentElement; box; box = box.parentElement) {
    const page = box === document.documentElement;
    const scrolls = /auto|scroll/.test(getComputedStyle(box).overflowY) && box.scrollHeight > box.clientHeight;
    if (!page && !scrolls) continue;
    const own = element.getBoundingClientRect(), outer = box.getBoundingClientRect();
    const above = bars.filter(bar => bar.top <= 1).map(bar => bar.bottom);
    const below = bars.filter(bar => bar.bottom >= innerHeight - 1).map(bar => bar.top);
    const top = page ? Math.max(0, ...above) : outer.top;
    const low = page ? Math.min(innerHeight, ...below) : outer.bottom;
    const by = own.top < top ? own.top - top : own.bottom > low ? Math.min(own.bottom - low, own.top - top) : 0;
    const before = box.scrollTop;
    box.scrollBy({ top: by, behavior: 'instant' });
    moved += Math.abs(box.scrollTop - before);
  }
  return moved;
}"""


@dataclass
class Hand:
    """A reader with a keyboard and a mouse: does things on a page, and counts them."""

    page: Any
    actions: list[str] = field(default_factory=list)
    pixels: float = 0

    def see(self, target: str) -> Any:
        """Scroll until the first element that a selector finds is in view."""
        found = self.page.locator(target).first
        found.wait_for()
        self.pixels += found.evaluate(SCROLL)
        return found

    def click(self, target: str, *, shift: bool = False) -> None:
        """Click on an element, and wait for the page."""
        self.actions.append(f"click {target}")
        self.see(target).click(modifiers=["Shift"] if shift else [])
        self.settle()

    def press(self, key: str) -> None:
        """Press a key, and wait for the page."""
        self.actions.append(key)
        self.page.keyboard.press(key)
        self.settle()

    def write(self, words: str) -> None:
        """Write words where the focus is."""
        self.actions.append(f"write {words}")
        self.page.keyboard.type(words)

    def run(self, *words: str) -> None:
        """Type a command in a terminal."""
        self.actions.append(" ".join(words))
        subprocess.run([sys.executable, "-m", "neardup", *words], check=True, capture_output=True)

    def settle(self) -> None:
        """Wait until the page is at rest."""
        self.page.wait_for_timeout(700)
        self.page.wait_for_load_state("load")


CHANGE = "table.texts :is(del, ins)"
Task = Callable[[Hand, str, Path], bool]


def first_decision(hand: Hand, address: str, result: Path) -> bool:
    """The first undecided pair, the difference, a verdict."""
    hand.page.goto(address)
    hand.press("n")
    hand.see(CHANGE)
    hand.press("2")
    return "done=" in hand.page.url


def next_undecided(hand: Hand, address: str, result: Path) -> bool:
    """The pair after a verdict, up to its difference."""
    hand.page.goto(f"{address}/queues/undecided")
    hand.page.locator("table.pairs a").first.click()
    hand.settle()
    hand.press("2")
    hand.see(CHANGE)
    return "/pairs/" in hand.page.url


def group_page(hand: Hand, address: str, filter: str) -> None:
    """Open the first group that a filter finds, uncounted."""
    hand.page.goto(f"{address}/?filter={filter}")
    hand.page.locator("table.groups a").first.click()
    hand.settle()


def five_of_eight(hand: Hand, address: str, result: Path) -> bool:
    """Five versions of a contract are duplicates; the others are not decided."""
    group_page(hand, address, "id:contracts%2F2403%2Fagreement_2403_v1.txt")
    hand.click("input[type=checkbox][name=member] >> nth=0")
    hand.click("input[type=checkbox][name=member] >> nth=4", shift=True)
    hand.press("1")
    return "done=" in hand.page.url


def a_kind(hand: Hand, address: str, result: Path) -> bool:
    """All pairs that differ in numbers only are kept."""
    hand.page.goto(address)
    hand.click("header.bar >> text=Kinds")
    hand.click("main a >> text=numbers only")
    hand.page.locator("#decide").wait_for()
    hand.press("2")
    return "done=" in hand.page.url


def a_custodian(hand: Hand, address: str, result: Path) -> bool:
    """The groups with mails of one person."""
    hand.page.goto(address)
    hand.press("/")
    hand.write("path:custodians/anna")
    hand.press("Enter")
    return hand.page.locator("table.groups tbody tr").count() == 10


def a_long_contract(hand: Hand, address: str, result: Path) -> bool:
    """The only difference in a contract of forty pages."""
    group_page(hand, address, "id:contracts%2F2411%2Fagreement_2411_v1.txt")
    hand.click("table.alike tbody a")
    hand.see(CHANGE)
    return True


def a_representative(hand: Hand, address: str, result: Path) -> bool:
    """The third member represents its group."""
    group_page(hand, address, "id:memos%2Fmemo_1_1.txt")
    hand.click("table.members tr:nth-child(3) form[action$=represent] button")
    return "done=" in hand.page.url


def an_undo(hand: Hand, address: str, result: Path) -> bool:
    """The last action is taken back."""
    hand.page.goto(address)
    hand.press("u")
    return hand.page.locator("#undo").count() == 1


def a_spreadsheet(hand: Hand, address: str, result: Path) -> bool:
    """A file that a spreadsheet opens, and its decisions back in the review."""
    from openpyxl import load_workbook

    hand.page.goto(address)
    hand.click("header.bar >> text=Export")
    with hand.page.expect_download() as saved:
        hand.click("text=groups.xlsx")
    file = result.parent / "groups.xlsx"
    saved.value.save_as(file)
    book = load_workbook(file)  # a cell is changed, in a program of its own
    names = [cell.value for cell in book.active[1]]
    row = next(row for row in book.active.iter_rows(min_row=2) if "memo_5_1" in str(row[0].value))
    row[names.index("verdict")].value = "not alike"
    book.save(file)
    hand.run("import", str(result), str(file), "--by", "Ann")
    hand.page.goto(f"{address}/history")
    return "import" in hand.page.inner_text("main tbody tr >> nth=0")


def a_report(hand: Hand, address: str, result: Path) -> bool:
    """A page for others that says who decided."""
    hand.run("report", str(result), "-o", str(result.parent / "report.html"))
    return "Ann" in (result.parent / "report.html").read_text(encoding="utf-8")


DONE: tuple[Task, ...] = (
    first_decision,
    next_undecided,
    five_of_eight,
    a_kind,
    a_custodian,
    a_long_contract,
    a_representative,
    an_undo,
    a_spreadsheet,
    a_report,
)


def measure(folder: Path) -> list[tuple[str, str, list[str]]]:
    """Return for each task its actions and its pixels in words, and the actions one by one."""
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright, served(folder / "result") as address:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for task in DONE:
            page = browser.new_page(viewport=WINDOW)
            hand = Hand(page)
            possible = task(hand, address, folder / "result")
            said = (f"{len(hand.actions)}", f"{hand.pixels:,.0f}") if possible else ("not possible", "")
            found.append((*said, hand.actions))
            page.close()
        browser.close()
    return found


def main() -> None:
    """Make the matter, do the tasks, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", choices=("before", "after"))
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    shutil.rmtree(given.folder, ignore_errors=True)
    make_matter(given.folder / "matter")
    command = [
        "dedup",
        str(given.folder / "matter"),
        "-o",
        str(given.folder / "result"),
        "--threshold",
        "0.5",
        "--kinds",
    ]
    subprocess.run([sys.executable, "-m", "neardup", *command], check=True, capture_output=True)
    found = measure(given.folder)
    for name, (actions, pixels, one_by_one) in zip(TASKS, found, strict=True):
        print(
            f"{name:48} {actions:>14} {pixels:>8}",
            *(one_by_one if given.show else ()),
            sep="\n    " if given.show else " ",
        )
    if given.write:
        write_table(given.write, [(actions, pixels) for actions, pixels, _ in found])


def write_table(when: str, figures: list[tuple[str, str]]) -> None:
    """Put the figures into their columns of the table, and leave the others as they are."""
    rows = {name: [""] * 4 for name in TASKS}
    if RESULTS.is_file():
        lines = [line.strip("| ").split(" | ") for line in RESULTS.read_text(encoding="utf-8").splitlines()]
        rows.update({cells[0]: cells[1:] for cells in lines if cells[0] in rows and len(cells) == 5})
    first = 2 * (when == "after")
    for name, (actions, pixels) in zip(TASKS, figures, strict=True):
        rows[name] = [*rows[name][:first], actions, pixels or "–", *rows[name][first + 2 :]]
    table = "\n".join(
        f"| {' | '.join((name, *(cell or '–' for cell in cells)))} |" for name, cells in rows.items()
    )
    about = (__doc__ or "").partition("Each task")[2].partition("``--write``")[0]
    note = f"Made with `benchmarks/desk_tasks.py`. Each task {' '.join(about.split())}"
    RESULTS.write_text(
        f"# Ten tasks at the desk\n\n{note}\n\n"
        "| task | actions before | pixels before | actions now | pixels now |\n|---|--:|--:|--:|--:|\n"
        f"{table}\n\n{BY_HAND}\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
