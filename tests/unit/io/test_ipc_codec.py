"""The codec of the buffers of Arrow files."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.ipc import codec_of
from neardup.io.writers import OutputFolder, open_kept, read_native

TABLE = pa.table({"text": ["some text " * 20] * 100, "kind": pa.array(["x", "y"] * 50).dictionary_encode()})


def write(path: Path, codec: str | None, stream: bool, table: pa.Table = TABLE) -> Path:
    opened = pa.ipc.new_stream if stream else pa.ipc.new_file
    with opened(str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as file:
        file.write_table(table)
    return path


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
def test_kept_arrow_has_the_codec_of_its_input(tmp_path: Path, codec: str | None, stream: bool) -> None:
    path = write(tmp_path / "a.arrow", codec, stream)
    with pa.OSFile(str(path)) as file:
        assert codec_of(file) == codec
    documents = open_documents(path)
    choose_columns(documents, "text", None)
    with OutputFolder(tmp_path / "out") as folder, open_kept(folder, documents) as writer:
        for _, native in map(read_native, writer.natives()):
            writer.write(native, np.ones(len(native.row_numbers), np.bool_))
    with pa.OSFile(str(tmp_path / "out" / "kept.arrow")) as file:
        assert codec_of(file) == codec
    read = pa.ipc.open_stream if stream else pa.ipc.open_file
    assert read(str(tmp_path / "out" / "kept.arrow")).read_all().equals(TABLE)


def test_a_file_without_batches_and_damaged_files_have_none(tmp_path: Path) -> None:
    path = write(tmp_path / "a.arrow", "zstd", True, TABLE.slice(0, 0))
    with pa.OSFile(str(path)) as file:
        assert codec_of(file) is None
    whole = write(tmp_path / "b.arrow", "zstd", True).read_bytes()
    rng = random.Random(4)
    for _ in range(200):
        data = bytearray(whole)
        data[rng.randrange(len(data))] = rng.randrange(256)
        assert codec_of(pa.BufferReader(bytes(data[: rng.randrange(len(data))]))) in (None, "lz4", "zstd")
