"""Shards of services of this process, asked without a network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from neardup.service.shard_client import RemoteShard
from support.made_service import serving
from support.service_transport import ServiceTransport

_PORTS = count(8321)
"""Of each service another one, since a shard is named once."""


@contextmanager
def remote(path: Path) -> Iterator[RemoteShard]:
    """The shard of a service over the collection at ``path``, which exists."""
    with serving(path, scale=None) as service:
        yield RemoteShard(f"http://127.0.0.1:{next(_PORTS)}", transport=ServiceTransport(service, lambda _: None))
