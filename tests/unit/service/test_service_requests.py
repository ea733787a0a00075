"""Bodies are read into records: what fits is kept as it was sent, and hostile ones cost little."""

from __future__ import annotations

import json
import random
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from neardup.collection.fields import id_fault
from neardup.service import executor, requests
from neardup.service.requests import BATCH, DecisionRequest, MetadataRequest, NewContent, NewDocuments, parse_body
from neardup.service.web.limits import RefusedError
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


def fits(body: dict[str, Any]) -> bool:
    """Whether the service may accept a body of ``body_of``, by its description in words."""
    documents = body["documents"]
    return (
        body.keys() <= {"documents", "on_duplicate", "near"}
        and body.get("near") is None
        and body["on_duplicate"] in ("error", "replace", "skip")
        and bool(documents)
        and all(isinstance(each, dict) and set(each) == {"id", "text", "metadata"} for each in documents)
        and not any(id_fault(each["id"]) for each in documents)
    )


def test_a_record_holds_what_was_sent() -> None:
    draw = random.Random(5)
    valid = 0
    bodies = 600 if FULL else 300
    for _ in range(bodies):
        whole = body_of(draw)
        body = json.dumps(whole, ensure_ascii=draw.random() < 0.5, indent=draw.choice([None, 1])).encode()
        if not fits(whole):
            with pytest.raises(RefusedError) as refused:
                parse_body(body, NewDocuments)
            assert refused.value.status == 422
            continue
        new = parse_body(body, NewDocuments)
        read = [{"id": each.id, "text": each.text, "metadata": each.metadata} for each in new.documents]
        assert {"near": new.near, "documents": read, "on_duplicate": new.on_duplicate} == {"near": None, **whole}
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
        b'{"documents": [{"id": "a", "text": "x", "metadata": {"a": "\xff"}}]}',
        b'{"documents": [{"id": "a", "text": "x", "metadata": {"a": NaN}}]}',
        b'{"documents": [{"id": "a", "text": "x", "metadata": {"a": 1e999}}]}',
        b'{"documents": [{"id": "a", "text": "\\ud800"}]}',
        '{"documents": []}'.encode("utf-16"),
        b'\\"',
        b"",
    ],
)
def test_a_body_that_is_none(body: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        parse_body(body, NewDocuments)
    assert refused.value.status in (400, 422)


@pytest.mark.parametrize(
    ("change", "where", "word"),
    [
        ({"text": 7}, "body.documents.1.text", "str"),
        ({"id": ""}, "body.documents.1.id", "1"),
        ({"id": "é" * 600}, "body.documents.1.id", "1,024"),
        ({"more": 1}, "body.documents.1.more", "unknown"),
        ({"metadata": {"a": [0] * 50_000}}, "body.documents.1.metadata", "10,000"),
        ({"metadata": 7}, "body.documents.1.metadata", "record"),
    ],
)
def test_the_place_of_a_mistake_is_that_in_the_body(change: dict[str, Any], where: str, word: str) -> None:
    documents = [{"id": "a", "text": "x"}, {"id": "b", "text": "x", **change}]
    with pytest.raises(RefusedError) as refused:
        parse_body(json.dumps({"documents": documents}).encode(), NewDocuments)
    [(place, fault)] = refused.value.fields
    assert place == where
    assert fault[0].isalpha()  # a sentence, and not the parts of an exception
    assert word in fault


def test_a_value_of_a_choice_is_refused_with_the_choices() -> None:
    with pytest.raises(RefusedError) as refused:
        parse_body(b'{"a": "1", "b": "2", "verdict": "maybe"}', DecisionRequest)
    assert all(word in refused.value.given for word in ("maybe", "duplicate", "unsure", "undecided"))


DOCUMENT = b'{"id": "a", "text": ""}'
METADATA = b'{"id": "a", "text": "", "metadata": {"a": [%s1]}}'
HOSTILE = {
    "numbers": b'{"documents": [' + b"1," * 8_000_000 + b"1]}",
    "numbers in a document": b'{"documents": [' + METADATA % (b"1," * 400_000) + b"]}",
    "lists in a document": b'{"documents": [' + METADATA % (b"[]," * 5_000_000) + b"]}",
    "lists in lists": b'{"documents": [' + METADATA % (b"[" * 30 + b"0" + b"]" * 30 + b",") * 9000 + b"]}",
    "lists in many documents": b'{"documents": [' + b",".join([METADATA % (b"[]," * 9000)] * 400) + b"]}",
    "numbers in many documents": b'{"documents": [' + b",".join([METADATA % (b"1," * 9000)] * 900) + b"]}",
    "empty records": b'{"documents": [' + b"{}," * 300_000 + b"{}]}",
    "documents": b'{"documents": [' + b",".join([DOCUMENT] * 700_000) + b"]}",
    "brackets": b"[" * 16_000_000,
    "depth": b'{"documents": [' + METADATA % (b"[" * 1_000_000) + b"]}",
    "names": b'{"documents": [{' + b'"a":1,' * 180_000 + b'"b":1}]}',
    "names of the whole": b"{" + b'"a":1,' * 180_000 + b'"b":1}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_body_costs_little_time_and_memory(name: str) -> None:
    """16 MB of numbers once took the interpreter seconds, in which nobody else was answered."""
    begin = time.process_time()
    for kind in (NewDocuments, NewContent):
        with pytest.raises(RefusedError):
            parse_body(HOSTILE[name], kind)
    assert time.process_time() - begin < 5
    if "many" in name:  # each by itself is small, and tracing takes long
        return
    tracemalloc.start()
    with pytest.raises(RefusedError):
        parse_body(HOSTILE[name], NewDocuments)
    assert tracemalloc.get_traced_memory()[1] < 2 * len(HOSTILE[name]) + 30_000_000
    tracemalloc.stop()


def test_commas_in_strings_are_no_values() -> None:
    metadata = {"a": '[{,"\\' * 20_000, "b": [",", "\\"] * 40}
    assert parse_body(json.dumps({"metadata": metadata}).encode(), MetadataRequest).metadata == metadata


def test_a_thread_counts_the_documents_of_each_body_anew() -> None:
    body = b'{"documents": [' + b",".join([DOCUMENT] * BATCH) + b"]}"
    for _ in range(2):
        assert len(parse_body(body, NewDocuments).documents) == BATCH


def test_a_large_body_is_read_by_a_thread_that_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[bool] = []
    whole = requests.parse_body

    def noted(body: bytes, kind: Any) -> Any:
        names.append(threading.current_thread() is threading.main_thread())
        return whole(body, kind)

    monkeypatch.setattr(executor, "parse_body", noted)
    with serving(tmp_path / "mail.neardup") as service:
        documents = [{"id": str(k), "text": "word " * 2000} for k in range(20)]
        assert service("POST", "/v1/documents", {"documents": documents}).json["added"] == 20
        assert service("PUT", "/v1/documents/x", {"text": "word " * 100_000}).status == 200
        assert service("PUT", "/v1/documents/x", {"text": "small"}).status == 200
    assert names == [False, False, True]
