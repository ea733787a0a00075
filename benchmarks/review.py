"""The pages of a review: the time that their data takes, for a result of many groups.

    python benchmarks/review.py FOLDER [--groups 100000] [--requests 60] [--write]

FOLDER holds the documents and the result, which are made if it has none: groups of two to six documents of 60 to
130 words, exact copies, other numbers, additions and changed words; and groups of 60 and of 1,000 deeds of 4 kB
with other names, dates and amounts, whose members are compared anew for each request. Each request is timed from
the call of the source to its answer; a decision is stored before every tenth one. The kernels are loaded first.
Between requests there is a pause of 50 ms, in which the lines that come next are made. ``--write`` writes the page
benchmarks/results/review.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep, thread_time

import neardup as nd
from neardup.review.desk.desk import Desk
from neardup.review.desk.subjects import ResultSubject
from neardup.review.desk.views import alike_in
from neardup.review.source import ORDERS, QUEUES, Decide, Question

RESULTS = Path(__file__).parent / "results" / "review.md"
PAUSE = 0.05
LONG = 20_000
"""Words of the two long documents."""
TABLES = (60, 1000)
"""Members of the groups whose differences are measured; their documents have 4 kB."""
FILTERS = (
    "size>3",
    "similarity<.9 AND decided:no",
    "(copies>0 OR stake>300) AND NOT verdict:unsure",
    "id:d77 OR id:d78",
    "file:documents.jsonl AND size=2",
)


def make(folder: Path, groups: int) -> None:
    """Write the documents and the result of a run on them."""
    draw = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["".join(draw.choices(letters, k=draw.randint(3, 9))) for _ in range(20_000)]
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        for _ in range(groups):
            words = draw.choices(vocabulary, k=draw.randint(60, 110))
            words[5] = str(draw.randint(100, 999))
            for member in range(draw.choice([2, 2, 2, 3, 3, 4, 6])):
                text = " ".join(edited(words, vocabulary, draw) if member else words)
                file.write(json.dumps({"id": f"d{number}", "text": text}) + "\n")
                number += 1
        words = draw.choices(vocabulary, k=LONG)
        for id, text in (("long", words), ("long-edited", [*words[:5000], "more", *words[5100:], "end"])):
            file.write(json.dumps({"id": id, "text": " ".join(text)}) + "\n")
    found = nd.find(folder / "documents.jsonl", id="id", threshold=0.5, memory=2.0)
    found.save(folder / "result")


def edited(words: list[str], vocabulary: list[str], draw: random.Random) -> list[str]:
    """A member of a group: a copy, another number, an addition, or some other words."""
    changed, how = list(words), draw.random()
    if 0.15 < how < 0.5:
        changed[5] = str(draw.randint(100, 999))
    elif how < 0.8:
        changed += draw.choices(vocabulary, k=draw.randint(3, 20)) if how > 0.15 else []
    else:
        for _ in range(draw.randint(1, 3)):
            changed[draw.randrange(len(changed))] = draw.choice(vocabulary)
    return changed


def make_deeds(folder: Path, members: int) -> None:
    """Write one group of deeds, with names, dates, amounts and some paragraphs of their own, and the result."""
    draw = random.Random(members)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["".join(draw.choices(letters, k=draw.randint(3, 9))) for _ in range(5000)]
    paragraphs = [" ".join(draw.choices(vocabulary, k=45)).capitalize() + "." for _ in range(14)]
    folder.mkdir(parents=True)
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        for number in range(members + 1):
            own = list(paragraphs)
            own[1] += (
                f" The tenant is {draw.choice(['Anna', 'Tom', 'Ida'])} {draw.choice(vocabulary).capitalize()}"
            )
            own[1] += f" since {draw.randint(1, 28)} May 20{draw.randint(10, 26)}."
            own[3] += f" The price is {draw.randint(100, 9999):,}.00 euros."
            own[5:5] = ["Each party may end this within thirty days by a letter."] * (number % 7 == 6)
            file.write(json.dumps({"id": f"deed-{number:04}", "text": "\n\n".join(own)}) + "\n")
    nd.find(folder / "documents.jsonl", id="id", threshold=0.5, keep="first").save(folder / "result")


def measure_tables(clock: Clock, folder: Path) -> None:
    """Time what differs in a group, and its page, when nothing is known of its members."""
    for members in TABLES:
        deeds = folder / f"deeds-{members}"
        if not deeds.is_dir():
            make_deeds(deeds, members)
        desk = Desk(ResultSubject(nd.load(deeds / "result"), deeds / "result", read_only=True))
        desk._reader.seconds = 60.0
        desk.wait_until_sorted()
        (line,) = desk.groups(Question()).lines

        def table(_: int, desk: Desk = desk) -> None:
            desk._lines.forget()
            alike_in(desk._lines, 0, desk._reader.budget())

        def page(_: int, desk: Desk = desk, key: int = line.key) -> None:
            desk._lines.forget()
            desk.group(key)

        clock.time(f"differences of {members:,} members of 4 kB", table, 10)
        clock.time(f"group of {members:,} members of 4 kB", page, 10)
        desk.close()


class Clock:
    """Times requests, and decides about a pair before every tenth one."""

    def __init__(self, desk: Desk, requests: int) -> None:
        self.desk, self.requests = desk, requests
        self.rows: list[tuple[str, float, float, float]] = []  # median, p95, and p95 of processor time
        self.waiting = iter(desk.queue("undecided", limit=1000).lines)

    def time(self, name: str, ask: Callable[[int], object], requests: int = 0) -> None:
        """Time requests; ``ask`` gets their number."""
        taken, worked = [], []
        for number in range(requests or self.requests):
            if number % 10 == 9:
                pair = next(self.waiting)
                self.desk.decide(Decide("pair", "duplicate", "bench", 1 << 40, pair=(pair.a, pair.b)))
            begin, before = monotonic(), thread_time()
            ask(number)
            taken.append(monotonic() - begin)
            worked.append(thread_time() - before)
            sleep(PAUSE)
        median, late, busy = sorted(taken)[len(taken) // 2], percentile95(taken), percentile95(worked)
        self.rows.append((name, 1e3 * median, 1e3 * late, 1e3 * busy))
        print(f"{name:48} median {1e3 * median:7.1f}  p95 {1e3 * late:7.1f}  processor {1e3 * busy:7.1f} ms")


def percentile95(values: list[float]) -> float:
    """The value that 95 % of the values do not exceed."""
    return sorted(values)[max(0, round(0.95 * len(values)) - 1)]


def measure(desk: Desk, requests: int) -> Clock:
    """Time all kinds of pages."""
    draw = random.Random(5)
    clock = Clock(desk, requests)
    for order in ORDERS:
        following = Following(desk, Question(order=order))
        clock.time(f"list by {order}, page after page", following)
    for filter in FILTERS:
        clock.time(f"list, {filter}", lambda _, filter=filter: desk.groups(Question(filter)))  # type: ignore[misc]
    pages = [
        desk.groups(Question(order="place", limit=requests)).lines,
        desk.groups(Question(limit=requests)).lines,
    ]
    keys = [line.key for page in pages for line in page]
    draw.shuffle(keys)
    clock.time("group, in a filtered list", lambda n: desk.group(keys[n], Question("size>2")))
    views = [view for key in keys if len((view := desk.group(key)).members) > 1]
    ends = [(view.members[1].key, view.members[0].key) for view in views]
    clock.time("pair of short documents, in its group", lambda n: desk.pair(*ends[n]))
    clock.time("pair of short documents, in a queue", lambda n: desk.pair(*ends[n], "undecided"))
    for queue in QUEUES:
        clock.time(f"queue {queue}", lambda _, queue=queue: desk.queue(queue))  # type: ignore[misc]
    clock.time("threshold, while effects are counted", lambda n: desk.threshold(0.5 + n / 200), min(20, requests))
    while desk.threshold().notes:
        sleep(1)
    clock.time("threshold", lambda n: desk.threshold(0.5 + n % 90 / 200))
    line = desk.groups(Question("id:long")).lines[0]
    a, b = (member.key for member in desk.group(line.key).members)
    clock.time(f"pair of two documents of {LONG:,} words", lambda _: desk.pair(a, b), min(20, requests))
    return clock


class Following:
    """Asks for one page of a list after the other."""

    def __init__(self, desk: Desk, question: Question) -> None:
        self.desk, self.question, self.after = desk, question, ""

    def __call__(self, _: int) -> None:
        """Ask for the next page."""
        asked = Question(self.question.filter, self.question.order, self.after)
        self.after = self.desk.groups(asked).next


def report(clock: Clock, groups: int, opened: tuple[float, float], load: float) -> str:
    """The figures as a page."""
    lines = [
        "# The pages of a review",
        "",
        f"Made with `benchmarks/review.py`: a result of {groups:,} groups, {clock.requests} requests each, "
        f"on {os.cpu_count()} cores ({platform.machine()}, Python {platform.python_version()}) with a load "
        f"of {load:.1f}. Milliseconds from the call of the source to its answer, without HTML.",
        "",
        f"Loading and checking the result takes {opened[0]:.1f} s, the columns of its index {opened[1]:.2f} s.",
        "",
        "| request | median | p95 | p95 of processor time |",
        "|---|--:|--:|--:|",
        *(f"| {name} | {median:.1f} | {late:.1f} | {busy:.1f} |" for name, median, late, busy in clock.rows),
        "",
    ]
    return "\n".join(lines)


def arguments(description: str | None) -> argparse.Namespace:
    """Read the arguments; make the result if it is not there, and remove its decisions."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--groups", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if not (given.folder / "result").is_dir():
        make(given.folder, given.groups)
    (given.folder / "result" / "decisions.sqlite").unlink(missing_ok=True)
    return given


def main() -> None:
    """Time the pages."""
    given = arguments(__doc__)
    begin = monotonic()
    found = nd.load(given.folder / "result")
    loaded = monotonic()
    desk = Desk(ResultSubject(found, given.folder / "result"))
    opened = loaded - begin, monotonic() - loaded
    print(f"loaded in {opened[0]:.1f} s, index in {opened[1]:.2f} s")
    desk._warming.join()
    clock = measure(desk, given.requests)
    measure_tables(clock, given.folder)
    page = report(clock, desk.about().groups, opened, os.getloadavg()[1])
    if given.write:
        RESULTS.write_text(page, encoding="utf-8")
    desk.close()


if __name__ == "__main__":
    main()
