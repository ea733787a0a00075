"""Bodies are cut into documents and read by a thread: the same as if they were read at once, and nobody waits."""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from neardup.service import received
from neardup.service.models import NewContent, NewDocument, NewDocuments
from neardup.service.received import parsed
from neardup.web.refusals import RefusedError
from support.full_run import FULL
from support.made_service import serving

PIECES = [
    "",
    "a",
    '"',
    "\\",
    '\\"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "é",
    "\n",
    "\\\\",
    "\0",
    "\U0001f600",
    '{"": 0}',
]


def text(draw: random.Random) -> str:
    return "".join(draw.choices(PIECES, k=draw.randrange(12)))


def value(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.randrange(7 if depth < 4 else 5)
    if kind == 5:
        return [value(draw, depth + 1) for _ in range(draw.randrange(4))]
    if kind == 6:
        return {text(draw): value(draw, depth + 1) for _ in range(draw.randrange(4))}
    return (None, True, draw.randrange(-5, 5), draw.random(), text(draw))[kind]


def body_of(draw: random.Random) -> dict[str, Any]:
    documents = [
        {"id": text(draw) + "i", "text": text(draw), "metadata": {text(draw): value(draw) for _ in range(3)}}
        for _ in range(draw.randrange(5))
    ]
    body: dict[str, Any] = {"documents": documents, "on_duplicate": draw.choice(["skip", "error", "[{"])}
    if draw.random() < 0.2:
        body[draw.choice(["near", "more", "on_near"])] = value(draw)
    if draw.random() < 0.2:
        documents.insert(0, draw.choice([{"": 0}, {}, [], None, {"id": 1}, [{"id": "a", "text": ""}]]))  # type: ignore[arg-type]
    return body


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 20])
def test_a_body_in_pieces_is_what_it_is_as_a_whole(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received, "_BLOCK", block)
    draw = random.Random(block)
    valid = 0
    bodies = (60 if block < 7 else 300) // (1 if FULL else 2)
    for _ in range(bodies):
        whole = body_of(draw)
        body = json.dumps(whole, ensure_ascii=draw.random() < 0.5, indent=draw.choice([None, 1])).encode()
        try:
            wanted = NewDocuments.model_validate(json.loads(body))
        except ValidationError:
            with pytest.raises((RequestValidationError, RefusedError)):
                parsed(body, NewDocuments)
            continue
        found = parsed(body, NewDocuments)
        assert found == wanted
        assert all(isinstance(each, NewDocument) for each in found.documents)
        valid += 1
    assert valid > bodies // 4


@pytest.mark.parametrize(
    "body",
    [
        b'{"documents": [{"id": "a", "text": "x"}',
        b'{"documents": [{"id": "a", "text": "x"}]]',
        b'{"documents": [{"id": "a", "text": "x}]}',
        b'{"documents": [{"id": "a" "text": "x"}]}',
        b'{"documents": {"a": [{"id": "a", "text": "x"}]}}',
        b'[{"documents": [{"id": "a", "text": "x"}]}]',
        b'{"documents": [{"": 0}]}',
        b'{"documents": [{"id": "a", "text": "x"}], "near": [{"": 0}]}',
        b'\xef\xbb\xbf{"documents": []}',
        b'{"documents": [{"id": "a", "text": "\xff"}]}',
        '{"documents": []}'.encode("utf-16"),
        b'\\"',
    ],
)
def test_a_body_that_is_none(body: bytes) -> None:
    with pytest.raises((RequestValidationError, RefusedError)):
        parsed(body, NewDocuments)


def test_the_place_of_a_mistake_is_that_in_the_body() -> None:
    documents: list[Any] = [{"id": "a", "text": "x"}, {"id": "b", "text": 7}]
    with pytest.raises(RequestValidationError) as refusal:
        parsed(json.dumps({"documents": documents}).encode(), NewDocuments)
    assert [one["loc"] for one in refusal.value.errors()] == [("body", "documents", 1, "text")]
    documents[1] = {"id": "b", "text": "x", "metadata": {"a": [0] * 50_000}}
    with pytest.raises(RequestValidationError, match="more than 10,000 values") as refusal:
        parsed(json.dumps({"documents": documents}).encode(), NewDocuments)
    assert [one["loc"] for one in refusal.value.errors()] == [("body", "documents", 1)]


ONE = b'{"documents": [{"id": "a", "text": "", "metadata": {"a": ['
HOSTILE = {
    "numbers": b'{"documents": [' + b"1," * 8_000_000 + b"1]}",
    "numbers in a document": b'{"documents": [{"id": "a", "text": "", "metadata": {"a": ['
    + b"1," * 400_000
    + b"1]}}]}",
    "empty lists": b'{"documents": [' + b"[]," * 5_000_000 + b"[]]}",
    "empty records": b'{"documents": [' + b"{}," * 300_000 + b"{}]}",
    "brackets": b"[" * 16_000_000,
    "names": b'{"documents": [{' + b'"a":1,' * 180_000 + b'"b":1}]}',
    "names of the whole": b"{" + b'"a":1,' * 180_000 + b'"b":1}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_piece_is_read_that_others_would_have_to_wait_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """16 MB of numbers took the interpreter seconds, in which nobody else was answered."""
    read: list[bytes] = []
    decoded = received._decoded

    def noted(piece: bytes) -> Any:
        read.append(piece)
        return decoded(piece)

    monkeypatch.setattr(received, "_decoded", noted)
    begin = time.process_time()
    for model in (NewDocuments, NewContent):
        with pytest.raises((RequestValidationError, RefusedError)):
            parsed(HOSTILE[name], model)
    assert time.process_time() - begin < 10
    assert all(len(piece) < 1_000_000 for piece in read)
    assert max((len(received._marks(piece)) for piece in read), default=0) <= received.MOST_IN_ONE


def test_a_large_body_is_read_by_a_thread_that_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[bool] = []
    whole = received.parsed

    def noted(body: bytes, model: Any) -> Any:
        names.append(threading.current_thread() is threading.main_thread())
        return whole(body, model)

    monkeypatch.setattr(received, "parsed", noted)
    with serving(tmp_path / "mail.neardup") as service:
        documents = [{"id": str(k), "text": "word " * 2000} for k in range(20)]
        assert service("POST", "/v1/documents", {"documents": documents}).json["added"] == 20
        assert service("PUT", "/v1/documents/x", {"text": "word " * 100_000}).status == 200
        assert service("PUT", "/v1/documents/x", {"text": "small"}).status == 200
    assert names == [False, False, True]
