"""Routes of Starlette whose parameters are types of msgspec, and their description in OpenAPI."""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, get_type_hints
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from neardup.service.answers import ErrorAnswer
from neardup.service.web.limits import RefusedError

_SHOWN = 5
"""Number of invalid parameters that an answer names."""
_WORDS = {
    200: "Nothing was stored.",
    400: "The query, the address or the body cannot be parsed.",
    401: "No token, or an unknown one.",
    403: "The token lacks the right.",
    404: "The document does not exist.",
    408: "The body did not arrive in time.",
    409: "The change contradicts the stored state.",
    413: "The body is too large.",
    415: "The Content-Type of the body is not JSON.",
    421: "Without tokens: the request names a host other than this machine.",
    422: "The request is invalid.",
    500: "An error of the service, or a damaged collection.",
    503: "Too many requests are in progress, a time limit was exceeded, or the file cannot be used now.",
}
"""The meanings of the statuses beside that of success."""
_ALWAYS = (400, 401, 403, 421, 422, 500, 503)
_WITH_BODY = (408, 413, 415)
_BEARER = {"type": "http", "description": "A token of the token file, if the service has one.", "scheme": "bearer"}
_REFERENCE = "#/components/schemas/{name}"
_WHOLE = re.compile(r"[+-]?[0-9]+(_[0-9]+)*(\.0+)?")
_DIGITS = 4300
"""Characters of a whole number; Python reads no more digits."""
_YES = frozenset({"1", "on", "t", "true", "y", "yes"})
_NO = frozenset({"0", "off", "f", "false", "n", "no"})


class Described(msgspec.Struct, frozen=True):
    """What OpenAPI says of an endpoint: the record of its answer with ``status``, of its body, and its errors.

    ``statuses`` are those beyond the errors of all endpoints. ``token``: whether a token can be required.
    """

    record: type
    statuses: tuple[int, ...] = ()
    body: type[msgspec.Struct] | None = None
    token: bool = True
    status: int = 200

    @property
    def records(self) -> tuple[type, ...]:
        """The records of the endpoint."""
        return (self.record, ErrorAnswer, *(() if self.body is None else (self.body,)))

    def operation(self) -> dict[str, Any]:
        """Return the answers, the body and the token of the endpoint."""
        statuses = sorted({*_ALWAYS, *self.statuses, *(_WITH_BODY if self.body is not None else ())})
        answers = {str(self.status): {"description": "Successful Response", **_content(self.record)}}
        for status in statuses:
            record = self.record if status < 400 else ErrorAnswer
            answers[str(status)] = {"description": _WORDS[status], **_content(record)}
        operation: dict[str, Any] = {"responses": answers}
        if self.body is not None:
            operation["requestBody"] = {"required": True, **_content(self.body)}
        if self.token:
            operation["security"] = [{"HTTPBearer": []}]
        return operation


class Parameter:
    """A parameter of an endpoint in the ``place`` path or query, by the annotated type of its argument."""

    def __init__(self, name: str, hint: Any, default: Any, place: str) -> None:
        self.name, self.place, self.default = name, place, default
        self.required = default is inspect.Parameter.empty
        kind = msgspec.inspect.type_info(hint)
        self.read = _reader(kind)
        schema = msgspec.json.schema(hint)
        about = {key: schema[key] for key in ("description",) if key in schema}
        schema["title"] = name.replace("_", " ").title()
        if not self.required and default is not None:
            schema["default"] = default
        self.description = {"name": name, "in": place, "required": self.required, "schema": schema, **about}


