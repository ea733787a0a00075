"""The text extracted from a document, format by format."""

from __future__ import annotations

import re
import sys
from email.message import EmailMessage

import pytest

from neardup.errors import InputError
from neardup.io.containers import base as containers
from neardup.io.containers.codecs import XZ_BYTES
from neardup.io.formats import SUFFIXES, content, extract, format_of, packages, read
from neardup.io.readers.base import COLUMNS, DICTIONARY_BYTES, PAGE_BYTES, PAGE_RATIO, ROW_BYTES
from support.made_files import (
    WORD,
    docx,
    docx_of,
    drawn,
    eml_of,
    html_of,
    msg,
    msg_of,
    pdf_of,
    pdf_of_streams,
    stream,
)
from support.paths import DOCS

TEXT = "The quick brown fox\njumps over the lazy dog & runs (far) away — ünïcode <b>"
MAKERS = {"a.html": html_of, "a.docx": docx_of, "a.eml": eml_of, "a.msg": msg_of, "a.pdf": pdf_of}


@pytest.mark.parametrize("name", MAKERS)
def test_the_same_words_come_out_of_every_format(name: str) -> None:
    assert extract(MAKERS[name](TEXT), name).split() == TEXT.split()


@pytest.mark.parametrize("name", ["a.txt", "a.text", "a.md", "a.markdown", "a.xyz", "a"])
def test_plain_text_is_left_as_it_is(name: str) -> None:
    assert extract("# Ä <b>&amp;\n".encode() + b"\xff", name) == "# Ä <b>&amp;\n�"


def test_formats_by_suffix_then_by_signature() -> None:
    assert {suffix: format_of("A" + suffix.upper(), b"") for suffix in SUFFIXES} == SUFFIXES
    assert format_of("download", b"%PDF-1.4") == "pdf"
    assert format_of("notes.txt", b"%PDF-1.4") == "text"


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("a.pdf", b"<html>", "not a PDF file"),
        ("a.docx", b"%PDF-1.4", "not a DOCX file"),
        ("a.docx", msg_of("x"), "protected by a password, or an old .doc file"),
        ("a.docx", docx("").replace(b"_rels/.rels", b"_rels/.relz"), "damaged"),
        ("a.msg", b"\x01\x02", "not an Outlook message"),
        ("a.eml", b"\n\nonly words here", "it has no header"),
    ],
)
def test_a_file_that_is_not_what_its_name_says(name: str, data: bytes, told: str) -> None:
    with pytest.raises(InputError, match=told):
        extract(data, name)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>a<b>b</b>c<p>d<br>e", "abc\nd\ne"),
        ("<table><tr><td>a<td>b</table><ul><li>c<li>d</ul>", "a | b\nc\nd"),
        ("a<script>x<b>y</script>b<style>z</style>c", "abc"),
        ("a<script>if (x) '<!--' </script> b", "a b"),
        ("a<!-- <p>no --> b<!--> c<!--no--!> d", "a b c d"),
        ("<!doctype html><title>t</title><![CDATA[x]]>a<![if !x]>b<![endif]><?php no ?>c", "abc"),
        ("a<template><p>no<template>no</template>no</template><noscript>no</noscript>b", "ab"),
        ("&lt;a&gt; &eacute;&#233;&#xe9; &nbsp;&amp;amp; &unknown;", "<a> ééé \xa0&amp; &unknown;"),
        ("a<!-- never closed <p>b", "a"),
        ("<unknown-block>a</unknown-block>b", "a\nb"),
        ("a<img src=x alt='the harbour'>b<img alt='no' width=1 height=1>", "a\nthe harbour\nb"),
        ("Name<input value=Ann><input type=hidden value=no><input type=password value=no>", "Name\nAnn"),
        ("Town<input placeholder='your town'><input type=submit value=Send>", "Town\nyour town\nSend"),
        ("<select><option>no<option selected>two<option>no</select><textarea>free</textarea>", "two\nfree"),
        ("<select><option>one<option>no</select>a<datalist><option>no</datalist>", "one\na"),
        ("<select><option>no<option selected>never closed", "never closed"),
        ("<select multiple><option>one<option>two</select><select size=3><option>three", "one\ntwo\nthree"),
        ("a<input type=checkbox value=no><input type=range value=7><iframe src=f>no</iframe>b", "a\nb"),
    ],
)
def test_html_gives_what_is_seen(page: str, text: str) -> None:
    assert extract(page.encode(), "a.htm") == text


