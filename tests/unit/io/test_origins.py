"""Whether a file shows that a program wrote its text, or OCR; and who of a group is kept then."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from neardup import verifier
from neardup.deduplication.group.rows import keep_rank
from neardup.errors import InputError
from neardup.io.formats import read
from neardup.io.formats.content import DIGITAL, SCAN, UNKNOWN
from neardup.io.formats.pdf import one_origin
from support.made_files import docx_of, eml_of, html_of, pdf, stream
from support.made_office import odf, xlsx_of
from support.sealed import seal

TEXT = " ".join(f"word{number}" for number in range(60))
SHOWN, HIDDEN = b"BT /F 12 Tf 72 700 Td (%s) Tj ET\n", b"q BT 3 Tr /F 12 Tf 72 700 Td (%s) Tj ET Q\n"
IMAGE, SMALL = b"q 612 0 0 792 0 0 cm /I Do Q\n", b"q 100 0 0 50 10 10 cm /I Do Q\n"
PIXEL = b"/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray"
FORM = (
    b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources "
    b"<< /XObject << /I 4 0 R /X 5 0 R >> /Font << /F 3 0 R >> >>"
)


def pages(*contents: bytes, form: bytes = b"") -> bytes:
    """A PDF of pages with these contents: /F is a font, /I an image, /X a form with the content ``form``."""
    numbers = [6 + 2 * page for page in range(len(contents))]
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(numbers), b" ".join(b"%d 0 R" % n for n in numbers)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        stream(b"x", PIXEL),
        stream(form, FORM),
    ]
    resources = b"<< /Font << /F 3 0 R >> /XObject << /I 4 0 R /X 5 0 R >> >>"
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources %s >>"
    for number, content in zip(numbers, contents, strict=True):
        objects += [page % (number + 1, resources), stream(content % ((b"some words",) * content.count(b"%s")))]
    return pdf(objects)


@pytest.mark.parametrize(
    ("contents", "origin"),
    [
        ([SHOWN], DIGITAL),
        ([SHOWN + SMALL], DIGITAL),  # a letterhead
        ([IMAGE + HIDDEN], SCAN),
        ([IMAGE], SCAN),
        ([SHOWN + IMAGE], SCAN),  # text below the image
        ([b"q 560 0 0 740 26 26 cm /I Do Q\n" + HIDDEN], SCAN),  # without the margins
        ([IMAGE + SHOWN], UNKNOWN),  # a picture below the text, or text that OCR shows
        ([HIDDEN], UNKNOWN),
        ([SMALL + HIDDEN], UNKNOWN),
        ([b""], UNKNOWN),
        ([SHOWN, b"", SHOWN], DIGITAL),
        ([IMAGE + HIDDEN, b"", IMAGE], SCAN),
        ([SHOWN, IMAGE + HIDDEN], UNKNOWN),  # a cover before a scan
        ([b"/X Do\n"], DIGITAL),
        ([IMAGE + HIDDEN + b"/X Do\n"], UNKNOWN),  # the form has visible text
        ([b"q 0.1 0 0 0.1 0 0 cm /X Do Q\n"], DIGITAL),
    ],
)
def test_the_origin_of_a_pdf_is_that_of_all_its_pages(contents: list[bytes], origin: str) -> None:
    assert read(pages(*contents, form=SHOWN % b"more words"), "a.pdf").origin == origin


def test_images_within_forms_have_the_scale_of_the_form() -> None:
    assert read(pages(b"/X Do\n" + HIDDEN, form=IMAGE), "a.pdf").origin == SCAN
    assert read(pages(b"q 0.5 0 0 0.5 0 0 cm /X Do Q\n" + SHOWN, form=IMAGE), "a.pdf").origin == DIGITAL
    assert read(pages(b"/X Do\n" + SHOWN, form=b"/X Do\n"), "a.pdf").origin in (DIGITAL, UNKNOWN)  # within itself


def test_a_page_of_many_objects_is_not_looked_at_to_its_end() -> None:
    assert read(pages(SHOWN * 10_001), "a.pdf").origin == UNKNOWN
    assert read(pages(SHOWN * 100), "a.pdf").origin == DIGITAL


@given(st.lists(st.sampled_from([DIGITAL, SCAN, UNKNOWN, ""])))
def test_pages_of_several_origins_are_unknown(origins: list[str]) -> None:
    if all(one in (DIGITAL, "") for one in origins) and DIGITAL in origins:
        assert one_origin(origins) == DIGITAL
    elif all(one in (SCAN, "") for one in origins) and SCAN in origins:
        assert one_origin(origins) == SCAN
    else:
        assert one_origin(origins) == UNKNOWN


@pytest.mark.parametrize(
    ("name", "data", "origin"),
    [
        ("a.txt", TEXT.encode(), UNKNOWN),
        ("a.html", html_of(TEXT), DIGITAL),
        ("a.html", b"<meta name='ocr-system' content='x'><p>" + TEXT.encode(), SCAN),
        ("a.html", b"<META NAME=ocr-capabilities CONTENT=ocr_page><p>" + TEXT.encode(), SCAN),
        ("a.docx", docx_of(TEXT), DIGITAL),
        ("a.odt", odf("text", f"<text:p>{TEXT}</text:p>"), DIGITAL),
        ("a.xlsx", xlsx_of([[TEXT]]), DIGITAL),
        ("a.eml", eml_of(TEXT), DIGITAL),
    ],
)
def test_the_origin_of_other_files(name: str, data: bytes, origin: str) -> None:
    assert read(data, name).origin == origin


ORIGINS = st.lists(st.sampled_from([DIGITAL, UNKNOWN, SCAN, "other", None]), max_size=8)


@given(ORIGINS, st.integers(0, 3), st.data())
def test_digital_ranks_as_a_sort_of_rows(origins: list[str | None], old: int, data: st.DataObject) -> None:
    """Naively: the rows are sorted one by one, and ties go to the next policy."""
    n = old + len(origins)
    units = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))

    def place(origin: str | None) -> int:
        return {DIGITAL: 0, UNKNOWN: 1, None: 1, SCAN: 2}.get(origin, 3)

    order = sorted(
        range(n),
        key=lambda row: (row >= old, place(origins[row - old]) if row >= old else 0, -units[row], row),
    )
    extra = {"origin": pa.array(origins, pa.large_string())}
    rank = keep_rank(("digital", "longest"), np.array(units, np.int64), old, extra)
    assert np.argsort(rank).tolist() == order


def letters(folder: Path) -> Path:
    """A scan, which is the longest and the first, a digital letter, and a plain text."""
    folder.mkdir()
    many = TEXT.encode()
    (folder / "a.pdf").write_bytes(pages(IMAGE + (HIDDEN % (many + b" read by a machine"))))
    (folder / "b.txt").write_text(f"{TEXT} with a note", encoding="utf-8")
    (folder / "c.docx").write_bytes(docx_of(TEXT))
    return folder


@pytest.mark.parametrize(
    ("keep", "head"),
    [
        ("longest", "a.pdf"),
        ("digital", "c.docx"),
        (("digital", "longest"), "c.docx"),
        (("longest", "digital"), "a.pdf"),
    ],
)
def test_of_a_scan_and_its_twin_the_digital_one_represents(tmp_path: Path, keep: str, head: str) -> None:
    result = neardup.find(letters(tmp_path / "in"), keep=keep, threshold=0.5)
    groups = result.groups.to_pylist()
    assert {line["group"] for line in groups} == {head}
    assert [line["id"] for line in groups if line["kept"]] == [head]
    counts = [note for note in result.run.notes if note.startswith("--keep digital")]
    assert [note.split(":")[1].split("(")[0].strip() for note in counts] == (
        ["1 digital, 1 scan, 1 unknown"] if "digital" in keep else []
    )


def test_rows_say_their_origin_in_a_column(tmp_path: Path) -> None:
    rows = [{"text": f"{TEXT} {number}", "origin": origin} for number, origin in enumerate(["x", SCAN, UNKNOWN])]
    rows.append({"text": f"{TEXT} 3", "origin": DIGITAL})
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = neardup.find(path, keep="digital", threshold=0.5)
    assert {line["group"].rpartition("#")[2] for line in result.groups.to_pylist()} == {"3"}
    assert any("1 without an origin" in note for note in result.run.notes)
    path.write_text(json.dumps({"text": TEXT}) + "\n", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        neardup.find(path, keep="digital")
    assert "origin" in refused.value.given
    assert refused.value.do


def test_the_verifier_derives_the_order_of_origins(tmp_path: Path) -> None:
    out = tmp_path / "out"
    neardup.find(letters(tmp_path / "in"), keep="digital", threshold=0.5).save(out)
    checked = verifier.Verifier(str(out), [])
    for check in verifier.Verifier.CHECKS:
        checked.check(check)
    assert any(what.startswith("origins of PDF") and count == 1 for what, count in checked.unseen.items())
    ranks = pq.read_table(out / "ranks.parquet")
    for column, rows in (("rank", [0, 1, 2]), ("rank", [2, 0, 1])):
        other = ranks.set_column(ranks.column_names.index(column), column, [pa.array(rows, pa.int64())])
        pq.write_table(other, out / "ranks.parquet")
        seal(out)
        assert verifier.main([str(out)]) == 1
    pq.write_table(ranks, out / "ranks.parquet")
    texts = pq.read_table(out / "texts.parquet").to_pylist()
    for line in texts:
        line["fields"] = (line["fields"] or "").replace('"digital"', '"scan"')
    pq.write_table(pa.Table.from_pylist(texts, pq.read_schema(out / "texts.parquet")), out / "texts.parquet")
    seal(out)
    assert verifier.main([str(out)]) == 1  # a Word document cannot be one
