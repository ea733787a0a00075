"""The client: the methods of a collection, the same results and errors, over HTTP."""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip("httpx", reason="the extra client is not installed")

from neardup import (  # noqa: E402
    AsyncClient,
    Client,
    Collection,
    FormatError,
    InputError,
    LimitError,
    NeardupError,
    OutputError,
    QueryError,
    SettingError,
    UnknownIdError,
)
from neardup.errors import ChangedMeanwhileError, SecondReviewError, install  # noqa: E402
from neardup.service import client, sender  # noqa: E402
from support.made_service import Service, serving  # noqa: E402
from support.messages import assert_refused, has_parts  # noqa: E402
from support.service_transport import ServiceTransport  # noqa: E402

LOCAL = {
    *("prepare", "put_prepared", "together"),  # one transaction of several calls
    *("decide_all", "note_all", "import_tags", "import_decisions"),  # a transaction of many decisions
    *("view", "check", "compact", "backup", "settings"),  # the file itself
}
"""The public names of a collection that need its file."""
HARBOUR = "the harbour office is closed on Friday because of the storm"
OTHER = "b/é ?&#%"
TEXTS = {"a": HARBOUR, OTHER: HARBOUR + " and on Monday", "c": "pay the invoice of March by the end of May"}
TOKEN = "r" * 20


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


SHARED = sorted(public(Collection) - LOCAL)


def nothing(_: Any) -> None:
    return None


@contextmanager
def connected(
    service: Service, before: Callable[[Any], Any] = nothing, **how: Any
) -> Iterator[tuple[Client, ServiceTransport]]:
    transport = ServiceTransport(service, before)
    with Client("http://127.0.0.1:8321/", transport=transport, **how) as made:
        yield made, transport


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("client") / "mail.neardup") as made:
        yield made


@pytest.fixture
def both(service: Service) -> Iterator[tuple[Client, Collection]]:
    """A client and the collection behind it, with three documents."""
    collection = service.executor.collection
    collection.remove(list(collection))
    for year, (id, text) in enumerate(TEXTS.items(), 2020):
        collection.put(id, text, {"year": year})
    with connected(service) as (made, _):
        yield made, collection


def test_a_client_has_the_names_of_a_collection() -> None:
    assert public(Client) - {"url"} == set(SHARED)


@pytest.mark.parametrize(
    "name", [*SHARED, "__len__", "__iter__", "__contains__", "__getitem__", "__bool__", "__enter__", "__exit__"]
)
def test_a_client_has_the_signatures_of_a_collection(name: str) -> None:
    types = {"Comparison": object}  # imported for the type checker alone
    one, other = (
        inspect.signature(getattr(kind, name), eval_str=True, locals=types).parameters
        for kind in (Client, Collection)
    )
    assert [(each.name, each.kind, each.default, each.annotation) for each in one.values()] == [
        (each.name, each.kind, each.default, each.annotation) for each in other.values()
    ]


