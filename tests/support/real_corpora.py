"""Real corpora of thousands of documents, cut from the sets of ``shared_data`` and from the interpreter's files.

``CORPORA`` names them, with where each is from, how it is cut and how many documents that gives. The last three
are made of files that are there wherever this package is, and the first of the set in this repository, so they are
never skipped. Nothing is cleaned: empty documents, exact copies and documents of one word stay in; without the
copies each still has more than 3 000.
"""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from support import shared_data

PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
DEF_LINE = re.compile(r"(?m)^(?=[ \t]*(?:async +)?def )")
PACKAGES = ("numpy", "numba", "llvmlite", "pyarrow")
"""Packages that are there wherever this one is."""


@dataclass(frozen=True)
class Cut:
    """A corpus: where it is from, how it is cut, how many documents that gives, and what makes it.

    How many is None where it depends on the interpreter. ``length`` is that of the shingles.
    """

    source: str
    how: str
    documents: int | None
    make: Callable[[], list[str]]
    length: int = 5


def paragraphs(text: str) -> list[str]:
    return [part for part in PARAGRAPH_END.split(text) if part.strip()]


def lines(text: str) -> list[str]:
    return [part for part in text.split("\n") if part.strip()]


def bible_verses() -> list[str]:
    return [verse for chapter in shared_data.documents("bible_pd").values() for verse in lines(chapter)]


def windows(parts: list[str], length: int, step: int) -> list[str]:
    """Return runs of ``length`` parts, one run every ``step`` parts; fewer parts than that are one run."""
    return ["\n\n".join(parts[k : k + length]) for k in range(0, max(1, len(parts) - length + 1), step)]


def paragraph_windows(name: str, length: int) -> list[str]:
    texts = shared_data.documents(name).values()
    return [window for text in texts for window in windows(paragraphs(text), length, 1)]


def own_windows() -> list[str]:
    sentences = (SENTENCE_END.split(text) for text in shared_data.documents("own").values())
    return [window for parts in sentences for window in windows(parts, 3, 1)]


def licence_windows() -> list[str]:
    texts = shared_data.documents("license_texts").values()
    return [window for text in texts for window in windows(lines(text), 12, 3)]


def spaceless_pieces() -> list[str]:
    texts = [*shared_data.documents("thaigov_th").values()]
    texts += [text for text in shared_data.documents("udhr").values() if mostly_spaceless(text)]
    return [piece for text in texts for line in lines(text) for piece in pieces(line.split(" "), " ", 100)]


def mostly_spaceless(text: str) -> bool:
    return 2 * len(SPACELESS.findall(text)) > len(text)


def stdlib_functions() -> list[str]:
    return [part for text in sources(stdlib_files()[::2]) for part in DEF_LINE.split(text)]


def pieces_under_a_notice() -> list[str]:
    """Return 3 200 pieces of Python source, each under the notice that ``logging`` begins with."""
    [text] = sources([stdlib() / "logging" / "__init__.py"])
    notice = text[: text.index('"""')]
    assert 100 < len(notice.split()) < 200
    return [notice + piece for piece in evenly(source_pieces(2500), 3200)]


def python_pieces() -> list[str]:
    return evenly(source_pieces(4500), 3200)


def source_pieces(least: int) -> list[str]:
    """Return pieces of ``least`` characters and up to the next line end; what is left of a file is dropped."""
    found = sources([*stdlib_files(), *package_files()][::2])
    whole = (piece for text in found for piece in pieces(text.split("\n"), "\n", least))
    return [piece for piece in whole if len(piece) >= least]


def evenly(found: list[str], most: int) -> list[str]:
    """Return at most ``most`` of what was found, spread over all of it."""
    wanted = min(len(found), most)
    return [found[k * len(found) // wanted] for k in range(wanted)]


def pieces(parts: Iterable[str], between: str, least: int) -> Iterator[str]:
    """Join parts until a piece has ``least`` characters; the last piece may have fewer."""
    piece: list[str] = []
    size = 0
    for part in parts:
        piece.append(part)
        size += len(part) + len(between)
        if size >= least:
            yield between.join(piece)
            piece, size = [], 0
    if piece:
        yield between.join(piece)


def stdlib() -> Path:
    return Path(sysconfig.get_paths()["stdlib"])


def stdlib_files() -> list[Path]:
    """Return the modules of the standard library; its tests, which not every system installs, are left out."""
    root = stdlib()
    apart = {"site-packages", "dist-packages", "test", "tests", "idle_test"}
    return sorted(path for path in root.rglob("*.py") if not apart & set(path.relative_to(root).parts))


def package_files() -> list[Path]:
    found = []
    for name in PACKAGES:
        spec = find_spec(name)
        assert spec is not None
        for folder in spec.submodule_search_locations or ():
            found += sorted(Path(folder).rglob("*.py"))
    return found


def sources(files: Iterable[Path]) -> Iterator[str]:
    for path in files:
        yield path.read_text(encoding="utf-8", errors="replace")


CORPORA = {
    "own_windows": Cut(
        "own: invented texts of seven languages in families of revisions",
        "every three sentences in a row are a document",
        5_473,
        own_windows,
    ),
    "bible_verses": Cut(
        "bible_pd: Mark, Jonah and Ruth in 14 translations (English, Latin, Spanish, German)",
        "a verse (line) is a document",
        11_338,
        bible_verses,
    ),
    "bible_verses_by_word": Cut(
        "the same verses",
        "every second one, as a set of single words, of which many are in hundreds of verses",
        5_669,
        lambda: bible_verses()[::2],
        length=1,
    ),
    "law_windows": Cut(
        "law_de: German acts in successive versions",
        "every two paragraphs in a row are a document",
        9_449,
        lambda: paragraph_windows("law_de", 2),
    ),
    "django_windows": Cut(
        "django_docs: pages of five releases of a manual, reStructuredText with code",
        "every three paragraphs in a row are a document",
        10_239,
        lambda: paragraph_windows("django_docs", 3),
    ),
    "licence_windows": Cut(
        "license_texts: licences and their variants, which is boilerplate through and through",
        "twelve lines from every third line on are a document",
        6_453,
        licence_windows,
    ),
    "spaceless_pieces": Cut(
        "thaigov_th (news in Thai) and the texts of udhr in Thai, Lao, Khmer, Burmese, Chinese and Japanese",
        "lines, cut at the first space behind every 100 characters",
        6_405,
        spaceless_pieces,
    ),
    "stdlib_functions": Cut(
        "every second file of the standard library of the interpreter, without its tests",
        "from one def line to the next; what comes before the first is a document too (Python 3.11: 9 000 or so)",
        None,
        stdlib_functions,
    ),
    "pieces_under_a_notice": Cut(
        "every second file of the standard library and of numpy, numba, llvmlite and pyarrow with their tests",
        "cut at the first line end behind every 2 500 characters; at most 3 200 of the pieces, spread over all of "
        "them, each under the same legal notice of 163 words, a third of most documents",
        None,
        pieces_under_a_notice,
    ),
    "python_pieces": Cut(
        "the same files",
        "cut at the first line end behind every 4 500 characters, at most 3 200 of the pieces: long documents",
        None,
        python_pieces,
    ),
}


def documents(name: str) -> list[str]:
    """Return the documents of a corpus, in the order of its source; skips the test if the source is not here."""
    return CORPORA[name].make()
