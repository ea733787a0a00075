"""Mailboxes and Maildir: where messages begin, the messages as they were sent, and the kept ones byte for byte."""

from __future__ import annotations

import gzip
import io
import mailbox
from pathlib import Path

import numpy as np
import pytest

from neardup.errors import InputError
from neardup.io.containers import base, mailboxes
from neardup.io.containers.mailboxes import begins_of, message_of
from neardup.io.readers import choose_columns, open_documents, read_document
from support.kept_documents import keep, read
from support.made_archives import WHEN, mbox_of
from support.made_files import eml_of
from support.messages import has_parts

MAILS = [eml_of(f"The text of mail {i}.\nIt has two lines.", f"mail {i}") for i in range(5)]


def begins(data: bytes) -> list[int]:
    return list(begins_of(io.BytesIO(data).read)[0])


def naive_begins(data: bytes) -> list[int]:
    """The begins of messages by the rule, line by line."""
    found, place, lines = [], 0, data.split(b"\n")
    for number, line in enumerate(lines):
        if line.startswith(b"From "):
            before = number == 0 or not lines[number - 1].strip()
            words = line.split()
            dated = any(b":" in word for word in words[1:-1]) and words[-1].isdigit() and len(words[-1]) == 4
            follows = lines[number + 1] if number + 1 < len(lines) else b""
            header = follows.startswith(b"From ") or (b":" in follows and b" " not in follows.split(b":")[0])
            if before + dated + header >= 2:
                found.append(place)
        place += len(line) + 1
    return found


@pytest.mark.parametrize("block", [1, 7, 300, 8 << 20])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_messages_begin_where_the_rule_and_the_standard_library_say(
    tmp_path: Path, block: int, end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailboxes, "_BLOCK", block)
    data = mbox_of([mail.replace(b"two lines", b"two lines\n\nFrom here on\nFrom there") for mail in MAILS])
    data = data.replace(b"\n", end)
    assert begins(data) == naive_begins(data)
    (tmp_path / "a.mbox").write_bytes(data)
    if end == b"\n":
        library = mailbox.mbox(tmp_path / "a.mbox")
        assert len(library) == len(begins(data)) == 5
        library.close()


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"", 0),
        (b"From now on", 0),
        (f"From a@b {WHEN}\nSubject: x\n\nbody".encode(), 1),
        (b"From nobody\nSubject: no date\n\nbody\n\nFrom nobody\nSubject: y\n\n", 2),
        (f"From a@b {WHEN}\nSubject: x\n\nbody\n\nFrom now on we write\nmore\n".encode(), 1),
        (f"From a@b {WHEN}\nSubject: x\n\nno empty line\nFrom c@d {WHEN}\nSubject: y\n\n".encode(), 2),
        (f"From a@b {WHEN}\nSubject: x\n\nHe wrote:\nFrom c@d {WHEN}\nbody\n".encode(), 1),
        (f"\n\nFrom - {WHEN}\nSubject: Thunderbird\n\n".encode(), 1),
        (f"From 1@xxx Mon Jan 06 10:00:00 +0000 2020\nX-GM-THRID: 1\n\n{WHEN}\n".encode(), 1),
    ],
)
def test_lines_that_begin_a_message(data: bytes, count: int) -> None:
    assert len(begins(data)) == count


def test_messages_are_as_they_were_sent() -> None:
    mail = b"Subject: x\n\nFrom here\n>From there\n>>From afar\nnot from\n"
    data = mbox_of([mail, mail])
    first, second = begins(data)
    assert message_of(data[first:second]) == message_of(data[second:]) == mail
    assert message_of(data[first:second].replace(b"\n", b"\r\n")) == mail.replace(b"\n", b"\r\n")


def test_a_mailbox_is_read_as_its_mails_in_files_are(tmp_path: Path) -> None:
    (tmp_path / "in.mbox").write_bytes(mbox_of(MAILS))
    (tmp_path / "in").mkdir()
    for number, content in enumerate(MAILS, 1):
        (tmp_path / "in" / f"{number}.eml").write_bytes(content)
    columns = ["id", "text", "subject", "from"]
    found = []
    for path in (tmp_path / "in.mbox", tmp_path / "in"):
        documents = open_documents(path)
        choose_columns(documents, None, None)
        (chunk,) = documents.chunks()
        found.append(chunk.read(columns).table.to_pylist())
    assert [{**row, "id": f"in.mbox!/{row['id']}"} for row in found[1]] == found[0]
    assert read_document(f"{tmp_path}/in.mbox!/2.eml") == found[1][1]["text"].decode()


@pytest.mark.parametrize("suffix", [".mbox", ".mbox.gz", ".mbx"])
def test_kept_messages_are_byte_identical(tmp_path: Path, suffix: str) -> None:
    data = mbox_of([mail + b"\n\nFrom here\n" for mail in MAILS])
    path = tmp_path / f"in{suffix}"
    path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    kept = keep(path, tmp_path / "out", {f"in{suffix}!/{number}.eml" for number in (1, 3, 4)})
    assert kept.name == f"kept{suffix}"
    places = [*begins(data), len(data)]
    wanted = b"".join(data[places[number] : places[number + 1]] for number in (0, 2, 3))
    written = kept.read_bytes()
    assert (gzip.decompress(written) if suffix.endswith("gz") else written) == wanted


