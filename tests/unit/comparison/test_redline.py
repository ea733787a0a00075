"""A document of Word with tracked changes: accepted it is B, rejected it is A."""

import io
import shutil
import subprocess
import time
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from neardup.comparison.show.redline import TextRun, redline, runs_of
from support.made_texts import changed_pieces

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
WHO = {"author": "A & B", "date": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)}
DEED = "Deed.\n\nThe price is 1,200.00 euros.\nBoth sign here.\n"
PAIRS = {
    "amount": (DEED, DEED.replace("1,200", "950")),
    "paragraph": (DEED, DEED.replace("Both", "Write a letter.\n\nBoth")),
    "case and a sign": ("Rate: -5 percent\tof all <sums> & more", "rate: 5 percent\tof all <sums> & more"),
    "nothing": ("", "One line.\nTwo lines."),
    "line ends": ("one\r\ntwo\rthree", "one\ntwo\nfour"),
    "white space": ("  one  two ", "one two"),
    "other scripts": ("日本の山 and Straße", "日本の川 and Strasse"),
}


def texts_in(document: bytes) -> tuple[str, str]:
    """Return the text with all changes rejected, and with all accepted, as Word has it."""
    with zipfile.ZipFile(io.BytesIO(document)) as file:
        root = ElementTree.fromstring(file.read("word/document.xml"))
    sides = []
    for gone in (f"{W}ins", f"{W}del"):
        text = ""
        paragraphs = list(root.iter(f"{W}p"))
        for number, paragraph in enumerate(paragraphs):
            for child in paragraph:
                if child.tag not in (gone, f"{W}pPr"):
                    text += "".join(
                        part.text or "" for part in child.iter() if part.tag in (f"{W}t", f"{W}delText")
                    )
            mark = paragraph.find(f"{W}pPr/{W}rPr/{gone}")
            text += "\n" * (mark is None and number < len(paragraphs) - 1)
        sides.append(text)
    return sides[0], sides[1]


def plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def assert_both(a: str, b: str) -> None:
    assert texts_in(redline(a, b, **WHO)) == (plain(a), plain(b))


@pytest.mark.parametrize("name", PAIRS)
def test_rejected_it_is_the_earlier_text_and_accepted_the_later(name: str) -> None:
    assert_both(*PAIRS[name])
    assert_both(*reversed(PAIRS[name]))


@pytest.mark.parametrize("seed", range(40))
def test_made_texts(seed: int) -> None:
    pieces = [
        "Anna Berg",
        "1,200.50",
        " ",
        "-7",
        "the\n\n",
        "harbour",
        "crane.",
        "\nIt",
        "(is)",
        "old,\n",
        "\t",
        "új",
    ]
    assert_both(*changed_pieces(seed, pieces))


def test_amounts_are_replaced_whole_and_paragraphs_come_whole() -> None:
    assert [run for run in runs_of(*PAIRS["amount"]) if run.kind != "equal"] == [
        TextRun("deleted", "1,200.00"),
        TextRun("inserted", "950.00"),
    ]
    assert [run.text for run in runs_of(*PAIRS["paragraph"]) if run.kind != "equal"] == ["Write a letter.\n\n"]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("Item one.\nItem two.\n", "Item one.\nItem new.\nItem two.\n", "Item new.\n"),
        ("The price.\n\nThe end.", "The price.\n\nThe term.\n\nThe end.", "The term.\n\n"),
        ("Item two.\n", "Item one.\nItem two.\n", "Item one.\n"),
    ],
)
def test_a_line_that_begins_as_the_next_one_comes_and_goes_whole(old: str, new: str, line: str) -> None:
    assert [run for run in runs_of(old, new) if run.kind != "equal"] == [TextRun("inserted", line)]
    assert [run for run in runs_of(new, old) if run.kind != "equal"] == [TextRun("deleted", line)]
    assert_both(old, new)


def test_the_time_grows_with_the_text() -> None:
    """One other sign makes each token of a block a piece of its own: they are put together once.

    It takes 1.5 s; texts that grow by a piece at a time took 17.
    """
    a = "harbour crane, " * 240_000
    begin = time.process_time()
    runs = runs_of(a, a[:1_800_000] + a[1_800_000:].replace(",", ";", 1))
    assert [run.text for run in runs if run.kind != "equal"] == [",", ";"]
    assert time.process_time() - begin < 10


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    assert texts_in(redline("a\x00b\ud800", "a\x0bc", **WHO)) == ("a\ufffdb\ufffd", "a\ufffdc")


def test_equal_comparisons_are_equal_files() -> None:
    assert redline(*PAIRS["amount"], **WHO) == redline(*PAIRS["amount"], **WHO)


def test_another_program_reads_it(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx", reason="python-docx is not installed")
    path = tmp_path / "redline.docx"
    path.write_bytes(redline(*PAIRS["paragraph"], **WHO))
    assert docx.Document(str(path)).paragraphs[0].text == "Deed."
    office = shutil.which("soffice")
    if office is None:
        pytest.skip("LibreOffice is not installed; python-docx has read the file")
    subprocess.run([office, "--headless", "--convert-to", "txt:Text", "--outdir", tmp_path, path], check=True)
    assert "Write a letter." in (tmp_path / "redline.txt").read_text("utf-8", errors="replace")
