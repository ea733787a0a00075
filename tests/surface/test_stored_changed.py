"""A result folder that was changed is refused in words, or answers as before; whoever changed it, and whatever.

*Changed* alone means by accident: the manifest gives it away. *Sealed* means by somebody who wrote the manifest
anew: then what is in the files is refused where it cannot be true, or is used.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.errors import InputError, NeardupError
from support.command_line import run_json
from support.full_run import FULL
from support.messages import has_parts
from support.sealed import seal

TABLES = ("pairs", "groups", "copies", "ranks", "missed")
FILES = (*(f"{name}.parquet" for name in TABLES), "run.json", "problems.jsonl", "manifest.json")
STRICTER = 0.9

ODD: tuple[Any, ...] = (None, True, -1, 0, 10**30, -(10**30), 1e308, "", "x", "\x1b[2J", [], {}, [[]], {"a": 1})
DEEP = "[" * 5_000 + "]" * 5_000


def words(*numbers: int) -> str:
    return " ".join(f"w{number}" for number in numbers)


def documents() -> list[str]:
    """Groups by chains, exact copies, documents alone."""
    draw = random.Random(7)
    texts = []
    for family in range(6):
        base = [draw.randrange(1000) for _ in range(60)]
        for _ in range(1 + family):
            texts.append(words(*base))
            base[draw.randrange(60)] = draw.randrange(1000)
    return [*texts, texts[3], texts[-1], "", "short"]


def answer(folder: Path) -> list[Any]:
    """All that can be asked of a stored result."""
    found = nd.load(folder)
    said = [str(found), found._repr_html_(), found.first_groups(), found.removed.to_pylist()]
    for each in (found, found.at(STRICTER)):
        said += [str(each), each.groups.to_pylist(), each.pairs.num_rows, each.run.recall]
        for id in dict.fromkeys([*each.groups["id"].to_pylist()[:2], *each.copies["id"].to_pylist()[:1]]):
            said.append(str(each.why(id)))
    return said


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with everything that a folder may hold."""
    out = tmp_path_factory.mktemp("whole") / "out"
    nd.find(documents(), threshold=0.5, audit=5, groups="components", method="lsh").save(out)
    return out


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Callable[[], Path]:
    """A fresh copy of it for each change."""

    def copy() -> Path:
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        shutil.copytree(whole, tmp_path / "out")
        return tmp_path / "out"

    return copy


def refused(folder: Path, change: object, same: list[Any] | None = None) -> bool:
    """Whether it was refused in words; otherwise it answers (``same``: as before)."""
    try:
        said = answer(folder)
    except NeardupError:
        return True
    except Exception as error:
        raise AssertionError(f"{change}: {type(error).__name__}: {error}") from error
    assert same is None or said == same, change
    return False


# --- changed by accident


def test_no_changed_byte_is_believed(whole: Path, copied: Callable[[], Path]) -> None:
    """None is decoded: a byte that a decoder would die of is refused, too."""
    draw, before = random.Random(1), answer(whole)
    for name in FILES:
        data = (whole / name).read_bytes()
        for _ in range(5 if data else 0):
            at, flipped = draw.randrange(len(data)), draw.randrange(1, 256)
            changed = data[:at] + bytes([data[at] ^ flipped]) + data[at + 1 :]
            cut = data[: draw.randrange(len(data))]
            for content in (changed, cut, data + b" ", data + changed):
                folder = copied()
                (folder / name).write_bytes(content)
                was_refused = refused(folder, (name, at, flipped), before)
                assert was_refused or name == "manifest.json"


