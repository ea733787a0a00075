"""The table of files in the first tutorial; ``tests/journeys`` runs its commands and those of the others."""

import re
from pathlib import Path

from neardup.cli.demo_documents import documents_path
from support.command_line import Run
from support.paths import DOCS

IN_FOLDERS = {
    *("kept.jsonl", "ranks.parquet", "not_judged.parquet", "manifest.json"),
    *("places.parquet", "located.parquet", "texts.parquet"),
}
"""Files of a result that the tutorial leaves to the reference."""


def test_the_first_deduplication_lists_the_files(run: Run, tmp_path: Path) -> None:
    assert run("dedup", documents_path(), "-o", tmp_path / "cleaned").status == 0
    text = (DOCS / "tutorial" / "first-dedup.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+\.\w+)` \|", text, flags=re.MULTILINE))
    assert len(listed) == 5
    assert {path.name for path in (tmp_path / "cleaned").iterdir()} == {*listed, *IN_FOLDERS}
