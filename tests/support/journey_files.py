"""The files that readers of a page have of their own: small, and of the kinds that the page names."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from support.made_files import docx_of, pdf_of
from support.paths import ROOT

Rows = Sequence[dict[str, Any]]
NOTICE = (
    "The harbour office is closed on Friday, because the pier is being repaired. Boats that come in must use the "
    "north quay, where the crane stands, and pay the fee at the gate."
)
LIBRARY = (
    "The library opens at nine on weekdays and at ten on Saturdays; books can be returned at any time through the "
    "hatch beside the door."
)
SAMPLE = ROOT / "src" / "neardup" / "cli" / "demo_documents" / "documents.jsonl"
FILES = ROOT / "docs" / "tutorial" / "files"


def of_readme(folder: Path) -> None:
    shutil.copyfile(SAMPLE, folder / "mails.jsonl")
    shutil.copyfile(SAMPLE, folder / "notes.jsonl")
    shutil.copytree(FILES / "letters", folder / "letters")
    for name in ("old.txt", "new.txt"):
        shutil.copyfile(FILES / name, folder / name)
    rows = sample()
    parquet(folder / "old.parquet", rows[:60])
    parquet(folder / "new.parquet", rows[40:])
    (folder / "old.docx").write_bytes(docx_of(NOTICE))
    (folder / "new.pdf").write_bytes(pdf_of(NOTICE.replace("Friday", "Monday")))


def sample() -> list[dict[str, Any]]:
    """The documents of ``neardup demo``."""
    return [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]


def jsonl(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def parquet(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), path)


def of_mail(folder: Path) -> None:
    shutil.copytree(FILES / "letters", folder / "letters")


OWN: dict[str, Callable[[Path], None]] = {"README.md": of_readme, "mail.md": of_mail}
"""By the name of a page, the function that writes the files of its reader into a folder."""