def linked(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def a_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def endless(path: Path) -> None:
    os.truncate(path, 1 << 40)


def gone(path: Path) -> None:
    path.unlink()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
@pytest.mark.parametrize("change", [linked, a_device, a_pipe, a_folder, endless, gone])
def test_what_is_no_regular_file_is_not_opened(copied: Callable[[], Path], change: Callable[[Path], None]) -> None:
    for name in FILES:
        folder = copied()
        change(folder / name)
        assert refused(folder, name)


def test_swapped_files_are_refused(copied: Callable[[], Path]) -> None:
    for one, other in zip(FILES, FILES[1:] + FILES[:1], strict=True):
        folder = copied()
        (folder / one).rename(folder / "x")
        (folder / other).rename(folder / one)
        (folder / "x").rename(folder / other)
        assert refused(folder, (one, other))


def test_the_file_that_was_changed_is_named(copied: Callable[[], Path]) -> None:
    folder = copied()
    data = bytearray((folder / "pairs.parquet").read_bytes())
    data[100] ^= 1
    (folder / "pairs.parquet").write_bytes(data)
    with pytest.raises(InputError) as said:
        nd.load(folder)
    assert has_parts(
        str(said.value), f"{folder} cannot be used: pairs.parquet", "SHA-256", "manifest.json", "Make the result"
    )


# --- changed and sealed: run.json


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key and every first element, at whatever depth."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value[:1]))
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def with_change(run: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed: Any = json.loads(json.dumps(run))
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    if value is refused:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return dict(changed)


def test_a_changed_account_is_refused_in_words(copied: Callable[[], Path]) -> None:
    folder = copied()
    run, draw, count = run_json(folder), random.Random(2), 0
    for path in [*places(run)][:: 1 if FULL else 3]:
        for value in (refused, *draw.sample(ODD, 1)):
            (folder / "run.json").write_text(json.dumps(with_change(run, path, value)))
            seal(folder)
            count += refused(folder, (path, value))
    assert count > 40


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"\xff\xfe{}",
        DEEP.encode(),
        b'{"neardup_version": "0.1.0", "format": 2, "settings": ' + DEEP.encode() + b"}",
        b'{"neardup_version": "0.1.0", "format": NaN}',
        b'{"neardup_version": "0.1.0", "format": 2' + b"0" * 5000 + b"}",
        b'{"neardup_version": "\xed\xa0\x80", "format": 2}',
        b'{"neardup_version": "0.1.0", "format": true}',
    ],
)
def test_what_is_no_account(copied: Callable[[], Path], content: bytes) -> None:
    folder = copied()
    (folder / "run.json").write_bytes(content)
    seal(folder)
    assert refused(folder, content[:60])
    (folder / "manifest.json").write_bytes(content)
    assert refused(folder, content[:60])


def test_numbers_that_json_has_not(copied: Callable[[], Path]) -> None:
    folder = copied()
    text = (folder / "run.json").read_text()
    for old in ('"threshold": 0.5', '"peak_memory_bytes": '):
        for new in ("NaN", "Infinity", "1e999", "-1e999", "9" * 400, "0x1"):
            number = old.split(": ")[0] + f": {new}, "
            (folder / "run.json").write_text(text.replace(old, number + '"x": ', 1))
            seal(folder)
            assert refused(folder, (old, new))


# --- changed and sealed: tables


def changed_tables(table: pa.Table, draw: random.Random) -> Iterator[tuple[str, pa.Table]]:
    """Each column dropped, renamed, of another type, with a gap, with values that cannot be; rows moved."""
    n = table.num_rows
    for k, name in enumerate(table.column_names):
        values = table[name].to_pylist()
        yield f"{name} dropped", table.drop_columns([name])
        yield f"{name} renamed", table.rename_columns([*table.column_names[:k], "x", *table.column_names[k + 1 :]])
        yield f"{name} twice", table.append_column(name, table[name])
        for kind in (pa.string(), pa.int32(), pa.float32(), pa.binary(), pa.list_(pa.int64()), pa.null()):
            odd = pa.array([None] * n, kind) if kind != pa.string() else pa.array(["x"] * n)
            yield f"{name} is {kind}", table.set_column(k, name, odd)
        extreme = [
            None,
            *{"int64": (-1, 0, 2**63 - 1, 10**12), "double": (-1.0, 2.0, 1e308, float("nan"))}.get(
                str(table.schema.field(name).type),
                (True, False) if isinstance(values[0] if n else 0, bool) else (),
            ),
        ]
        for value in extreme if n else ():
            row = draw.randrange(n)
            other = pa.array(
                [value if i == row else old for i, old in enumerate(values)], table.schema.field(name).type
            )
            yield f"{name}[{row}] = {value}", table.set_column(k, name, other)
    if n:
        yield "without rows", table.slice(0, 0)
        yield "without the last", table.slice(0, n - 1)
        yield "backwards", table.take(list(range(n))[::-1])
        yield "the first twice", table.take([0, *range(n)])
        yield "all twice", pa.concat_tables([table, table])
        named = ("id", "group", "copy")
        for name in [each for each in table.column_names if each.startswith(named) and each != "identical"]:
            nobody = pa.array([10**6] * n, table.schema.field(name).type)
            yield f"{name} is nobody", table.set_column(table.column_names.index(name), name, nobody)


def test_changed_tables_are_refused_in_words(copied: Callable[[], Path]) -> None:
    folder, draw = copied(), random.Random(3)
    count = tries = 0
    for name in TABLES:
        path = folder / f"{name}.parquet"
        before = path.read_bytes()
        table = pq.read_table(path)
        for said, changed in changed_tables(table, draw):
            pq.write_table(changed, path)
            seal(folder)
            tries += 1
            count += refused(folder, (name, said))
        path.write_bytes(before)
    assert tries > 300
    assert count > 0.8 * tries


def test_texts_that_are_no_text(copied: Callable[[], Path]) -> None:
    folder = copied()
    groups = pq.read_table(folder / "groups.parquet")
    broken = pa.array([b"\xff\xfe"] * groups.num_rows, pa.binary()).view(pa.string())
    pq.write_table(
        groups.set_column(groups.column_names.index("reason"), "reason", broken), folder / "groups.parquet"
    )
    seal(folder)
    assert refused(folder, "reason")
