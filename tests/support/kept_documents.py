"""Read documents with everything that is said about them, and write some of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.base import Problem
from neardup.io.writers import OutputFolder, open_kept
from support.reading import read_all


def read(path: Path) -> tuple[dict[str, str], list[Problem], list[tuple[str, str]]]:
    """The texts by id, the problems, and the files left aside."""
    documents = open_documents(path)
    choose_columns(documents, None, None)
    rows, _, problems = read_all(documents, ["id", "text"])
    texts = {row["id"].decode(): row["text"].decode() for row in rows}
    return texts, problems, [(one.name, one.why) for one in documents.findings.aside]


def keep(path: Path, out: Path, wanted: set[str]) -> Path:
    """Write the documents with these ids."""
    documents = open_documents(path)
    choose_columns(documents, None, None)
    with OutputFolder(out) as folder, open_kept(folder, documents) as writer:
        for chunk in documents.chunks():
            ids = chunk.read(["id"]).table["id"].to_pylist()
            writer.write(chunk.read_native(), np.array([id in wanted for id in ids]))
        writer.close()
        name = writer.path.name
    return out / name
