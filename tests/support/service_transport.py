"""A transport of httpx that asks a service of this process, so that the client is tested without a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from support.made_service import Service


class ServiceTransport(httpx.BaseTransport):
    """Passes requests to a service. ``before`` may answer in its place: it receives the request, and returns a
    response or None."""

    def __init__(self, service: Service, before: Callable[[httpx.Request], httpx.Response | None]) -> None:
        self._service, self._before = service, before
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        early = self._before(request)
        if early is not None:
            return early
        headers = {name: value for name, value in request.headers.items() if name != "host"}
        content: Any = request.content
        found = self._service(request.method, request.url.raw_path.decode(), body=content or None, headers=headers)
        return httpx.Response(found.status, headers=dict(found.headers), content=found.content)
