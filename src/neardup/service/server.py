"""A collection served over HTTP until a signal arrives, and what its first requests would wait for."""

import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Protocol
from uuid import uuid4

from starlette.types import ASGIApp, Receive, Scope, Send

from neardup.collection import Collection, Near
from neardup.collection.shards import Collections
from neardup.comparison import compare as measures
from neardup.errors import NeardupError
from neardup.io.writers.scratch import scratch_folder
from neardup.kernels import compile_cache
from neardup.kernels.precompilation import compile_entry, entries_of, helped, missing, share
from neardup.service.app import make_app
from neardup.service.executor import Executor
from neardup.service.front import Front, open_here
from neardup.settings import as_compared
from neardup.web import monitoring
from neardup.web.limits import Limits
from neardup.web.middleware import Tokens
from neardup.web.server import address_of, collect_less, run

SWITCHING = 0.001
"""Seconds after which a thread that computes lets another one run, such as the one that listens."""
LOADING = 10.0
"""Seconds to wait, after the last request, for the thread that uses the collection once at the start."""


def serve(
    collection: Collection,
    tokens: Tokens,
    limits: Limits,
    listening: socket.socket,
    started: Callable[[str], None],
    pages: "Mapping[str, ThreadedApp] | None" = None,
    *,
    warm_first: bool = False,
    helpers: bool = True,
) -> bool:
    """Serve until a signal arrives; return whether all threads ended in time.

    ``started`` is called with the address when requests can arrive. ``pages`` are applications at addresses of
    their own. With ``warm_first`` requests arrive when none has to wait for a kernel; ``helpers``: whether other
    processes may be started to compile. Closes collection and socket. If a thread is still running, the
    collection is perhaps still in use: the process must then end without closing it (``cli.messages.leave``).
    """
    executor = Executor(collection, limits)
    monitoring.event("started", address=address_of(listening), documents=len(collection), tokens=bool(tokens))
    warmer = partial(Warming, executor, lambda: warm(collection), helpers)
    return _serve(executor, tokens, listening, started, pages, warmer, warm_first)


def serve_front(
    shards: Collections,
    tokens: Tokens,
    limits: Limits,
    listening: socket.socket,
    started: Callable[[str], None],
    *,
    readonly: bool = False,
) -> bool:
    """Serve several shards until a signal arrives, as ``serve`` does a collection."""
    front = Front(shards, limits, readonly=readonly)
    monitoring.event("started", address=address_of(listening), shards=len(shards.parts), tokens=bool(tokens))

    def use() -> None:
        measures.compare(_SAMPLE, _OTHER)
        for collection in open_here(shards)[:1]:
            warm(collection)

    return _serve(front, tokens, listening, started, None, partial(Warming, front, use), False)


def _serve(
    executor: Executor,
    tokens: Tokens,
    listening: socket.socket,
    started: Callable[[str], None],
    pages: Mapping[str, "ThreadedApp"] | None,
    warmer: Callable[[], "Warming"],
    warm_first: bool,
) -> bool:
    limits, warming, before = executor.limits, list[Warming](), sys.getswitchinterval()

    def begin() -> None:
        started(address_of(listening))
        if not warm_first:
            warming.append(warmer())

    sys.setswitchinterval(SWITCHING)
    try:
        if warm_first:
            warming.append(warmer())
            executor.warmed.wait()
        run(Beside(make_app(executor, tokens), pages or {}), limits, listening, begin)
    finally:
        sys.setswitchinterval(before)
        executor.closed = True
        shown = [page.close(limits.stop_seconds) for page in (pages or {}).values()]
        warmed = [thread.let_go(LOADING) for thread in warming]
        ended = executor.close(unused=all((*shown, *warmed))) and all((*shown, *warmed))
        listening.close()
        monitoring.event("stopped", finished=ended)
    return ended and not any(thread.alive for thread in warming)


