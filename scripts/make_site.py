"""Build the documentation as a site: the pages of docs/, those beside them, and a reference made from docstrings.

    python scripts/make_site.py FOLDER [--man]

Every warning is an error, and so is a link to a page or a heading that is missing. FOLDER is replaced.
"""

from __future__ import annotations

import argparse
import inspect
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import neardup

ROOT = Path(__file__).parents[1]
BESIDE = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "NOTICE")
API, DECISIONS = "docs/reference/api.md", "docs/contributing/decisions"
FRONT = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=docs/index.html">
<title>neardup</title></head><body><p><a href="docs/index.html">neardup</a></p></body></html>
"""
"""The page at the address of the site: the index is beside the other pages."""


def api_page() -> Iterator[str]:
    """Yield the lines of the reference: every public name, with its docstring."""
    yield "# All public names"
    yield ""
    yield "Made from the docstrings. [Python](python.md) introduces the same names by topic."
    yield ""
    for name in neardup.__all__:
        thing = getattr(neardup, name)
        if not callable(thing):  # __version__, and tables of words
            continue
        directive = "autoclass" if inspect.isclass(thing) else "autofunction"
        yield from ("```{eval-rst}", f".. {directive}:: neardup.{name}")
        if directive == "autoclass":
            yield from ("   :members:", "   :inherited-members: Exception, ValueError")
        yield from ("```", "")


def contents() -> Iterator[str]:
    """Yield the tree of pages for the side bar, in the order of the index."""
    parts = ("tutorial", "howto", "reference", "explanation")
    for caption, folder in zip(("Tutorials", "How-to guides", "Reference", "Explanation"), parts, strict=True):
        yield from ("```{toctree}", ":hidden:", f":caption: {caption}", "")
        listed = [page.stem for page in sorted((ROOT / "docs" / folder).glob("*.md"))]
        yield from (f"{folder}/{page}" for page in listed + ["api"] * (folder == "reference"))
        yield from ("```", "")
    yield from ("```{toctree}", ":hidden:", ":caption: The project", "")
    beside = [f"../{Path(name).stem}" for name in BESIDE if name.endswith(".md")]
    measured = [
        f"../benchmarks/results/{page.stem}" for page in sorted((ROOT / "benchmarks/results").glob("*.md"))
    ]
    decisions = [f"contributing/decisions/{page.stem}" for page in sorted((ROOT / DECISIONS).glob("*.md"))]
    yield from (*beside, "contributing/language", *decisions, *measured, "```", "")


def lay_out(folder: Path) -> None:
    """Copy the sources of the site into a folder, with the pages that are made."""
    for name in ("docs", "benchmarks/results"):
        shutil.copytree(ROOT / name, folder / name)
    for name in BESIDE:
        shutil.copy(ROOT / name, folder / name)
    (folder / "docs" / "conf.py").rename(folder / "conf.py")
    (folder / API).write_text("\n".join(api_page()), encoding="utf-8")
    index = folder / "docs" / "index.md"
    index.write_text(index.read_text(encoding="utf-8") + "\n" + "\n".join(contents()), encoding="utf-8")


def main() -> int:
    """Build it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--man", action="store_true", help="the manual page of the commands instead of the site")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        source, out = Path(made, "source"), Path(made, "out")
        source.mkdir()
        lay_out(source)
        builder = "man" if given.man else "html"
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", builder, source, out]
        done = subprocess.run(list(map(str, command)), check=False)
        if done.returncode:
            return done.returncode
        shutil.rmtree(given.folder, ignore_errors=True)
        shutil.copytree(out, given.folder, ignore=shutil.ignore_patterns(".doctrees", ".buildinfo"))
        if not given.man:
            (given.folder / "index.html").write_text(FRONT, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
