"""docs/reference/inputs.md, cell by cell: files of other programs are read, kept, and looked at later."""

import io
import json
import mailbox
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

pytest.importorskip("warcio", reason="the extra warc is not installed")
pytest.importorskip("zstandard", reason="zstandard is not installed")

import zstandard

from support.command_line import BASE, NEAR, OTHER, Run, run_json
from support.made_files import eml_of, html_of
from support.made_warc import read_by_warcio, wet_records, write_warc

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "inputs.md"
TEXTS = [BASE, NEAR, OTHER]
ROWS = [{"id": f"r{i}", "text": text, "doc": {"key": f"k{i}", "body": text}} for i, text in enumerate(TEXTS)]
FLAT = ["id", "text"]
TABLE = pa.Table.from_pylist(ROWS)
POLARS, PANDAS = pl.DataFrame(ROWS), pd.DataFrame(ROWS)

# warcio leaves the working files of its writer open
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Kind(NamedTuple):
    """A row of the matrix: how another program writes a file, and reads the texts in a kept one."""

    name: str
    write: Callable[[Path], None]
    read: Callable[[Path], Iterable[str]]


def relation(columns: list[str]) -> duckdb.DuckDBPyRelation:
    return duckdb.connect().from_arrow(TABLE.select(columns))


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for number, text in enumerate(TEXTS):
            file.writestr(f"{number}.txt", text)


def tarred(path: Path) -> None:
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as file:
        for number, text in enumerate(TEXTS):
            for suffix, content in (("txt", text.encode()), ("cls", b"1")):
                info = tarfile.TarInfo(f"{number}.{suffix}")
                info.size = len(content)
                file.addfile(info, io.BytesIO(content))


def untarred(path: Path) -> list[str]:
    with tarfile.open(path) as file:
        return [file.extractfile(one).read().decode() for one in file if one.name.endswith(".txt")]  # type: ignore[union-attr]


