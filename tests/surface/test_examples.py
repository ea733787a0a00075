"""Every example in a docstring, in the README and on the Python page gives what it says."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import neardup
from support.command_line import Run
from support.paths import ROOT

MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(neardup.__path__, "neardup.")
    if not found.name.endswith("__main__")
)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name: str) -> None:
    assert doctest.testmod(import_module(name), optionflags=OPTIONS).failed == 0


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/howto/dataframes.md",
        "docs/reference/python.md",
        "docs/reference/query.md",
        "docs/explanation/kinds.md",
        "docs/explanation/simhash.md",
        "docs/howto/agents.md",
        "docs/howto/from-datasketch.md",
        "docs/howto/from-text-dedup.md",
        "docs/howto/from-datatrove.md",
    ],
)
def test_examples_of_a_page(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8").replace("\n```", "\n\n```")
    example = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    assert example.examples or "README" not in page
    assert doctest.DocTestRunner(optionflags=OPTIONS).run(example).failed == 0


def test_the_readme_shows_what_the_demo_prints(run: Run) -> None:
    shown = (ROOT / "README.md").read_text(encoding="utf-8").partition("prints, among others:\n\n```\n")[2]
    lines = [line for line in shown.partition("\n```")[0].splitlines() if line not in ("", "...")]
    printed = run("demo").out.splitlines()
    assert len(lines) > 10
    assert not [line for line in lines if line not in printed and not line.startswith(("time", "memory"))]