class ThreadedApp(Protocol):
    """An ASGI application with threads of its own."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

    def close(self, seconds: float) -> bool:
        """Stop the threads; return whether they all ended in time."""


class Beside:
    """An ASGI application, and others beside it, each at all addresses that begin with its own."""

    def __init__(self, app: ASGIApp, others: Mapping[str, ThreadedApp]) -> None:
        self._app, self._others = app, others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        for place, other in self._others.items():
            if f"{scope.get('path', '')}/".startswith(f"{place}/"):
                path = scope["path"] if scope["path"] != place else f"{place}/"
                await other({**scope, "root_path": place, "path": path}, receive, send)
                return
        await self._app(scope, receive, send)


COMMAND = "serve"


class Warming:
    """A thread that compiles, also in other processes, then calls ``warm`` once, and accepts requests.

    A failure here does not keep the service from accepting requests: it occurs again, and is reported, when a
    request needs the same thing.
    """

    def __init__(self, executor: Executor, warm: Callable[[], None], helpers: bool = True) -> None:
        self._executor, self._warm, self._using = executor, warm, threading.Lock()
        self._logged, self._helpers = False, helpers
        executor.warmed.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread still runs, perhaps in native code that nothing can interrupt."""
        return self._thread.is_alive()

    def join(self, seconds: float) -> None:
        """Wait for the end of the thread."""
        self._thread.join(seconds)

    def let_go(self, seconds: float) -> bool:
        """After the executor was closed, return whether the thread uses the collection no more; wait for that."""
        free = self._using.acquire(timeout=seconds)
        if free:
            self._using.release()
        return free

    def _run(self) -> None:
        begin = monotonic()
        compile_cache.watchers.append(self._log_compiling)
        try:
            self._compile_and_warm()
        except Exception as error:
            if not self._executor.closed:
                monitoring.mistake(error, "")
        finally:
            compile_cache.watchers.remove(self._log_compiling)
            collect_less()
            self._executor.warmed.set()
        if not self._executor.closed:
            monitoring.event("ready", seconds=round(monotonic() - begin, 3))

    def _compile_and_warm(self) -> None:
        entries = missing(entries_of([COMMAND]))
        with helped([COMMAND], helpers=None if entries and self._helpers else 0):
            for entry in share(entries, 0):
                if self._executor.closed:
                    return
                compile_entry(entry, wait=False)
            with self._using:
                if not self._executor.closed:
                    self._warm()

    def _log_compiling(self, what: str, _: str) -> None:
        """Log once that kernels are being compiled, and whether they are kept."""
        if what == compile_cache.STARTED and not self._logged:
            self._logged = True
            monitoring.event("compiling", kept=compile_cache.folders().write is not None)


_SAMPLE = (
    "The harbour office is closed on Friday; please hand in all receipts for March before noon. Größe und Maß"
)
_OTHER = _SAMPLE.encode("ascii", "ignore").decode()
_LONG = " ".join(f"word{number}" for number in range(300))
"""Some of its shingles are in every sample."""
_QUERY = f'FINGERPRINT:TEXT:"{_SAMPLE}"_20_80 OR SIMILAR:TEXT:"{_SAMPLE}"_90'
_NEAR = 0.5


def warm(collection: Collection) -> None:
    """Compile or load everything that the first requests would wait for. Does not change the collection."""
    measures.compare(_SAMPLE, _OTHER, **as_compared(collection.settings.as_dict()))
    collection.search(_QUERY, limit=1)
    # in a file of its own: loading takes seconds, during which other processes could not write to the collection
    with suppress(NeardupError), scratch_folder() as folder:
        settings = collection.settings.as_dict()
        with Collection(folder / "warm.neardup", **settings) as other:
            _write(other)


def _write(collection: Collection) -> None:
    """Perform each kind of change, and of search, once; otherwise all would wait for the first one."""
    ids = first, second, long = [uuid4().hex, uuid4().hex, uuid4().hex]
    entries = collection.prepare(ids, [_SAMPLE, _OTHER, _LONG], [{}, {}, {}])
    for near in (None, _NEAR, Near(_NEAR, recall=1)):
        collection.put_prepared(entries, "replace", near=near, on_near="link" if near else "keep")
    collection.search(f"FINGERPRINT:{first}_20", limit=1)  # with a passage
    for _ in range(3):  # then posting lists are in memory, and are searched there
        collection.search(f"FINGERPRINT:{long}_20_80", limit=1)
    collection.search("harbour", limit=1, fields="excerpt")
    collection.decide(first, second, "duplicate")
    collection.remove(ids)
