"""Files with secrets that other users may read are named, whichever secret it is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import neardup as nd
from neardup.io.fingerprints.companions import SHARED, new_key_file
from neardup.service.web.middleware import read_tokens

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX")
WORDS = "alpha beta gamma delta epsilon zeta"


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o400, False), (0o644, True), (0o640, True)])
def test_a_secret_that_others_may_read_is_warned_of(tmp_path: Path, mode: int, warned: bool) -> None:
    tokens, key = tmp_path / "tokens", tmp_path / "a.key"
    tokens.write_text("read " + "t" * 20)
    new_key_file(key, b"k" * 32)
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "a", "text": WORDS}) + "\n")
    for file in (tokens, key):
        file.chmod(mode)
    said = [read_tokens(tokens)[1]]
    made = nd.fingerprint_part(tmp_path / "a.jsonl", tmp_path / "part", key=key)
    said += ["\n".join(made.notes), "\n".join(nd.merge([tmp_path / "part"], key=key).run.notes)]
    assert [f"chmod 600 {file}" in words for file, words in zip((tokens, key, key), said, strict=True)] == [
        warned
    ] * 3


def test_the_key_that_the_first_part_makes_is_private(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "a", "text": WORDS}) + "\n")
    made = nd.fingerprint_part(tmp_path / "a.jsonl", tmp_path / "part")
    assert not [note for note in made.notes if "chmod" in note]
    (tmp_path / SHARED).chmod(0o644)
    assert [note for note in nd.merge([tmp_path / "part"]).run.notes if "chmod 600" in note]
