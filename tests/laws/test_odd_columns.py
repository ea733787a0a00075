"""Columns with any name are read and kept; a name that a format cannot offer is refused, never passed over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_documents
from support.command_line import BASE, NEAR, OTHER, exit_status
from support.messages import has_parts

TEXTS = [BASE, OTHER, NEAR, f"{OTHER} {BASE}"]
NAMES = ["a.b", "..", "a`b", "my text", " ", "a[]", "a,b", "a=b", "*", "Text–ü", "kept_id"]
ONLY_NOT_JSON = ['a"b', "a\nb", "a\\b", "\x1b[31mred"]
"""The parser of JSON lines does not look up these names."""
FORMS: dict[str, tuple[Callable[[pl.DataFrame, Path], object], Callable[[Path], pl.DataFrame]]] = {
    "parquet": (pl.DataFrame.write_parquet, pl.read_parquet),
    "arrow": (pl.DataFrame.write_ipc, pl.read_ipc),
    "csv": (pl.DataFrame.write_csv, pl.read_csv),
    "jsonl": (pl.DataFrame.write_ndjson, pl.read_ndjson),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_column_of_any_name_is_the_text_and_one_that_decides(form: str, tmp_path: Path) -> None:
    """Each name is the text once, and all others separate the documents."""
    write, read = FORMS[form]
    path, out = tmp_path / f"in.{form}", tmp_path / "out"
    names = [*NAMES, *(ONLY_NOT_JSON if form != "jsonl" else ())]
    for name in names:
        labels = {other: ["x", "y", "x", "y"] for other in names if other != name}
        write(pl.DataFrame({name: TEXTS, **labels, "number": range(4)}), path)
        within = [word for other in labels for word in ("--within", other)]
        assert exit_status("dedup", path, "-o", out, "--overwrite", "--text", name, *within) == 0, name
        assert read(out / f"kept.{form}").equals(read(path)[[0, 1, 3]]), name
    write(pl.DataFrame({"text": TEXTS, **{name: list("xyzy") for name in names}}), path)
    assert exit_status("dedup", path, "-o", out, "--overwrite", *within[-2:]) == 0
    assert read(out / f"kept.{form}").equals(read(path))


@pytest.mark.parametrize("name", ONLY_NOT_JSON)
def test_a_field_of_json_that_cannot_be_chosen_is_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    pl.DataFrame({name: TEXTS, "id": list("abcd")}).write_ndjson(path)
    with pytest.raises(InputError) as caught:
        choose_columns(open_documents(path), name, None)
    assert has_parts(str(caught.value), "The field", "cannot be chosen", "Rename the field")
    notes = choose_columns(open_documents(path), None, None).notes
    assert has_parts("\n".join(notes), "cannot be the text", printable(name))