def unzipped(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as file:
        return [file.read(name).decode() for name in file.namelist()]


def mails(path: Path) -> None:
    box = mailbox.mbox(path)
    for number, text in enumerate(TEXTS):
        box.add(mailbox.mboxMessage(eml_of(text, f"mail {number}")))
    box.close()


def mails_in(path: Path) -> list[str]:
    return [one.get_payload(decode=True).decode() for one in mailbox.mbox(path)]


def files(path: Path) -> None:
    path.mkdir()
    for number, text in enumerate(TEXTS):
        (path / f"{number}.txt").write_text(text)


def pages(path: Path) -> None:
    path.mkdir()
    for number, text in enumerate(TEXTS):
        (path / f"{number}.html").write_bytes(html_of(text))


def maildir(path: Path) -> None:
    box = mailbox.Maildir(path)
    for number, text in enumerate(TEXTS):
        key = box.add(mailbox.MaildirMessage(eml_of(text, f"mail {number}")))
        # a key has microseconds without leading zeros, so keys are not always in the order of writing
        file = path / "new" / key
        file.rename(file.with_name(f"{number}.{key}"))
    box.close()


def workbooks(path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra office is not installed")
    path.mkdir()
    for number, text in enumerate(TEXTS):
        book = openpyxl.Workbook()
        book.active.append([text])
        book.save(path / f"{number}.xlsx")


def workbook_texts(path: Path) -> list[str]:
    openpyxl = pytest.importorskip("openpyxl")
    return [openpyxl.load_workbook(one).active["A1"].value for one in sorted(path.iterdir())]


def data_set(path: Path) -> None:
    library = pytest.importorskip("datasets", reason="datasets is not installed")
    library.Dataset.from_list(ROWS).save_to_disk(path)


def several(path: Path) -> None:
    path.mkdir()
    pq.write_table(TABLE[:1], path / "a.parquet")
    POLARS[1:2].write_ndjson(path / "b.jsonl")
    POLARS[2:].write_ipc(path / "c.arrow")


def texts_of_several(path: Path) -> list[str]:
    frames = (pl.read_parquet(path / "a.parquet"), pl.read_ipc(path / "c.arrow"))
    lines = (path / "b.jsonl").read_text().splitlines()
    return [*(text for frame in frames for text in frame["text"]), *(json.loads(line)["text"] for line in lines)]


def zstandard_lines(path: Path) -> None:
    with zstandard.open(path, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in ROWS)


def web_archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("archive/data.warc.gz", b"".join(wet_records(TEXTS, packed=True)))
        file.writestr("datapackage.json", "{}")


def captures(path: Path) -> list[str]:
    return [content.decode() for _, _, content in read_by_warcio(path)]


def delta_table(path: Path) -> None:
    library = pytest.importorskip("deltalake", reason="the extra delta is not installed")
    library.write_deltalake(path, pa.concat_tables([TABLE, TABLE]))
    library.write_deltalake(path, TABLE, mode="overwrite")  # the files of before stay in the folder


def iceberg_table(path: Path) -> None:
    catalogs = pytest.importorskip("pyiceberg.catalog.sql", reason="the extra iceberg is not installed")
    catalog = catalogs.SqlCatalog("c", uri="sqlite:///:memory:", warehouse=f"file://{path.parent}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", TABLE.schema, location=f"file://{path}")
    table.append(pa.concat_tables([TABLE, TABLE]))
    table.overwrite(TABLE)


def lance_table(path: Path) -> None:
    library = pytest.importorskip("lance", reason="the extra lance is not installed")
    library.write_dataset(pa.concat_tables([TABLE, TABLE]), path)
    library.write_dataset(TABLE, path, mode="overwrite")


def texts(table: pa.Table) -> list[str]:
    return [str(text) for text in table["text"].to_pylist()]


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "a.parquet of pyarrow",
            lambda p: pq.write_table(TABLE, p),
            lambda p: texts(pq.read_table(p)),
        ),
        Kind(
            "b.parquet of polars",
            lambda p: POLARS.write_parquet(p),
            lambda p: pl.read_parquet(p)["text"],
        ),
        Kind("c.parquet of pandas", lambda p: PANDAS.to_parquet(p), lambda p: pd.read_parquet(p)["text"]),
        Kind(
            "d.parquet of DuckDB",
            lambda p: relation(TABLE.column_names).write_parquet(str(p)),
            lambda p: [row[0] for row in duckdb.connect().sql(f"select text from '{p}'").fetchall()],
        ),
        Kind(
            "a.feather of pyarrow",
            lambda p: feather.write_feather(TABLE, p),
            lambda p: texts(feather.read_table(p)),
        ),
        Kind("b.arrow of polars", lambda p: POLARS.write_ipc(p), lambda p: pl.read_ipc(p)["text"]),
        Kind(
            "c.arrows of polars",
            lambda p: POLARS.write_ipc_stream(p),
            lambda p: pl.read_ipc_stream(p)["text"],
        ),
        Kind("a.jsonl of polars", lambda p: POLARS.write_ndjson(p), lambda p: pl.read_ndjson(p)["text"]),
        Kind(
            "b.jsonl.gz of pandas",
            lambda p: PANDAS.to_json(p, orient="records", lines=True),
            lambda p: pd.read_json(p, lines=True)["text"],
        ),
        Kind(
            "d.jsonl.zst of zstandard",
            zstandard_lines,
            lambda p: [json.loads(line)["text"] for line in zstandard.open(p, "rt")],
        ),
        Kind(
            "c.json of DuckDB",
            lambda p: duckdb.connect().execute(f"copy (select unnest($1, max_depth := 2)) to '{p}'", [ROWS]),
            lambda p: [json.loads(line)["text"] for line in p.read_text().splitlines()],
        ),
        Kind("a.csv of polars", lambda p: POLARS[FLAT].write_csv(p), lambda p: pl.read_csv(p)["text"]),
        Kind(
            "b.csv of pandas",
            lambda p: PANDAS[FLAT].to_csv(p, index=False),
            lambda p: pd.read_csv(p)["text"],
        ),
        Kind(
            "c.csv of DuckDB",
            lambda p: relation(FLAT).write_csv(str(p)),
            lambda p: texts(pacsv.read_csv(p)),
        ),
        Kind("a.warc of warcio", lambda p: write_warc(p, wet_records(TEXTS)), captures),
        Kind("b.warc.wet.gz of warcio", lambda p: write_warc(p, wet_records(TEXTS, packed=True)), captures),
        Kind("c.wacz of zipfile and warcio", web_archive, captures),
        Kind("a folder of texts", files, lambda p: [one.read_text() for one in sorted(p.iterdir())]),
        Kind(
            "a folder of web pages",
            pages,
            lambda p: [
                re.sub("(?s)<(title|style|script).*?</.*?>|<[^>]*>", "", one.read_text())
                for one in sorted(p.iterdir())
            ],
        ),
        Kind("a folder of xlsx of openpyxl", workbooks, workbook_texts),
        Kind(
            "a folder of datasets",
            data_set,
            lambda p: pytest.importorskip("datasets").Dataset.from_file(str(p))["text"],
        ),
        Kind("a folder of a.parquet, b.jsonl, c.arrow", several, texts_of_several),
        Kind("a.zip of zipfile", zipped, unzipped),
        Kind("a.tar of tarfile, samples", tarred, untarred),
        Kind("b.tar.gz of tarfile, samples", tarred, untarred),
        Kind("a.mbox of mailbox", mails, mails_in),
        Kind(
            "a folder of mailbox, a Maildir",
            maildir,
            lambda p: [one.get_payload(decode=True).decode() for one in mailbox.Maildir(p, create=False)],
        ),
        Kind("a.delta of delta-rs", delta_table, lambda p: texts(pq.read_table(p))),
        Kind("a.iceberg of pyiceberg", iceberg_table, lambda p: texts(pq.read_table(p))),
        Kind("a.lance of Lance", lance_table, lambda p: texts(pq.read_table(p))),
    )
}
COLUMNS = ("read", "nested columns", "kept in its own form", "looked at later")


