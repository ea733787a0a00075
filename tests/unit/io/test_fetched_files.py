"""A file behind a URL is fetched once, whatever the server can do; failures are those of the network."""

from __future__ import annotations

import random

import pytest

import neardup as nd
from neardup.io.storage.spool import BLOCK_BYTES, FetchedFile, FetchSpool
from support.storage_servers import FileServer, serving

pytest.importorskip("aiohttp", reason="neardup[http] is not installed")

DATA = random.Random(3).randbytes(40 * BLOCK_BYTES + 17)


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("most", [None, 5 * BLOCK_BYTES, 0])
def test_any_parts_in_any_order_are_those_of_the_file(ranges: bool, most: int | None) -> None:
    if not ranges and most is not None:
        pytest.skip("a whole file needs room, as another test checks")
    draw = random.Random(7)
    with serving(FileServer({"a": DATA}, ranges=ranges)) as server:
        file = FetchedFile(f"{server.url}/a", spool=FetchSpool(most))
        for _ in range(60):
            offset, length = draw.randrange(len(DATA)), draw.randrange(1, 5 * BLOCK_BYTES)
            assert file.at(offset, length) == DATA[offset : offset + length]
        assert file.at(0, len(DATA)) == DATA
        if most is None:
            assert server.sent["a"] == len(DATA)


@pytest.mark.parametrize(("ranges", "length"), [(True, True), (False, True), (False, False)])
def test_a_file_read_in_order_three_times_is_sent_once(ranges: bool, length: bool) -> None:
    with serving(FileServer({"a": DATA}, ranges=ranges, length=length)) as server:
        file = FetchedFile(f"{server.url}/a", spool=FetchSpool())
        for _ in range(3):
            with file.stretch() as stretch:
                parts = iter(lambda: stretch.read(10_000), b"")
                assert b"".join(parts) == DATA
        assert server.sent["a"] == len(DATA)
        assert server.requests <= 12


def test_a_part_costs_little_more_than_itself() -> None:
    with serving(FileServer({"a": DATA})) as server:
        file = FetchedFile(f"{server.url}/a", spool=FetchSpool())
        assert file.at(len(DATA) - 8, 8) == DATA[-8:]
        assert file.at(9 * BLOCK_BYTES + 5, 3 * BLOCK_BYTES) == DATA[9 * BLOCK_BYTES + 5 :][: 3 * BLOCK_BYTES]
        assert server.sent["a"] <= 6 * BLOCK_BYTES


def test_without_room_a_server_without_ranges_is_refused_in_words() -> None:
    with serving(FileServer({"a": DATA}, ranges=False)) as server:
        file = FetchedFile(f"{server.url}/a", spool=FetchSpool(BLOCK_BYTES))
        with pytest.raises(nd.InputError, match=r"whole files.*TMPDIR"):
            file.at(5, 5)


@pytest.mark.parametrize("ranges", [True, False])
def test_an_answer_that_was_cut_is_asked_for_again(ranges: bool) -> None:
    with serving(FileServer({"a": DATA}, ranges=ranges)) as server:
        server.cuts[:] = [1000, 0]
        file = FetchedFile(f"{server.url}/a", spool=FetchSpool())
        assert file.at(0, len(DATA)) == DATA


def test_a_server_that_always_cuts_is_a_failure_of_the_network() -> None:
    with serving(FileServer({"a.jsonl": DATA})) as server:
        server.cuts[:] = [10] * 100
        with pytest.raises(nd.NetworkError) as caught:
            nd.find(server.url.replace("//", "//ann:word@") + "/a.jsonl?token=hidden")
    assert "/a.jsonl cannot be read" in str(caught.value)
    assert not {"word", "hidden", "ann"} & set(str(caught.value).replace(":", " ").replace("@", " ").split())


def test_the_spool_gives_its_room_back() -> None:
    spool = FetchSpool(len(DATA))
    with serving(FileServer({"a": DATA})) as server:
        for _ in range(3):
            file = FetchedFile(f"{server.url}/a", spool=spool)
            assert file.at(0, len(DATA)) == DATA
            assert file.at(0, 9) == DATA[:9]
            del file
        assert server.sent["a"] == 3 * len(DATA)
