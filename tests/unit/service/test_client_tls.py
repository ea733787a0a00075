"""The client checks the certificate of a service by the authority that it is given, and by no other."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="the extra client is not installed")

from neardup import Client, InputError, NetworkError, SettingError
from support.made_service import Service, serving

OPENSSL = shutil.which("openssl")
pytestmark = pytest.mark.skipif(OPENSSL is None, reason="openssl, which makes the certificates, is not installed")


EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def openssl(folder: Path, *words: str) -> None:
    subprocess.run([str(OPENSSL), *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificates of two authorities, and one for 127.0.0.1 by the first."""
    folder = tmp_path_factory.mktemp("tls")
    for name in ("ours", "another"):
        openssl(
            folder, "req", "-x509", *EC, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}"
        )
    openssl(folder, "req", *EC, "-keyout", "service.key", "-out", "service.csr", "-subj", "/CN=service")
    (folder / "names.txt").write_text("subjectAltName=IP:127.0.0.1\n")
    signed = ("-in", "service.csr", "-CA", "ours.pem", "-CAkey", "ours.key", "-CAcreateserial")
    openssl(folder, "x509", "-req", *signed, "-out", "service.pem", "-extfile", "names.txt", "-days", "2")
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """A service with TLS in a thread."""
    with serving(folder / "mail.neardup") as service:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "service.pem", folder / "service.key")
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(service))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
        server.server_close()


def handler_of(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = service("GET", self.path)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: object) -> None:
            """Standard error is for the test."""

    return Handler


def test_the_service_of_a_private_authority_is_trusted_by_its_file_alone(folder: Path, address: str) -> None:
    context = ssl.create_default_context(cafile=folder / "ours.pem")
    for verify in (folder / "ours.pem", str(folder / "ours.pem"), context):
        with Client(address, verify=verify) as mails:
            assert len(mails) == 0
    for wrong in (None, folder / "another.pem"):
        with Client(address, retries=0, verify=wrong) as mails, pytest.raises(NetworkError) as refused:
            len(mails)
        assert "verify=" in refused.value.do


def test_the_check_cannot_be_turned_off(folder: Path) -> None:
    (folder / "empty.pem").write_text("nothing\n")
    address = "https://127.0.0.1:1"
    for verify, kind in ((False, SettingError), (folder / "empty.pem", InputError), ("nowhere.pem", InputError)):
        with pytest.raises(kind) as refused:
            Client(address, verify=verify)  # type: ignore[arg-type]
        assert "PEM" in refused.value.allowed