def asked(made: Any) -> list[Any]:
    """The results of all methods that change nothing, and of some that do."""
    added = made.add([{"id": f"new {k}", "text": f"{HARBOUR} {k}", "metadata": {"k": k}} for k in range(3)])
    linked = made.put("d", HARBOUR, {"n": [1, None]}, near="80%", on_near="link")
    hits = made.near(HARBOUR, overlap="50%", probability=0.9, where="year>=2020 OR k>0", limit=2)
    decided = made.decide("a", "c", "not alike", by="ann", note="why")
    return [
        (added.added, added.text_bytes, added.notes),
        (linked.added, linked.linked, linked.recall, linked.near),
        (made["a"], made.get(OTHER), "a" in made, "x" in made, object() in made, len(made), list(made)),
        made.update_metadata("a", {"year": None, "tags": {"x": 1}}),
        (hits.hits, hits.found, hits.recall, hits.warnings),
        made.near(HARBOUR, limit=1, measure="resemblance").hits,
        made.near(HARBOUR, limit=1, after=made.near(HARBOUR, limit=1).next).hits,
        made.search("FINGERPRINT:a_20_80 AND k=1").hits,
        made.search("k=1 OR year=2022", limit=1).query,
        (made.why_not("FINGERPRINT:a_99", "c"), str(made.why_not("k=1", "new 1"))),
        (made.passages("a", length=5), made.passages("a", length=6, most=1)),
        (made.list(limit=2), made.list(limit=2, texts=True).documents[1].text, made.list(10**9)),
        list(made.documents()),
        made.group_pending(0.7, limit=2).near,
        made.group_pending("70%"),
        (made.regroup("95%"), made.regroup(0.7)),
        (made.groups(), made.group(made.groups().groups[0].id), made.group_of("d"), made.group_of("c")),
        made.members(made.groups().groups[0].id, after="a", limit=2),
        ((decided.a, decided.b, decided.by, decided.note), [one.verdict for one in made.decisions()]),
        (made.undecide("c", "a"), made.undecide("c", "a"), made.decisions()),
        [{**one.as_dict(), "at": "", "number": 0} for one in made.changes()][-3:],
        [
            made.tag(*given, **how).changes
            for given, how in ((("hot", "a"), {}), (("x",), {"query": "k>0", "by": "ben"}))
        ],
        (
            made.tag("hot", group=made.groups().groups[0].id, what="a group") is None,
            made.tag("hot", ["a"]),
            made.tags(),
        ),
        (
            made.tag("hot", ["a"], on=False) is None,
            made.undo("ben") is None,
            made.tags(["a", "new 1"]),
            made.tags("d"),
        ),
        [(one.by, one.what, one.changes, one.undoes, one.undone_by) for one in made.actions(limit=4)],
        [one.number for one in made.actions(before=made.actions()[0].number, limit=1)] > [0],
        {name: value for name, value in made.compare("a", "d").measures.items() if name != "differences"},
        (made.remove(["new 1", "x"], missing="ignore"), made.remove([]), made.remove("new 2"), made.base_texts()),
        bool(made),
    ]


def test_every_method_returns_that_of_the_collection(tmp_path: Path) -> None:
    """The same calls, to a collection and through the client to another one."""
    with serving(tmp_path / "served.neardup") as service, Collection(tmp_path / "own.neardup", scale=4) as own:
        for year, (id, text) in enumerate(TEXTS.items(), 2020):
            for each in (own, service.executor.collection):
                each.put(id, text, {"year": year})
        with connected(service) as (made, _):
            one, other = asked(made), asked(own)
            for mine, its in zip(one, other, strict=True):
                assert mine == its
            info = made.info()
            assert info.pop("url") == made.url == "http://127.0.0.1:8321"
            assert info["documents"] == own.info()["documents"]
        assert service.executor.collection.check() == []


def test_documents_of_any_kind_are_added(both: tuple[Client, Collection], tmp_path: Path) -> None:
    made, collection = both
    lines = tmp_path / "more.jsonl"
    rows = [{"id": f"row {k}", "text": f"text of row {k}", "from": "ann"} for k in range(3)]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows) + "broken\n")
    added = made.add(lines, metadata=["from"])
    assert (added.added, added.rejected, added.problems[0].row) == (3, 1, 3)
    assert collection["row 2"].metadata == {"from": "ann"}
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "one.txt").write_text("a letter")
    assert made.add(folder).added == 1
    assert collection["one.txt"].text == "a letter"
    for nameless in (["a text without an id"], [{"text": "a text"}]):
        with pytest.raises(InputError, match="no ids"):
            made.add(nameless)
    assert made.add([]).added == 0


