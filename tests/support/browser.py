"""A real browser for pages: headless Chromium of the system, and a server; tests skip where it is missing."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from time import monotonic, sleep
from typing import Any

import pytest

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # in containers it is small
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
}

COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
"""For the second colour scheme of a page: the other rules do not look at colours."""


@contextmanager
def chromium() -> Iterator[Any]:
    """A running browser."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


def another(browser: Any, *more: str) -> Any:
    """A second browser beside a running one, with more arguments."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    return browser.browser_type.launch(executable_path=path, args=[*ARGUMENTS, *more])


UNROLL = """how => { for (const each of document.querySelectorAll("body, main, .panes, .pane"))
    Object.assign(each.style, how); }"""


def violations(page: Any, rules: dict[str, Any] = RULES) -> list[str]:
    """The violations that axe finds on a page: the rule, and the first places.

    It looks at the colours of what is in view alone: meanwhile panes are as long as what is in them.
    """
    script = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(script)  # not add_script_tag: the policy of the page forbids that
    page.evaluate(UNROLL, {"overflow": "visible", "height": "auto"})
    found = page.evaluate("rules => axe.run(document, rules)", rules)["violations"]
    page.evaluate(UNROLL, {"overflow": "", "height": ""})
    return [f"{one['id']}: {[node['html'][:200] for node in one['nodes'][:3]]}" for one in found]


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The address of an application that a thread serves on a free port."""
    import uvicorn

    from neardup.service.web.server import address_of, listen

    with listen("127.0.0.1", 0) as listening:
        config = uvicorn.Config(
            app, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        late = monotonic() + 20
        while not server.started:
            assert monotonic() < late
            sleep(0.01)
        try:
            yield address_of(listening)
        finally:
            server.should_exit = True
            thread.join(20)
