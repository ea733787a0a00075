"""Files for other programs: CSV, JSON Lines, Parquet, DAT (for review platforms), XLSX, GraphML; new tables."""

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.display import printable
from neardup.errors import InputError, OutputError, SettingError, unusable
from neardup.io.place import require_local, without_password
from neardup.io.readers.base import failure_text
from neardup.io.readers.lines import BYTE_ORDER_MARK
from neardup.io.writers.filesystem import EVERYBODY
from neardup.io.writers.object_stores import url_of
from neardup.io.writers.output import OutputFile, stamped_schema
from neardup.io.writers.spreadsheets import MULTIPLE, is_workbook_of_ours, workbook_bytes

_BEGINNINGS = (
    b"id,group,representative,",
    b"decision,id,other,",
    b"id,tags\n",
    b"id_a,id_b,",
    b'<?xml version="1.0" encoding="utf-8"?>\n<graphml ',
    b'{"id":',
    b'{"id_a":',
    b'{"decision":',
    b"PAR1",
    b"\xc3\xbeid\xc3\xbe\x14",
    b"\xc3\xbeid_a\xc3\xbe\x14",
    b"\xc3\xbedecision\xc3\xbe\x14",
)

DOCUMENT_FORMS: tuple[str, ...] = ("jsonl", "parquet")
_DOCUMENTS = pa.schema(
    [
        ("id", pa.string()),
        ("text", pa.large_string()),
        ("metadata", pa.string()),
        ("role", pa.string()),
        ("group", pa.int64()),
    ]
)

QUOTE, SEPARATOR, NEWLINE = "\u00fe", "\x14", "\u00ae"
"""The characters of a DAT file: þ around values, the control character 20 between them, ® for a line end."""
_ROWS, _BYTES = 10_000, 1 << 20
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_BREAKS = re.compile(f"[{SEPARATOR}\r\n]")

_CRLF = "\r\n"

_GRAPHML = "http://graphml.graphdrawing.org/xmlns"
_KEYS = (
    ("id", "node", "string"),
    ("reference", "node", "boolean"),
    ("weight", "edge", "double"),
    ("kind", "edge", "string"),
)

_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML cannot hold, and the carriage return, which a reader would change."""

_TABLES = {".delta": ("deltalake", "delta", "write_deltalake"), ".lance": ("lance", "lance", "write_dataset")}
"""The packages that write tables with versions, their extras and functions, by the suffixes of the names."""


class OutputExport(OutputFile):
    """An export as a context manager: complete under its name, or absent."""

    kind = "an export"

    def is_own(self, path: Path) -> bool:
        """Return whether the file begins like an export."""
        with open(path, "rb") as file:
            if file.read(64).removeprefix(BYTE_ORDER_MARK).startswith(_BEGINNINGS):
                return True
        return is_workbook_of_ours(path)


def write_documents(
    pages: "Iterable[Rows]", path: Path, form: str | None, *, overwrite: bool = False, access: int = EVERYBODY
) -> int:
    """Write the file of :func:`document_bytes`, by default in the form of its suffix; return the number of rows.

    Raises SettingError for another form, and OutputError for a file that exists or cannot be written.
    """
    counted = 0
    pieces = document_bytes(pages, path.suffix.lower().removeprefix(".") if form is None else form)
    with OutputExport(path, overwrite=overwrite, access=access) as file:
        for count, piece in pieces:
            counted += count
            file.write_bytes(piece)
    return counted


def document_bytes(pages: "Iterable[Rows]", form: str) -> Iterator[tuple[int, bytes]]:
    """Yield a file of documents in pieces, each with the number of its rows.

    A row has ``id``, ``text``, ``metadata``, ``role`` and ``group``. In Parquet, metadata is JSON text, because
    documents may differ in its fields. Raises SettingError for a form that is not one of ``DOCUMENT_FORMS``.
    """
    if form not in DOCUMENT_FORMS:
        raise SettingError(f"The form of the export is {form!r}", f"One of {', '.join(DOCUMENT_FORMS)}")
    return _document_lines(pages) if form == "jsonl" else _document_table(pages)


Rows: TypeAlias = Sequence[Mapping[str, Any]]


def _document_lines(pages: Iterable[Rows]) -> Iterator[tuple[int, bytes]]:
    for rows in pages:
        lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows]
        yield len(rows), "".join(lines).encode("utf-8")


def _document_table(pages: Iterable[Rows]) -> Iterator[tuple[int, bytes]]:
    pieces = _Pieces()
    with pq.ParquetWriter(pieces, stamped_schema(_DOCUMENTS), compression="zstd") as writer:
        for rows in pages:
            plain = [
                {**row, "metadata": json.dumps(row["metadata"], ensure_ascii=False, allow_nan=False)}
                for row in rows
            ]
            writer.write_table(pa.Table.from_pylist(plain, _DOCUMENTS))
            yield len(rows), pieces.take()
    yield 0, pieces.take()


class _Pieces(io.BytesIO):
    """A file whose bytes are taken while it is written."""

    _taken = 0

    def tell(self) -> int:
        return self._taken + super().tell()

    def take(self) -> bytes:
        """Return the bytes written since the last call."""
        piece = self.getvalue()
        self._taken += len(piece)
        self.seek(0)
        self.truncate()
        return piece


def as_bytes_of(table: pa.Table, form: str, ids: tuple[str, ...] = ("id",)) -> Iterator[bytes]:
    """Yield the table as a file; ``form`` is one of GRAPH_FORMS, and ``ids`` are columns that must not change.

    Raises InputError for an id that a DAT file cannot hold, before the first byte.
    """
    return GRAPH_FORMS[form](table, ids)


def for_spreadsheets(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a CSV file in UTF-8 with the mark by which a spreadsheet recognises the encoding."""
    return chain([BYTE_ORDER_MARK], pieces)


