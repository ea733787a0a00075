"""Texts that are not UTF-8: detected per file, reported with the certainty, overridden by a setting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neardup.errors import SettingError
from neardup.io.formats.charsets import SAMPLE_BYTES, charset_of, utf8_text
from neardup.io.readers import csv, lines, open_documents, open_files, read_document
from neardup.io.readers.base import Documents
from neardup.settings import ReadingSettings, Settings
from support.reading import read_all
from support.shared_data import folder

GERMAN = "Grüße aus der schönen Stadt Köln am Rhein, wo es täglich regnet und man Kölsch trinkt.\n"
# languages of the declaration of human rights, with the encodings of old files in them
OLD = {
    **dict.fromkeys(("deu", "fra", "spa", "por", "ita", "nld", "swe", "dan", "fin"), ("cp1252",)),
    **dict.fromkeys(("pol", "ces", "hun", "ron", "hrv", "slv"), ("cp1250",)),
    "rus": ("cp1251", "koi8_r", "cp866"),
    "ukr": ("cp1251", "koi8_u"),
    "ell": ("cp1253",),
    "tur": ("cp1254",),
    "heb": ("cp1255",),
    "tha": ("cp874",),
    "jpn": ("cp932", "euc_jp"),
    "cmn": ("gb18030", "big5"),
    "kor": ("cp949",),
}


def texts(documents: Documents) -> list[str]:
    return [row["text"].decode() for row in read_all(documents, ["text"])[0]]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"]
)
def test_letters_are_read_whatever_program_wrote_them(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.txt").write_bytes((GERMAN * 3).encode(encoding))
    (tmp_path / "b.txt").write_bytes(b"plain")
    documents = open_documents(tmp_path)
    assert texts(documents) == [GERMAN * 3, "plain"]
    assert read_document(tmp_path / "a.txt") == GERMAN * 3
    found = documents.findings.encodings
    if encoding.startswith("utf-8"):
        assert not found
        assert not documents.findings.reading_notes()
    else:
        assert list(found) == ["a.txt"]
        assert found["a.txt"].encoding in (encoding, f"{encoding}-le")
        assert found["a.txt"].certainty > 0.9
        assert documents.findings.as_dict()["encodings"] == {found["a.txt"].encoding: 1}
        assert "--encoding overrides" in documents.findings.reading_notes()[0]


@pytest.mark.part(2)
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("chunk_bytes", [100, 1 << 20])
def test_rows_are_read_in_any_encoding(tmp_path: Path, name: str, encoding: str, chunk_bytes: int) -> None:
    rows = [GERMAN.strip() + str(i) for i in range(40)]
    lines = ["text", *(f'"{row}"' for row in rows)] if name == "a.csv" else [json.dumps({"text": r}) for r in rows]
    if name == "a.jsonl":
        lines = [json.dumps({"text": row}, ensure_ascii=False) for row in rows]
    (tmp_path / name).write_bytes("\n".join(lines).encode(encoding))
    documents = open_documents(tmp_path / name, chunk_bytes=chunk_bytes)
    assert texts(documents) == rows
    assert bool(documents.findings.encodings) == (encoding != "utf-8-sig")


def test_a_setting_overrides_what_the_bytes_say(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(GERMAN.encode("cp850"))
    (tmp_path / "a.csv").write_bytes(b"text\n" + GERMAN.replace(",", "").encode("cp850"))
    (tmp_path / "a.jsonl").write_bytes(json.dumps({"text": GERMAN.strip()}, ensure_ascii=False).encode("cp850"))
    for name in ("a.txt", "a.csv", "a.jsonl"):
        documents = open_files([tmp_path / name], reading=ReadingSettings(encoding="cp850"))
        assert "Grüße aus der schönen Stadt Köln" in texts(documents)[0]
        (found,) = documents.findings.encodings.values()
        assert (found.encoding, found.how, found.certainty) == ("cp850", "given", 1.0)


@pytest.mark.parametrize("name", ["latin-77", "idna", "unicode_escape", "hex", "a\0b", ""])
def test_an_encoding_that_is_none(name: str) -> None:
    with pytest.raises(SettingError, match=r"Allowed: auto, .*encoding"):
        Settings.of(encoding=name)


def test_a_file_with_some_damage_stays_utf_8() -> None:
    data = (GERMAN * 3).encode() + b"\xff and the rest"
    assert charset_of(data).encoding == "utf-8"
    assert utf8_text(data, charset_of(data)) == data


def test_bytes_that_are_no_text_have_no_encoding() -> None:
    for data in (b"a\xff\x00", bytes(range(256)) * 4, b"\x00" * 100):
        assert charset_of(data).how == "not found"


def test_the_first_umlaut_of_a_long_file_is_found(tmp_path: Path) -> None:
    plain = b"plain words without any accent\n"
    late = plain * (2 * SAMPLE_BYTES // len(plain)) + (GERMAN * 3).encode("cp1252")
    assert charset_of(late).encoding == "cp1252"
    rows = [b'{"text": "%s"}\n' % plain.strip()] * (2 * lines.HEAD_BYTES // len(plain))
    german = [b'{"text": "%s"}\n' % GERMAN.strip().encode("cp1252")] * 2000
    (tmp_path / "a.jsonl").write_bytes(b"".join(rows + german))
    (found,) = open_documents(tmp_path / "a.jsonl").findings.encodings.values()
    assert found.encoding == "cp1252"


def test_old_encodings_of_many_languages() -> None:
    """1500 characters of the declaration of human rights suffice to detect nearly every encoding."""
    tried, wrong = 0, []
    for line in (folder("udhr") / "documents.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        for encoding in OLD.get(document["iso639_3"], ()):
            data = document["text"][:1500].encode(encoding, "ignore")
            if data.isascii():
                continue
            tried += 1
            found = charset_of(data)
            if utf8_text(data, found).decode() != data.decode(encoding):
                wrong.append((document["id"], encoding, found))
    assert tried > 20
    assert len(wrong) <= tried // 20, wrong


@pytest.mark.parametrize(
    ("head", "delimiter"),
    [
        (b"id,text\n1,a;b\n2,c\n", ","),
        (b"id;text\n1;a, b\n2;c\n", ";"),
        (b"id|text\n1|a, b\n2|c\n", "|"),
        (b"id\ttext\n1\ta, b\n2\tc\n", "\t"),
        (b"text\na, b\nc; d; e\n", ","),
        (b"text\n", ","),
        (b"", ","),
        (b'id;text\n1;"a; b\nc"\n2;"d"\n', ";"),
        (b"\0" * 9000, ","),
    ],
)
def test_the_first_lines_show_the_delimiter(tmp_path: Path, head: bytes, delimiter: str) -> None:
    (tmp_path / "a.csv").write_bytes(head)
    source = open_documents(tmp_path).sources[0] if head.startswith(b"id") else None  # type: ignore[attr-defined]
    if source is not None:
        documents = open_documents(tmp_path)
        assert [column.name for column in documents.columns] == ["id", "text"]
        assert bool(documents.findings.notes) == (delimiter != ",")
    named = csv.Source("a.csv", str(tmp_path / "a.csv"))
    assert csv.dialect_of(named, head).delimiter == delimiter


def test_a_delimiter_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id^text\n1^a,b\n")
    documents = open_files([tmp_path / "a.csv"], reading=ReadingSettings(delimiter="^"))
    assert texts(documents) == ["a,b"]
    assert open_files([tmp_path / "a.csv"], reading=ReadingSettings(delimiter="tab")).delimiter == "\t"  # type: ignore[attr-defined]
    for wrong in ("", "ab", "ä", '"', "\n"):
        with pytest.raises(SettingError):
            Settings.of(delimiter=wrong)
