"""A stand-in for the Hugging Face hub: the requests that ``huggingface_hub`` makes to read files of a data set."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from support.storage_servers import listening

REVISION = "0" * 39 + "1"


class _Handler(BaseHTTPRequestHandler):
    """Answers for the files of one ``repository``; ``sent`` counts their bytes."""

    repository = ""
    files: dict[str, bytes]
    sent: dict[str, int]

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        tree = re.fullmatch(rf"/api/datasets/{self.repository}/tree/[^/]+/?(.*)", unquote(url.path))
        resolved = re.fullmatch(rf"/datasets/{self.repository}/resolve/[^/]+/(.+)", unquote(url.path))
        if resolved and resolved[1] in self.files:
            self._send_file(resolved[1])
        elif tree:
            self._send_tree(tree[1].rstrip("/"), "recursive=true" in url.query.lower())
        elif re.fullmatch(rf"/api/datasets/{self.repository}(/revision/[^/]+)?", unquote(url.path)):
            siblings = [{"rfilename": path} for path in self.files]
            self._answer({"id": self.repository, "sha": REVISION, "siblings": siblings, "private": False})
        else:
            self._missing("RepoNotFound" if self.repository not in url.path else "EntryNotFound")

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        if not re.fullmatch(rf"/api/datasets/{self.repository}/paths-info/[^/]+", unquote(self.path)):
            self._missing("RepoNotFound")
            return
        given = json.loads(body) if body.startswith("{") else parse_qs(body)
        known = self._folders()
        entries = [self._entry(path) for path in given["paths"] if path in self.files]
        self._answer([*entries, *(_folder(path) for path in given["paths"] if path in known)])

    def _send_tree(self, path: str, recursive: bool) -> None:
        start = f"{path}/" if path else ""
        below = [name for name in self.files if name.startswith(start)]
        inner = [name for name in sorted(self._folders()) if name.startswith(start)]
        if not below:
            self._missing("EntryNotFound")
            return
        if not recursive:
            below = [name for name in below if "/" not in name[len(start) :]]
            inner = [name for name in inner if "/" not in name[len(start) :]]
        self._answer([*map(_folder, inner), *map(self._entry, below)])

    def _send_file(self, path: str) -> None:
        data = self.files[path]
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        first, last = (int(wanted[1]), int(wanted[2] or len(data) - 1)) if wanted else (0, len(data) - 1)
        part = data[first : last + 1]
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(data)}")
        self.send_header("ETag", f'"{self._entry(path)["oid"]}"')
        self.send_header("X-Repo-Commit", REVISION)
        self._end(part)
        self.sent[path] += len(part) if self.command == "GET" else 0

    def _missing(self, code: str) -> None:
        self.send_response(404)
        self.send_header("X-Error-Code", code)
        self._end(b"{}")

    def _answer(self, value: Any) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self._end(json.dumps(value).encode())

    def _end(self, content: bytes) -> None:
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None: ...

    def _entry(self, path: str) -> dict[str, Any]:
        digest = hashlib.sha1(self.files[path], usedforsecurity=False).hexdigest()
        return {"type": "file", "path": path, "size": len(self.files[path]), "oid": digest}

    def _folders(self) -> set[str]:
        parts = (path.split("/")[:-1] for path in self.files)
        return {"/".join(names[:end]) for names in parts for end in range(1, len(names) + 1)}


def _folder(path: str) -> dict[str, Any]:
    return {"type": "directory", "path": path, "size": 0, "oid": REVISION}


@contextmanager
def hub(repository: str, files: dict[str, bytes]) -> Iterator[tuple[str, dict[str, int]]]:
    """Serve the files of one data set; yield the address for ``HF_ENDPOINT``, and the bytes sent by file."""
    sent = dict.fromkeys(files, 0)
    with listening(type("Handler", (_Handler,), {"repository": repository, "files": files, "sent": sent})) as url:
        yield url, sent
