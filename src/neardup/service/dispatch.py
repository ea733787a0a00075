"""Valid requests go to their endpoints directly: the layers of FastAPI take longer than many a look-up.

FastAPI describes the endpoints, and answers all other requests: invalid ones, and those to unknown addresses.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from fastapi import FastAPI, Request
from fastapi.params import Query
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send


@dataclass(frozen=True)
class _Parameter:
    """A parameter of an endpoint, in the address under its alias."""

    name: str
    alias: str
    required: bool
    read: Callable[[str], Any]


class _Endpoint:
    """An endpoint with its parameters."""

    def __init__(self, route: APIRoute) -> None:
        self.route = route
        self.call: Callable[..., Awaitable[Response]] = route.endpoint
        hints = get_type_hints(route.endpoint, include_extras=True)
        known = inspect.signature(route.endpoint).parameters
        self._takes_request = "request" in known
        self._parameters = tuple(
            _Parameter(
                name,
                _alias(hints[name]) or name,
                parameter.default is inspect.Parameter.empty,
                TypeAdapter(hints[name]).validate_python,
            )
            for name, parameter in known.items()
            if name != "request"
        )

    def arguments(self, request: Request, path: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the arguments for the endpoint; None unless each parameter is known, valid and given once."""
        given = request.query_params.multi_items()
        values = {**dict(given), **path}
        if len(values) < len(given) + len(path):
            return None
        arguments: dict[str, Any] = {"request": request} if self._takes_request else {}
        for parameter in self._parameters:
            if parameter.alias in values:
                try:
                    arguments[parameter.name] = parameter.read(values.pop(parameter.alias))
                except ValidationError:
                    return None
            elif parameter.required:
                return None
        return None if values else arguments


def _alias(hint: Any) -> str | None:
    return next((part.alias for part in getattr(hint, "__metadata__", ()) if isinstance(part, Query)), None)


class Dispatch:
    """An ASGI application that calls the endpoints of another one, and that one itself for all other requests."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._fixed: dict[tuple[str, str], _Endpoint] = {}
        self._patterns: list[_Endpoint] = []
        for route in app.routes:
            if isinstance(route, APIRoute):
                endpoint = _Endpoint(route)
                if route.param_convertors:
                    self._patterns.append(endpoint)
                for method in () if route.param_convertors else route.methods or ():
                    self._fixed[method, route.path] = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        endpoint, path = self._endpoint(scope)
        if endpoint is not None:
            request = Request(scope, receive)
            arguments = endpoint.arguments(request, path)
            if arguments is not None:
                scope["route"] = endpoint.route
                response = await endpoint.call(**arguments)
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _endpoint(self, scope: Scope) -> tuple[_Endpoint | None, Mapping[str, Any]]:
        endpoint = self._fixed.get((scope["method"], scope["path"]))
        if endpoint is not None:
            return endpoint, {}
        for endpoint in self._patterns:
            match, child = endpoint.route.matches(scope)
            if match is Match.FULL:
                return endpoint, child["path_params"]
        return None, {}