def protect_formula(value: str) -> str:
    """Return a text for a CSV file; an apostrophe precedes one that a spreadsheet would take for a formula.

    >>> protect_formula("=1+1"), protect_formula("'=1"), protect_formula("a=1")
    ("'=1+1", "''=1", 'a=1')
    >>> unprotect_formula(protect_formula("-x"))
    '-x'
    """
    return f"'{value}" if _FORMULA.match(value) else value


def unprotect_formula(value: str) -> str:
    """Return a text of a CSV file without the apostrophe of :func:`protect_formula`."""
    return value[1:] if value.startswith("'") and _FORMULA.match(value) else value


def formulas(table: pa.Table) -> int:
    """Count the values that a spreadsheet would take for formulas."""
    values = (value for rows in _rows(table) for row in rows for value in row.values())
    return sum(bool(_FORMULA.match(_plain(value))) for value in values if isinstance(value, str | list))


def _rows(table: pa.Table) -> Iterator[list[dict[str, Any]]]:
    for first in range(0, table.num_rows, _ROWS):
        yield table.slice(first, _ROWS).to_pylist()


def _plain(value: Any) -> str:
    """A value as text: nothing for a missing one, and a list with separators."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return MULTIPLE.join(value) if isinstance(value, list) else str(value)


def _csv(table: pa.Table, ids: tuple[str, ...]) -> Iterator[bytes]:
    yield _csv_lines([map(protect_formula, table.column_names)])
    for rows in _rows(table):
        yield _csv_lines([map(_csv_value, row.values()) for row in rows])


def _csv_lines(rows: Iterable[Iterable[str]]) -> bytes:
    lines: list[str] = []
    rows_of = csv.writer(_Lines(lines.append), lineterminator="\r\n")  # it quotes what its line end has, so both
    rows_of.writerows(rows)
    return "".join(f"{line.removesuffix(_CRLF)}\n" for line in lines).encode()


class _Lines(NamedTuple):
    write: Callable[[str], None]


def _csv_value(value: Any) -> str:
    return protect_formula(_plain(value)) if isinstance(value, str | list) else _plain(value)


def _jsonl(table: pa.Table, ids: tuple[str, ...]) -> Iterator[bytes]:
    encoder = msgspec.json.Encoder()
    for rows in _rows(table):
        yield b"".join(encoder.encode(row) + b"\n" for row in rows)


def _parquet(table: pa.Table, ids: tuple[str, ...]) -> Iterator[bytes]:
    whole = io.BytesIO()
    pq.write_table(table.cast(stamped_schema(table.schema)), whole, compression="zstd")
    whole.seek(0)
    while block := whole.read(_BYTES):
        yield block


def _dat(table: pa.Table, ids: tuple[str, ...]) -> Iterator[bytes]:
    """With a byte order mark, by which platforms recognise UTF-8, and the line ends of Windows."""
    for name in ids:
        if name in table.column_names:  # before anything is written: a file that breaks off would seem to be whole
            for chunk in table[name].chunks:
                for id in chunk.to_pylist():
                    _require_one_line(_plain(id))
    return _dat_lines(table)


def _dat_lines(table: pa.Table) -> Iterator[bytes]:
    yield b"\xef\xbb\xbf" + _dat_line(table.column_names)
    for rows in _rows(table):
        yield b"".join(_dat_line([_one_line(_plain(value)) for value in row.values()]) for row in rows)


def _dat_line(values: list[str]) -> bytes:
    return (SEPARATOR.join(f"{QUOTE}{value}{QUOTE}" for value in values) + "\r\n").encode()


def _one_line(value: str) -> str:
    return re.sub("\r\n|\r|\n", NEWLINE, value).replace(SEPARATOR, " ")


def _require_one_line(id: str) -> None:
    if _BREAKS.search(id):
        raise InputError(
            f"The id {printable(id)} has a character that ends a value or a line in a DAT file",
            "Ids without line ends and without the control character 20",
            "Export as csv, jsonl or parquet",
        )


FORMS: dict[str, Callable[[pa.Table, tuple[str, ...]], Iterator[bytes]]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "dat": _dat,
    "xlsx": workbook_bytes,
}
"""The forms of a file, by the names that also are their suffixes."""


def _graphml(table: pa.Table, ids: tuple[str, ...]) -> Iterator[bytes]:
    """An undirected graph: a node for each document, a weight for each edge that has one.

    Nodes are n0, n1, …; their data has the id, in which characters that XML cannot hold are escaped as in Python.
    """
    pieces, nodes = _Pieces(), dict[tuple[str, bool], int]()
    xml = XMLGenerator(pieces, "utf-8", short_empty_elements=True)
    xml.startDocument()
    xml.startElement("graphml", AttributesImpl({"xmlns": _GRAPHML}))
    for name, of, kind in _KEYS:
        about = {"id": name, "for": of, "attr.name": name, "attr.type": kind}
        xml.startElement("key", AttributesImpl(about))
        xml.endElement("key")
    xml.startElement("graph", AttributesImpl({"edgedefault": "undirected"}))
    for rows in _rows(table):
        for row in rows:
            ends = (row["id_a"], row["a_in_reference"]), (row["id_b"], False)
            for id, old in ends:
                if (id, old) not in nodes:
                    nodes[id, old] = len(nodes)
                    of_node = {"id": _NOT_XML.sub(_escape_match, id), "reference": "true" if old else ""}
                    _element(xml, "node", {"id": f"n{nodes[id, old]}"}, of_node)
            source, target = (f"n{nodes[end]}" for end in ends)
            weight = "" if row["similarity"] is None else repr(row["similarity"])
            _element(xml, "edge", {"source": source, "target": target}, {"weight": weight, "kind": row["kind"]})
        yield pieces.take()
    xml.endElement("graph")
    xml.endElement("graphml")
    xml.endDocument()
    yield pieces.take()


def _element(xml: XMLGenerator, name: str, attributes: dict[str, str], values: dict[str, str]) -> None:
    xml.startElement(name, AttributesImpl(attributes))
    for key, value in values.items():
        if value or key == "id":
            xml.startElement("data", AttributesImpl({"key": key}))
            xml.characters(value)
            xml.endElement("data")
    xml.endElement(name)
    xml.ignorableWhitespace("\n")


def _escape_match(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "surrogatepass").decode("ascii")


GRAPH_FORMS = {**FORMS, "graphml": _graphml}
"""The forms of a table of pairs."""


def refuse_table(path: Path) -> None:
    """Raise OutputError for a name of a new table that cannot be written, before the work."""
    package, extra, _ = _table_writer(path)
    try:
        import_module(package)
    except ImportError as error:
        why, do = unusable(package, extra, error)
        raise OutputError(f"{path} needs {package}, which {why}", "", do) from None
    if url_of(path) is None:
        require_local(path)
        if os.path.lexists(os.path.expanduser(path)):
            raise OutputError(f"{path} exists already", "A new table", "Choose another name")


def write_new_table(path: Path, rows: pa.RecordBatchReader) -> None:
    """Write rows as a new table of Delta Lake or Lance, by the library, which makes it visible when it is whole.

    Also at a URL that the library writes to. Raises OutputError for a table that exists, and for any failure.
    """
    package, _, function = _table_writer(path)
    url = url_of(path)
    given: dict[str, Any] = {}
    if url is not None and os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
        given["storage_options"] = {"allow_http": "true", "aws_endpoint": os.environ["AWS_ENDPOINT_URL"]}
    target = os.path.expanduser(path) if url is None else url
    write: Any = getattr(import_module(package), function)
    try:
        write(*((target, rows) if package == "deltalake" else (rows, target)), **given)
    except Exception as error:  # each library has its own kinds
        why = printable(without_password(failure_text(error)))
        raise OutputError(f"Cannot write {url or path}: {why}", "A new table", "Choose another place") from error


def _table_writer(path: Path) -> tuple[str, str, str]:
    suffix = path.suffix.lower()
    if suffix in _TABLES:
        return _TABLES[suffix]
    catalog = suffix == ".iceberg"
    raise OutputError(
        f"{path} is not the name of a table that can be written"
        + (": a table of Iceberg belongs to a catalog" if catalog else ""),
        f"A name that ends in {' or '.join(_TABLES)}",
        "Append the rows of kept.parquet with pyiceberg" if catalog else "Add the suffix of the format",
    )
