"""The metadata of files: sender, recipients and date of mails, titles, authors; and hostile headers."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.io.formats import content, read
from neardup.io.formats.content import LISTS, METADATA, Content, utc
from neardup.io.formats.extractor import Extractor
from neardup.io.formats.mail import people
from support.full_run import FULL
from support.made_files import docx, docx_of, eml_of, html_of, msg, msg_of, pdf_of
from support.paths import DOCS

MAIL = b"""\
From: =?utf-8?q?J=C3=BCrgen_M?= <Juergen.M@Example.org>
To: "Lee, Ann" <ann@example.org>, team@example.org
 , Bob <BOB@example.org>
Cc: undisclosed-recipients:;
Date: Fri, 31 Jan 2020 23:30:00 -0500
Subject: Re:  boats

Three of them.
"""


def wide(text: str) -> bytes:
    return text.encode("utf-16-le")


def metadata(data: bytes, name: str) -> Any:
    found = read(data, name)
    with Extractor() as extractor:
        assert extractor.read(data, name) == found, "the process of its own gives the same"
    return found.metadata


def test_a_mail() -> None:
    assert metadata(MAIL, "a.eml") == {
        "from": ["juergen.m@example.org", "Jürgen M"],
        "to": ["ann@example.org", "Lee, Ann", "team@example.org", "bob@example.org", "Bob"],
        "date": "2020-02-01T04:30:00Z",
        "subject": "Re: boats",
    }
    assert read(MAIL, "a.eml").text == "Re:  boats\n\nThree of them."


def test_a_pdf() -> None:
    info = rb"/Title (Minutes \(draft\)) /Author (Ann Lee) /CreationDate (D:20200131173000+01'00') /Producer (x)"
    assert metadata(pdf_of("words", info=info), "a.pdf") == {
        "title": "Minutes (draft)",
        "author": "Ann Lee",
        "date": "2020-01-31T16:30:00Z",
    }
    assert metadata(pdf_of("words"), "a.pdf") == {}
    assert metadata(pdf_of("words", info=b"/CreationDate (yesterday)"), "a.pdf") == {}


def test_a_docx() -> None:
    properties = (
        "<dc:title>Minutes</dc:title><dc:creator>Ann &amp; Bob</dc:creator>"
        "<dcterms:created>2020-01-31T16:30:00Z</dcterms:created><dc:subject>no</dc:subject>"
    )
    made = docx("<w:p><w:r><w:t>words</w:t></w:r></w:p>", properties)
    assert metadata(made, "a.docx") == {"title": "Minutes", "author": "Ann & Bob", "date": "2020-01-31T16:30:00Z"}
    assert metadata(docx_of("words"), "a.docx") == {}
    broken = docx("<w:p><w:r><w:t>words</w:t></w:r></w:p>", "<dc:title>Minutes")
    assert read(broken, "a.docx") == Content("words", origin="digital")


def test_a_page() -> None:
    page = '<meta NAME="Author" content="Ann &amp; Bob"><meta name=author content=x><title>A\n page</title>words'
    drawing = "<svg><title>a drawing</title></svg>"
    assert metadata((page + drawing).encode(), "a.html") == {"title": "A page", "author": "Ann & Bob"}


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ('<link rel="canonical" href=" https://example.org/a?b&amp;c ">', "https://example.org/a?b&c"),
        ('<LINK REL="shortlink Canonical" HREF=http://example.org>', "http://example.org"),
        ('<link rel=canonical href="/relative">', None),
        ('<link rel=canonical href="javascript:alert(1)">', None),
        ("<link rel=canonical><link rel href=https://example.org>", None),
        ("<link rel=canonical href=https://a.org/1><link rel=canonical href=https://a.org/2>", "https://a.org/1"),
    ],
)
def test_the_address_of_a_page_is_the_first_canonical_one(link: str, url: str | None) -> None:
    assert metadata(f"<p>words</p>{link}".encode(), "a.html").get("url") == url
    assert metadata(b"<meta name=author>words", "a.html") == {}


def test_an_outlook_message() -> None:
    sent = {0x0039: int((datetime(2020, 1, 31, 16, 30) - datetime(1601, 1, 1)).total_seconds() * 10**7)}
    shown = {"0C1A001F": wide("Ann Lee"), "0C1F001F": wide("/O=X/CN=ANN"), "5D01001F": wide("Ann@example.org")}
    others = {"0E04001F": wide("Bob; Eve B"), "0E03001F": wide("\0"), "0037001F": wide("Re: boats")}
    assert metadata(msg({**shown, **others}, times=sent), "a.msg") == {
        "from": ["ann@example.org", "Ann Lee"],
        "to": ["Bob", "Eve B"],
        "date": "2020-01-31T16:30:00Z",
        "subject": "Re: boats",
    }
    head = MAIL.decode().partition("\n\n")[0].replace("\n", "\r\n")
    came = metadata(msg({**shown, **others, "007D001F": wide(head)}, times=sent), "a.msg")
    assert came == metadata(MAIL, "a.eml"), "the header with which it came says it best"


def test_what_has_no_metadata() -> None:
    assert [metadata(b"Title: x", name) for name in ("a.txt", "a.md")] == [{}, {}]
    assert metadata(html_of("words"), "a.html") == {"title": "a page"}
    assert metadata(msg_of("words", "boats"), "a.msg") == {"subject": "boats"}
    assert metadata(eml_of("words"), "a.eml") == {"from": ["a@example.org"], "to": ["b@example.org"]}


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        ("ann@example.org", ["ann@example.org"]),
        ("Ann <ann@example.org>, Ann <ann@example.org>", ["ann@example.org", "Ann"] * 2),
        ("=?utf-8?q?J=C3=BC=2C?= <j@x.org>, b@x.org", ["j@x.org", "Jü,", "b@x.org"]),
        ("team: a@x.org, b@x.org;", ["a@x.org", "b@x.org"]),
        ("", []),
        ("(" * 5000, []),
    ],
)
def test_people_of_a_header(raw: str, found: list[str]) -> None:
    assert read(f"Subject: s\nTo: {raw}\n\nwords".encode(), "a.eml").metadata.get("to", []) == list(
        dict.fromkeys(found)
    )


@given(st.datetimes(datetime(1000, 1, 3), datetime(9998, 1, 1)), st.integers(-23 * 60, 23 * 60))
def test_a_date_is_the_same_moment_in_utc(when: datetime, minutes: int) -> None:
    local = when.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=minutes)))
    said = utc(local)
    assert datetime.fromisoformat(said) == local
    later = local + timedelta(seconds=1)
    assert said < utc(later.astimezone(timezone(timedelta(hours=5)))), "by code point is by time"


@pytest.mark.parametrize(
    "date",
    [
        "no date",
        "Fri, 31 Jan 20200 23:30:00 -0500",
        "31 Feb 2020 25:99:00",
        "31 Dec 9999 23:30:00 -0500",
        "(" * 10_000,
    ],
)
def test_a_date_that_is_none_is_left_out(date: str) -> None:
    found = read(f"Subject: s\nDate: {date}\n\nwords".encode(), "a.eml")
    assert found == Content("s\n\nwords", {"subject": "s"}, origin="digital")


HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["From", "To", "Cc", "Date", "Subject"]),
        st.lists(
            st.sampled_from(
                ["<", ">", "(", ")", '"', ",", ";", ":", "@", "=?utf-8?q?", "=?x?b?", "?=", "\\", "\r"]
            )
            | st.binary(max_size=4).map(lambda data: data.decode("latin-1")),
            max_size=12,
        ).map("".join),
    ),
    min_size=1,
)


@given(HEADERS)
def test_any_header_gives_what_can_be_kept(headers: list[tuple[str, str]]) -> None:
    lines = "".join(f"{name}: {value}\n" for name, value in headers)
    found = read(("X: y\n" + lines + "\nwords").encode("latin-1"), "a.eml").metadata
    assert set(found) <= set(METADATA)
    for key, value in found.items():
        assert isinstance(value, list) == (key in LISTS)
        for text in value if isinstance(value, list) else [value]:
            assert text == " ".join(text.split()) != ""
            assert text.encode("utf-8")


def test_values_are_cut_and_long_lists_are_not_read() -> None:
    found = read(b"Subject: " + b"s" * 5000 + b"\nFrom: " + b"f" * 5000 + b"\n\nwords", "a.eml").metadata
    assert (len(found["subject"]), [len(text) for text in found["from"]]) == (content.VALUE_CHARACTERS, [1000])
    many = ", ".join(f"p{number}@example.org" for number in range(1500))
    assert len(people(many)) == 1500
    assert len(read(f"To: {many}\n\nwords".encode(), "a.eml").metadata["to"]) == content.VALUES
    assert people("a@example.org," * 10_000) == []


@pytest.mark.parametrize("piece", ["(", "<", '"', "@", "[", ",", "a@b.c,", "=?utf-8?q?", "(a)", "\\", ";:"])
def test_no_header_takes_long(piece: str) -> None:
    times = 30_000 if FULL else 10_000
    begin = time.process_time()
    lines = "".join(f"{name}: {piece * times}\n" for name in ("From", "To", "Cc", "Subject", "Date") * 4)
    read(f"{lines}\nwords".encode(), "a.eml")
    assert time.process_time() - begin < 7


def test_the_page_names_every_key() -> None:
    page = (DOCS / "reference" / "formats.md").read_text(encoding="utf-8")
    table = page.partition("## What files say of themselves")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(METADATA)
