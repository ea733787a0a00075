"""Servers of files for tests: HTTP with and without ranges, one that cuts, and the emulators of object stores."""

from __future__ import annotations

import atexit
import hashlib
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread

import pytest

from neardup.io.storage.systems import filesystem


def put_object(url: str, data: bytes) -> None:
    """Write an object to the store that the URL names."""
    system, path = filesystem(url)
    with system.open(path, "wb") as file:
        file.write(data)


class FileServer:
    """Files of a process over HTTP, with the number of body bytes that were sent for each.

    ``ranges``: whether parts are sent. ``told``: what is said of a file, ``etag`` and ``modified`` (a time), and
    whether the server ``heeds`` ``If-Match``. ``cuts``: after how many bytes each of the next answers ends early.
    ``answers``: status, headers and body of the next answers, in place of the file. ``ranged`` returns the header
    ``Content-Range`` of a part. ``silent``: requests wait for ``spoken``, and get no answer.
    """

    def __init__(
        self,
        files: dict[str, bytes],
        *,
        ranges: bool = True,
        length: bool = True,
        told: tuple[str, ...] = ("etag", "heeds"),
    ) -> None:
        self.files, self.ranges, self.length, self.told = files, ranges, length, told
        self.sent: Counter[str] = Counter()
        self.requests = 0
        self.cuts: list[int] = []
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.ranged: Callable[[int, int, int], str] = lambda first, last, size: f"bytes {first}-{last}/{size}"
        self.silent, self.spoken = False, Event()
        self.modified = "Mon, 02 Mar 2026 10:00:00 GMT"
        self.lock = Lock()
        self.url = ""

    def etag(self, name: str) -> str:
        """The tag of a file as it is now."""
        return f'"{hashlib.md5(self.files[name], usedforsecurity=False).hexdigest()}"'

    def refusal(self, name: str, match: str | None, wanted: re.Match[str] | None) -> int | None:
        """The status of a request that is refused."""
        if name not in self.files:
            return 404
        if "heeds" in self.told and match not in (None, self.etag(name)):
            return 412
        return 416 if wanted and self.ranges and int(wanted[1]) >= len(self.files[name]) else None

    def described(self, name: str, wanted: re.Match[str] | None) -> tuple[dict[str, str], int, int]:
        """The headers of an answer, and the first and the last byte in it."""
        size, headers = len(self.files[name]), {"Accept-Ranges": "bytes" if self.ranges else "none"}
        first, last = 0, size - 1
        if wanted and self.ranges:
            first, last = int(wanted[1]), min(int(wanted[2] or last), last)
            headers["Content-Range"] = self.ranged(first, last, size)
        headers |= {"ETag": self.etag(name)} if "etag" in self.told else {}
        return headers | ({"Last-Modified": self.modified} if "modified" in self.told else {}), first, last


@contextmanager
def serving(server: FileServer) -> Iterator[FileServer]:
    """Serve the files within the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            name = self.path.partition("?")[0].lstrip("/")
            data = server.files.get(name)
            if server.silent:
                server.spoken.wait(60)
                self.close_connection = True
                return
            if server.answers:
                _sent(self, *server.answers.pop(0), body=body)
                return
            wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
            status = server.refusal(name, self.headers.get("If-Match"), wanted)
            if data is None or status:
                self.send_error(status or 404)
                return
            headers, first, last = server.described(name, wanted)
            part = data[first : last + 1]
            headers |= {"Content-Length": str(len(part))} if server.length else {"Connection": "close"}
            self.send_response(206 if "Content-Range" in headers else 200)
            for header, value in headers.items():
                self.send_header(header, value)
            self.end_headers()
            if body:
                self._send_part(name, part)

        def _send_part(self, name: str, part: bytes) -> None:
            with server.lock:
                server.requests += 1
                cut = server.cuts.pop(0) if server.cuts else None
            part = part if cut is None else part[:cut]
            with server.lock:
                server.sent[name] += len(part)
            with suppress(ConnectionError):  # a client that knows enough
                self.wfile.write(part)
            if cut is not None or not server.length:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None: ...

    with listening(Handler) as server.url:
        try:
            yield server
        finally:
            server.spoken.set()


def _sent(
    handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], content: bytes, *, body: bool = True
) -> None:
    handler.send_response(status)
    for header, value in {"Content-Length": str(len(content)), **headers}.items():
        handler.send_header(header, value)
    handler.end_headers()
    handler.wfile.write(content if body else b"")


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Answer requests within the block; yield the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _started(words: list[str], port: int) -> str:
    """Start a server that ends with this process; return its address when it answers."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(process.kill)
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except urllib.error.HTTPError as error:
            error.close()
            return address
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.1)
        else:
            return address
    raise RuntimeError(f"{words} does not answer")


