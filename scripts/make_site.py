"""Build the documentation as a site: the pages of docs/, those beside them, and a reference made from docstrings.

    python scripts/make_site.py FOLDER [--man]

Every warning is an error, and so is a link to a page or a heading that is missing. The site of this version is
FOLDER/VERSION, which is replaced; the sites of other versions in FOLDER stay, and every page links to all of them.
It works from the disk as well: open FOLDER/index.html. The gallery is made by the program (gallery.py).
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import gallery
import neardup

ROOT = Path(__file__).parents[1]
FILES = ("src/neardup/verifier.py",)
"""Files that pages link to and a reader loads."""
_PAGES = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
BESIDE = (*_PAGES, "CITATION.cff", "LICENSE", "NOTICE")
API, GALLERY, DECISIONS = "docs/reference/api.md", "docs/gallery.md", "docs/contributing/decisions"
FRONT = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}/docs/index.html">
<title>neardup</title></head><body><p><a href="{0}/docs/index.html">neardup {0}</a></p></body></html>
"""
"""The page at the address of the site: it leads to the newest version."""

VERSIONS = """\
const versions = %s;
const script = document.currentScript;
const list = document.createElement("p");
list.append("Versions: ");
for (const version of versions) {
  const link = document.createElement(version === script.dataset.version ? "b" : "a");
  link.textContent = version;
  if (link.href !== undefined) link.href = `${script.dataset.root}/${version}/docs/index.html`;
  list.append(link, " ");
}
document.getElementById("versions").append(list);
"""
"""A script and no data: pages from the disk may not fetch."""


def api_page() -> Iterator[str]:
    """Yield the lines of the reference: every public name, with its docstring."""
    yield "# All public names"
    yield ""
    yield (
        "Made from the docstrings. [Python](python.md) introduces the same names by topic. With methods:"
        ' {ref}`genindex`; <a href="../../_modules/index.html">the source of all modules</a>.'
    )
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


def parts_of_index() -> Iterator[tuple[str, list[str]]]:
    """Yield the headings of the index with their pages, each page where the index lists it first as an item.

    A numbered item is a step of a path: its first link is its page, and others lead aside.
    """
    seen: set[str] = set()
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").partition("\n## The project\n")[0]
    for part in text.split("\n## ")[1:]:
        caption, _, items = part.partition("\n")
        listed = re.findall(r"^(?:-|  (?! )).*\.md\).*$|^\d\. .*?\.md\)", items, re.MULTILINE)
        pages = re.findall(r"\]\(((?:tutorial|howto|reference|explanation)/[\w-]+)\.md", "\n".join(listed))
        yield caption, [page for page in pages if page not in seen]
        seen.update(pages)


def contents() -> Iterator[str]:
    """Yield the tree of pages for the side bar, in the order of the index."""
    for caption, pages in parts_of_index():
        yield from ("```{toctree}", ":hidden:", f":caption: {caption}", "")
        yield from pages + ["reference/api"] * (caption == "Reference")
        yield from ("```", "")
    yield from ("```{toctree}", ":hidden:", ":caption: The project", "")
    beside = [f"../{Path(name).stem}" for name in BESIDE if name.endswith(".md")]
    measured = [
        f"../benchmarks/results/{page.stem}" for page in sorted((ROOT / "benchmarks/results").glob("*.md"))
    ]
    contributing = [f"contributing/{page.stem}" for page in sorted((ROOT / "docs/contributing").glob("*.md"))]
    decisions = [f"contributing/decisions/{page.stem}" for page in sorted((ROOT / DECISIONS).glob("*.md"))]
    yield from ("evidence", "gallery", *beside, *contributing, *decisions, *measured, "```", "")


def lay_out(folder: Path) -> None:
    """Copy the sources of the site into a folder, with the pages that are made."""
    for name in ("docs", "benchmarks/results"):
        shutil.copytree(ROOT / name, folder / name)
    for name in BESIDE:
        shutil.copy(ROOT / name, folder / name)
    for name in FILES:
        (folder / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "docs" / "conf.py").rename(folder / "conf.py")
    (folder / API).write_text("\n".join(api_page()), encoding="utf-8")
    pictured = gallery.make(folder / "pages" / "docs" / "gallery")
    (folder / GALLERY).write_text("\n".join(pictured) + "\n", encoding="utf-8")
    index = folder / "docs" / "index.md"
    index.write_text(index.read_text(encoding="utf-8") + "\n" + "\n".join(contents()), encoding="utf-8")


def by_age(version: str) -> tuple[list[int], bool]:
    """The order of versions: by number, and a release after its candidates."""
    numbers, rest = re.fullmatch(r"([\d.]+)(.*)", version).groups()  # type: ignore[union-attr]
    return list(map(int, numbers.strip(".").split("."))), not rest


def link_versions(folder: Path) -> None:
    """Write the front page, and the list that every page reads."""
    found = (one.parent.parent.name for one in folder.glob("*/docs/index.html"))
    versions = sorted((name for name in found if name[:1].isdigit()), key=by_age, reverse=True)
    (folder / "index.html").write_text(FRONT.format(versions[0]), encoding="utf-8")
    (folder / "versions.js").write_text(VERSIONS % json.dumps(versions), encoding="utf-8")


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
        target = given.folder if given.man else given.folder / neardup.__version__
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(out, target, ignore=shutil.ignore_patterns(".doctrees", ".buildinfo"))
        if not given.man:
            link_versions(given.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
