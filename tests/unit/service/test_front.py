"""A service in front of shards: its answers are those of the service of one collection, or say what is missing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip("httpx", reason="the extra client is not installed")

from neardup import Client, NetworkError, OutputError, SettingError  # noqa: E402
from neardup.collection import Collection  # noqa: E402
from neardup.collection.groups.methods import GroupsAndDecisions  # noqa: E402
from neardup.collection.shard import OfferedDocuments, OpenShard  # noqa: E402
from neardup.collection.shards import Collections, shard_of  # noqa: E402
from neardup.collection.store import store_at  # noqa: E402
from neardup.service.app import make_app  # noqa: E402
from neardup.service.front import Front  # noqa: E402
from neardup.service.server import serve_front  # noqa: E402
from neardup.service.shard_client import RemoteShard  # noqa: E402
from neardup.service.web.limits import Limits, RefusedError  # noqa: E402
from neardup.service.web.middleware import Tokens  # noqa: E402
from neardup.service.web.server import address_of, listen  # noqa: E402
from support.made_service import Answer, Service, by_path, serving  # noqa: E402
from support.service_transport import ServiceTransport  # noqa: E402
from support.until_signal import asked  # noqa: E402

OFFICE = "The harbour office is closed on Friday, because the pier is being {}."
DOCUMENTS = [
    {"id": f"d{number}", "text": OFFICE.format(word), "metadata": {"year": 2019 + number}}
    for number, word in enumerate(("repaired", "painted", "cleaned", "repaired again", "closed", "sold"))
]
TOKEN = "w" * 20


class Net:
    """Answers in place of a service, if it is set."""

    def __init__(self) -> None:
        self.fault: Exception | None = None
        self.requests = 0
        self.meanwhile: Callable[[], None] | None = None

    def __call__(self, request: Any) -> Any:
        self.requests += 1
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        if self.fault:
            raise self.fault
        return None


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Service]:
    """The service of one collection with all documents."""
    with serving(tmp_path / "one.neardup") as made:
        made("POST", "/v1/documents", {"documents": DOCUMENTS})
        yield made


@pytest.fixture
def net() -> Net:
    return Net()


@pytest.fixture
def front(tmp_path: Path, one: Service, net: Net) -> Iterator[Service]:
    """A service with a token in front of another one, which has a token, too, and of a file."""
    places = [tmp_path / "0.neardup", tmp_path / "1.neardup"]
    for place in places:
        store_at(place, one.executor.collection.settings).close()
    with serving(places[0], tokens=f"write {TOKEN}", scale=None) as shard:
        remote = RemoteShard("http://127.0.0.1:8321", TOKEN, transport=ServiceTransport(shard, net))
        executor = Front(Collections([remote, OpenShard(Collection(places[1]), 1000)]), Limits.of(seconds=5))
        with asyncio.Runner() as runner:
            made = Service(executor, make_app(executor, Tokens()), runner)
            assert made("POST", "/v1/documents", {"documents": DOCUMENTS}).json["added"] == len(DOCUMENTS)
            yield made
        assert executor.close()


def same(answer: Answer) -> Any:
    """The parts of an answer that a front has, too."""
    data = answer.json
    if answer.status >= 400:
        return answer.status, answer.error["code"], answer.error["position"]
    return {name: value for name, value in data.items() if name not in ("next", "bytes", "changes", "shards")}


TARGETS = [
    "/v1/search?q=FINGERPRINT:d0_20_100",
    "/v1/search?q=FINGERPRINT:d0_20_100&limit=2&fields=metadata,text,excerpt",
    "/v1/search?q=harbour%20AND%20year%3E2020&include_self=true",
    "/v1/search?q=SIMILAR:d1_90%20OR%20pier",
    "/v1/search?q=unknown:1",
    "/v1/search?q=FINGERPRINT:nothing_20",
    "/v1/search?q=a%20AND",
    "/v1/search?q=a&limit=2000",
    *(f"/v1/why-not?q=FINGERPRINT:d0_99&id=d{number}" for number in range(6)),
    "/v1/why-not?q=FINGERPRINT:d0_20&id=d0&include_self=true",
    "/v1/why-not?q=harbour%20AND%20year%3E2023&id=d1",
    "/v1/why-not?q=unknown:1&id=d1",
    "/v1/why-not?q=a%20AND&id=d1",
    "/v1/why-not?q=harbour&id=nothing",
    "/v1/documents/d3",
    "/v1/documents/nothing",
    "/v1/base-texts",
    "/v1/group-of?id=d1",
    "/v1/group-of?id=nothing",
    "/v1/stats",
    "/health",
    "/ready",
    "/",
    "/nowhere",
]


def test_answers_of_one_collection(one: Service, front: Service) -> None:
    for target in TARGETS:
        assert same(front("GET", target)) == same(one("GET", target)), target


def test_posted_questions(one: Service, front: Service) -> None:
    for address, body in (
        ("/v1/search", {"query": "FINGERPRINT:d2_20", "limit": 3}),
        ("/v1/near", {"text": OFFICE.format("sold"), "overlap": "50%", "where": "year>2020"}),
        ("/v1/near", {"text": OFFICE.format("sold"), "overlap": "50%", "where": "year>"}),
        ("/v1/why-not", {"query": "FINGERPRINT:d2_99", "id": "d3"}),
        ("/v1/compare", {"a": "d0", "b": "d1"}),
        ("/v1/compare", {"a": "d0", "b": "nothing"}),
    ):
        assert same(front("POST", address, body)) == same(one("POST", address, body))


def test_pages_follow_one_another(one: Service, front: Service) -> None:
    for service in (one, front):
        seen, after = [], ""
        while after is not None:
            page = service("GET", f"/v1/search?q=harbour&limit=2{after and f'&after={after}'}").json
            seen += [hit["id"] for hit in page["hits"]]
            after = page["next"]
        assert seen == [record["id"] for record in DOCUMENTS]


def test_changes_reach_the_shard_of_the_document(front: Service) -> None:
    shards = front.executor.collection.shards  # type: ignore[attr-defined]
    assert front("PUT", by_path("new"), {"text": "something new"}).json["added"] == 1
    assert [("new" in shard) for shard in shards] == [shard_of("new", 2) == number for number in range(2)]
    assert front("PATCH", by_path("new"), {"metadata": {"a": 1}}).json["metadata"] == {"a": 1}
    again = front("POST", "/v1/documents", {"documents": [{"id": "x", "text": "x"}, {"id": "new", "text": "y"}]})
    assert (again.status, again.error["code"]) == (409, "duplicate")
    assert front("GET", by_path("x")).status == 404
    rejected = front("PUT", by_path("copy"), {"text": DOCUMENTS[0]["text"], "near": 0.9, "on_near": "reject"})
    assert (rejected.json["left_out"], rejected.json["near"][0]["of"]) == (1, "d0")
    linked = front("PUT", by_path("copy"), {"text": "z", "near": 0.9, "on_near": "link"})
    assert linked.status == 400
    assert front("POST", "/v1/remove", {"ids": ["d1", "nothing"]}).status == 404
    assert front("POST", "/v1/remove", {"ids": ["d1", "d2", "new"]}).json == {"removed": 3}
    assert front("DELETE", by_path("d1")).status == 404
    assert front("GET", "/v1/stats").json["documents"] == len(DOCUMENTS) - 2
    assert b"neardup_documents 4.0" in front("GET", "/metrics").content


def test_requests_that_need_one_collection_are_refused(front: Service) -> None:
    for target in ("groups", "explain?q=a", "passages?id=d1", "changes", "tags"):
        answer = front("GET", f"/v1/{target}")
        assert (answer.status, answer.error["code"]) == (422, "shards"), target


def test_documents_are_offered_by_all_and_groups_by_one_collection(one: Service, front: Service) -> None:
    offered = {
        name for name in vars(OfferedDocuments) if not name.startswith("_") or name in ("__len__", "__contains__")
    }
    shards = front.executor.collection.parts
    for documents in (one.executor.own, front.executor.collection, *(part.collection for part in shards)):
        assert offered <= {*dir(documents)}
    assert isinstance(one.executor.own, GroupsAndDecisions)
    with pytest.raises(RefusedError) as refused:
        front.executor.own.decisions()
    assert (refused.value.status, refused.value.code) == (422, "shards")


def test_a_client_of_a_front(front: Service) -> None:
    with Client("http://127.0.0.1:8321", transport=ServiceTransport(front, lambda _: None)) as client:
        assert sorted(client) == sorted(document.id for document in client.documents())
        assert len(client) == len(DOCUMENTS)
        assert "d1" in client
        assert "nothing" not in client
        assert client.search("FINGERPRINT:d0_20", limit=1).missing == ()


def test_a_shard_that_does_not_answer(front: Service, net: Net) -> None:
    here = [record["id"] for record in DOCUMENTS if shard_of(record["id"], 2) == 1]
    net.fault = httpx.ConnectError("refused")
    answer = front("GET", "/v1/search?q=harbour")
    assert (answer.status, answer.error["code"]) == (503, "shard")
    assert "8321" not in answer.error["message"]
    page = front("GET", "/v1/search?q=harbour&partial=true").json
    assert ([hit["id"] for hit in page["hits"]], page["found"], page["missing"]) == (here, len(here), [1])
    page = front("POST", "/v1/near", {"text": OFFICE.format("sold"), "overlap": 0.5, "partial": True}).json
    assert (page["found"], page["missing"]) == (len(here), [1])
    requests = net.requests
    assert front("GET", "/v1/search?q=harbour&partial=true").status == 200
    assert net.requests == requests, "for some seconds it is not asked again"
    lost = next(record["id"] for record in DOCUMENTS if record["id"] not in here)
    assert front("PUT", by_path(lost), {"text": "a"}).error["code"] == "shard"
    assert front("PUT", by_path(here[0]), {"text": "a"}).status == 200
    assert front("GET", by_path(here[0])).status == 200
    assert b'neardup_shard_failures_total{shard="1"}' in front("GET", "/metrics").content
    net.fault, requests = None, net.requests
    remote = front.executor.collection.parts[0]  # type: ignore[attr-defined]
    remote.collection.sender._silent_until = 0.0

    def others_do_not_wait() -> None:
        with pytest.raises(NetworkError):
            remote.require_ready()
        assert net.requests == requests + 1

    net.meanwhile = others_do_not_wait
    assert front("GET", "/v1/search?q=harbour").json["found"] == len(DOCUMENTS) - 1
    assert net.meanwhile is None


def test_a_front_is_ready_when_its_shards_are(front: Service, net: Net) -> None:
    assert front("GET", "/ready").json == {"status": "ready"}
    net.fault = httpx.ConnectError("refused")
    answer = front("GET", "/ready")
    assert (answer.status, answer.error["code"]) == (503, "shard")
    assert front("GET", "/ready?partial=true").status == 200
    assert front("GET", "/health").status == 200


WRONG = {"/v1/stats": [b'{"status": "starting"}', b'{"settings": {}}', b'{"settings": {"length": 5}}', b"[]"]}


@pytest.mark.parametrize("wrong", WRONG["/v1/stats"])
def test_one_wrong_answer_of_a_shard_is_forgotten(wrong: bytes, tmp_path: Path, one: Service) -> None:
    answers = [httpx.Response(200, content=wrong)]

    def first(request: Any) -> Any:
        return answers.pop() if answers and request.url.path in WRONG else None

    places = [tmp_path / f"{number}.neardup" for number in range(2)]
    for place in places:
        store_at(place, one.executor.collection.settings).close()
    with ExitStack() as stack:
        services = [stack.enter_context(serving(place, tokens=f"write {TOKEN}", scale=None)) for place in places]
        transports = [ServiceTransport(service, first) for service in services]
        remotes = [
            RemoteShard(f"http://127.0.0.1:{port}", TOKEN, transport=transport)
            for port, transport in enumerate(transports, 1)
        ]
        shards = stack.enter_context(Collections(remotes))
        with suppress(OutputError, SettingError):  # JSON that is no answer is asked for again at once
            shards.search("harbour")
        assert not answers
        assert shards.search("harbour").found == 0


class FullShard(OpenShard):
    """A shard whose disk is full."""

    def answer(self, *_: Any) -> Any:
        """Fail."""
        raise OutputError(f"There is no space left to write to {self.name}")


def test_the_words_of_a_shard_are_passed_on_without_its_place(front: Service) -> None:
    parts = front.executor.collection.parts  # type: ignore[attr-defined]
    parts[1] = FullShard(parts[1].collection)
    answer = front("GET", "/v1/search?q=harbour")
    assert (answer.status, answer.error["code"]) == (503, "shard")
    assert "no space" in answer.error["given"]
    assert "Shard 2" in answer.error["given"]
    assert parts[1].name not in str(answer.error)


def test_shards_of_other_settings_are_refused(front: Service, tmp_path: Path) -> None:
    with serving(tmp_path / "other.neardup", scale=8) as other:
        remote = RemoteShard("http://127.0.0.1:8321", transport=ServiceTransport(other, lambda _: None))
        front.executor.collection.parts.append(remote)  # type: ignore[attr-defined]
        answer = front("GET", "/v1/search?q=harbour&partial=true")
        assert (answer.status, answer.error["code"]) == (400, "setting")
        assert "scale 8, not 4" in answer.error["given"]


def test_shards_are_served_until_a_signal(tmp_path: Path, one: Service) -> None:
    places = [tmp_path / f"{number}.neardup" for number in range(2)]
    for place in places:
        store_at(place, one.executor.collection.settings).close()
    shards = Collections([OpenShard(Collection(place), 1000) for place in places])
    listening, addresses, limits = listen("127.0.0.1", 0), list[str](), Limits.of(seconds=5)
    address = address_of(listening)
    with asked(listening, ("GET", "/v1/stats"), ("DELETE", "/v1/documents/a")) as answers:
        assert serve_front(shards, Tokens(), limits, listening, addresses.append, readonly=True)
    assert (addresses, listening.fileno()) == ([address], -1)
    assert [status for status, _ in answers] == [200, 403]
    assert json.loads(answers[0][1])["shards"] == 2
