"""Servers of files for tests: HTTP with and without ranges, one that cuts, and the emulators of object stores."""

from __future__ import annotations

import atexit
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
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread

import pytest


class FileServer:
    """Files of a process over HTTP, with the number of body bytes that were sent for each.

    ``ranges``: whether parts are sent. ``cuts``: after how many bytes each of the next answers ends early.
    """

    def __init__(self, files: dict[str, bytes], *, ranges: bool = True, length: bool = True) -> None:
        self.files, self.ranges, self.length = files, ranges, length
        self.sent = dict.fromkeys(files, 0)
        self.requests = 0
        self.cuts: list[int] = []
        self.lock = Lock()
        self.url = ""


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
            if data is None:
                self.send_error(404)
                return
            wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
            first, last = 0, len(data) - 1
            if wanted and server.ranges:
                first, last = int(wanted[1]), min(int(wanted[2] or last), last)
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            else:
                self.send_response(200)
            part = data[first : last + 1]
            if server.length:
                self.send_header("Content-Length", str(len(part)))
            self.send_header("Accept-Ranges", "bytes" if server.ranges else "none")
            if not server.length:
                self.send_header("Connection", "close")
            self.end_headers()
            if not body:
                return
            with server.lock:
                server.requests += 1
                cut = server.cuts.pop(0) if server.cuts else None
            part = part if cut is None else part[:cut]
            with server.lock:
                server.sent[name] += len(part)
            self.wfile.write(part)
            if cut is not None or not server.length:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None: ...

    with listening(Handler) as server.url:
        yield server


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Answer requests within the block; yield the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
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
