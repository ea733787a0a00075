"""A shard that another service has: its client, which does not wait for a service that is known to be gone."""

import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from neardup.collection.answers import WhyNot
from neardup.collection.queries import Open, Query, canonical, parse
from neardup.collection.shard import LookUp, ShardPage, ShardQuestion
from neardup.errors import LimitError, NetworkError
from neardup.runtime import Deadline
from neardup.service import answers
from neardup.service.client import Client
from neardup.service.sender import Sender, UnlikeAnswerError, late_error

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
PAUSE = 2.0
"""Seconds in which a service that did not answer is not asked again."""
_PROBE_SECONDS = 1.0
"""Seconds within which the process of a slow service must say that it is alive."""


class ShardSender(Sender):
    """A sender that fails at once for some seconds after its service has been found not to answer.

    Otherwise a service that accepts connections and answers nothing would occupy every thread of its callers.
    """

    _silent_until = 0.0
    _silence: Exception | None = None

    def send(self, kind: type[T], method: str, path: str, *args: Any, **kwargs: Any) -> T:
        """Return an answer; a request that changes nothing when it is repeated is sent again once."""
        silence = self._silence
        if silence is not None:
            if monotonic() < self._silent_until:
                raise silence
            self._silent_until = monotonic() + PAUSE  # this request finds out, and the others do not wait for it
        again = kwargs.get("again")
        try:
            answer = self._send_twice(
                lambda: super(ShardSender, self).send(kind, method, path, *args, **kwargs),
                method != "POST" if again is None else again,
            )
        except UnlikeAnswerError:  # it answers, and rightly perhaps when it has started
            raise
        except NetworkError as error:
            self._note_silence(error)
            raise
        except LimitError as error:
            if not self._is_alive():
                self._note_silence(error)
            raise
        self._silence = None
        return answer

    def _send_twice(self, send: Callable[[], T], again: bool) -> T:
        """Send a second time where a connection was broken, perhaps by a service that was started again."""
        try:
            return send()
        except NetworkError:
            if not again or self._silence is not None:
                raise
            return send()

    def _note_silence(self, error: Exception) -> None:
        self._silence, self._silent_until = error, monotonic() + PAUSE

    def _is_alive(self) -> bool:
        """Whether the process answers although the request took too long."""
        try:
            deadline = Deadline(_PROBE_SECONDS, lambda: late_error(self.url, _PROBE_SECONDS))
            answer = self._answer("GET", "/health", {"timeout": _PROBE_SECONDS}, deadline)
        except (NetworkError, LimitError):
            return False
        return answer.status == 200


class _ShardClient(Client):
    """The documents of a shard."""

    _sender_type: ClassVar[type[Sender]] = ShardSender

    @property
    def sender(self) -> Sender:
        """What sends the requests."""
        return self._sender


class RemoteShard:
    """The shard of a service at ``url``; ``seconds`` is the time limit of each request to it.

    ``transport`` as in ``Client``. Raises NetworkError, LimitError or OutputError where the service cannot answer.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        seconds: float = 5.0,
        transport: "httpx.BaseTransport | None" = None,
    ) -> None:
        self.collection = _ShardClient(url, token, timeout=seconds, retries=1, transport=transport)
        self.name, self._sender = self.collection.url, self.collection.sender
        self._settings: Mapping[str, Any] | None = None
        self._lock = threading.Lock()

    def settings(self) -> Mapping[str, Any]:
        """Return the settings of the collection, which never change."""
        with self._lock:
            if self._settings is None:
                self._settings = self._sender.send(answers.ShardSettings, "GET", "/v1/stats").settings
            return self._settings

    def forget(self) -> None:
        """Ask for the settings again: another service may have given a wrong answer under this address."""
        with self._lock:
            self._settings = None

    def base_texts(self) -> Sequence[str]:
        """Return the boilerplate texts themselves."""
        return [self.collection.get(id).text for id in self.collection.base_texts()]

    def look_up(self, ids: Sequence[str], fields: Sequence[str], seconds: float | None) -> LookUp:
        """Return those of the documents and of the fields of metadata that exist."""
        body = {"ids": list(ids), "fields": list(fields)}
        known = self._sender.send(answers.LookUpAnswer, "POST", "/v1/shard/look-up", body, again=True)
        return LookUp(known.texts, known.fields)

    def answer(self, question: ShardQuestion, seconds: float | None, open_file: Open | None = None) -> ShardPage:
        """Return a page. FILE: is refused there."""
        query = _typed_text(question.query)
        body = {
            **_lent_body(question, query),
            "limit": question.limit,
            "after": question.after,
            "skip": question.skip,
            "fields": question.fields,
            "most_compared": question.compared,
        }
        page = self._sender.send(answers.ShardAnswer, "POST", "/v1/shard/search", body, again=True, query=query)
        try:
            return ShardPage(page.page(page.query), page.begin)
        except ValueError as error:
            raise self._sender.unlike_error(f"hits that are none: {error}") from error

    def why_not(self, question: ShardQuestion, id: str, seconds: float | None) -> WhyNot:
        """Return why a document is not a hit. FILE: is refused there."""
        query = _typed_text(question.query)
        body = {**_lent_body(question, query), "id": id}
        return self._sender.send(WhyNot, "POST", "/v1/shard/why-not", body, again=True, query=query)

    def require_ready(self) -> None:
        """Raise an error unless the service accepts requests."""
        self._sender.send(answers.StatusAnswer, "GET", "/ready")

    def close(self) -> None:
        """Close the connections."""
        self.collection.close()


def _typed_text(query: Query) -> str:
    """Return the text of a query as somebody typed it, so that positions in it agree; else its canonical form."""
    return query.text if query.text and parse(query.text) == query else canonical(query)


def _lent_body(question: ShardQuestion, query: str) -> dict[str, Any]:
    """Return a query over several shards as the body of a request."""
    lent = {"texts": question.texts, "known_fields": question.known_fields}
    return {"query": query, "include_self": question.include_self, **lent}