class Endpoint(Route):
    """A route with one method, whose parameters are the arguments of an asynchronous function."""

    def __init__(
        self, path: str, method: str, call: Callable[..., Awaitable[Response]], about: Described | None
    ) -> None:
        super().__init__(path, call)
        # without HEAD, which the framework adds to GET
        self.methods, self.app = {method}, self.answer
        self.method, self.call, self.about = method, call, about
        known = inspect.signature(call).parameters
        hints = get_type_hints(call, include_extras=True)
        self._takes_request = "request" in known
        parameters = [
            Parameter(name, hints[name], one.default, "path" if name in self.param_convertors else "query")
            for name, one in known.items()
            if name != "request"
        ]
        self.parameters = sorted(parameters, key=lambda one: one.place)
        self._known = {one.name for one in parameters if one.place == "query"}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether the request fits; the metrics count it by its route."""
        if not self.param_convertors:  # no pattern is needed
            fits = Match.FULL if scope["method"] == self.method else Match.PARTIAL
            return (fits, {"route": self}) if scope["path"] == self.path else (Match.NONE, {})
        match, more = super().matches(scope)
        return match, {**more, "route": self} if match is not Match.NONE else more

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        arguments = self.arguments(scope)
        if self._takes_request:
            arguments["request"] = Request(scope, receive)
        response = await self.call(**arguments)
        await response(scope, receive, send)

    def arguments(self, scope: Scope) -> dict[str, Any]:
        """Return the parameters of a request. Raises RefusedError for invalid ones, and unknown ones."""
        given = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        in_query = dict(given)
        if self.about and (len(in_query) < len(given) or not self._known.issuperset(in_query)):
            allowed = ", ".join(sorted(self._known)) or "None"
            raise RefusedError(422, "A parameter of the address is unknown or repeated", allowed)
        values: dict[str, Any] = {}
        faults = []
        for one in self.parameters:
            source: Mapping[str, str] = in_query if one.place == "query" else scope["path_params"]
            if one.name in source:
                try:
                    values[one.name] = one.read(source[one.name])
                except ValueError as error:
                    faults.append((f"{one.place}.{one.name}", str(error)))
            elif one.required:
                faults.append((f"{one.place}.{one.name}", "Field required"))
        if faults:
            raise _invalid_error(faults)
        return values

    def operation(self, about: Described) -> dict[str, Any]:
        """Return the description of the endpoint in OpenAPI."""
        name = self.call.__name__
        operation = {
            "summary": name.replace("_", " ").title(),
            "description": inspect.getdoc(self.call),
            "operationId": re.sub(r"\W", "_", f"{name}{self.path_format}_{self.method.lower()}"),
            **about.operation(),
        }
        if self.parameters:
            operation["parameters"] = [one.description for one in self.parameters]
        return operation


class Routes(list[Endpoint]):
    """The endpoints of an application."""

    def add(
        self, method: str, path: str, about: Described | None = None
    ) -> Callable[[Callable[..., Awaitable[Response]]], Callable[..., Awaitable[Response]]]:
        """Return a decorator that adds a function at an address; OpenAPI leaves it out without ``about``."""

        def add_endpoint(call: Callable[..., Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
            self.append(Endpoint(path, method, call, about))
            return call

        return add_endpoint

    def openapi(self, info: Mapping[str, str]) -> dict[str, Any]:
        """Return the description of all endpoints."""
        paths: dict[str, dict[str, Any]] = {}
        records: dict[type, None] = {}
        for one in self:
            if one.about is not None:
                paths.setdefault(one.path_format, {})[one.method.lower()] = one.operation(one.about)
                records |= dict.fromkeys(one.about.records)
        _, schemas = msgspec.json.schema_components(records, ref_template=_REFERENCE)
        components = {"securitySchemes": {"HTTPBearer": _BEARER}, "schemas": schemas}
        return {"openapi": "3.1.0", "info": info, "paths": paths, "components": components}


def _content(record: type) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": {"$ref": _REFERENCE.format(name=record.__name__)}}}}


def _invalid_error(faults: list[tuple[str, str]]) -> RefusedError:
    fields = tuple(faults[:_SHOWN])
    more = f" and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
    message = f"The request is invalid: {'; '.join(': '.join(field) for field in fields)}{more}"
    return RefusedError(422, message, "Requests that /openapi.json describes", fields=fields)


def _reader(kind: msgspec.inspect.Type) -> Callable[[str], Any]:
    """Return the function that reads a value of a type. It raises ValueError with the fault."""
    if isinstance(kind, msgspec.inspect.UnionType):  # a value, or none
        (kind,) = (one for one in kind.types if not isinstance(one, msgspec.inspect.NoneType))
        return _reader(kind)
    if isinstance(kind, msgspec.inspect.Metadata):
        read, check = _reader(kind.type), (kind.extra or {}).get("check")
        return read if check is None else lambda text: check(read(text))
    if isinstance(kind, msgspec.inspect.BoolType):
        return _boolean
    if isinstance(kind, msgspec.inspect.IntType):
        return lambda text: _whole(kind, text)
    assert isinstance(kind, msgspec.inspect.StrType), kind
    return lambda text: _text(kind, text)


def _boolean(text: str) -> bool:
    lower = text.lower()
    if lower not in _YES | _NO:
        raise ValueError("Input should be a valid boolean, unable to interpret input")
    return lower in _YES


def _whole(kind: msgspec.inspect.IntType, text: str) -> int:
    text = text.strip()
    if len(text) > _DIGITS:
        raise ValueError("Unable to parse input string as an integer, exceeded maximum size")
    if not _WHOLE.fullmatch(text):
        raise ValueError("Input should be a valid integer, unable to parse string as an integer")
    number = int(text.partition(".")[0])
    if kind.ge is not None and number < kind.ge:
        raise ValueError(f"Input should be greater than or equal to {kind.ge}")
    if kind.le is not None and number > kind.le:
        raise ValueError(f"Input should be less than or equal to {kind.le}")
    return number


def _text(kind: msgspec.inspect.StrType, text: str) -> str:
    least = kind.min_length or 0
    if len(text) < least:
        raise ValueError(f"String should have at least {least} character{'s' if least > 1 else ''}")
    if kind.max_length is not None and len(text) > kind.max_length:
        raise ValueError(f"String should have at most {kind.max_length} characters")
    if kind.pattern is not None and not re.fullmatch(kind.pattern, text):
        raise ValueError(f"String should match pattern '{kind.pattern}'")
    return text
