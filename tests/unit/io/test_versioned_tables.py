"""Tables of Delta, Iceberg and Lance, written by their own libraries: deleted rows are never read."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.errors import InputError
from neardup.io.readers import open_documents
from neardup.io.readers.discovery import find_files
from support.command_line import BASE, NEAR, OTHER
from support.messages import has_parts

ROWS = [{"id": id, "text": text} for id, text in zip("abcd", (BASE, NEAR, OTHER, "deleted " * 30), strict=True)]
TABLE = pa.Table.from_pylist(ROWS)
Writer = Callable[[Path], Path]


def delta(folder: Path) -> Path:
    """Version 0 has four rows, version 1 three in another file; the first file is still in the folder."""
    written = pytest.importorskip("deltalake", reason="the extra delta is not installed")
    path = folder / "delta"
    written.write_deltalake(path, TABLE)
    written.DeltaTable(path).delete("id = 'd'")
    return path


def iceberg(folder: Path) -> Path:
    catalogs = pytest.importorskip("pyiceberg.catalog.sql", reason="the extra iceberg is not installed")
    warehouse = folder / "warehouse"
    warehouse.mkdir()
    catalog = catalogs.SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{warehouse}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", TABLE.schema)
    table.append(TABLE)
    table.delete("id = 'd'")
    catalog.close()
    return warehouse / "db" / "t"


def lance(folder: Path) -> Path:
    library = pytest.importorskip("lance", reason="the extra lance is not installed")
    path = folder / "lance"
    library.write_dataset(TABLE, path)
    library.dataset(path).delete("id = 'd'")
    return path


FIRST = {delta: 0, iceberg: 1, lance: 1}
"""The version with all four rows."""
tables = pytest.mark.parametrize("write", FIRST)


def ids(name: object, columns: tuple[str, ...] = ("id",)) -> list[str]:
    documents = open_documents(str(name), chunk_bytes=1000)
    documents.require("text", "id")
    return [id for chunk in documents.chunks(None, columns) for id in chunk.read(columns).table["id"].to_pylist()]


@tables
def test_the_newest_version_has_no_deleted_rows_and_an_older_one_has(write: Writer, tmp_path: Path) -> None:
    path = write(tmp_path)
    assert ids(path) == ["a", "b", "c"]
    assert ids(f"{path}@v{FIRST[write]}") == ["a", "b", "c", "d"]
    [source] = find_files([path]).sources
    assert (source.name, ids(source.path)) == (f"{path}@v{FIRST[write] + 1}", ["a", "b", "c"])


def times_of(path: Path) -> dict[int, datetime]:
    """The times of the versions as the libraries know them."""
    if (path / "_delta_log").is_dir():
        history = pytest.importorskip("deltalake").DeltaTable(path).history()
        return {one["version"]: datetime.fromtimestamp(one["timestamp"] / 1000, UTC) for one in history}
    if (path / "_versions").is_dir():
        versions = pytest.importorskip("lance").dataset(path).versions()
        return {one["version"]: one["timestamp"].astimezone(UTC) for one in versions}
    files = sorted((path / "metadata").glob("*.metadata.json"))
    millis = [json.loads(file.read_text())["last-updated-ms"] for file in files]
    return {number: datetime.fromtimestamp(one / 1000, UTC) for number, one in enumerate(millis)}


@tables
@pytest.mark.parametrize("hours", [0, 5.5, -8])
def test_a_version_is_named_by_its_time(write: Writer, hours: float, tmp_path: Path) -> None:
    path = write(tmp_path)
    times = times_of(path)
    for version, time in times.items():
        local = time.astimezone(timezone(timedelta(hours=hours)))
        same = max(number for number, other in times.items() if other <= time)
        assert find_files([f"{path}@{local.isoformat()}"]).sources[0].name == f"{path}@v{same}"
        assert version <= same
    newest = f"{path}@v{max(times)}"
    assert find_files([f"{path}@{max(times.values()) + timedelta(days=1):%Y-%m-%d}"]).sources[0].name == newest
    with pytest.raises(InputError) as error:
        find_files([f"{path}@2001-01-01 00:00"])
    assert has_parts(error.value.given, "2001-01-01", f"{min(times.values()):%Y-%m-%dT%H:%M:%SZ}")
    with pytest.raises(InputError, match="names no time"):
        find_files([f"{path}@2001-13-01"])


@tables
def test_later_passes_have_the_chunks_of_the_first(write: Writer, tmp_path: Path) -> None:
    documents = open_documents(str(write(tmp_path)), chunk_bytes=1000)
    documents.require("text", "id")
    passes = [
        [(chunk.index, chunk.first_row, chunk.read(columns).table["id"].to_pylist()) for chunk in found]
        for columns, found in (
            (("text", "id"), documents.chunks(None, ("text", "id"))),
            (("id",), documents.chunks(None, ("id",))),
            (("id",), documents.chunks({0, 1, 2}, ("id",))),
        )
    ]
    assert passes[0] == passes[1] == passes[2]
    assert len(passes[0]) > 1
    [last] = documents.chunks({1}, ("id",))
    assert (last.index, last.read(("id",)).table["id"].to_pylist()) == passes[0][1][::2]


@tables
def test_a_later_version_changes_nothing_in_a_result(write: Writer, tmp_path: Path) -> None:
    path, out = write(tmp_path), tmp_path / "out"
    found = nd.find(str(path), keep="first")
    assert pa.table(found)["id"].to_pylist() == ["a", "c"]
    found.save(out)
    if write is delta:
        sys.modules["deltalake"].write_deltalake(path, TABLE, mode="append")
        assert len(ids(path)) == 7
    assert nd.load(out).look("b").text == NEAR


@tables
def test_a_part_of_a_table_and_a_version_that_is_not_there_are_refused(write: Writer, tmp_path: Path) -> None:
    path = write(tmp_path)
    inner = next(one for one in path.rglob("*") if one.suffix in (".parquet", ".lance"))
    for name in (inner, inner.parent if inner.parent != path else inner, inner.parent / f"*{inner.suffix}"):
        with pytest.raises(InputError, match=str(path)) as refused:
            find_files([name])
        assert "log" in str(refused.value)
    with pytest.raises(InputError, match="no version 99"):
        find_files([f"{path}@v99"])
    (tmp_path / "a.txt").write_text(BASE)
    around = find_files([tmp_path])
    assert [aside.name for aside in around.aside if "table" in aside.why] == [str(path.relative_to(tmp_path))]


def log_of(folder: Path, name: str = "_delta_log", file: str = f"{0:020}.json") -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / file).write_text("{}")
    return folder


@pytest.mark.parametrize("pattern", ["", "/*.parquet", "/**/*.parquet"])
def test_a_table_at_a_url_is_refused(pattern: str, tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="the extra remote is not installed")
    path = log_of(tmp_path / "t")
    (path / "lang=en").mkdir()
    for file in ("part.parquet", "lang=en/part.parquet"):
        pq.write_table(TABLE, path / file)
    with pytest.raises(InputError, match="Delta table at a URL"):
        find_files([f"file://{path}{pattern}"])


@pytest.mark.parametrize(
    ("package", "log", "file"),
    [
        ("deltalake", "_delta_log", f"{0:020}.json"),
        ("pyiceberg", "metadata", "v1.metadata.json"),
        ("lance", "_versions", "1.manifest"),
    ],
)
def test_without_its_library_a_table_is_refused_with_the_extra(
    package: str, log: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = log_of(tmp_path / "t", log, file)
    pq.write_table(TABLE, path / "part.parquet")
    for loaded in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, loaded)
    (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError(name={package!r})")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError) as refused:
        open_documents(path)
    extra = {"deltalake": "delta", "pyiceberg": "iceberg"}.get(package, package)
    assert has_parts(str(refused.value), str(path), package, "not installed", f"[{extra}]")


def test_a_table_with_mapped_columns_or_deletion_vectors_is_refused(tmp_path: Path) -> None:
    path = delta(tmp_path)
    first = path / "_delta_log" / f"{0:020}.json"
    plain = first.read_text()
    mapped = plain.replace('"configuration":{}', '"configuration":{"delta.columnMapping.mode":"name"}')
    vectors = plain.replace(
        '"minReaderVersion":1,"minWriterVersion":2',
        '"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],'
        '"writerFeatures":["deletionVectors"]',
    )
    for log, word in ((mapped, "maps its columns by name"), (vectors, "deletionVectors")):
        assert log != plain
        first.write_text(log)
        with pytest.raises(InputError, match=word):
            open_documents(path)


@pytest.mark.parametrize("location", ["file://{}/secret.parquet", "{}/secret.parquet", "../secret.parquet"])
def test_files_outside_a_delta_table_are_never_read(location: str, tmp_path: Path) -> None:
    path = delta(tmp_path)
    pq.write_table(TABLE, tmp_path / "secret.parquet")
    commit = path / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    [added] = [line["add"] for line in lines if "add" in line]
    added["path"] = location.format(tmp_path)
    commit.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError, match=r"secret\.parquet not found"):
        ids(f"{path}@v0")


def linked(path: Path) -> Path:
    for file in [one for one in path.rglob("*") if one.suffix in (".parquet", ".lance")]:
        file.rename(path.parent / file.name)
        file.symlink_to(path.parent / file.name)
    return path


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: linked(delta(folder)),
        lambda folder: linked(lance(folder)),
        lambda folder: iceberg(folder).rename(folder / "moved"),
    ],
)
def test_files_out_of_a_table_are_refused(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path)
    with pytest.raises(InputError, match="outside its folder"):
        open_documents(path)


def test_the_hint_of_iceberg_counts_and_two_files_of_a_version_are_not_guessed(tmp_path: Path) -> None:
    path = log_of(tmp_path / "t", "metadata", "v1.metadata.json")
    (path / "metadata" / "v2.metadata.json").write_text("{}")
    (path / "metadata" / "version-hint.text").write_text("1")
    assert find_files([path]).sources[0].name == f"{path}@v1"
    (path / "metadata" / "00002-a.metadata.json").write_text("{}")
    with pytest.raises(InputError, match="only its catalog knows"):
        find_files([f"{path}@v2"])
    named = path / "metadata" / "v2.metadata.json"
    assert find_files([named]).sources[0].path == str(named)


def test_an_old_version_of_delta_has_its_checkpoint_only(tmp_path: Path) -> None:
    path = delta(tmp_path)
    library = sys.modules["deltalake"]
    library.DeltaTable(path).create_checkpoint()
    for commit in (path / "_delta_log").glob("*.json"):
        commit.unlink()
    [source] = find_files([path]).sources
    assert (Path(source.path).suffix, ids(path)) == (".parquet", ["a", "b", "c"])


@pytest.mark.parametrize("library", ["arro3.core", "nanoarrow", "duckdb", "polars"])
def test_objects_with_an_arrow_interface_are_documents(library: str) -> None:
    module = pytest.importorskip(library, reason="a library of frames that only the tests use")
    connection = module.connect() if library == "duckdb" else None  # DuckDB 1.4 closes it when it is forgotten
    given = {
        "arro3.core": lambda: module.Table.from_arrow(TABLE),
        "nanoarrow": lambda: module.ArrayStream(TABLE),
        "duckdb": lambda: connection.from_arrow(TABLE),
        "polars": lambda: module.from_arrow(TABLE),
    }[library]
    assert nd.find(given(), keep="first").mask().tolist() == [True, False, True, True]
    assert pa.table(nd.dedup(given(), keep="first"))["id"].to_pylist() == ["a", "c", "d"]
