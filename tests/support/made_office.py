"""Small office files and e-books, made by hand part by part."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from support.made_files import RELATION, relations, zip_of

SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
SLIDE = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
)


def xlsx_of(rows: Sequence[Sequence[str | float | None]], name: str = "Sheet") -> bytes:
    """A workbook with one sheet of texts and numbers."""
    cells = (
        "".join(
            "<c/>"
            if value is None
            else f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
            if isinstance(value, str)
            else f"<c><v>{value!r}</v></c>"
            for value in row
        )
        for row in rows
    )
    return xlsx("".join(f"<row>{row}</row>" for row in cells), name)


def xlsx(
    rows: str,
    name: str = "Sheet",
    *,
    state: str = "visible",
    settings: str = "",
    after: str = "",
    of_sheet: Mapping[str, str] | None = None,
    of_book: Mapping[str, str] | None = None,
    parts: Mapping[str, str | bytes] | None = None,
) -> bytes:
    """A workbook with one sheet of these rows as XML, with ``after`` behind them, and further parts.

    ``of_sheet``, ``of_book``: parts to which they have a relation, with its kind.
    """
    sheet = f'<sheet name="{escape(name)}" sheetId="1" state="{state}" r:id="r1"/>'
    return zip_of(
        {
            "_rels/.rels": relations({"xl/workbook.xml": "officeDocument"}),
            "xl/workbook.xml": f"<workbook {SHEET} {RELATION}>{settings}<sheets>{sheet}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": relations({"sheets/a.xml": "worksheet", **(of_book or {})}),
            "xl/sheets/a.xml": f"<worksheet {SHEET}><sheetData>{rows}</sheetData>{after}</worksheet>",
            "xl/sheets/_rels/a.xml.rels": relations(of_sheet or {}),
            **(parts or {}),
        }
    )


def pptx_of(*lines: str, body: str = "", comment: str = "", layout: str = "", linked: str = "") -> bytes:
    """A presentation with a slide for each line.

    ``body``: paragraphs on the first slide. ``comment``: one of Ann on it. ``layout``: shapes of the layout.
    ``linked``: the address of its picture.
    """
    numbers = range(1, len(lines) + 1)
    ids = "".join(f'<p:sldId id="{255 + number}" r:id="r{number}"/>' for number in numbers)
    shape = "<p:sp><p:txBody>%s</p:txBody></p:sp>"
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations({"ppt/presentation.xml": "officeDocument"}),
        "ppt/presentation.xml": f"<p:presentation {SLIDE} {RELATION}>{ids}</p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            {f"slides/{number}.xml": "slide" for number in numbers} | {"authors.xml": "commentAuthors"}
        ),
        "ppt/authors.xml": f'<p:cmAuthorLst {SLIDE}><p:cmAuthor id="0" name="Ann"/></p:cmAuthorLst>',
        "ppt/comments.xml": f'<p:cmLst {SLIDE}><p:cm authorId="0"><p:text>{comment}</p:text></p:cm></p:cmLst>',
        "ppt/layout.xml": f"<p:sldLayout {SLIDE}>{layout}</p:sldLayout>",
    }
    for number, line in zip(numbers, lines, strict=True):
        paragraphs = f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>{body if number == 1 else ''}"
        parts[f"ppt/slides/{number}.xml"] = f"<p:sld {SLIDE}>{shape % paragraphs}</p:sld>"
        more = {"../layout.xml": "slideLayout"} | (
            {"../comments.xml": "comments"} if comment and number == 1 else {}
        )
        parts[f"ppt/slides/_rels/{number}.xml.rels"] = relations(more, {linked: "image"} if linked else {})
    return zip_of(parts)


def epub_of(*chapters: str, order: Sequence[int] | None = None) -> bytes:
    """An e-book with a page for each chapter, read in this order."""
    names = [f"{number}.xhtml" for number in range(len(chapters))]
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in names)
    spine = "".join(f'<itemref idref="{names[number]}"/>' for number in order or range(len(names)))
    spaces = 'xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    book = f"<package {spaces}><metadata><dc:title>A book</dc:title></metadata><manifest>{items}</manifest>"
    container = 'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"'
    pages = {
        name: f"<!DOCTYPE html><html><body><p>{text}</p></body></html>"
        for name, text in zip(names, chapters, strict=True)
    }
    return zip_of(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": f"<container {container}><rootfile full-path='book.opf'/></container>",
            "book.opf": f"{book}<spine>{spine}</spine></package>",
            **pages,
        }
    )


_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_ODF_SPACES = " ".join(
    [
        *(f'xmlns:{name}="{_ODF}{name}:1.0"' for name in ("office", "text", "table", "style", "presentation")),
        f'xmlns:svg="{_ODF}svg-compatible:1.0"',
        f'xmlns:draw="{_ODF}drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"',
        'xmlns:dc="http://purl.org/dc/elements/1.1/"',
    ]
)


def odf(kind: str, body: str, *, styles: str = "", footer: str = "", protected: bool = False) -> bytes:
    """An OpenDocument file of a kind (text, spreadsheet, presentation), with this XML in its body.

    ``styles``: XML of its automatic styles. ``footer``: the text of one.
    """
    automatic = f"<office:automatic-styles>{styles}</office:automatic-styles>"
    inside = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    shown = f"<style:master-page><style:footer><text:p>{footer}</text:p></style:footer></style:master-page>"
    masters = shown if footer else ""
    space = f'xmlns:manifest="{_ODF}manifest:1.0"'
    parts = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": f"<office:document-content {_ODF_SPACES}>{automatic}{inside}</office:document-content>",
        "styles.xml": f"<office:document-styles {_ODF_SPACES}>{masters}</office:document-styles>",
        "META-INF/manifest.xml": f"<x {space}>{'<manifest:encryption-data/>' if protected else ''}</x>",
    }
    return zip_of(parts)


def with_part(data: bytes, name: str, content: str | bytes | None) -> bytes:
    """An office file with one part exchanged, or without it."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            if info.filename != name:
                new.writestr(info.filename, old.read(info))
        if content is not None:
            new.writestr(name, content)
    return made.getvalue()
