"""The notebooks of the documentation run from a clean start, without a stored output, and convert to HTML."""

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.paths import DOCS

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
client = pytest.importorskip("nbclient", reason="nbclient is not installed")
jupyter = pytest.importorskip("jupyter_client", reason="jupyter_client is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
SHOWN = {
    "from-shingles-to-estimates": ("Error bars", "compared in vain", "0.250"),
    "the-same-corpus-at-thresholds": (
        "160 read",
        "first words of A",
        "Similarities in the group",
        "neardup dedup",
    ),
    "deduplicate-a-corpus": ("neardup dedup", "near copy of", "first words", "4-update"),
    "a-collection-of-mails": ("answer", "minutes", "mail.neardup"),
}
ANSWERS = {
    "Why is a document removed?": "4 is removed: near copy of 4-update",
    "Which pairs are the weakest?": "first words of A",
    "How do two documents differ?": "1 difference",
    "Which mails hold at least 80 % of the mail about the budget?": "minutes",
}
"""The questions of all notebooks, each with words that the next cell shows."""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    """One kernel for all: the interpreter of the tests, also where no kernel is installed by name."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

    class Own(KernelSpecManager):  # type: ignore[misc]
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=command, display_name="Python 3", language="python")

    manager = jupyter.KernelManager(kernel_spec_manager=Own())
    manager.start_kernel(extra_arguments=["--IPKernelApp.log_level=40"])
    yield manager
    manager.shutdown_kernel(now=True)


def executed(path: Path, kernel: Any) -> Any:
    notebook = nbformat.read(path, as_version=4)
    clean = nbformat.v4.new_code_cell("%reset -f")
    notebook.cells.insert(0, clean)
    runner = client.NotebookClient(notebook, km=kernel, timeout=120)
    try:
        runner.execute()
    finally:
        runner.kc.stop_channels()
    return notebook


def outputs(cells: Any) -> str:
    """Everything that cells show: the text and the HTML."""
    shown = [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]
    return "\n".join(
        output.get("text", "")
        + "".join(output.get("data", {}).get(kind, "") for kind in ("text/plain", "text/html"))
        for output in shown
    )


def test_every_notebook_is_tested_and_has_no_output() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(SHOWN)
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert notebook.cells[0].source.startswith("# ")
        assert not [cell for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_results(path: Path, kernel: Any, tmp_path: Path) -> None:
    notebook = executed(path, kernel)
    said = outputs(notebook.cells)
    for words in SHOWN[path.stem]:
        assert words in said, words
    for question, answer in pairwise(notebook.cells):
        if question.cell_type == "markdown" and question.source.endswith(("?", ":")):
            assert answer.get("outputs"), question.source
            if question.source.endswith("?"):
                assert ANSWERS[question.source.splitlines()[-1]] in outputs([answer])
    assert "Traceback" not in said
    assert " object at 0x" not in said
    assert not re.search(r"<script", said)
    if path.stem == "from-shingles-to-estimates":
        convert = pytest.importorskip("nbconvert", reason="nbconvert is not installed")
        page, _ = convert.HTMLExporter(theme="dark").from_notebook_node(notebook)
        (tmp_path / "page.html").write_text(page, encoding="utf-8")
        assert 'data-jp-theme-light="false"' in page
        assert '<div class="neardup view">' in page
        assert page.count("<svg") >= 6
