"""The version of this program in the files that it writes."""

from __future__ import annotations

import re
from typing import Any

from neardup.runtime import installed_version

WRITTEN_BY = b"neardup_version"
"""The key in the metadata of the schema of a table; JSON files have it as a key of theirs."""

_GENERATOR = re.compile(r'\n<meta name="generator" content="[^"\n]*">')


def stamped(schema: Any) -> Any:
    """Return the schema with the version of this program in its metadata."""
    return schema.with_metadata({**(schema.metadata or {}), WRITTEN_BY: own_version().encode()})


def stamped_page(page: str) -> str:
    """Return the page with the version of this program in its head, after the name of the command."""
    mark = f'\n<meta name="{WRITTEN_BY.decode()}" content="{own_version()}">'
    return _GENERATOR.sub(lambda found: found[0] + mark, page, count=1)


def own_version() -> str:
    """Return the version of this program; "unknown" where it is not installed."""
    return installed_version("neardup") or "unknown"
