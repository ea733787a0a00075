"""Answers of servers that are no bytes: repeated, reported in words, and free of secrets."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest

import neardup as nd
from neardup.io.storage import answers
from neardup.io.storage.answers import AnswerError, facts_in, heard, once, retried_answer, retry_after, status_of
from neardup.io.storage.pins import Pin
from neardup.io.storage.spool import FetchedFile, FetchSpool
from neardup.runtime import reporting_lines
from support.messages import has_parts
from support.storage_servers import FileServer, serving, silent_stores

pytest.importorskip("aiohttp", reason="neardup[http] is not installed")

LINE = b'{"text": "the quick brown fox jumps over the lazy dog"}\n'
SIGNED = "?X-Amz-Signature=5f0cSECRET&part=*"
EXPIRED = (
    b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>Request has expired</Message>"
    b"<StringToSign>5f0cSECRET</StringToSign></Error>"
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FileServer:
    """Files of a server that is asked again without pauses."""
    monkeypatch.setenv("NEARDUP_NETWORK_SECONDS", "0.3")
    return FileServer({"a.jsonl": LINE * 3})


def failure(url: str) -> nd.InputError:
    with pytest.raises(nd.InputError) as caught:
        nd.find(url)
    return caught.value


@pytest.mark.parametrize(
    ("status", "body", "end", "parts"),
    [
        (401, b"who are you", "", ["401", "who are you", "USER:PASSWORD"]),
        (403, EXPIRED, SIGNED, ["403", "AccessDenied: Request has expired", "new signed URL"]),
        (403, b"", "", ["403", "credentials"]),
        (410, b"", "", ["410 Gone", "new place"]),
        (429, b"", "", ["429", "later"]),
        (500, b"<html><title>Oh no</title></html>", "", ["500", "Oh no", "later"]),
        (502, b"", SIGNED, ["502", "later"]),
        (503, b"", "", ["503", "later"]),
    ],
)
def test_the_words_of_the_server_and_the_way_out(
    status: int, body: bytes, end: str, parts: list[str], server: FileServer
) -> None:
    with serving(server):
        server.answers = [(status, {}, body)] * 100
        error = failure(f"{server.url.replace('//', '//ann:word@')}/a.jsonl{end}")
    assert isinstance(error, nd.NetworkError)
    assert has_parts(str(error), f"{server.url}/a.jsonl", *parts)
    assert not any(secret in str(error) for secret in ("SECRET", "word@", "X-Amz"))


def test_a_missing_file_is_missing(server: FileServer) -> None:
    with serving(server):
        error = failure(f"{server.url}/none.jsonl{SIGNED}")
    assert has_parts(str(error), "There is no", "/none.jsonl")
    assert not isinstance(error, nd.NetworkError)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_failures_that_may_pass_are_asked_again(status: int, server: FileServer) -> None:
    with serving(server):
        server.answers = [(status, {"Retry-After": "0"}, b"")] * 3
        assert nd.find(f"{server.url}/a.jsonl").run.counts.read == 3
        assert server.answers == []


def test_a_server_that_asks_for_too_long_a_pause_is_asked_later(server: FileServer) -> None:
    with serving(server):
        server.answers = [(503, {"Retry-After": "3600"}, b"")] * 9
        assert has_parts(str(failure(f"{server.url}/a.jsonl")), "503", "3,600 seconds", "later")
        assert len(server.answers) == 7  # one by HEAD, one by GET


def test_a_pause_of_a_server_is_waited_for() -> None:
    failing: list[Callable[[], int]] = [lambda: int("1")]

    def request() -> int:
        if failing:
            failing.pop()
            raise AnswerError(503, after=0.0)
        return 7

    assert retried_answer("https://host/a", request, pauses=(0.0,)) == 7


def test_a_time_of_retry_after_counts_from_the_clock_of_the_server() -> None:
    date = "Mon, 02 Mar 2026 10:00:00 GMT"
    assert retry_after({"Retry-After": "Mon, 02 Mar 2026 10:00:20 GMT", "Date": date}) == 20
    assert retry_after({"Retry-After": "17"}) == 17
    assert retry_after({"Retry-After": "soon"}) is None


def test_redirects_that_lead_nowhere(server: FileServer) -> None:
    with serving(server):
        server.answers = [(302, {"Location": "/a.jsonl?sig=SECRET"}, b"")] * 100
        assert has_parts(str(error := failure(f"{server.url}/a.jsonl")), "302", "redirects", "browser")
        assert "SECRET" not in str(error)


def test_a_silent_server_is_waited_for_up_to_a_limit_and_that_is_reported(server: FileServer) -> None:
    lines: list[str] = []
    with serving(server), reporting_lines(lines.append):
        server.silent = True
        error = failure(f"{server.url}/a.jsonl{SIGNED}")
        server.spoken.set()
    assert has_parts(str(error), "said nothing for 0.3 seconds", "NEARDUP_NETWORK_SECONDS")
    assert has_parts(lines[0], "waiting", f"{server.url}/a.jsonl", "0.3 seconds")
    assert "SECRET" not in "".join(lines)


@pytest.mark.parametrize("name", ["a.jsonl", "in/*.jsonl"])
@pytest.mark.parametrize("scheme", ["gs", "az", "s3"])
def test_each_store_that_is_silent_is_waited_for_up_to_a_limit(
    scheme: str, name: str, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clients of Google and Azure wait without end."""
    monkeypatch.setenv("NEARDUP_NETWORK_SECONDS", "0.1")
    lines: list[str] = []
    with serving(server), reporting_lines(lines.append):
        server.silent = True
        for variable, value in silent_stores(server.url).items():
            monkeypatch.setenv(variable, value)
        error = failure(f"{scheme}://box/{name}")
        server.spoken.set()
    assert isinstance(error, nd.NetworkError)
    assert has_parts(str(error), f"{scheme}://box/{name}", " seconds", "NEARDUP_NETWORK_SECONDS")
    assert has_parts(lines[0], "waiting", f"{scheme}://box/{name}", "ends after ", " seconds")