def test_a_refused_request_says_what_was_stored_before(
    both: tuple[Client, Collection], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, collection = both
    monkeypatch.setattr(client, "_MOST", 2)
    with pytest.raises(InputError, match="exists already") as caught:
        made.add([{"id": id, "text": "text"} for id in ("p", "q", "r", "a", "s")])
    assert [has_parts(note, "2 documents", "stored") for note in caught.value.__notes__] == [True]
    assert ("q" in collection, "r" in collection) == (True, False)


def test_pages_are_read_as_they_are_needed(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = service.executor.collection
    collection.remove(list(collection))
    collection.add([{"id": f"{k}", "text": f"text {k}"} for k in range(5)])
    monkeypatch.setattr(client, "_PAGE", 2)
    with connected(service) as (made, transport):
        documents = made.documents()
        assert [next(documents).id for _ in range(3)] == ["0", "1", "2"]
        assert len(transport.requests) == 2
        assert list(made) == ["0", "1", "2", "3", "4"]


def test_an_export_is_that_of_the_collection(both: tuple[Client, Collection], tmp_path: Path) -> None:
    made, collection = both
    assert made.export(tmp_path / "one.jsonl") == collection.export(tmp_path / "other.jsonl") == 3
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "other.jsonl").read_bytes()


CALLS: dict[str, Callable[[Any], Any]] = {
    "unknown": lambda made: made["x"],
    "unknown in a pair": lambda made: made.compare("a", "x"),
    "removed": lambda made: made.remove(["a", "x"]),
    "metadata of an unknown one": lambda made: made.update_metadata("x", {}),
    "group of an unknown one": lambda made: made.group_of("x"),
    "a group that is none": lambda made: made.group(99),
    "metadata": lambda made: made.update_metadata("a", {"k" * 2000: 1}),
    "put": lambda made: made.put("n", "text", {"k" * 2000: 1}),
    "query": lambda made: made.search("a AND ("),
    "field": lambda made: made.near(HARBOUR, where="nowhere=1"),
    "share": lambda made: made.near(HARBOUR, overlap=80),
    "near": lambda made: made.put("n", "text", near=80),
    "limit": lambda made: made.search("harbour", limit=0),
    "measure": lambda made: made.near(HARBOUR, measure="cosine"),
    "verdict": lambda made: made.decide("a", "c", "alike"),
    "contradiction": lambda made: [
        made.decide(*pair)
        for pair in (("a", OTHER, "duplicate"), (OTHER, "c", "duplicate"), ("a", "c", "not alike"))
    ],
    "tag": lambda made: made.tag("a;b", ["a"]),
    "tag of an unknown one": lambda made: made.tag("t", ["a", "x"]),
    "tag of nothing": lambda made: made.tag("t"),
    "tag of no group": lambda made: made.tag("t", group=99),
    "tag by a query": lambda made: made.tag("t", query="a AND ("),
    "tags of an unknown one": lambda made: made.tags(["a", "x"]),
    "an action that is none": lambda made: made.undo("ann", 99_999),
    "a tag that changed meanwhile": lambda made: (made.tag("t", "a", by=repr(made)), made.tag("t", "a", seen=0)),
    "token": lambda made: made.search("harbour", after="abc"),
    "add again": lambda made: made.add([{"id": "a", "text": "x"}]),
    "id": lambda made: made.get(""),
    "role": lambda made: made.put("n", "text", role="form"),
    "pending": lambda made: made.group_pending(2),
    "regroup": lambda made: made.regroup(2),
    "link without near": lambda made: made.put("n", "text", on_near="link"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_errors_are_those_of_the_collection(both: tuple[Client, Collection], call: Any) -> None:
    made, collection = both
    errors = []
    for each in (collection, made):
        with pytest.raises(NeardupError) as caught:
            call(each)
        errors.append(caught.value)
    assert type(errors[0]) is type(errors[1]), errors
    assert errors[1].given
    if isinstance(errors[0], QueryError):
        assert str(errors[0]) == str(errors[1])
    assert str(collection.path) not in str(errors[1])


def refused(status: int, code: str, headers: dict[str, str] | None = None) -> Any:
    names = ("given", "allowed", "do")
    body = {"error": {"code": code, **dict.fromkeys(names, "words"), "position": None, "fields": []}}
    return httpx.Response(status, json=body, headers=headers or {})


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "unknown_token", InputError),
        (403, "forbidden", InputError),
        (404, "unknown_id", UnknownIdError),
        (409, "contradiction", InputError),
        (409, "changed", ChangedMeanwhileError),
        (409, "second_review", SecondReviewError),
        (413, "too_large", InputError),
        (400, "setting", SettingError),
        (500, "damaged", FormatError),
        (500, "internal", OutputError),
        (503, "timeout", LimitError),
        (503, "unwritable", OutputError),
        (503, "stopping", OutputError),
        (429, "overloaded", OutputError),
    ],
)
def test_each_refusal_has_its_error(service: Service, status: int, code: str, kind: type[NeardupError]) -> None:
    with connected(service, lambda _: refused(status, code)) as (made, _), pytest.raises(NeardupError) as caught:
        made.get("a")
    assert type(caught.value) is kind
    assert (caught.value.given, caught.value.allowed, caught.value.do) == ("words",) * 3