@pytest.mark.parametrize(
    ("page", "other", "kind"),
    [
        ("<img src=a>", "<img src=b>", "images"),
        ("<input type=image src=a>", "<input type=image src=b>", "images"),
        ("<iframe src=a></iframe>", "<iframe src=b></iframe>", "frames"),
        ("<video src=a></video>", "<audio src=a></audio><audio>", "videos and sounds"),
        ("<object data=a></object>", "<embed src=b>", "embedded objects"),
        ("<input type=checkbox name=q checked>", "<input type=checkbox name=q>", "check marks"),
        ("<input type=radio value=1>", "<input type=radio value=2>", "check marks"),
        ("<select multiple><option selected>x", "<select multiple><option>x", "check marks"),
    ],
)
def test_html_names_the_parts_that_it_does_not_read(page: str, other: str, kind: str) -> None:
    (found,), (found_there,) = (read(markup.encode(), "a.html").attachments for markup in (page, other))
    assert (found.kind, found.name, found_there.name) == (content.UNREAD, kind, kind)
    assert found.sha256 != found_there.sha256
    assert read(f"<noscript>{page}</noscript><template>{page}</template>".encode(), "a.html").attachments == ()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("<p>né€".encode(), "né€"),
        ("<p>né€".encode("cp1252"), "né€"),
        ("<meta charset=iso-8859-1><p>né€".encode("cp1252"), "né€"),
        ('<meta http-equiv="x" content="text/html; charset=koi8-r"><p>мир'.encode("koi8-r"), "мир"),
        ("<?xml version='1.0' encoding='shift_jis'?><p>日本".encode("shift_jis"), "日本"),
        (b"\xff\xfe" + "<p>né€".encode("utf-16-le"), "né€"),
        (b"\xef\xbb\xbf" + "<meta charset=koi8-r><p>né€".encode(), "né€"),
        ("<meta charset=utf-16><p>né€".encode(), "né€"),
        ("<meta charset=idna><p>né€".encode(), "né€"),
        ("<meta charset=no-such><p>né€".encode(), "né€"),
    ],
)
def test_charsets_of_html(data: bytes, text: str) -> None:
    assert extract(data, "a.html") == text


def run(text: str, properties: str = "") -> str:
    return f"<w:r>{f'<w:rPr>{properties}</w:rPr>' if properties else ''}<w:t>{text}</w:t></w:r>"


