"""The pages of a review over HTTP: the time of the server, and the first paint in a browser.

    python benchmarks/review_pages.py FOLDER [--groups 100000] [--requests 60] [--write]

FOLDER is that of benchmarks/review.py, and is made if it has no result. ``neardup review`` serves it in a process
of its own; one client asks for one page after the other over a connection that stays open, and times each from the
request to the last byte. Lists and queues are followed page by page, groups and pairs are drawn from them. The
first paint is measured in headless Chromium, from the beginning of the navigation, where Playwright and Chromium
are installed. ``--write`` puts the table into benchmarks/results/review.md.
"""

from __future__ import annotations

import html
import http.client
import os
import platform
import random
import re
import shutil
import subprocess
import sys
from datetime import date
from time import monotonic

from review import LONG, RESULTS, arguments, percentile95

HEAD = "## Over HTTP"
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync"
)


class Client:
    """Asks for pages, and keeps the times and sizes of each kind."""

    def __init__(self, address: str) -> None:
        self.connection = http.client.HTTPConnection(address.removeprefix("http://"))
        self.rows: list[tuple[str, float, float, int]] = []

    def get(self, target: str) -> tuple[float, str]:
        """Return the seconds of a request, and the page."""
        begin = monotonic()
        self.connection.request("GET", target)
        answer = self.connection.getresponse()
        page = answer.read()
        taken = monotonic() - begin
        assert answer.status == 200, (target, answer.status, page[:300])
        return taken, page.decode()

    def time(self, name: str, targets: list[str]) -> list[str]:
        """Time requests for pages of one kind; return the pages."""
        found = [self.get(target) for target in targets]
        self._add(name, found)
        return [page for _, page in found]

    def follow(self, name: str, target: str, requests: int) -> list[str]:
        """Time a list, page after page."""
        found = []
        for _ in range(requests):
            found.append(self.get(target))
            after = re.search(r'<a rel="next" href="([^"]+)"', found[-1][1])
            if after is None:
                break
            target = html.unescape(after[1])
        self._add(name, found)
        return [page for _, page in found]

    def _add(self, name: str, found: list[tuple[float, str]]) -> None:
        taken = sorted(1e3 * seconds for seconds, _ in found)
        largest = max(len(page.encode()) for _, page in found)
        self.rows.append((name, taken[len(taken) // 2], percentile95(taken), largest))
        print(f"{name:46} median {self.rows[-1][1]:7.1f}  p95 {self.rows[-1][2]:7.1f} ms  {largest / 1e3:7.1f} kB")


def addresses(pages: list[str], form: str) -> list[str]:
    """Return the different addresses of a form that pages link to."""
    found = (html.unescape(link) for page in pages for link in re.findall(rf'href="({form}[^"]*)"', page))
    return list(dict.fromkeys(found))


def measure(client: Client, requests: int) -> None:
    """Ask for every kind of page."""
    draw = random.Random(3)
    lists = []
    for order in ("undecided", "stake", "similarity"):
        lists += client.follow(f"groups by {order}, page after page", f"/?order={order}", requests)
    client.time("groups, size&gt;3 AND similarity&lt;.9", ["/?filter=size%3E3+AND+similarity%3C.9"] * requests)
    groups = addresses(lists, "/groups/")
    shown = client.time("group", draw.sample(groups, requests))
    client.time("pair", draw.sample(addresses(shown, "/pairs/"), requests))
    for queue in ("undecided", "threshold", "outside"):
        client.follow(f"queue {queue}, page after page", f"/queues/{queue}", requests)
    (found,) = client.time("filter by an id", ["/?filter=id%3Along"])
    (group,) = client.time("group of two long documents", addresses([found], "/groups/")[:1])
    long = addresses([group], "/pairs/")[:1] * min(requests, 20)
    client.time(f"pair of two documents of {LONG:,} words", long)
    client.time("threshold", [f"/threshold?value={0.5 + number / 250:.3f}" for number in range(requests)])
    client.time(f"pair of {LONG:,} words, while effects are counted", long)
    for name in ("kinds", "history", "export", "keys"):
        client.time(name, [f"/{name}"] * min(requests, 20))


def first_paint(address: str) -> str:
    """Return in words when Chromium first paints the list of groups, and when it is complete."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        return "not measured: Playwright is missing"
    if chromium is None:
        return "not measured: Chromium is missing"
    asked = "() => performance.getEntriesByType('paint').map(e => [e.name, e.startTime])"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS.split())
        times = []
        for _ in range(5):
            page = browser.new_page()
            page.goto(address)
            page.wait_for_timeout(300)
            times.append(dict(page.evaluate(asked)).get("first-contentful-paint", float("nan")))
            page.close()
        browser.close()
    return f"{times[0]:.0f} ms for the first page of a new browser, then {sorted(times[1:])[2]:.0f} ms"


def main() -> None:
    """Serve the result, and time its pages."""
    given = arguments(__doc__)
    begin = monotonic()
    command = [sys.executable, "-m", "neardup", "review", str(given.folder / "result"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = re.search(r"http://\S+", server.stdout.readline())
        assert address is not None, "the server did not start"
        ready = monotonic() - begin
        try:
            painted = first_paint(address[0])
            client = Client(address[0])
            measure(client, given.requests)
        finally:
            server.terminate()
    lines = [
        HEAD,
        "",
        f"Made on {date.today()} with `benchmarks/review_pages.py`, {given.requests} requests of each kind, on "
        f"{os.cpu_count()} cores ({platform.machine()}, Python {platform.python_version()}) with a load of "
        f"{os.getloadavg()[1]:.1f}: milliseconds from the request to the last byte, for one client. The server is "
        f"ready {ready:.1f} s after the command. First contentful paint in headless Chromium: {painted}.",
        "",
        "| page | median | p95 | largest, kB |",
        "|---|--:|--:|--:|",
        *(
            f"| {name} | {median:.1f} | {late:.1f} | {size / 1e3:.1f} |"
            for name, median, late, size in client.rows
        ),
        "",
    ]
    print(lines[2])
    if given.write:
        before = RESULTS.read_text(encoding="utf-8").partition(HEAD)[0].rstrip()
        RESULTS.write_text(before + "\n\n" + "\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
