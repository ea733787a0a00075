"""The process of ``extractor.Extractor``: files arrive on standard input, texts leave on standard output."""

import faulthandler
import json
import os
import sys
from typing import BinaryIO

from neardup.errors import NeardupError
from neardup.io.formats import Pages, load, read
from neardup.io.formats.content import MEMORY_BYTES, Content
from neardup.io.formats.extractor import ANSWER, PARTS, REFUSED, REQUEST, TEXT


def main() -> None:
    """Answer requests until standard input is closed."""
    _limit_resources()
    source, answers = sys.stdin.buffer, _private_output()
    while head := source.read(REQUEST.size):
        seconds, main_content, name_length, data_length = REQUEST.unpack(head)
        name = source.read(name_length).decode("utf-8")
        data = source.read(data_length)
        pages: Pages = "main" if main_content else "all"
        load(name, pages)
        # Ends the process from a thread outside the interpreter, and so even within native code.
        faulthandler.dump_traceback_later(seconds, exit=True)
        kind, content = _answer(data, name, pages)
        faulthandler.cancel_dump_traceback_later()
        text = content.text.encode("utf-8", "replace")
        metadata = json.dumps([content.metadata, content.attachments, content.origin]).encode("ascii")
        answers.write(ANSWER.pack(kind, len(text), len(metadata)) + text + metadata)
        answers.flush()


def _answer(data: bytes, name: str, pages: Pages) -> tuple[bytes, Content]:
    try:
        return TEXT, read(data, name, pages)
    except NeardupError as error:
        return REFUSED, Content(PARTS.join((error.given, error.allowed, error.do)))
    except MemoryError:
        return REFUSED, Content(f"Reading it needs more than {MEMORY_BYTES >> 30} GB of memory")
    except Exception as error:  # a parser can fail on a hostile file in unforeseen ways
        return REFUSED, Content(f"It is damaged: {type(error).__name__}: {error}".replace(PARTS, " "))


def _private_output() -> BinaryIO:
    """Return a private standard output, so that anything a library prints is not taken for an answer."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _limit_resources() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    for which, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(which)
        if hard == resource.RLIM_INFINITY or hard > most:
            resource.setrlimit(which, (most, hard))


if __name__ == "__main__":
    main()