def test_broken_messages_are_problems_with_their_number_and_are_kept(tmp_path: Path) -> None:
    broken = f"From a@b {WHEN}\n\nno header at all\n\n".encode()
    data = mbox_of(MAILS[:2]) + broken + mbox_of(MAILS[2:3])
    (tmp_path / "in.mbox").write_bytes(b"spoilt begin\n\n" + data)
    texts, problems, aside = read(tmp_path / "in.mbox")
    assert list(texts) == ["in.mbox!/1.eml", "in.mbox!/2.eml", "in.mbox!/4.eml"]
    assert [one.file for one in problems] == ["in.mbox!/3.eml"]
    assert has_parts(problems[0].reason, "not a mail", "no header")
    assert [(name, has_parts(why, "14 bytes", "before the first")) for name, why in aside] == [("in.mbox", True)]
    kept = keep(tmp_path / "in.mbox", tmp_path / "out", {"in.mbox!/1.eml"})
    assert kept.read_bytes() == mbox_of(MAILS[:1]) + broken


def test_a_cut_off_compressed_mailbox_loses_its_last_message(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    mails = [eml_of(rng.bytes(500).hex(), str(i)) for i in range(20)]
    whole = gzip.compress(mbox_of(mails))
    (tmp_path / "in.mbox.gz").write_bytes(whole[: len(whole) // 2])
    documents = open_documents(tmp_path / "in.mbox.gz")
    names = [source.name for source in documents.sources]  # type: ignore[attr-defined]
    assert names[-1] == "in.mbox.gz"
    assert 5 < len(names) < 15
    (chunk,) = documents.chunks()
    rows = chunk.read(["text"])
    assert rows.table["text"].to_pylist() == [read_document_bytes(mail) for mail in mails[: len(names) - 1]]
    assert "Truncated compressed stream" in rows.problems[0].reason


def read_document_bytes(mail: bytes) -> bytes:
    from neardup.io.formats import extract

    return extract(mail, "a.eml").encode()


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MEMBERS", 3)
    (tmp_path / "in.mbox").write_bytes(mbox_of(MAILS))
    texts, problems, _ = read(tmp_path / "in.mbox")
    assert len(texts) == 3
    assert "more than 3 messages" in problems[0].reason


def test_an_empty_mailbox_has_no_documents(tmp_path: Path) -> None:
    (tmp_path / "in.mbox").write_bytes(b"")
    with pytest.raises(InputError, match="has no documents"):
        open_documents(tmp_path / "in.mbox")


def maildir(folder: Path) -> Path:
    """A Maildir as a mail server writes it, with a folder .Sent."""
    for part in ("cur", "new", "tmp", ".Sent/cur", ".Sent/new", ".Sent/tmp", ".stale"):
        (folder / part).mkdir(parents=True)
    (folder / "cur" / "1204680122.27c448.host:2,S").write_bytes(MAILS[0])
    (folder / "cur" / "1204680123.27c448.host.html:2,").write_bytes(MAILS[1])
    (folder / "new" / "1204680124.27c448.mail.txt").write_bytes(MAILS[2])
    (folder / ".Sent" / "cur" / "1204680125.27c448.host:2,S").write_bytes(MAILS[3])
    (folder / "tmp" / "1204680126.27c448.host").write_bytes(MAILS[4][:30])
    (folder / "dovecot-uidlist").write_bytes(b"3 V1 N4\n")
    return folder


def test_each_file_of_a_maildir_is_a_mail(tmp_path: Path) -> None:
    documents = open_documents(maildir(tmp_path / "in"))
    choose_columns(documents, None, None)
    (chunk,) = documents.chunks()
    rows = chunk.read(["id", "subject"]).table.to_pylist()
    assert {row["id"]: row["subject"] for row in rows} == {
        ".Sent/cur/1204680125.27c448.host:2,S": "mail 3",
        "cur/1204680122.27c448.host:2,S": "mail 0",
        "cur/1204680123.27c448.host.html:2,": "mail 1",
        "new/1204680124.27c448.mail.txt": "mail 2",
    }
    assert {one.name: one.why for one in documents.findings.aside} == {
        ".stale/": "hidden",
        "dovecot-uidlist": "beside the mails of a Maildir",
        "tmp/": "mails that are being delivered",
    }


def test_the_kept_mails_of_a_maildir_are_a_maildir(tmp_path: Path) -> None:
    wanted = "cur/1204680122.27c448.host:2,S"
    kept = keep(maildir(tmp_path / "in"), tmp_path / "out", {wanted})
    assert (kept / wanted).read_bytes() == MAILS[0]
    assert [source.name for source in open_documents(kept).sources] == [wanted]  # type: ignore[attr-defined]
    assert len(mailbox.Maildir(kept)) == 1


def test_a_folder_with_only_a_folder_new_is_no_maildir(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "notes").write_bytes(b"plain notes")
    texts, problems, _ = read(tmp_path)
    assert (texts, problems) == ({"new/notes": "plain notes"}, [])
