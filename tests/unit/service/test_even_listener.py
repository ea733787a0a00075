"""The listening socket of several workers: connections are divided evenly, whoever wakes first."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from neardup.io.files import make_numbers, shared_numbers
from neardup.service.web.limits import READING_SECONDS
from neardup.service.web.server import listen
from neardup.service.workers import GONE, YIELDS, EvenListener


@pytest.fixture
def counts(tmp_path: Path) -> "memoryview[int]":
    make_numbers(tmp_path / "connections", 2)
    return shared_numbers(tmp_path / "connections")


@pytest.fixture
def pair(counts: "memoryview[int]") -> Iterator[list[EvenListener]]:
    """The same socket in two workers."""
    with closing(listen("127.0.0.1", 0)) as listening, ExitStack() as stack:
        both = [EvenListener(os.dup(listening.fileno()), counts, place) for place in range(2)]
        for one in both:
            stack.enter_context(closing(one))
            one.setblocking(False)
        yield both


def accepted(listener: EvenListener) -> list[socket.socket]:
    """Everything that a worker accepts when it wakes."""
    found = []
    try:
        while True:
            found.append(listener.accept()[0])
    except BlockingIOError:
        return found


def test_who_wakes_first_does_not_take_all(pair: list[EvenListener], counts: "memoryview[int]") -> None:
    with ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(closing(socket.create_connection(pair[0].getsockname())))
        held: list[list[socket.socket]] = [[], []]
        while sum(map(len, held)) < 10:
            for place in (0, 1):
                new = accepted(pair[place])
                assert len(new) <= 2
                held[place] += [stack.enter_context(closing(one)) for one in new]
        assert list(map(len, held)) == [5, 5] == counts.tolist()
        for one in held[0][:3]:
            one.close()
            one.close()
        assert counts.tolist() == [2, 5]
        for _ in range(3):
            stack.enter_context(closing(socket.create_connection(pair[0].getsockname())))
        assert accepted(pair[1]) == []
        assert len([stack.enter_context(closing(one)) for one in accepted(pair[0])]) == 3
    assert counts.tolist() == [0, 0]


def test_a_connection_is_not_left_for_ever_to_a_worker_that_hangs(
    pair: list[EvenListener], counts: "memoryview[int]"
) -> None:
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(closing(socket.create_connection(pair[0].getsockname())))
        [first] = accepted(pair[0])  # and once in vain
        stack.enter_context(closing(first))
        for _ in range(YIELDS - 1):
            assert accepted(pair[0]) == []
        [second] = accepted(pair[0])
        stack.enter_context(closing(second))
        assert counts.tolist() == [2, 0]


def test_nobody_waits_for_a_worker_that_is_gone_or_not_ready(
    pair: list[EvenListener], counts: "memoryview[int]"
) -> None:
    counts[1] = GONE
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(closing(socket.create_connection(pair[0].getsockname())))
            [one] = accepted(pair[0])
            stack.enter_context(closing(one))
        assert accepted(pair[1]) == []
        assert counts.tolist() == [2, 0], "it accepts now"


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system has no such limit")
def test_connections_whose_clients_read_nothing_end() -> None:
    with closing(listen("127.0.0.1", 0)) as listening:
        limit = listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        assert limit == 1000 * READING_SECONDS
        assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
