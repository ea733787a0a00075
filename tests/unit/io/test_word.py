"""Word documents, OpenDocument and RTF: which words are the text, and which parts are named as not read."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from neardup.errors import InputError
from neardup.io.attachments import own_of, unread_of
from neardup.io.formats import extract, read
from support.made_files import RELATION, WORD, docx, relations, zip_of
from support.made_office import SLIDE, odf, pptx_of, with_part, xlsx, xlsx_of


def run(text: str, properties: str = "") -> str:
    return f"<w:r>{f'<w:rPr>{properties}</w:rPr>' if properties else ''}<w:t>{text}</w:t></w:r>"


def paragraph(text: str) -> str:
    return f"<w:p>{run(text)}</w:p>"


def part(body: str) -> str:
    return f"<w:x {WORD} {RELATION}>{body}</w:x>"


def unread(data: bytes, name: str = "a.docx") -> list[str]:
    """The kinds of parts that are named as not read."""
    return [one.name for one in unread_of(read(data, name).attachments)]


def section(*references: tuple[str, str, int], more: str = "") -> str:
    named = "".join(f'<w:{kind}Reference w:type="{pages}" r:id="r{id}"/>' for kind, pages, id in references)
    return f"<w:sectPr>{named}{more}</w:sectPr>"


def test_headers_and_footers_that_pages_show_are_read_once() -> None:
    of_section = (
        ("header", "default", 1),
        ("footer", "default", 2),
        ("header", "first", 3),
        ("header", "even", 4),
    )
    parts = {
        "header1": part(paragraph("above")),
        "footer2": part(paragraph("not binding")),
        "header3": part(paragraph("title page")),
        "header4": part(paragraph("even")),
    }
    body = paragraph("body") + f"<w:p><w:pPr>{section(*of_section)}</w:pPr></w:p>{section(*of_section)}"
    assert extract(docx(body, **parts), "a.docx") == "above\nbody\nnot binding"
    shown = body.replace("</w:sectPr>", "<w:titlePg/></w:sectPr>")
    assert extract(docx(shown, **parts), "a.docx").split("\n") == ["above", "title page", "body", "not binding"]
    settings = part("<w:evenAndOddHeaders/>")
    assert extract(docx(body, **parts, settings=settings), "a.docx").split("\n")[:2] == ["above", "even"]
    assert extract(docx(paragraph("body"), **parts), "a.docx") == "body"  # no section refers to them


def test_numbers_of_pages_are_no_text() -> None:
    simple = f'<w:fldSimple w:instr=" PAGE \\* MERGEFORMAT ">{run("7")}</w:fldSimple>'
    char = '<w:r><w:fldChar w:fldCharType="%s"/></w:r>'
    field = char % "begin" + "<w:r><w:instrText>%s</w:instrText></w:r>" + char % "separate" + "%s" + char % "end"
    body = f"<w:p>{run('page ')}{simple}{field % ('NUMPAGES', run('9'))}{field % ('REF a', run('see'))}</w:p>"
    assert extract(docx(body), "a.docx") == "page see"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>', "\uf0fe"),
        ('<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>', "☒"),
        ('<w:checkBox><w:default w:val="0"/></w:checkBox>', "☐"),
        ('<w:ddList><w:result w:val="1"/><w:listEntry w:val="one"/><w:listEntry w:val="two"/></w:ddList>', "two"),
        ('<w:ddList><w:listEntry w:val="one"/><w:listEntry w:val="two"/></w:ddList>', "one"),
        (f"<w:sdt><w:sdtPr/><w:sdtContent>{run('chosen')}</w:sdtContent></w:sdt>", "chosen"),
        ('<v:textpath xmlns:v="urn:schemas-microsoft-com:vml" string="DRAFT"/>', "DRAFT"),
        ("<w:ins><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:ins>", ""),
        # the mark of a paragraph within a text box hides no words of the run around it
        (
            "<w:r><w:txbxContent><w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr></w:p></w:txbxContent>"
            "<w:t>seen</w:t></w:r>",
            "seen",
        ),
    ],
)
def test_words_that_elements_show(body: str, text: str) -> None:
    assert extract(docx(f"<w:p>{body}</w:p>"), "a.docx") == text


def test_charts_and_diagrams_are_read_where_they_are() -> None:
    spaces = (
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
        'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
        'xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
    )
    chart = (
        f"<c:chartSpace {spaces}><a:p><a:r><a:t>Ships</a:t></a:r></a:p><c:strCache><c:pt><c:v>007</c:v></c:pt>"
        "</c:strCache><c:numCache><c:pt><c:v>0.10000000000000001</c:v></c:pt></c:numCache></c:chartSpace>"
    )
    diagram = f"<d:x {spaces}><a:p><a:r><a:t>Boss</a:t></a:r></a:p></d:x>"
    shown = f'<w:p {spaces}>{run("see")}<c:chart r:id="r1"/><d:relIds r:dm="r2"/></w:p>{paragraph("end")}'
    made = docx(shown, chart1=chart, diagramData=diagram)
    assert extract(made, "a.docx").split() == ["see", "Ships", "007", "0.1", "Boss", "end"]


def test_a_chart_shown_many_times_is_parsed_once() -> None:
    chart = '<c:x xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"><c:v>x</c:v></c:x>'
    space = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
    one = '<c:chart r:id="r1"/>'
    shown = f"<w:p {space}>{one * 20_000}</w:p>"
    assert extract(docx(shown, chart1=chart), "a.docx").split() == ["x"] * 20_000


BODY = f"<w:p>{run('the rent is due')}</w:p>"
APART: dict[str, tuple[bytes, bytes]] = {
    "deleted text": tuple(  # type: ignore[dict-item]
        docx(f"<w:p>{run('the rent is due')}<w:del><w:r><w:delText>{old}</w:delText></w:r></w:del></w:p>")
        for old in ("4,200", "4,700")
    ),
    "hidden text": tuple(  # type: ignore[dict-item]
        docx(f"<w:p>{run('the rent is due')}{run(words, '<w:vanish/>')}</w:p>") for words in ("one", "two")
    ),
    "comments": tuple(  # type: ignore[dict-item]
        docx(BODY, comments=part(f'<w:comment w:author="{who}">{paragraph("never agreed")}</w:comment>'))
        for who in ("Ann", "Bob")
    ),
    "alternative texts": tuple(  # type: ignore[dict-item]
        docx(BODY + f'<w:p><x:docPr xmlns:x="x" descr="{words}"/></w:p>') for words in ("a dog", "a cat")
    ),
    "readings above characters": tuple(  # type: ignore[dict-item]
        docx(f"<w:p>{run('the rent is due')}<w:ruby><w:rt>{run(words)}</w:rt></w:ruby></w:p>")
        for words in ("one", "two")
    ),
}


@pytest.mark.parametrize("kind", APART)
def test_text_that_is_not_in_the_text_is_named_and_told_from_another(kind: str) -> None:
    one, other = (read(data, "a.docx") for data in APART[kind])
    assert one.text == other.text == extract(docx(BODY), "a.docx")
    assert [part.name for part in unread_of(one.attachments)] == [kind]
    assert one.attachments != other.attachments
    assert one.attachments == read(APART[kind][0], "a.docx").attachments


@pytest.mark.parametrize(
    ("relation", "kind"),
    [
        ("image", "images"),
        ("oleObject", "embedded objects"),
        ("aFChunk", "embedded documents"),
        ("video", "videos and sounds"),
        ("vbaProject", "macros"),
        ("control", "form controls"),
    ],
)
def test_parts_without_text_are_named_by_their_bytes(relation: str, kind: str) -> None:
    made = {
        data: with_part(
            with_part(docx(BODY), "word/_rels/document.xml.rels", relations({"media/one.bin": relation})),
            "word/media/one.bin",
            data,
        )
        for data in (b"one", b"two")
    }
    assert [unread(one) for one in made.values()] == [[kind]] * 2
    assert read(made[b"one"], "a.docx").attachments != read(made[b"two"], "a.docx").attachments
    outside = relations({}, {"file:///c:/one.bin": relation})
    assert unread(with_part(docx(BODY), "word/_rels/document.xml.rels", outside)) == [f"linked {kind}"]


def test_a_whole_file_in_a_document_is_an_attachment() -> None:
    linked = relations({"embeddings/plan.xlsx": "package"})
    made = with_part(
        with_part(docx(BODY), "word/_rels/document.xml.rels", linked), "word/embeddings/plan.xlsx", b"x"
    )
    assert [(one.name, one.size) for one in own_of(read(made, "a.docx").attachments)] == [("plan.xlsx", 1)]


def test_pictures_of_slides_and_sheets_and_formulas_are_named() -> None:
    linked = {"ppt/slides/_rels/1.xml.rels": relations({"../media/one.png": "image"}), "ppt/media/one.png": b"x"}
    slides = pptx_of("one")
    for name, data in linked.items():
        slides = with_part(slides, name, data)
    assert unread(slides, "a.pptx") == ["images"]
    spaces = f'{SLIDE} xmlns:x="x"'
    sheet = xlsx(
        "<row><c><f>1+1</f><v>2</v></c></row>",
        of_sheet={"../drawing.xml": "drawing"},
        parts={
            "xl/drawing.xml": f'<x:x {spaces}><x:cNvPr descr="a dog"/></x:x>',
            "xl/_rels/drawing.xml.rels": relations({"one.png": "image"}),
            "xl/one.png": b"x",
        },
    )
    assert unread(sheet, "a.xlsx") == ["alternative texts", "formulas", "images"]
    assert unread(xlsx_of([["x"]]), "a.xlsx") == []


WORDS = ["Lease", "The", "rent", "of", "4,700", "crowns", "is", "due", "a", "note", "not", "binding"]
LEASE = {
    "odt": odf(
        "text",
        "<text:h>Lease</text:h><text:p>The rent of <text:change/>4,700<text:s/>crowns<text:note>"
        "<text:note-citation>1</text:note-citation><text:note-body><text:p>a note</text:p></text:note-body>"
        "</text:note> is due"
        "<office:annotation><dc:creator>Ann</dc:creator><dc:date>2026-01-01</dc:date><text:p>never</text:p>"
        "</office:annotation></text:p><text:tracked-changes><text:deletion><office:change-info><dc:creator>Bob"
        "</dc:creator></office:change-info><text:p>4,200</text:p></text:deletion></text:tracked-changes>",
        footer="not binding",
    ),
    "rtf": rb"""{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial;}}{\info{\title A}}
{\footer\pard not binding \chpgn\par}{\listtext 1.}Lease\par The rent of {\deleted 4,200}4,700 crowns
{\footnote\pard a note} is{\*\unknown no} due{\*\atnauthor Ann}{\*\annotation never}\par}""",
    "docx": docx(
        paragraph("Lease")
        + f"<w:p>{run('The rent of ')}<w:del><w:r><w:delText>4,200</w:delText></w:r></w:del>{run('4,700 crowns')}"
        + f"{run(' is due')}</w:p>{section(('footer', 'default', 1))}",
        footer1=part(paragraph("not binding")),
        footnotes2=part(paragraph("a note")),
        comments3=part(f'<w:comment w:author="Ann">{paragraph("never")}</w:comment>'),
    ),
}


@pytest.mark.parametrize("format", LEASE)
def test_a_lease_has_the_same_words_and_the_same_parts_in_every_format(format: str) -> None:
    assert extract(LEASE[format], f"a.{format}").split() == WORDS
    first = read(LEASE["docx"], "a.docx").attachments
    assert read(LEASE[format], f"a.{format}").attachments == first
    assert [one.name for one in first] == ["comments", "deleted text"]


CELL = '<table:table-cell office:value-type="%s" office:%s="%s"><text:p>shown</text:p></table:table-cell>'


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (CELL % ("float", "value", "13.125"), "13.125"),
        (CELL % ("percentage", "value", "0.5"), "0.5"),
        (CELL % ("date", "date-value", "2024-05-01T00:00:00"), "2024-05-01"),
        (CELL % ("time", "time-value", "PT37H05M00S"), "37:05:00"),
        (CELL % ("boolean", "boolean-value", "true"), "TRUE"),
        (
            '<table:table-cell office:value-type="string"><text:p>a</text:p><text:p>b</text:p></table:table-cell>',
            "a b",
        ),
        ('<table:table-cell table:formula="of:=1+1"/>', "=1+1"),
        ('<table:table-cell table:number-columns-repeated="2"/>' + CELL % ("float", "value", "1"), "|  | 1"),
        (
            (CELL % ("float", "value", "1")).replace(" office", ' table:number-columns-repeated="2" office', 1),
            "1 | 1",
        ),
    ],
)
def test_cells_of_open_sheets(cell: str, text: str) -> None:
    row = f"<table:table-row>{cell}</table:table-row>"
    made = odf("spreadsheet", f'<table:table table:name="Stock">{row}</table:table>')
    assert [line.strip() for line in extract(made, "a.ods").splitlines()] == ["Stock", text]


def test_comments_in_open_sheets_have_their_cells() -> None:
    note = "<office:annotation><dc:creator>Ann</dc:creator><text:p>dear</text:p></office:annotation>"
    cells = f'<table:table-cell table:number-columns-repeated="2"/><table:table-cell>{note}</table:table-cell>'
    empty = '<table:table-row table:number-rows-repeated="4"/>'
    sheet = f'<table:table table:name="a">{empty}<table:table-row>{cells}</table:table-row></table:table>'
    assert extract(odf("spreadsheet", sheet), "a.ods") == "a\nComment on C5, Ann: dear"


def test_hidden_sheets_slides_and_sections_and_sheets_without_cells() -> None:
    styles = (
        '<style:style style:name="h"><style:table-properties table:display="false"/></style:style>'
        '<style:style style:name="s">'
        '<style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
    )
    row = "<table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row>"
    sheet = '<table:table table:name="Old" table:style-name="h">%s</table:table>'
    assert extract(odf("spreadsheet", sheet % row, styles=styles), "a.ods") == "Old (hidden)\nx"
    assert extract(odf("spreadsheet", sheet % "", styles=styles), "a.ods") == ""
    notes = "<presentation:notes><draw:frame><text:p>aloud</text:p></draw:frame></presentation:notes>"
    page = f'<draw:page draw:style-name="s"><draw:frame><text:p>7</text:p></draw:frame>{notes}</draw:page>'
    assert extract(odf("presentation", page, styles=styles), "a.odp") == "(hidden slide)\n7\nNotes: aloud"
    hidden = (
        '<text:p>a</text:p><text:section text:display="none"><text:p>b</text:p></text:section><text:p>c</text:p>'
    )
    assert extract(odf("text", hidden), "a.odt") == "a\nc"
    assert unread(odf("text", hidden), "a.odt") == ["hidden text"]


def test_pictures_in_open_documents_are_named_and_previews_are_not() -> None:
    picture = '<draw:frame>%s<draw:image xlink:href="Pictures/a.png"/></draw:frame>'
    for inside, kinds in (("", ["images"]), ('<draw:object xlink:href="./Object 1"/>', [])):
        made = with_part(odf("text", f"<text:p>{picture % inside}</text:p>"), "Pictures/a.png", b"png")
        assert unread(made, "a.odt") == kinds


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("a.ods", odf("spreadsheet", "", protected=True), "by a password"),
        ("a.odt", zip_of({"x": "y"}), "not an OpenDocument file, or is damaged"),
        (
            "a.odt",
            with_part(odf("text", ""), "content.xml", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"),
            "document type",
        ),
        ("a.rtf", b"plain words", "not an RTF file"),
        ("a.rtf", rb"{\rtf1 cut {\b off", "cut off"),
    ],
)
def test_wrong_open_documents_and_rtf(name: str, data: bytes, told: str) -> None:
    with pytest.raises(InputError, match=told):
        extract(data, name)


def test_empty_cells_repeated_without_end_take_no_room() -> None:
    row = '<table:table-row table:number-rows-repeated="%d"><table:table-cell table:number-columns-repeated="%d"/>'
    rows = f"{row % (1_048_576, 16_384)}</table:table-row>{row % (1, 9_999_999)}</table:table-row>"
    cell = "<table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row>"
    assert (
        extract(odf("spreadsheet", f'<table:table table:name="a">{rows}{cell}</table:table>'), "a.ods") == "a\nx"
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (rb"caf\'e9 \u8364?5 {\uc2 \u8364 ??}6", "café €5 €6"),
        (rb"\u55357?\u56832?!", "😀!"),
        (rb"{\f1\'ec\'e8\'f0} {\f2\'93\'fa}", "мир 日"),
        (rb"a\~b\_c\{\}\\ \emdash", "a\xa0b-c{}\\ —"),
        (rb"\trowd a\cell b\cell\row c\line d", "a | b\nc\nd"),
        (rb"{\field{\*\fldinst PAGE }{\fldrslt 7}}{\field{\*\fldinst HYPERLINK x}{\fldrslt here}}", "here"),
        (rb"a {\v hidden}{\v0 b}", "a b"),
        (rb"{\shp{\*\shpinst{\sp{\sn a}{\sv 1}}{\shptxt in a box\par}}}", "in a box"),
    ],
)
def test_rtf_gives_the_words_that_are_printed(body: bytes, text: str) -> None:
    fonts = rb"{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}{\f2\fcharset128 C;}}"
    assert extract(rb"{\rtf1\ansi\ansicpg1252 " + fonts + rb"\f0 " + body + b"}", "a.rtf") == text


def test_pictures_in_rtf_are_named_by_their_bytes() -> None:
    picture = rb"{\rtf1 x{\*\shppict{\pict\pngblip\bin3 %b}}{\nonshppict{\pict 00}}}"
    one, other = (read(picture % data, "a.rtf") for data in (b"}a{", b"}b{"))
    assert one.text == other.text == "x"
    assert [part.name for part in one.attachments] == ["images"]
    assert one.attachments != other.attachments


def made_with_docx(change: Callable[[Any], None]) -> bytes:
    library = pytest.importorskip("docx", reason="python-docx is not installed")
    document = library.Document()
    document.add_paragraph("Three sheds.")
    document.sections[0].footer.paragraphs[0].text = "Draft, not binding"
    change(document)
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


def test_documents_of_python_docx() -> None:
    plain = read(made_with_docx(lambda document: None), "a.docx")
    assert plain.text.split("\n") == ["Three sheds.", "Draft, not binding"]
    assert plain.attachments == ()

    def comment(document: Any) -> None:
        document.add_comment(document.paragraphs[0].runs, text="Never", author="Ann", initials="A")

    assert read(made_with_docx(comment), "a.docx").text == plain.text
    assert unread(made_with_docx(comment)) == ["comments"]
