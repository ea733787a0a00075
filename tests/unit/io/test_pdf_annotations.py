"""Forms and annotations of PDF files made by other programs: the page as it is shown is read, the rest named."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from neardup.io.formats import content, read
from neardup.io.formats.extractor import Extractor
from support.made_files import drawn, pdf, pdf_of, stream

canvas = pytest.importorskip("reportlab.pdfgen.canvas")
pypdf = pytest.importorskip("pypdf")
annotations = pytest.importorskip("pypdf.annotations")
generic = pytest.importorskip("pypdf.generic")

HEADING = "Claim for the harbour"


@pytest.fixture(scope="module")
def extractor() -> Iterator[Extractor]:
    with Extractor() as made:
        yield made


def form(fill: Callable[[Any], object]) -> bytes:
    """A PDF of reportlab with a heading and the fields of ``fill``."""
    made = io.BytesIO()
    page = canvas.Canvas(made)
    page.drawString(60, 780, HEADING)
    fill(page.acroForm)
    page.save()
    return made.getvalue()


def field(value: str, **more: Any) -> bytes:
    return form(lambda page: page.textfield(name="f", x=60, y=600, width=300, height=20, value=value, **more))


def changed(data: bytes, change: Callable[[Any], object]) -> bytes:
    """A PDF changed by pypdf."""
    made, writer = io.BytesIO(), pypdf.PdfWriter(clone_from=io.BytesIO(data))
    change(writer)
    writer.write(made)
    return made.getvalue()


def with_annotation(annotation: Any, entries: dict[str, Any] | None = None) -> bytes:
    def change(writer: Any) -> None:
        added = writer.add_annotation(0, annotation)
        added.update({generic.NameObject(key): value for key, value in (entries or {}).items()})

    return changed(pdf_of(HEADING), change)


def words(data: bytes) -> list[str]:
    return read(data, "a.pdf").text.split()


def unread(data: bytes) -> dict[str, str]:
    return {one.name: one.sha256 for one in read(data, "a.pdf").attachments if one.kind == content.UNREAD}


def test_values_of_fields_follow_the_text_of_their_page() -> None:
    def fill(page: Any) -> None:
        page.textfield(name="name", x=60, y=600, width=300, height=20, value="Ann Example")
        page.choice(name="from", x=60, y=500, width=90, height=20, value="DE", options=[("Hamburg", "DE")])

    found = read(form(fill), "a.pdf")
    assert found.text.split() == [*HEADING.split(), "Ann", "Example", "Hamburg"]
    assert found.attachments == ()


def test_a_value_of_a_field_without_appearance_or_with_an_old_one_is_read() -> None:
    def change(writer: Any, *, drop: bool) -> None:
        (of,) = writer.pages[0]["/Annots"]
        of.get_object()[generic.NameObject("/V")] = generic.TextStringObject("98,700")
        if drop:
            del of.get_object()["/AP"]

    assert words(changed(field("1,250"), lambda writer: change(writer, drop=True)))[4:] == ["98,700"]
    assert words(changed(field("1,250"), lambda writer: change(writer, drop=False)))[4:] == ["1,250", "98,700"]


def test_a_value_that_the_page_has_elsewhere_is_read_all_the_same() -> None:
    def change(writer: Any) -> None:
        (of,) = writer.pages[0]["/Annots"]
        of.get_object()[generic.NameObject("/V")] = generic.TextStringObject("harbour")

    assert words(changed(field("x"), change)) == [*HEADING.split(), "x", "harbour"]
    remark = annotations.FreeText(text="harbour", rect=(60, 600, 400, 640))
    assert words(with_annotation(remark)) == [*HEADING.split(), "harbour"]


@pytest.mark.parametrize("flags", ["hidden", "print noview"])
def test_hidden_fields_are_neither_read_nor_named(flags: str) -> None:
    found = read(field("nobody sees this", annotationFlags=flags), "a.pdf")
    assert (found.text, found.attachments) == (HEADING, ())


def test_a_password_is_not_read_behind_its_appearance() -> None:
    def change(writer: Any) -> None:
        (of,) = writer.pages[0]["/Annots"]
        of.get_object()[generic.NameObject("/V")] = generic.TextStringObject("hunter2")

    assert words(changed(field("*****", fieldFlags="password"), change))[4:] == ["*****"]


def test_boxes_are_compared_by_their_marks() -> None:
    def boxes(checked: int) -> bytes:
        def fill(page: Any) -> None:
            for number in range(2):
                page.checkbox(name=f"box {number}", x=60, y=600 - 50 * number, checked=number == checked)

        return form(fill)

    first, second = boxes(0), boxes(1)
    assert read(first, "a.pdf").text == read(second, "a.pdf").text == HEADING
    assert list(unread(first)) == ["check marks"]
    assert unread(first) == unread(boxes(0)) != unread(second)


def test_free_text_is_read_with_and_without_appearance() -> None:
    remark = annotations.FreeText(text="GRANTED for ten years", rect=(60, 600, 400, 640))
    assert words(with_annotation(remark)) == [*HEADING.split(), *["GRANTED", "for", "ten", "years"]]
    hidden = with_annotation(remark, {"/F": generic.NumberObject(2)})
    assert (words(hidden), unread(hidden)) == (HEADING.split(), {})


def test_text_of_a_stamp_is_read_and_its_look_is_named() -> None:
    def stamped(text: str, left: int = 60, flags: int = 1) -> bytes:
        box = b"[0 0 200 20]"
        objects = [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Annots [5 0 R]"
            b" /Resources << /Font << /F 7 0 R >> >> >>",
            stream(drawn([HEADING])),
            b"<< /Type /Annot /Subtype /Stamp /F %d /Rect [%d 500 300 520] /AP << /N 6 0 R >> >>" % (flags, left),
            stream(
                b"BT /F 12 Tf 5 5 Td (%s) Tj ET" % text.encode(),
                b"/Type /XObject /Subtype /Form /BBox %s /Resources << /Font << /F 7 0 R >> >>" % box,
            ),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        ]
        return pdf(objects)

    found = stamped("APPROVED by the board")
    assert words(found) == [*HEADING.split(), *["APPROVED", "by", "the", "board"]]
    assert list(unread(found)) == ["annotations"]
    assert (
        unread(found) == unread(stamped("APPROVED by the board")) != unread(stamped("APPROVED by the board", 70))
    )
    for flags in (2, 32):
        assert (words(stamped("x", flags=flags)), unread(stamped("x", flags=flags))) == (HEADING.split(), {})


def test_annotations_without_text_are_named_and_differ_by_their_place() -> None:
    line, other = (annotations.Line(p1=(1, 1), p2=(9, y), rect=(1, 1, 9, y)) for y in (9, 30))
    assert list(unread(with_annotation(line))) == ["annotations"]
    assert unread(with_annotation(line)) != unread(with_annotation(other))
    note = with_annotation(annotations.Text(text="We never agreed", rect=(60, 600, 80, 620)))
    assert (words(note), list(unread(note))) == (HEADING.split(), ["comments"])
    state = {"/StateModel": generic.TextStringObject("Review")}
    assert unread(with_annotation(annotations.Text(text="Cancelled", rect=(60, 600, 80, 620)), state)) == {}
    link = with_annotation(annotations.Link(url="https://example.org", rect=(60, 600, 80, 620)))
    assert (words(link), unread(link)) == (HEADING.split(), {})


def test_an_annotation_on_a_layer_is_named_for_the_layer_may_be_hidden() -> None:
    layer = generic.DictionaryObject({generic.NameObject("/Type"): generic.NameObject("/OCG")})
    made = with_annotation(annotations.FreeText(text="on it", rect=(1, 1, 9, 9)), {"/OC": layer})
    assert (words(made), list(unread(made))) == (HEADING.split(), ["annotations on layers"])


def test_embedded_files_are_attachments() -> None:
    made = changed(pdf_of(HEADING), lambda writer: writer.add_attachment("plan.txt", b"the plan"))
    (plan,) = read(made, "a.pdf").attachments
    assert (plan.name, plan.size, plan.kind) == ("plan.txt", 8, content.ATTACHED)


def test_images_are_named_and_compared() -> None:
    def scan(*pixels: bytes) -> bytes:
        page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] >>"
        image = b"/Type /XObject /Subtype/Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8"
        pages = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>", page]
        return pdf([*pages, *(stream(pixel, image) for pixel in pixels)])

    assert list(unread(scan(b"x"))) == ["images"]
    digests = [unread(scan(*pixels))["images"] for pixels in ((b"x",), (b"y",), (b"x", b"y"), (b"y", b"x"))]
    assert len(set(digests)) == 4
    assert unread(pdf_of("An /Image in a text, and /ProcSet [/PDF /ImageB]")) == {}


def test_forms_of_another_kind_are_named() -> None:
    def made(value: str) -> bytes:
        objects = [
            b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [] /XFA [(datasets) 4 0 R] >> >>",
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] >>",
            stream(b"<xfa:data>%s</xfa:data>" % value.encode()),
        ]
        return pdf(objects)

    assert list(unread(made("1"))) == ["XFA forms"]
    assert unread(made("1")) == unread(made("1")) != unread(made("2"))


def test_hostile_annotations_are_read_or_refused(extractor: Extractor) -> None:
    """Annotations that are nothing, that hold themselves, and lists without end."""
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Annots %s >>"
    head = [
        b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [5 0 R] /NeedAppearances true >> >>",
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
    ]
    itself = stream(
        b"/A Do", b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /A 4 0 R >> >>"
    )
    drawn_itself = b"<< /Subtype /Stamp /Rect [0 0 9 9] /AP << /N 4 0 R >> /Parent 5 0 R /Kids [5 0 R] >>"
    for listed in (b"7", b"[null 7 (x) 9 0 R]", b"3 0 R", b"[5 0 R 5 0 R]", b"[%s]" % (b"5 0 R " * 20_000)):
        made = pdf([*head, page % listed, itself, drawn_itself])
        assert extractor.extract(made, "a.pdf") == ""
    for kind in (b"Widget", b"FreeText", b"FileAttachment", b"Ink", b"NoSuchType"):
        for entries in (
            b"/FT /Tx /V 7",
            b"/FT /Btn /AS 7 /AP 7",
            b"/AP << /N << /A 4 0 R >> >> /AS /B /Rect [(x)]",
        ):
            made = pdf(
                [
                    *head,
                    page % b"[5 0 R]",
                    itself,
                    b"<< /Subtype /%s %s /Contents 3 0 R /FS 7 >>" % (kind, entries),
                ]
            )
            assert extractor.extract(made, "a.pdf") == ""