BODIES = {
    "word next": [f"<w:p>{run('wo')}{run('rd')}</w:p><w:p>{run('next')}</w:p>"],
    "a b c": ["<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>"],
    "a": [
        "<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr>" + run("a") + "</w:p>",
        "<w:p><w:r><w:instrText>PAGE</w:instrText></w:r>" + run("a") + "</w:p>",
        "<w:p><w:ruby><w:rt>" + run("no") + "</w:rt><w:rubyBase>" + run("a") + "</w:rubyBase></w:ruby></w:p>",
    ],
    "in | cells": [
        f"<w:tbl><w:tr><w:tc><w:p>{run('in')}</w:p></w:tc><w:tc><w:p>{run('cells')}</w:p></w:tc></w:tr></w:tbl>"
    ],
    "new": [f"<w:p><w:ins>{run('new')}</w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>"],
    "here": [f"<w:p><w:moveFrom>{run('there')}</w:moveFrom><w:moveTo>{run('here')}</w:moveTo></w:p>"],
    "seen": [
        f"<w:p>{run('seen')}{run(' hidden', '<w:vanish/>')}</w:p>",
        "<w:p>" + run("seen", '<w:vanish w:val="0"/>') + "</w:p>",
    ],
    "linked": [
        f"<w:p><w:hyperlink>{run('link')}</w:hyperlink>"
        f"<w:sdt><w:sdtContent>{run('ed')}</w:sdtContent></w:sdt></w:p>"
    ],
    "out box side": [
        f"<w:p>{run('out')}<w:r><w:txbxContent><w:p>{run('box')}</w:p></w:txbxContent></w:r>{run('side')}</w:p>"
    ],
    "once": [
        '<w:p xmlns:m="http://schemas.openxmlformats.org/markup-compatibility/2006"><m:AlternateContent>'
        f"<m:Choice>{run('once')}</m:Choice><m:Fallback>{run('once')}</m:Fallback></m:AlternateContent></w:p>"
    ],
}


@pytest.mark.parametrize(("words", "body"), [(words, body) for words in BODIES for body in BODIES[words]])
def test_docx_gives_what_is_printed(words: str, body: str) -> None:
    assert " ".join(extract(docx(body), "a.docx").split()) == words


def test_docx_notes_come_after_the_body() -> None:
    part = f"<w:x {WORD}><w:p>{run('%s')}</w:p></w:x>"
    made = docx(f"<w:p>{run('body')}</w:p>", footnotes=part % "foot", endnotes=part % "end", header1=part % "head")
    assert extract(made, "a.docx") == "body\nfoot\nend"


def test_docx_in_the_strict_namespace() -> None:
    space = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    document = f'<w:document xmlns:w="{space}"><w:p>{run("strict")}</w:p></w:document>'
    assert extract(docx(document.encode()), "a.docx") == "strict"


def test_pdf_joins_words_broken_at_the_end_of_a_line() -> None:
    made = pdf_of_streams([stream(drawn(["a docu-", "ment in two", "lines"]))])
    assert extract(made, "a.pdf").split() == ["a", "document", "in", "two", "lines"]


def test_pdf_pages_in_order_and_a_scan_without_text() -> None:
    assert extract(pdf_of("one", "two", "three"), "a.pdf").split() == ["one", "two", "three"]
    assert extract(pdf_of_streams([stream(b"0 0 10 10 re f")]), "a.pdf") == ""


def mail(**parts: str) -> EmailMessage:
    made = EmailMessage()
    made["Subject"] = "Re: Grüße"
    for kind, text in parts.items():
        (made.set_content if not made.is_multipart() and not made.get_payload() else made.add_alternative)(
            text, subtype=kind
        )
    return made


def test_mail_subject_and_plain_text_before_html() -> None:
    assert extract(mail(plain="words\n", html="<p>no").as_bytes(), "a.eml") == "Re: Grüße\n\nwords"
    assert extract(mail(plain=" \n", html="<p>yes</p>").as_bytes(), "a.eml") == "Re: Grüße\n\nyes"
    assert extract(mail(html="<p>yes<br>more</p>").as_bytes(), "a.eml") == "Re: Grüße\n\nyes\nmore"


def unread(data: bytes, name: str = "a.eml") -> dict[str, str]:
    return {one.name: one.sha256 for one in read(data, name).attachments if one.kind == content.UNREAD}


def test_a_mail_that_only_announces_its_page_is_read_as_the_page() -> None:
    page = "<p>The office grants the claim number 17 and pays 400 crowns to the claimant within ten days"
    made = mail(plain="Please use a program that shows HTML.\n", html=page).as_bytes()
    assert extract(made, "a.eml").endswith("within ten days")
    streams = {"1000001E": b"Please use a program that shows HTML.", "10130102": page.encode()}
    assert extract(msg(streams), "a.msg") == page.removeprefix("<p>")


