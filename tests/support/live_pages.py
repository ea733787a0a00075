"""The pages of a review without a network: requests as ASGI messages, with cookies and forms."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

from neardup.review.desk.desk import Desk
from neardup.review.live.app import Served, review_app
from support.made_service import LOCAL, scope_of

OWN = "http://127.0.0.1:8321"


@dataclass(frozen=True)
class Seen:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    @property
    def words(self) -> str:
        """The text of the page without markup."""
        return " ".join(re.sub(r"<[^>]*>", " ", self.text).split())

    @property
    def to(self) -> str:
        return self.headers["location"]


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str], list[tuple[str, str]]]] = []
        self.fields: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append((values["action"], {}, []))
            self.fields.append([])
        elif tag == "input" and self.found and values.get("name"):
            if values.get("type", "text") in ("text", "search", "password"):
                self.fields[-1].append(values["name"])
            if values.get("type") != "radio" or "checked" in values:
                self.found[-1][1][values["name"]] = values.get("value", "")
        elif tag == "button" and self.found:
            self.found[-1][2].append((values.get("name", ""), values.get("value", "")))


def on_enter(page: Seen) -> list[tuple[str, tuple[str, ...], tuple[str, str]]]:
    """The forms of a page that a person can type into: where to, the fields, and the button that Enter presses."""
    forms = _Forms()
    forms.feed(page.text)
    pairs = zip(forms.found, forms.fields, strict=True)
    return [(to, tuple(fields), buttons[0]) for (to, _, buttons), fields in pairs if fields]


@dataclass
class Pages:
    """The pages, and the cookies of one browser."""

    app: Any
    runner: asyncio.Runner
    headers: dict[str, str] = field(default_factory=lambda: dict(LOCAL))
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, target: str, **headers: str) -> Seen:
        return self.send("GET", target, None, headers)

    def post(self, target: str, form: Mapping[str, Any], **headers: str) -> Seen:
        return self.send("POST", target, urlencode(dict(form)).encode(), {"origin": OWN, **headers})

    def submit(self, page: Seen, action: str, button: tuple[str, str] | None = None, **typed: Any) -> Seen:
        """Send the first form of a page for this action (and with this button), as a browser does."""
        forms = _Forms()
        forms.feed(page.text)
        [form, *_] = [
            fields for to, fields, buttons in forms.found if to == action and (not button or button in buttons)
        ]
        return self.post(action, {**form, **({button[0]: button[1]} if button else {}), **typed})

    def send(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> Seen:
        return self.runner.run(self._send(method, target, body, headers))

    async def _send(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> Seen:
        given = {**self.headers, **headers}
        if body is not None:
            given.setdefault("content-type", "application/x-www-form-urlencoded")
        if self.cookies:
            given["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        given = {name.replace("_", "-"): value for name, value in given.items()}
        sent: list[Any] = []

        given_once = False

        async def receive() -> Any:
            nonlocal given_once
            if given_once:
                await asyncio.Event().wait()  # the browser stays
            given_once = True
            return {"type": "http.request", "body": body or b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope_of(method, target, given), receive, send)
        head, *rest = sent
        fields = {name.decode(): value.decode() for name, value in head["headers"]}
        if cookie := fields.get("set-cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return Seen(head["status"], fields, b"".join(each.get("body", b"") for each in rest))


@contextmanager
def live(desk: Desk, served: Served | None = None) -> Iterator[Pages]:
    """The pages of a desk; Ann decides."""
    with asyncio.Runner() as runner:
        yield Pages(review_app(desk, served or Served(by="Ann")), runner)