def matrix() -> dict[str, list[str]]:
    """The cells of the page, by row."""
    table = PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
    lines = re.findall(r"^\| (.+) \|$", table, re.MULTILINE)
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    assert rows[0][1:] == list(COLUMNS)
    return {row[0].replace("`", ""): row[1:] for row in rows[1:]}


def made(kind: Kind, folder: Path) -> Path:
    path = folder / ("folder" if kind.name.startswith("a folder") else kind.name.split()[0])
    kind.write(path)
    return path


def test_the_page_has_all_rows() -> None:
    assert list(matrix()) == list(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_files_are_read_kept_and_looked_at(name: str, run: Run, tmp_path: Path) -> None:
    kind, cells = KINDS[name], matrix()[name]
    path, out = made(kind, tmp_path), tmp_path / "out"
    result = run("dedup", path, "-o", out, "--keep", "first")
    assert (cells[0], result.status) == ("yes", 0), result.err
    account = run_json(out)
    assert (account["counts"]["read"], account["counts"]["removed"]) == (3, 1)
    [kept] = out.glob("kept*")
    if not cells[2].startswith("no"):
        assert sorted(map(str.split, map(str, kind.read(kept)))) == sorted([BASE.split(), OTHER.split()])
    assert cells[2] == "yes" or kept.suffixes != path.suffixes
    ids = pq.read_table(out / "groups.parquet")["id"].to_pylist()
    shown = run("show", out, ids[1])
    assert (cells[3], shown.status) == ("yes", 0), shown.err
    if path.suffix in (".delta", ".iceberg", ".lance"):
        verified = run("verify", out)
        assert verified.status == 0, verified.out
        assert run("compare", f"{path}#0", f"{path}#1").status == 0
    assert run("apply", out, "-o", tmp_path / "final").status == 0
    [final] = (tmp_path / "final").glob("kept*")
    assert final.is_dir() or final.read_bytes() == kept.read_bytes()


@pytest.mark.parametrize("name", KINDS)
def test_nested_columns_are_read_or_refused(name: str, run: Run, tmp_path: Path) -> None:
    kind, cell = KINDS[name], matrix()[name][1]
    result = run("dedup", made(kind, tmp_path), "-o", tmp_path / "out", "--text", "doc.body", "--id", "doc.key")
    assert (result.status == 0) == (cell == "yes"), result.err
    if cell == "yes":
        groups = pq.read_table(tmp_path / "out" / "groups.parquet")
        assert groups["id"].to_pylist() == ["k0", "k1"]