def test_other_forms_of_a_mail_are_named_where_their_words_differ() -> None:
    def made(page: str) -> bytes:
        return mail(plain="pay 400 crowns by May\n", html=page).as_bytes()

    same, granted, refused = (made(f"<p>Pay <b>400</b> crowns{more} by May") for more in ("", " now", " never"))
    assert unread(same) == unread(mail(plain="pay 400 crowns by May\n").as_bytes()) == {}
    assert list(unread(granted)) == ["other forms"]
    assert unread(granted) == unread(made("<p>Pay 400<br>crowns now by May")) != unread(refused)
    streams = {"1000001E": b"pay 400 crowns by May", "10130102": b"<p>Pay 400 crowns now by May"}
    assert unread(msg(streams), "a.msg") == unread(granted)


def test_images_of_a_mail_from_elsewhere_are_named_and_its_own_are_attachments() -> None:
    page = "<p>words<img src='{}'>"
    assert unread(mail(html=page.format("cid:logo")).as_bytes()) == {}
    one, other = (unread(mail(html=page.format(f"https://example.org/{k}.png")).as_bytes()) for k in (1, 2))
    assert list(one) == ["images"]
    assert one != other


ODD = (
    "Subject : Grüße : all\r\nFrom: Ann <ann@example.org>\r\nMIME-Version: 1.0\r\n"
    "Content-Type : multipart/mixed; boundary=x\r\n\r\n"
    "--x\r\nContent-Type : text/plain; charset=iso-8859-1\r\n\r\n"
    "süß : yes\r\nNo-Header : either\r\n--x--\r\n"
)


@pytest.mark.parametrize("name", ["a.eml", "a.msg"])
@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_mails_in_any_encoding_suffix_and_spelling_of_the_header(name: str, encoding: str) -> None:
    found = read(ODD.encode(encoding), name)
    assert found.text.split("\n\n")[1].split() == ["süß", ":", "yes", "No-Header", ":", "either"]
    assert found.metadata["from"] == ["ann@example.org", "Ann"]
    assert found.text.startswith("Grüße : all")


def test_an_outlook_message_under_the_suffix_of_a_mail() -> None:
    pytest.importorskip("olefile")
    assert read(msg_of("words", "s"), "a.eml") == read(msg_of("words", "s"), "a.msg")


def test_mail_attachments_are_left_out() -> None:
    made = mail(plain="words\n", html="<p>no")
    made.add_attachment("attached", filename="a.txt")
    made.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="a.pdf")
    made.add_attachment(mail(plain="forwarded"))
    assert extract(made.as_bytes(), "a.eml") == "Re: Grüße\n\nwords"


HEAD = b"Subject: s\nMIME-Version: 1.0\nContent-Type: text/plain"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            HEAD + b"; charset=iso-8859-15\nContent-Transfer-Encoding: quoted-printable\n\n=A4 and=\n more",
            "€ and more",
        ),
        (HEAD + b"; charset=utf-8\nContent-Transfer-Encoding: base64\n\nw6TDtsO8\n", "äöü"),
        (HEAD + b"; charset=gb2312\nContent-Transfer-Encoding: 8bit\n\n" + "中文".encode("gb2312"), "中文"),
        (HEAD + b"; charset=us-ascii\n\n" + "späť".encode(), "späť"),
        (HEAD + b"; charset=no-such\n\n" + "späť".encode(), "späť"),
        (HEAD + b"\nContent-Transfer-Encoding: base64\n\n!!! not base64 !!!", None),
        (b"Subject: s\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\none\n--x\n\ntwo\n--x--\n", "one\ntwo"),
        (b"Subject: s\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\ncut off", "cut off"),
    ],
)
def test_mail_encodings(data: bytes, text: str | None) -> None:
    got = extract(data, "a.eml")
    assert got.startswith("s")
    assert text is None or got == f"s\n\n{text}"


