"""Every example in a docstring, and on the pages of reference gives what it says."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import neardup
from support.paths import ROOT

MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(neardup.__path__, "neardup.")
    if not found.name.endswith("__main__")
)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name: str) -> None:
    try:
        module = import_module(name)
    except ModuleNotFoundError as lacking:
        if (lacking.name or "neardup").startswith("neardup"):
            raise
        pytest.skip(f"needs {lacking.name}")
    assert doctest.testmod(module, optionflags=OPTIONS).failed == 0


@pytest.mark.parametrize(
    "page",
    [
        "docs/reference/python.md",
        "docs/reference/query.md",
        "docs/explanation/classic-texts.md",
        "docs/explanation/kinds.md",
        "docs/explanation/simhash.md",
    ],
)
def test_examples_of_a_page(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8").replace("\n```", "\n\n```")
    example = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    assert example.examples
    assert doctest.DocTestRunner(optionflags=OPTIONS).run(example).failed == 0
