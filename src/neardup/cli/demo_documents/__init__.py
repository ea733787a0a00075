"""The bundled sample collection: about a hundred invented office documents, many of them alike."""

from importlib.resources import files
from pathlib import Path


def documents_path() -> Path:
    """Return where the sample collection lies: one JSON object a line (id, date, kind, text)."""
    return Path(str(files(__name__) / "documents.jsonl"))