@cache
def s3() -> str:
    """The address of a moto server of this process, with a bucket ``box``."""
    pytest.importorskip("moto", reason="moto is not installed (pip install 'moto[server]')")
    port = _free_port()
    address = _started([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port)
    urllib.request.urlopen(urllib.request.Request(f"{address}/box", method="PUT"), timeout=60).close()
    return address


@cache
def gcs() -> str:
    """The address of an emulator of Google Cloud Storage of this process, with a bucket ``box``."""
    pytest.importorskip("gcp_storage_emulator", reason="gcp-storage-emulator is not installed")
    port = _free_port()
    words = ["-m", "gcp_storage_emulator", "start", "--in-memory", "--host", "127.0.0.1", "--port", str(port)]
    return _started([sys.executable, *words, "--default-bucket", "box"], port)


@cache
def azure() -> str:
    """The connection string of an emulator of Azure of this process, with a container ``box``.

    It is a package of npm; ``NEARDUP_AZURITE`` names its program if it is not on the path.
    """
    program = shutil.which(os.environ.get("NEARDUP_AZURITE", "azurite-blob"))
    if program is None:
        pytest.skip("azurite is not installed (npm install azurite)")
    port = _free_port()
    words = ["--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--blobPort", str(port)]
    address = _started([program, *words], port)
    from pyarrow.fs import AzureFileSystem

    host = address.removeprefix("http://")
    places = {"blob_storage_authority": host, "dfs_storage_authority": host}
    schemes = {"blob_storage_scheme": "http", "dfs_storage_scheme": "http"}
    AzureFileSystem(AZURE_ACCOUNT, account_key=AZURE_KEY, **places, **schemes).create_dir("box")
    endpoint = f"BlobEndpoint={address}/{AZURE_ACCOUNT}"
    return f"DefaultEndpointsProtocol=http;AccountName={AZURE_ACCOUNT};AccountKey={AZURE_KEY};{endpoint};"


AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account that the emulator has, and its key, which is public."""

_HOP = ("transfer-encoding", "content-length", "expect", "connection")


class Relay:
    """Requests to another server, of which those that ``refused`` matches are answered by an error.

    The first that ``delayed`` matches sets ``reached``, and is passed on when ``passing`` is set. ``sent`` counts
    the bytes of the bodies of answers by path.
    """

    def __init__(self, address: str) -> None:
        self.address, self.url = address, ""
        self.refused = re.compile("(?!)")
        self.delayed: re.Pattern[str] | None = None
        self.reached, self.passing = Event(), Event()
        self.sent: dict[str, int] = {}


@contextmanager
def relaying(relay: Relay) -> Iterator[Relay]:
    """Pass requests on within the block."""
    host = relay.address.removeprefix("http://")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass(self) -> None:
            body = self._body()
            if relay.refused.search(f"{self.command} {self.path}"):
                self.send_error(503)
                return
            if relay.delayed is not None and relay.delayed.search(f"{self.command} {self.path}"):
                relay.delayed = None
                relay.reached.set()
                relay.passing.wait(60)
            inner = http.client.HTTPConnection(host, timeout=60)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
            inner.request(self.command, self.path, body, headers)
            answer = inner.getresponse()
            data = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "transfer-encoding", "date", "server"):
                    self.send_header(name, value)
            if answer.getheader("Content-Length") is None:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            path = self.path.partition("?")[0]
            relay.sent[path] = relay.sent.get(path, 0) + len(data)
            inner.close()

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return b"".join(parts)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass  # noqa: N815

        def log_message(self, format: str, *args: object) -> None: ...

    with listening(Handler) as relay.url:
        yield relay


S3_KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "secret-of-the-test", "AWS_REGION": "us-east-1"}


def silent_stores(address: str) -> dict[str, str]:
    """The variables with which S3, Google Cloud Storage and Azure are at this address."""
    account = f"AccountName=dev;AccountKey=a2V5;BlobEndpoint={address}/dev;"
    google = {"STORAGE_EMULATOR_HOST": address, "AZURE_STORAGE_CONNECTION_STRING": account}
    return {**S3_KEYS, **google, "AWS_ENDPOINT_URL": address}