def test_busy_services_are_asked_again_where_that_changes_nothing(
    both: tuple[Client, Collection], service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(sender.time, "sleep", waited.append)
    answers: list[Any] = []

    def busy(_: Any) -> Any:
        return answers.pop() if answers else None

    once = {"id": "again", "text": "text"}
    repeated: list[Callable[[Client], Any]] = [
        lambda made: made.get("a"),
        lambda made: made.search("harbour"),
        lambda made: made.put("a", "text"),
        lambda made: made.update_metadata("a", {"x": 1}),
        lambda made: made.add([once], on_duplicate="replace"),
        lambda made: made.remove("again", missing="ignore"),
        lambda made: made.group_pending(),
        lambda made: made.compare("a", "c"),
    ]
    with connected(service, busy) as (made, transport):
        for call in repeated:
            answers[:] = [refused(429, "overloaded", {"Retry-After": "2"})]
            answers += [refused(503, "overloaded", {"Retry-After": "1"})]
            transport.requests.clear()
            call(made)
            assert len(transport.requests) == 3
            assert len({request.content for request in transport.requests}) == 1
        assert waited == [1.0, 2.0] * len(repeated)
        waited.clear()
        for call in (lambda made: made.add([once]), lambda made: made.decide("a", "c", "duplicate")):
            answers[:] = [refused(503, "overloaded", {"Retry-After": "1"})]
            with pytest.raises(OutputError):
                call(made)
        for answer in (
            refused(503, "timeout", {"Retry-After": "1"}),
            refused(503, "overloaded"),
            refused(503, "overloaded", {"Retry-After": "3600"}),
            refused(503, "overloaded", {"Retry-After": "Fri, 31 Dec 2026 23:59:59 GMT"}),
            refused(500, "internal", {"Retry-After": "1"}),
        ):
            answers[:] = [answer]
            with pytest.raises(NeardupError):
                made.get("a")
        assert waited == []
    with connected(service, lambda _: refused(503, "overloaded", {"Retry-After": "1"}), retries=2) as (made, sent):
        with pytest.raises(OutputError):
            made.get("a")
        assert (len(sent.requests), waited) == (3, [1.0, 1.0])


def test_a_redirect_is_not_followed(service: Service) -> None:
    def elsewhere(_: Any) -> Any:
        return httpx.Response(307, headers={"Location": "https://elsewhere.example/steal"})

    with connected(service, elsewhere, token=TOKEN) as (made, sent):
        with pytest.raises(OutputError, match=r"redirects to 'https://elsewhere.example/steal'"):
            made.put("a", "secret text")
        assert [request.url.host for request in sent.requests] == ["127.0.0.1"]
        assert sent.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_answers_of_other_servers_and_none_at_all(service: Service) -> None:
    def fails(error: Exception) -> Callable[[Any], Any]:
        def fail(_: Any) -> Any:
            raise error

        return fail

    cases: list[tuple[Callable[[Any], Any], type[NeardupError], str]] = [
        (lambda _: httpx.Response(502, text="<html>"), OutputError, "answered with status 502"),
        (lambda _: httpx.Response(200, text="<html>"), OutputError, "not like a service"),
        (lambda _: httpx.Response(404, json={"error": "no"}), OutputError, "status 404"),
        (lambda _: httpx.Response(404, json=[1]), OutputError, "status 404"),
        (fails(httpx.ConnectError("refused")), OutputError, "cannot be reached: refused"),
        (fails(httpx.ReadTimeout("slow")), LimitError, "did not answer within 30 seconds"),
    ]
    for before, kind, says in cases:
        with connected(service, before) as (made, _), pytest.raises(kind, match=says):
            made.get("a")
    with connected(service) as (made, _):
        made.close()
        with pytest.raises(OutputError):
            made.get("a")


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ({"url": "ftp://a"}, InputError),
        ({"url": "mail"}, InputError),
        ({"retries": -1}, SettingError),
        ({"timeout": 0}, SettingError),
    ],
)
def test_wrong_arguments(how: dict[str, Any], kind: type[NeardupError]) -> None:
    with pytest.raises(kind):
        Client(**{"url": "http://127.0.0.1:1", **how})
    made = Client("http://127.0.0.1:1")
    assert_refused(
        (TypeError, "Did you mean 'near'", lambda: made.put("a", "text", nera=0.8)),  # type: ignore[call-arg]
        (SettingError, r"measure .*a service", lambda: made.compare("a", "b", measure="x")),
    )


