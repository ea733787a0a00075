"""Folders of fingerprints from anybody: a change in any file is an error in words that names the folder."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

import neardup as nd
from neardup.deduplication.run.parts.merge import save_fingerprints
from neardup.deduplication.run.parts.rows import NewKeys, meeting_rows
from neardup.io.fingerprints.companions import SHARED, new_key_file, read_secret, shared_secret
from neardup.io.fingerprints.folder import (
    FILES,
    FORMAT,
    MANIFEST,
    SavedFingerprints,
    manifest_of,
    read_fingerprints,
)
from neardup.io.readers import choose_columns, open_files
from neardup.text.lsh.bands import plan
from support.made_texts import Writer

PLAN = plan(0.8, 0.99, 128)


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A part of 120 documents."""
    folder, writer = tmp_path_factory.mktemp("parts"), Writer(seed=4)
    texts = [" ".join(writer.words(30)) for _ in range(60)]
    lines = [json.dumps({"id": f"d{number}", "text": text}) for number, text in enumerate(texts * 2)]
    (folder / "some.jsonl").write_text("\n".join([*lines, "{torn"]))
    documents = open_files([folder / "some.jsonl"])
    save_fingerprints(documents, choose_columns(documents, None, None), nd.Settings.of(), folder / "FP" / "some")
    return folder / "FP" / "some"


def used(folder: Path) -> SavedFingerprints:
    """Read all of a part, and look up in it."""
    found = read_fingerprints(folder, manifest_of(folder), read_secret(folder.parent / SHARED))
    chunks = list(found.chunks())
    assert sum(len(chunk.units) for chunk in chunks) == 120
    found.places()
    assert len(meeting_rows(found, NewKeys.of(chunks, PLAN))) == 120
    assert len(meeting_rows(found, NewKeys.of(chunks, plan(0.5, 0.9, 128)))) == 120
    return found


def copied(part: Path, folder: Path) -> Path:
    shutil.copytree(part.parent, folder / "FP")
    return folder / "FP" / part.name


def test_whole_fingerprints_are_read(part: Path) -> None:
    assert used(part).manifest.counts.problems == 1


@pytest.mark.parametrize("name", [MANIFEST, *FILES])
def test_a_file_that_is_missing_or_changed_is_named(part: Path, name: str, tmp_path: Path) -> None:
    folder, draw = copied(part, tmp_path), random.Random(name)
    whole = (folder / name).read_bytes()
    for _ in range(12):
        changed = bytearray(whole)
        at = draw.randrange(len(changed))
        changed[at] ^= draw.randrange(1, 256)
        cut = draw.choice((changed, changed[:at], changed + b"x"))
        (folder / name).write_bytes(cut)
        if name == MANIFEST and cut is changed and json_or_none(cut) == json.loads(whole):
            continue
        with pytest.raises((nd.InputError, nd.FormatError), match="some"):
            used(folder)
    (folder / name).unlink()
    with pytest.raises(nd.InputError) as missing:
        used(folder)
    assert "some" in missing.value.given


def json_or_none(data: bytes) -> object:
    try:
        return json.loads(data)
    except ValueError:
        return None


def test_a_manifest_is_sealed_by_the_key(part: Path, tmp_path: Path) -> None:
    folder = copied(part, tmp_path)
    told = json.loads((folder / MANIFEST).read_text())
    told["input"]["sources"][0]["path"] = "/etc/passwd"
    (folder / MANIFEST).write_text(json.dumps(told))
    with pytest.raises(nd.InputError, match="its seal is not"):
        used(folder)


def test_another_version_is_refused(part: Path, tmp_path: Path) -> None:
    folder = copied(part, tmp_path)
    told = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**told, "format": FORMAT + 1}))
    with pytest.raises(nd.FormatError):
        used(folder)


def test_a_key_file_is_made_once_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "FP" / SHARED
    assert shared_secret(path, b"a" * 32) == shared_secret(path, b"b" * 32) == b"a" * 32
    assert path.stat().st_mode & 0o77 == 0
    with pytest.raises(nd.OutputError):
        new_key_file(path, b"c" * 32)
    path.write_text("not a key")
    with pytest.raises(nd.InputError, match="not a key file"):
        read_secret(path)


def test_texts_are_not_in_fingerprints(part: Path) -> None:
    text = json.loads((part.parent.parent / "some.jsonl").read_text().splitlines()[0])["text"]
    words = [word.encode() for word in text.split() if len(word) > 5]
    assert words
    for name in (MANIFEST, *FILES):
        data = (part / name).read_bytes()
        assert not any(word in data for word in words), name


def test_a_row_without_text_has_no_signature(tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_text('{"text": " "}\n{"text": "a few words"}\n')
    documents = open_files([tmp_path / "some.jsonl"])
    save_fingerprints(documents, choose_columns(documents, None, None), nd.Settings.of(), tmp_path / "FP")
    found = read_fingerprints(tmp_path / "FP", manifest_of(tmp_path / "FP"), read_secret(tmp_path / SHARED))
    (chunk,) = found.chunks()
    assert not chunk.signatures[0].any()
    assert chunk.signatures[1].all()


def test_the_sorted_keys_are_those_of_the_signatures(part: Path) -> None:
    found = used(part)
    chunks = list(found.chunks())
    some = NewKeys.of([chunks[0]], PLAN)
    less = NewKeys(PLAN, tuple(keys[:3] for keys in some.bands), some.seals[:1])
    unsorted = msgspec.structs.replace(found.manifest, bands=())
    scanned = SavedFingerprints(found.folder, unsorted)
    assert np.array_equal(meeting_rows(found, less), meeting_rows(scanned, less))
