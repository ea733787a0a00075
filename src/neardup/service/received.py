"""Request bodies → validated models, without blocking other requests for long.

The interpreter runs nothing else while it parses one piece of JSON. So a thread parses a large body, and first
cuts it into its documents with array operations. These let other threads run, and count the values of each
document before it is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from neardup.collection.limits import MOST_VALUES
from neardup.service.executor import Executor
from neardup.service.models import BATCH, NewDocument, NewDocuments
from neardup.tables import Int64s, UInt8s
from neardup.web.refusals import RefusedError

T = TypeVar("T", bound=BaseModel)

SMALL = 32 << 10
"""Bytes of a body that is parsed at once, in less than a millisecond."""
MOST_MARKS = 1_000_000
"""Brackets, colons and commas of a body, outside its strings."""
MOST_IN_ONE = 4 * MOST_VALUES + 1000
"""The same for one document, enough for all metadata that a collection accepts."""
_BLOCK = 1 << 20
_QUOTE, _BACKSLASH = 0x22, 0x5C
_STEP = np.zeros(256, np.int8)
_STEP[[ord("{"), ord("[")]], _STEP[[ord("}"), ord("]")]] = 1, -1
_MARK = _STEP != 0
_MARK[[ord(":"), ord(",")]] = True


async def received(executor: Executor, request: Request, model: type[T]) -> T:
    """Return the body of a request. Raises RefusedError, or RequestValidationError for an invalid body."""
    body = await request.body()
    return parsed(body, model) if len(body) <= SMALL else await executor.read(lambda: parsed(body, model))


def parsed(body: bytes, model: type[T]) -> T:
    """Return the model of a body."""
    marks = _marks(body)
    if issubclass(model, NewDocuments):
        return _documents(body, marks, model)
    if len(marks) > MOST_IN_ONE:
        raise _too_many(MOST_IN_ONE)
    return _valid(model, _decoded(body), ())


def _documents(body: bytes, marks: Int64s, model: type[T]) -> T:
    """Parse the rest of the body, with places instead of documents, and then each document by itself."""
    begins, ends, inside = _elements(body, marks)
    if len(begins) > BATCH:
        raise RequestValidationError(
            [{"type": "limit", "loc": ("body",), "msg": f"there are more than {BATCH:,} records in lists"}]
        )
    if len(marks) - int(inside.sum()) > MOST_IN_ONE:
        raise _too_many(MOST_IN_ONE)
    whole = _decoded(b"".join(_around(body, begins, ends)))
    places = [_place(each) for each in _listed(whole)]
    if not places or None in places:
        return _valid(model, whole, ())  # raises the error
    documents = []
    for k, place in enumerate(places):
        if inside[place] > MOST_IN_ONE:
            raise RequestValidationError(
                [{"loc": ("body", "documents", k), "msg": f"the metadata has more than {MOST_VALUES:,} values"}]
            )
        each = _decoded(body[begins[place] : ends[place]])
        documents.append(_valid(NewDocument, each, ("documents", k)))
    known = _valid(model, {**whole, "documents": [{"id": "a", "text": ""}]}, ())
    return known.model_copy(update={"documents": documents})


def _listed(whole: Any) -> list[Any]:
    found = whole.get("documents") if isinstance(whole, dict) else None
    return found if isinstance(found, list) else []


def _place(each: Any) -> Any:
    return each.get("") if isinstance(each, dict) else None


def _around(body: bytes, begins: Int64s, ends: Int64s) -> Iterator[bytes]:
    """Yield the pieces of the body with ``{"": k}`` in place of its k-th element."""
    at = 0
    for k, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        yield body[at:begin]
        yield b'{"": %d}' % k
        at = end
    yield body[at:]


def _elements(body: bytes, marks: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Return begins, ends and marks (int64[n] each) of the records in the lists of the outermost record."""
    kinds = np.frombuffer(body, np.uint8)[marks]
    steps = _STEP[kinds].astype(np.int64)
    depths = np.cumsum(steps)
    lists = np.flatnonzero((steps == 1) & (depths == 2))
    opened = np.flatnonzero((steps == 1) & (depths == 3) & (kinds == ord("{")))
    closed = np.flatnonzero((steps == -1) & (depths == 2))
    if not len(lists) or not len(closed):
        return (np.empty(0, np.int64),) * 3
    around = lists[np.maximum(np.searchsorted(lists, opened) - 1, 0)]
    behind = np.searchsorted(closed, opened)
    kept = (kinds[around] == ord("[")) & (behind < len(closed))
    opened, shut = opened[kept], closed[np.minimum(behind[kept], len(closed) - 1)]
    return marks[opened], marks[shut] + 1, shut - opened + 1


def _marks(body: bytes) -> Int64s:
    """Return the places of brackets, colons and commas outside strings. Raises RefusedError for too many."""
    whole = np.frombuffer(body, np.uint8)
    found: list[Int64s] = []
    count = 0
    within = escaped = False
    for begin in range(0, len(whole), _BLOCK):
        block = whole[begin : begin + _BLOCK]
        quotes, escaped = _quotes(block, escaped)
        inside = np.cumsum(quotes, dtype=np.int32) + np.int32(within) & 1
        places = np.flatnonzero(_MARK[block] & (inside == 0))
        within = bool(inside[-1])
        count += len(places)
        if count > MOST_MARKS:
            raise _too_many(MOST_MARKS)
        found.append(places + begin)
    return np.concatenate([np.empty(0, np.int64), *found])


def _quotes(block: UInt8s, escaped: bool) -> tuple[Any, bool]:
    """Return bool[n], true for unescaped quotation marks, and whether the next byte is escaped."""
    quotes = block == _QUOTE
    slashes = block == _BACKSLASH
    if not (escaped or slashes.any()):
        return quotes, False
    # in a run of backslashes every second one is escaped; the previous block may escape the first
    places = np.arange(len(block))
    last_other = np.maximum.accumulate(np.where(slashes, -1, places))
    run = np.where(slashes, places - last_other, 0)
    if escaped:
        first = int(np.argmin(slashes)) if not slashes.all() else len(block)
        run[:first] = np.arange(2, first + 2)
    before = np.concatenate((np.array([1 if escaped else 0]), run[:-1]))
    return quotes & (before % 2 == 0), bool(run[-1] % 2)


def _decoded(piece: bytes) -> Any:
    try:
        return json.loads(piece.decode("utf-8"))
    except (ValueError, RecursionError):
        raise RefusedError(400, "The body is not JSON", "JSON in UTF-8", code="json") from None


def _valid(model: type[T], data: Any, where: tuple[Any, ...]) -> T:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**one, "loc": ("body", *where, *one["loc"])} for one in found]) from None


def _too_many(most: int) -> RefusedError:
    return RefusedError(
        413,
        f"The body holds more than {most:,} brackets, colons and commas outside its texts",
        f"Metadata of up to {MOST_VALUES:,} values per document",
        "Send fewer documents at a time",
    )


__all__ = ["parsed", "received"]
