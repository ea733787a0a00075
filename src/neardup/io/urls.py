"""URLs in messages: without their passwords."""

from __future__ import annotations

import re

_USER = re.compile(r"(?<=://)[^/?#]*@")
_ASKED = re.compile(r"[?#].*", re.DOTALL)


def without_password(text: str) -> str:
    """Return a text with the URLs in it as messages show them: without user, password and parameters of a query.

    >>> without_password("https://ann:secret@host/a.jsonl?key=1")
    'https://host/a.jsonl'
    """
    return _ASKED.sub("", _USER.sub("", text)) if "://" in text else text
