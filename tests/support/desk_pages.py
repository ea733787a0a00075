"""The live pages in a browser: what they announce, and the keys that change something."""

from typing import Any

from neardup.io.decisions.records import Action
from neardup.review.desk.desk import Desk
from neardup.review.source import Question


def key_of(desk: Desk, id: str) -> int:
    lines = desk.groups(Question()).lines
    found = [line.key for line in lines for member in desk.group(line.key).members if member.id == id]
    return found[0]


def said(page: Any, words: str) -> None:
    """Wait until the page announces the words."""
    page.locator("#said", has_text=words).wait_for(state="attached")


def focused(page: Any) -> str:
    text: str = page.evaluate("document.activeElement.textContent")
    return " ".join(text.split())


def press(page: Any, desk: Desk, key: str) -> Action:
    """Press a key that changes something, and return the action that the page then reports."""
    number = len(desk.history(limit=1000)) + 1
    page.keyboard.press(key)
    page.wait_for_url(f"**done={number}")
    said(page, "one: ")  # Done or Undone
    return desk.history(limit=1)[0]
