"""A self-contained page: its style is inside, and its policy allows nothing else, no script and no other file."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from html import escape


def policy_for(style: str) -> str:
    """Return the content security policy of a self-contained page: nothing but this style."""
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def whole_page(title: str, body: str, style: str, generator: str, kind: str = "neardup") -> str:
    """Return an HTML document; ``title`` is escaped here, ``body`` is HTML. ``generator`` names the command.

    ``kind`` are the classes of the body.

    ``io.writers.OutputPage`` recognises the beginning.
    """
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy_for(style))}">',
            f'<meta name="generator" content="{escape(generator)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style>",
            "</head>",
            f'<body class="{kind}">',
            body,
            "</body>",
            "</html>",
            "",
        ]
    )
