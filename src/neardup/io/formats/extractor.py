"""Extract texts in a separate process, so that a parser that hangs, crashes or exhausts memory harms only it.

The PDF parsers are large native programs, and a thread cannot be stopped. The other process also has its own
interpreter lock, so that worker threads extract in parallel.
"""

import json
import os
import struct
import subprocess
import sys
import time

from neardup.errors import InputError
from neardup.io.formats.content import MEMORY_BYTES, SECONDS, Attachment, Content

REQUEST = struct.Struct("<d?QQ")  # seconds, main content of pages only, lengths of name and data; both follow
ANSWER = struct.Struct(
    "<cQQ"
)  # TEXT or REFUSED, length of the text or error, length of metadata and attachments after it
TEXT, REFUSED = b"T", b"R"
PARTS = "\0"  # separates the parts of an error


class Extractor:
    """Extracts files one after another, in one thread at a time. The process starts with the first file.

    ``pages``: all visible text of web pages, or their ``main`` content.

    >>> with Extractor() as extractor:
    ...     extractor.extract(b"<p>one<p>two", "a.html")
    'one\\ntwo'
    """

    def __init__(self, pages: str = "all") -> None:
        self._main = pages == "main"
        self._process: subprocess.Popen[bytes] | None = None

    def extract(self, data: bytes, name: str, seconds: float = SECONDS) -> str:
        """Return the result of ``neardup.io.formats.extract``; also raises InputError on a timeout or a crash."""
        return self.read(data, name, seconds).text

    def read(self, data: bytes, name: str, seconds: float = SECONDS) -> Content:
        """Read as ``neardup.io.formats.read``, in a process; also raises InputError on a timeout or a crash."""
        process = self._process = self._process or _start()
        begin = time.monotonic()
        try:
            answer = _ask(process, data, name, (seconds, self._main))
        except BaseException:
            self.close()
            raise
        if answer is None:
            took = time.monotonic() - begin
            self.close()
            raise _lost_error(process.returncode, took >= seconds, seconds)
        kind, text, metadata = answer
        if kind == REFUSED:
            raise InputError(*text.split(PARTS))
        said, attachments, origin = json.loads(metadata)
        return Content(text, said, tuple(Attachment(*attachment) for attachment in attachments), origin)

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def __enter__(self) -> "Extractor":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _start() -> subprocess.Popen[bytes]:
    # -P: never import modules from the working directory, which may be a folder of hostile files. Pass on the
    # import path of this process, which may have found the package in an unusual way.
    paths = os.pathsep.join(path for path in sys.path if path)
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "neardup.io.formats"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths},
        )
    except OSError as error:
        raise InputError(
            f"No process could be started to read it: {error}", "", "Free memory or processes, and try again"
        ) from error


def _ask(
    process: subprocess.Popen[bytes], data: bytes, name: str, asked: tuple[float, bool]
) -> tuple[bytes, str, str] | None:
    """Return the answer with metadata and attachments as JSON, or None if the process ended before answering."""
    assert process.stdin is not None
    assert process.stdout is not None
    called = name.encode("utf-8", "replace")
    try:
        process.stdin.write(REQUEST.pack(*asked, len(called), len(data)) + called)
        process.stdin.write(data)
        process.stdin.flush()
    except OSError:
        return None
    head = process.stdout.read(ANSWER.size)
    if len(head) < ANSWER.size:
        return None
    kind, *lengths = ANSWER.unpack(head)
    text, metadata = (process.stdout.read(length) for length in lengths)
    whole = [len(text), len(metadata)] == lengths
    return (kind, text.decode("utf-8"), metadata.decode("utf-8")) if whole else None


def _lost_error(status: int, late: bool, seconds: float) -> InputError:
    if late:
        return InputError(
            f"Reading it took more than {seconds:g} seconds",
            "Documents that people write",
            "Leave it out, or repair it",
        )
    return InputError(
        f"The reader of its format crashed on it (status {status}), or needed more than {MEMORY_BYTES >> 30} GB",
        "A file that is not damaged",
        "Open it in its program and save it again",
    )
