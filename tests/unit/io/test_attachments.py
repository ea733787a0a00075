"""The attachments of mails: which parts are attachments, and how they make two mails different."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from email import policy
from email.message import EmailMessage
from email.mime.application import MIMEApplication
from email.mime.image import MIMEImage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import numpy as np
import pyarrow as pa
import pytest

from neardup.errors import InputError
from neardup.io.attachments import (
    ATTACHMENTS_TYPE,
    carried_by,
    column_of,
    in_words,
    missing_attachments,
    mix_in,
    stored_attachments,
)
from neardup.io.formats import content, read
from neardup.io.formats.content import Attachment, unread
from neardup.io.formats.extractor import Extractor
from support.made_files import msg

LOGO, PLAN = b"\x89PNG logo", b"%PDF plan"


@pytest.fixture(scope="module")
def extractor() -> Iterator[Extractor]:
    with Extractor() as made:
        yield made


def named(content: bytes, name: str) -> tuple[str, int, str, str]:
    return name, len(content), hashlib.sha256(content).hexdigest(), "attachment"


def mail(text: str = "words\n") -> EmailMessage:
    made = EmailMessage()
    made["Subject"] = "s"
    made.set_content(text)
    return made


def carried(made: EmailMessage | MIMEMultipart) -> list[tuple[str, int, str, str]]:
    return [tuple(one) for one in read(made.as_bytes(policy=policy.SMTP), "a.eml").attachments]  # type: ignore[misc]


def test_files_in_the_order_of_their_names(extractor: Extractor) -> None:
    made = mail()
    made.add_attachment(PLAN, maintype="application", subtype="pdf", filename="plan größe.pdf")
    made.add_attachment("notes\n", filename="a.txt", cte="quoted-printable")
    made.add_attachment(LOGO, maintype="image", subtype="png")  # without a name
    found = extractor.read(made.as_bytes(), "a.eml")
    assert found.text == "s\n\nwords"
    assert [tuple(one) for one in found.attachments] == [
        named(b"notes\n", "a.txt"),
        named(LOGO, "image/png"),
        named(PLAN, "plan größe.pdf"),
    ]
    assert extractor.read(b"plain", "a.txt").attachments == ()


def test_images_within_the_text_count_and_other_forms_of_it_do_not() -> None:
    page = MIMEMultipart("related")
    page.attach(MIMEText("<p>words <img src='cid:logo'>", "html"))
    page.attach(MIMEImage(LOGO, "png", name="logo.png"))
    made = MIMEMultipart("alternative")
    made.attach(MIMEText("words"))
    made.attach(page)
    assert carried(made) == [named(LOGO, "logo.png")]


def test_a_mail_signed_twice_is_one_mail() -> None:
    for kind in ("pgp-signature", "pkcs7-signature", "x-pkcs7-signature"):
        made = MIMEMultipart("signed")
        made.attach(MIMEText("words"))
        made.attach(MIMEApplication(b"another one each time", kind, name="smime.p7s"))
        assert carried(made) == []


def test_attached_messages_differ_in_their_headers_and_parts() -> None:
    def forwarding(inner: EmailMessage) -> list[tuple[str, int, str, str]]:
        made = mail()
        made.add_attachment(inner)
        return carried(made)

    with_plan = mail("inner\n")
    with_plan.add_attachment(PLAN, maintype="application", subtype="pdf", filename="plan.pdf")
    other_subject = mail("inner\n")
    other_subject.replace_header("Subject", "t")
    found = [forwarding(inner) for inner in (mail("inner\n"), mail("inner\n"), with_plan, other_subject)]
    assert [len(listed) for listed in found] == [1, 1, 1, 1]
    assert {listed[0][0] for listed in found} == {"message/rfc822"}
    assert found[0] == found[1]
    assert len({listed[0][2] for listed in found}) == 3


def test_attachments_of_an_outlook_message() -> None:
    pytest.importorskip("olefile")
    place, other = "__attach_version1.0_#00000000/__substg1.0_", "__attach_version1.0_#00000001/__substg1.0_"
    inside = {
        f"{place}3704001E": b"PLAN~1.PDF",
        f"{place}3707001E": b"plan.pdf",
        f"{place}37010102": PLAN,
        # an attached message has a storage instead of content
        f"{other}3001001F": "a message".encode("utf-16-le"),
        f"{other}37020102": b"whatever is stored of it",
    }
    streams = {"0037001F": "s".encode("utf-16-le"), "1000001F": "words".encode("utf-16-le")}
    found = read(msg(streams, inside=inside), "a.msg")
    assert found.text == "s\n\nwords"
    assert [one.name for one in found.attachments] == ["a message", "plan.pdf"]
    assert tuple(found.attachments[1]) == named(PLAN, "plan.pdf")
    changed = inside | {f"{other}37020102": b"whatever is stored of IT"}
    assert read(msg(streams, inside=changed), "a.msg").attachments[0] != found.attachments[0]


def test_a_mail_with_more_attachments_than_can_be_listed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    part = b"--x\nContent-Disposition: attachment; filename=a%d\n\nb\n"
    head = b"Subject: s\nContent-Type: multipart/mixed; boundary=x\n\n"
    many = head + b"".join(part % k for k in range(content.ATTACHMENTS)) + b"--x--\n"
    assert len(read(many, "a.eml").attachments) == content.ATTACHMENTS
    with pytest.raises(InputError, match=f"more than {content.ATTACHMENTS:,} attachments"):
        read(many.replace(b"--x--\n", part % 0 + b"--x--\n"), "a.eml")


def test_hostile_mails_are_read_or_refused(extractor: Extractor) -> None:
    """Endless names, names with controls, broken encodings, contents that claim to be messages or multiparts."""
    head = b"Subject: s\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nwords\n--x\n"
    parts = [
        b'Content-Disposition: attachment; filename="' + b"n" * 100_000 + b'"\n\nx',
        b"Content-Disposition: attachment; filename*=no-such-charset''%ff%00%1b\n\nx",
        b"Content-Disposition: attachment; filename*0*=utf-8''a%80; filename*1=b\n\nx",
        b"Content-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n\n!!!!a===",
        b"Content-Type: application/octet-stream\nContent-Transfer-Encoding: uuencode\n\nbegin 666 x\n#!!!",
        b"Content-Type: message/rfc822\n\n",
        b"Content-Type: message/delivery-status\n\nA: b\n\nC: d",
        b'Content-Type: message/external-body; access-type=URL; URL="file:///etc/passwd"\n\n',
        b"Content-Type: multipart/mixed\n\nno boundary",
        b"Content-Type: multipart/mixed; boundary=y\n\n--y\n--y--",
        b"Content-Type: image/png; name=\xff\xfe\n\n\xff\xfe",
        b"\xff: \xff\n\n\xff",
    ]
    for part in parts:
        found = extractor.read(head + part + b"\n--x--\n", "a.eml")
        assert found.text.startswith("s\n\nwords")
        for one in found.attachments:
            assert len(one.name) <= content.VALUE_CHARACTERS
            assert one.name == " ".join(one.name.split())  # on one line; escaping controls is left to the display
            assert len(one.sha256) == 64


def test_the_key_of_a_text_is_another_with_attachments() -> None:
    plan, other = Attachment("plan.pdf", 9, "ab" * 32), Attachment("plan.pdf", 9, "ac" * 32)
    sets = [(), (plan,), (other,), (plan, plan), (plan, other), (Attachment("b", 9, "ab" * 32),)]
    sets += [(Attachment("a", 1, "0" * 64), Attachment("b", 1, "0" * 64)), (Attachment("a1:0b", 1, "0" * 64),)]
    keys = np.array([[7, 9]] * len(sets), np.uint64)
    mix_in(keys, {place: listed for place, listed in enumerate(sets) if listed})
    assert keys[0].tolist() == [7, 9]
    assert len(set(map(tuple, keys.tolist()))) == len(sets)
    again = np.array([[7, 9], [7, 10]], np.uint64)
    mix_in(again, {0: (plan,), 1: (plan,)})
    assert again[0].tolist() == keys[1].tolist()
    assert again[1].tolist() != keys[1].tolist()


def test_columns_hold_them_and_contents_are_compared_not_names() -> None:
    plan, renamed, photo = Attachment("a", 1, "x"), Attachment("b", 1, "x"), Attachment("a", 1, "y")
    column = column_of([(), (plan, photo), (renamed,)])
    assert carried_by(column) == {1: (plan, photo), 2: (renamed,)}
    assert carried_by(column_of([()])) == {}
    table = pa.table({"attachments": column})
    assert (stored_attachments(table), stored_attachments(table.drop_columns("attachments"))) == (
        {1: (plan, photo), 2: (renamed,)},
        {},
    )
    broken = pa.array([[{"name": None, "size": 1, "sha256": "x"}]], ATTACHMENTS_TYPE)
    with pytest.raises(InputError, match=r"attachments .*damaged"):
        stored_attachments(pa.table({"attachments": broken}))
    assert missing_attachments([plan, photo], [renamed]) == [photo]
    assert in_words([plan] * 5) == "5 attachments: a, a, a, …"
    assert in_words([Attachment("n" * 1000, 1, "x")]) == f"1 attachment: {'n' * 60}…"


def test_the_key_of_a_text_is_another_with_other_unread_parts() -> None:
    images, others, file = unread([("images", b"x")]), unread([("images", b"y")]), (Attachment("images", 1, "x"),)
    sets = [(), images, others, file, (*file, *images), (*images, *unread([("comments", b"x")]))]
    keys = np.array([[7, 9]] * len(sets), np.uint64)
    mix_in(keys, {place: listed for place, listed in enumerate(sets) if listed})
    assert len(set(map(tuple, keys.tolist()))) == len(sets)


def test_unread_parts_of_one_kind_have_one_digest_in_which_order_and_bounds_count() -> None:
    (found,) = unread([("images", b"ab"), ("images", b"c")])
    assert (found.name, found.size, found.kind) == ("images", 3, "unread")
    others = [unread([("images", one) for one in parts])[0] for parts in ((b"c", b"ab"), (b"a", b"bc"), (b"abc",))]
    assert len({found.sha256, *(one.sha256 for one in others)}) == 4
    assert found == unread([("images", b"ab"), ("images", b"c")])[0]
