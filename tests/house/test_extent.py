"""No output says all, none, complete, identical, exact or every without a record of what was looked at.

``display.Extent`` words such statements from counts of what was looked at, skipped and unreadable. Every other
sentence with such a word, in the modules and templates of the package, is in extent.toml beside this file, under
its file, with its reason:

- a name, as in ``counts.verified``: the record on which the statement relies; the function or template that makes
  the sentence reads it;
- a page below docs/: the sentence describes a method, a measure or a setting, and that page defines it;
- "asks": it asks for something, or describes what a command would do, and states nothing about any data.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from jinja2 import Environment, nodes

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "neardup"
LISTED = tomllib.loads(Path(__file__).with_name("extent.toml").read_text(encoding="utf-8"))
CLAIMS = re.compile(
    r"\b(?:[Aa]ll|none|None (?:of|is|are|was|were)|[Cc]omplete(?:ly)?|[Ii]dentical|[Ee]xact(?:ly)?|[Ee]very"
    r"|is missed|are missed)\b"
)
ALONE = re.compile("complete|identical|every")
"""Words that are statements by themselves, where they are not the value of a setting."""
TERMS = re.compile(
    r"exact(?:-| )(?:cop(?:y|ies)|join|method|search)\w*|method (?:is )?exact\b"
    r"|(?:--[a-z-]+|keep|is) '?(?:none|all|exact|complete)'?(?![\w-])"
    r"|--all\b|--complete\b|'(?:none|all|exact|complete)'|\bat all\b",
    re.IGNORECASE,
)
"""Terms of docs/contributing/language.md, and values of options: they name things."""
HELP = ("cli/options/", "cli/commands.py", *(f"settings/{name}.py" for name in ("records", "rules", "settings")))
"""Descriptions of commands and options, which say what will be done, and errors about their values."""
CODE = (
    "collection/store/postgres_tables.py",
    "collection/store/schema.py",
    "display/style.py",
    "display/svg.py",
    "text/tokenizers.py",
    "verifier.py",
)
"""Modules whose strings are in another language (SQL, CSS, SVG, Python), and the verifier, which shares no code:
the tests of its tamperings hold it to what it looked at."""


class Sentence(NamedTuple):
    file: str
    line: int
    text: str
    maker: str
    """The source of the function, class or template that makes it."""


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def inside(node: ast.AST) -> set[int]:
    return {id(part) for part in ast.walk(node)}


def is_error(call: ast.Call) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    return name.endswith("Error")


def left_out(tree: ast.Module) -> set[int]:
    """Nodes that state nothing: docstrings, the class Extent, and the parts of errors that ask for something."""
    ids: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            ids.add(id(node.value))
        elif isinstance(node, ast.ClassDef) and node.name == "Extent":
            ids |= inside(node)
        elif isinstance(node, ast.Call) and is_error(node):
            for part in (*node.args[1:], *node.keywords):
                ids |= inside(part)
    return ids


def in_module(source: str, file: str) -> Iterator[Sentence]:
    tree = ast.parse(source)
    ids, lines = left_out(tree), source.splitlines()
    spans = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    chosen = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.IfExp) for part in (node.body, node.orelse)
    }
    for node in ast.walk(tree):
        if id(node) in ids:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            ids |= {id(part) for part in node.values}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if " " not in text.strip() and not (id(node) in chosen and ALONE.fullmatch(text)):
            continue
        begin, end = next(
            (span for span in spans if span[0] <= node.lineno <= span[1]), (node.lineno, node.lineno)
        )
        yield Sentence(file, node.lineno, flat(text), "\n".join(lines[begin - 1 : end]))


def in_template(source: str, file: str) -> Iterator[Sentence]:
    tree = Environment().parse(source)  # only parsed: nothing is rendered
    for output in tree.find_all(nodes.Output):
        parts = (node.data if isinstance(node, nodes.TemplateData) else "{}" for node in output.nodes)
        yield Sentence(file, output.lineno, flat(re.sub(r"<[^>]*>?", " ", "".join(parts))), source)
    for constant in tree.find_all(nodes.Const):
        if isinstance(constant.value, str) and (" " in constant.value or ALONE.fullmatch(constant.value)):
            yield Sentence(file, constant.lineno, flat(constant.value), source)


@cache
def sentences() -> tuple[Sentence, ...]:
    every: list[Sentence] = []
    for path in sorted((*SOURCE.rglob("*.py"), *SOURCE.rglob("*.html"))):
        file = path.relative_to(SOURCE).as_posix()
        if file.startswith(HELP) or file in CODE:
            continue
        make = in_module if path.suffix == ".py" else in_template
        every += make(path.read_text(encoding="utf-8"), file)
    return tuple(every)


def unlisted(sentence: Sentence) -> str:
    """The sentence without terms and without what is listed of it, if it still claims something; else ""."""
    text = sentence.text
    for part in sorted(LISTED.get(sentence.file, ()), key=len, reverse=True):
        text = text.replace(part, "")
    text = TERMS.sub("", text)
    return text if CLAIMS.search(text) or ALONE.fullmatch(text) else ""


def test_each_statement_about_everything_relies_on_a_record() -> None:
    """Word it with ``display.Extent``, or list it in extent.toml with the record on which it relies."""
    assert [f"{one.file}:{one.line}: {one.text}" for one in sentences() if unlisted(one)] == []


@pytest.mark.parametrize("file", LISTED)
def test_the_reason_of_each_listed_sentence_holds(file: str) -> None:
    for part, reason in LISTED[file].items():
        makers = [one.maker for one in sentences() if one.file == file and part in one.text]
        assert makers, f"{part!r} is in no sentence of {file}: remove it from extent.toml"
        assert CLAIMS.search(part) or ALONE.fullmatch(part), part
        if reason.startswith("docs/"):
            assert (ROOT / reason.partition("#")[0]).is_file(), reason
        elif reason != "asks":
            assert all(reason in maker for maker in makers), f"{part!r} does not read {reason}"


def test_the_law_sees_every_form_of_a_sentence() -> None:
    code = (
        'def said(one):\n    return f"all {one} were read"\n'
        'def sure(one):\n    return "complete" if one else "recall"\n'
        'def wrong():\n    raise InputError("every row is bad", "all rows of text")\n'
    )
    found = {one.text for one in in_module(code, "a.py") if unlisted(one)}
    assert found == {"all {} were read", "complete", "every row is bad"}
    page = '<p>Every <b>row</b> of {{ n }} was read.</p>{{ "All groups" if a else "Some groups" }}'
    assert {one.text for one in in_template(page, "a.html") if unlisted(one)} == {
        "Every row of {} was read. {}",
        "All groups",
    }