def test_tokens_decide(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "mail.neardup", f"read {TOKEN}") as service,
        connected(service, token=TOKEN) as (reader, _),
        connected(service) as (nobody, _),
    ):
        assert len(reader) == 0
        assert_refused(
            (InputError, "", lambda: reader.put("a", "text")),
            (InputError, "lacks the right", lambda: reader.update_metadata("a", {})),
            (InputError, "lacks the right", lambda: reader.remove("a")),
            (InputError, "lacks the right", reader.group_pending),
            (InputError, "has no token", lambda: len(nobody)),
        )


def test_warnings_are_issued(both: tuple[Client, Collection]) -> None:
    made, _ = both
    with pytest.warns(UserWarning, match=r"_0\.5 means 0\.5 per cent"):
        assert made.search("FINGERPRINT:a_0.5").warnings


def test_without_httpx_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['httpx'] = None\nimport neardup\n"
        "try:\n    neardup.Client('http://127.0.0.1:1')\nexcept neardup.InputError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert has_parts(done.stdout, "httpx", f"Try: {install('client')}.")


def test_hits_have_the_fields_of_the_collection(both: tuple[Client, Collection]) -> None:
    client, collection = both
    for fields in ("metadata", "text,excerpt", ["excerpt", "metadata"]):
        assert client.search("harbour", fields=fields).hits == collection.search("harbour", fields=fields).hits
        asked = {"overlap": "10%", "fields": fields}
        assert client.near(HARBOUR, **asked).hits == collection.near(HARBOUR, **asked).hits


def test_an_asynchronous_client_answers_as_the_other_one(
    service: Service, both: tuple[Client, Collection]
) -> None:
    client, collection = both
    queries = ["harbour", "pay", "year>=2021", "harbour AND friday"]

    async def answers() -> list[Any]:
        transport = ServiceTransport(service, nothing)
        async with AsyncClient("http://127.0.0.1:8321", at_once=1, transport=transport) as later:
            assert (await later.put("new", HARBOUR)).added == 1
            with pytest.raises(UnknownIdError):
                await later.get("newer")
            assert await later.remove("new") == 1
            found = [
                await asyncio.gather(*(later.search(query, fields="text") for query in queries)),
                [one async for one in later.documents()],
                [id async for id in later],
                b"".join([part async for part in later.exported()]),
                (await later.compare("a", "c")).measures,
            ]
        with pytest.raises(OutputError):
            await later.info()
        return found

    assert asyncio.run(answers()) == [
        [client.search(query, fields="text") for query in queries],
        [*client.documents()],
        [*collection],
        b"".join(client.exported()),
        client.compare("a", "c").measures,
    ]


def test_an_asynchronous_client_has_the_methods_and_arguments_of_the_other_one() -> None:
    assert public(AsyncClient) == public(Client)
    for name in public(Client):
        assert inspect.signature(getattr(AsyncClient, name)).parameters.keys() == (
            inspect.signature(getattr(Client, name)).parameters.keys()
        )
    with pytest.raises(SettingError):
        AsyncClient("http://127.0.0.1:8321", at_once=0)


def test_the_event_loop_goes_on_while_a_service_is_slow(service: Service) -> None:
    async def turned() -> int:
        arrived, turns = threading.Event(), 0

        def slow(_: Any) -> None:
            arrived.wait(10)

        transport = ServiceTransport(service, slow)
        async with AsyncClient("http://127.0.0.1:8321", transport=transport) as later:
            task = asyncio.create_task(later.info())
            while turns < 5:
                await asyncio.sleep(0)
                turns += 1
            assert not task.done()
            arrived.set()
            assert (await task)["documents"] >= 0
        return turns

    assert asyncio.run(turned()) == 5