def test_a_request_that_moves_bytes_has_its_time_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARDUP_NETWORK_SECONDS", "90000")

    def request() -> tuple[bool, bool]:
        wait = answers._WAIT.get()
        wait._heard -= 50_000
        before = wait.silence
        heard()
        return before >= 50_000, wait.silence < 50_000

    assert once("gs://box/a", request) == (True, True)


def test_the_failure_of_a_request_is_that_of_its_thread() -> None:
    def request() -> int:
        raise TimeoutError("of the request itself")

    with pytest.raises(TimeoutError):
        once("gs://box/a", request)


@pytest.mark.parametrize(("url", "limit"), [("gs://box/a", "0.3 seconds"), ("s3://box/a", "0.3 seconds")])
def test_each_store_is_waited_for_with_a_line(url: str, limit: str, server: FileServer) -> None:
    lines: list[str] = []
    reported_once = Event()

    def listener(line: str) -> None:
        lines.append(line)
        reported_once.set()

    with reporting_lines(listener):
        assert retried_answer(url, lambda: reported_once.wait(60))
    assert has_parts(lines[0], url, limit)


def test_a_limit_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch, server: FileServer) -> None:
    monkeypatch.setenv("NEARDUP_NETWORK_SECONDS", "soon")
    with serving(server), pytest.raises(nd.SettingError):
        nd.find(f"{server.url}/a.jsonl")


@pytest.mark.parametrize("end", [SIGNED, "?name=[1]", "?q=*"])
def test_a_url_with_a_query_is_no_pattern(end: str, server: FileServer) -> None:
    with serving(server):
        assert nd.find(f"{server.url}/a.jsonl{end}").run.counts.read == 3


@pytest.mark.parametrize(
    ("header", "parts"),
    [
        (lambda first, last, size: f"bytes 0-{last - first}/{size}", ["asked for", "Content-Range"]),
        (lambda first, last, size: f"bytes {first}-{last + 9}/{size}", ["asked for", "Content-Range"]),
        (lambda first, last, size: f"bytes {first}-{last}/{size + 1}", ["changed while", "was read"]),
        (lambda first, last, size: "bytes", ["asked for", "Content-Range: bytes)"]),
    ],
)
def test_a_false_content_range_is_refused(
    header: Callable[[int, int, int], str], parts: list[str], server: FileServer
) -> None:
    with serving(server):
        server.files["b"] = bytes(range(256)) * 2000
        server.ranged = header
        file = FetchedFile(f"{server.url}/b", spool=FetchSpool())
        with pytest.raises(nd.InputError) as caught:
            file.at(300_000, 9)
        assert has_parts(str(caught.value), *parts)


def test_a_server_that_ignores_ranges_sends_the_whole_once(server: FileServer) -> None:
    with serving(server):
        server.files["b"] = data = bytes(range(256)) * 2000
        server.ranges = False
        file = FetchedFile(f"{server.url}/b", spool=FetchSpool())
        assert file.at(300_000, 9) == data[300_000:300_009]
        assert file.at(0, len(data)) == data
        assert server.sent["b"] == len(data)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("AWS Error ACCESS_DENIED during HeadObject operation: No response body.", 403),
        ("AWS Error UNKNOWN (HTTP status 401) during HeadObject operation", 401),
        ("AWS Error SLOW_DOWN during GetObject operation", 503),
        ("google::cloud::Status(PERMISSION_DENIED: …)", 403),
        ("curlCode: 7, Couldn't connect to server", None),
    ],
)
def test_the_status_in_the_errors_of_object_stores(text: str, status: int | None) -> None:
    assert status_of(OSError(text)) == status


def test_the_words_of_a_body() -> None:
    assert facts_in("x" * 900, "text/plain") == "x" * 300
    assert facts_in("\x00\x01", "application/octet-stream") == ""
    assert facts_in("<html><body>a</body></html>", "text/html") == ""


def test_pins_that_agree() -> None:
    known = Pin('"a"', None, "2026-03-02T10:00:00Z", 5)
    assert known.is_of(Pin('W/"a"', None, "2026-03-02T10:00:00.250000Z", 5))
    assert known.is_of(Pin(size=5))
    assert not known.is_of(Pin('"a"', size=6))
    assert not known.is_of(Pin('"b"', None, "2026-03-02T10:00:00Z", 5))
    assert not Pin(modified="2026-03-02T10:00:00.1Z", size=5).is_of(Pin(modified="2026-03-02T10:00:00.2Z", size=5))
    assert Pin('"a"', "7").is_of(Pin('"b"', "7"))  # metadata of a generation have changed
    assert not Pin(version="7").is_of(Pin(version="8"))


def test_a_wait_is_reported_once_no_byte_has_come_for_a_while() -> None:
    lines: list[str] = []
    with reporting_lines(lines.append), answers.Wait("http://host/a", 60.0) as wait:
        wait._timer.cancel()
        wait.heard()
        wait._look()
        assert lines == []
        wait._heard -= 6
        wait._look()
    assert [has_parts(line, "http://host/a", "60 seconds") for line in lines] == [True]