@pytest.mark.parametrize(
    ("raw", "subject"),
    [
        (b"=?utf-8?B?w6TDtg==?= =?iso-8859-1?Q?=FC?= plain", "äöü plain"),
        (b"folded\n here", "folded here"),
        ("Grüße".encode(), "Grüße"),
        ("Grüße".encode("latin-1"), "Grüße"),
        (b"=?utf-8?B?broken", "=?utf-8?B?broken"),
        (b"=?no-such?Q?a=20b?=", "a b"),
    ],
)
def test_mail_subjects(raw: bytes, subject: str) -> None:
    assert extract(b"Subject: " + raw + b"\n\nbody", "a.eml") == f"{subject}\n\nbody"


def test_outlook_messages() -> None:
    assert extract(msg_of("long " * 5000, "süß"), "a.msg") == "süß\n\n" + ("long " * 5000).strip()
    ansi = msg({"0037001E": "Grüße".encode("cp1252"), "1000001E": "мир".encode("cp1251")}, {0x3FFD: 1251})
    assert extract(ansi, "a.msg").endswith("\n\nмир")
    page = msg({"0037001F": "s".encode("utf-16-le"), "10130102": "<p>né€</p>".encode()})
    assert extract(page, "a.msg") == "s\n\nné€"
    with pytest.raises(InputError, match="RTF only"):
        extract(msg({"10090102": b"x"}), "a.msg")


@pytest.mark.parametrize(("name", "module"), [("a.pdf", "pypdfium2"), ("a.msg", "olefile")])
def test_without_the_package_of_a_format(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=r'needs .* not installed\. Try: pip install "\.\[formats\]"'):
        extract(MAKERS[name]("words"), name)


def test_the_page_names_every_suffix_and_limit() -> None:
    page = (DOCS / "reference" / "formats.md").read_text(encoding="utf-8")
    table = page.partition("| suffix")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\.\w+)`", table)) == set(SUFFIXES)
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", page.partition("| limit")[2], re.MULTILINE))
    limits = {
        "a row, and each field of it": f"{ROW_BYTES >> 20} MB",
        "columns": f"{COLUMNS:,}".replace(",", " "),
        "different values of a column in a row group of Parquet (its dictionary)": f"{DICTIONARY_BYTES >> 20} MB",
        "a page of Parquet, unpacked": f"{PAGE_BYTES >> 20} MB, or {PAGE_RATIO} times the stored bytes",
        "size of a file": f"{content.FILE_BYTES >> 20} MB",
        "all parts of an office file or an e-book, unpacked": f"{content.UNPACKED_BYTES >> 20} MB",
        "text of a PDF or an office file": f"{content.TEXT_CHARACTERS // 10**6} million characters",
        "pages of a PDF": f"{content.PAGES:,}".replace(",", " "),
        "nested parts of a mail": f"{content.NESTED_PARTS}",
        "attachments of a document": f"{content.ATTACHMENTS:,}".replace(",", " "),
        "memory of the process": f"{content.MEMORY_BYTES >> 30} GB",
        "time for one file": f"{content.SECONDS:g} s",
        "all files of an archive, unpacked": f"{containers.UNPACKED_BYTES >> 30} GB, "
        f"or {containers.UNPACKED_RATIO} times the stored bytes",
        "files of an archive, messages of a mailbox": f"{containers.MEMBERS:,}".replace(",", " "),
        "a message of a mailbox": f"{containers.MESSAGE_BYTES >> 20} MB",
        "the list of files of a zip archive": f"{containers.DIRECTORY_BYTES >> 20} MB",
        "a header of a tar archive": f"{containers.HEADER_BYTES >> 20} MB",
        "memory that an xz file asks for": f"{XZ_BYTES >> 30} GB",
    }
    assert rows == limits


def test_versions_of_the_packages() -> None:
    readers = ["charset-normalizer", "olefile", "pypdfium2", "trafilatura"]
    assert sorted(packages()) == readers
