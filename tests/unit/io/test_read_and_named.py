"""The table of the parts that are read and named has a row for each format, and each row has its sample."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from email.message import EmailMessage

import pytest

from neardup.io.formats import content, read
from support.made_files import stream
from support.paths import DOCS

TABLE = (DOCS / "reference" / "formats.md").read_text(encoding="utf-8").partition("| format | read |")[2]
ROWS = dict(re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]*) \|", TABLE.partition("\n\n")[0], re.MULTILINE))
PAGE = (
    "<p>read<img src=a alt='instead'><iframe src=a></iframe><video src=a></video><object data=a></object>"
    "<input value=filled><input type=checkbox><select><option>no<option selected>chosen</select>"
)


def text_of(name: str, data: bytes) -> tuple[str, set[str]]:
    found = read(data, name)
    return found.text, {one.name for one in found.attachments if one.kind == content.UNREAD}


def html() -> tuple[str, set[str]]:
    return text_of("a.html", PAGE.encode())


def mail() -> tuple[str, set[str]]:
    made = EmailMessage()
    made["From"], made["Subject"] = "ann@example.org", "instead"
    made.set_content("read filled chosen\n")
    made.add_alternative("<p>read<img src=https://example.org/a><iframe src=a></iframe><input type=radio>", "html")
    return text_of("a.eml", made.as_bytes())


def pdf() -> tuple[str, set[str]]:
    canvas, pypdf = pytest.importorskip("reportlab.pdfgen.canvas"), pytest.importorskip("pypdf")
    annotations, generic = pytest.importorskip("pypdf.annotations"), pytest.importorskip("pypdf.generic")
    first, second = io.BytesIO(), io.BytesIO()
    page = canvas.Canvas(first)
    page.drawString(60, 780, "read")
    page.acroForm.textfield(name="f", x=60, y=600, width=300, height=20, value="filled")
    page.acroForm.checkbox(name="c", x=60, y=500)
    page.save()
    writer = pypdf.PdfWriter(clone_from=first)
    layer = generic.DictionaryObject({generic.NameObject("/Type"): generic.NameObject("/OCG")})
    writer.add_annotation(0, annotations.FreeText(text="chosen instead", rect=(1, 1, 9, 9)))
    writer.add_annotation(0, annotations.FreeText(text="no", rect=(1, 1, 9, 9)))[generic.NameObject("/OC")] = layer
    writer.add_annotation(0, annotations.Line(p1=(1, 1), p2=(9, 9), rect=(1, 1, 9, 9), text="no"))
    form = writer._root_object["/AcroForm"].get_object()
    packet = generic.StreamObject()
    packet.set_data(b"<xfa/>")
    name = generic.TextStringObject("datasets")
    form[generic.NameObject("/XFA")] = generic.ArrayObject([name, writer._add_object(packet)])
    writer.write(second)
    image = b"\n9 0 obj\n%s\nendobj\n" % stream(b"x", b"/Subtype /Image")
    return text_of("a.pdf", second.getvalue().replace(b"\nxref", image + b"\nxref", 1))


SAMPLES: dict[str, Callable[[], tuple[str, set[str]]]] = {"HTML": html, "PDF": pdf, "EML, MSG": mail}


@pytest.mark.parametrize("format", SAMPLES)
def test_the_sample_of_a_row_has_all_its_kinds_and_its_text(format: str) -> None:
    text, kinds = SAMPLES[format]()
    assert {"read", "filled", "chosen", "instead"} == set(text.split())
    assert kinds == set(re.findall("`([^`]+)`", ROWS[format]))


def test_each_row_has_a_sample_or_names_nothing() -> None:
    assert {format for format, named in ROWS.items() if "`" in named} == SAMPLES.keys()
