"""A text is the same document in whatever format it is stored."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import wrap

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.io.formats import extract
from neardup.unicode import tokens
from support import shared_data
from support.command_line import exit_status
from support.made_files import docx_of, drawn, eml_of, html_of, msg_of, packed_stream, pdf_of, pdf_of_streams

LINES_A_PAGE = 55
MAKERS = {".html": html_of, ".docx": docx_of, ".eml": eml_of, ".msg": msg_of}

# What XML cannot hold, and what a line end is depends on the format: not part of any text
CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cn", "Co", "Zl", "Zp"])
LINES = st.lists(st.text(st.one_of(CHARACTERS, st.sampled_from(" <>&;=-.")), max_size=80), max_size=20)
PAGES = st.lists(st.text("abcXYZäß€12.,()\\'", min_size=1, max_size=12), max_size=60)


@pytest.mark.parametrize("suffix", MAKERS)
@given(lines=LINES)
def test_tokens_survive_every_format(suffix: str, lines: list[str]) -> None:
    text = "\n".join(lines)
    assert tokens(extract(MAKERS[suffix](text), "a" + suffix)) == tokens(text)


@given(
    pages=st.lists(
        st.lists(st.text("abcXYZäß€12.,()\\'", min_size=1, max_size=12), max_size=60), min_size=1, max_size=4
    )
)
def test_tokens_survive_pdf(pages: list[list[str]]) -> None:
    texts = [" ".join(words) for words in pages]
    assert tokens(extract(pdf_of(*texts), "a.pdf")) == tokens("\n".join(texts))


def paged(text: str) -> bytes:
    """A PDF as a word processor prints it, without hyphenation."""
    lines = [line for row in text.splitlines() for line in wrap(row, 90, break_on_hyphens=False) or [""]]
    pages = [lines[k : k + LINES_A_PAGE] for k in range(0, len(lines), LINES_A_PAGE)]
    return pdf_of_streams([packed_stream(drawn(page)) for page in pages])


def write_in_every_format(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    for suffix, make in {**MAKERS, ".pdf": paged}.items():
        (folder / f"{name}{suffix}").write_bytes(make(text))


def latin(text: str) -> str:
    """The text with what the fonts built into PDF readers have, and no control characters."""
    kept = text.encode("cp1252", "ignore").decode("cp1252")
    return "".join(char for char in kept if char.isprintable() or char == "\n")


def test_real_documents_are_found_as_copies_of_themselves_in_other_formats(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    lines = (
        (shared_data.folder(shared_data.or_own("license_texts")) / "documents.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    texts = [latin(json.loads(line)["text"]) for line in lines]
    # a word broken at the end of a line is one word in a PDF, two in the other formats
    texts = [text for text in texts if "-\n" not in text][:12]
    for number, text in enumerate(texts):
        write_in_every_format(documents, f"{number:02}", text)
    out = tmp_path / "out"
    assert exit_status("group", documents, "-o", out) == 0
    assert (out / "problems.jsonl").read_text(encoding="utf-8") == ""
    copies = {row["id"]: row["copy_of"] for row in pq.read_table(out / "copies.parquet").to_pylist()}
    first_of = {row["id"]: row["copy_of"] for row in nd.find(texts).copies.to_pylist()}
    for number in range(len(texts)):
        first = f"{first_of.get(number, number):02}.docx"
        for suffix in (".eml", ".html", ".msg", ".pdf", ".txt"):
            assert copies[f"{number:02}{suffix}"] == first


def test_one_text_in_every_format_is_one_group_and_a_subject_makes_a_near_copy(tmp_path: Path) -> None:
    text = "\n".join(" ".join(f"word{9 * row + k}" for k in range(9)) for row in range(12))
    documents = tmp_path / "documents"
    documents.mkdir()
    write_in_every_format(documents, "a", text)
    (documents / "z.eml").write_bytes(eml_of(text, "a subject"))
    (documents / "z.pdf").write_bytes(b"%PDF-1.4 broken")
    found = nd.find(documents)
    assert {row["id"] for row in found.copies.to_pylist()} == {
        f"a{s}" for s in (".eml", ".html", ".msg", ".pdf", ".txt")
    }
    assert set(found.copies.column("copy_of").to_pylist()) == {"a.docx"}
    ((pair),) = found.pairs.to_pylist()
    # two more tokens in front are two more shingles
    assert (pair["id_a"], pair["id_b"]) == ("a.docx", "z.eml")
    assert (pair["shared"], pair["size_a"], pair["size_b"]) == (104, 104, 106)
    assert [problem.reason.partition(":")[0] for problem in found.problems] == ["cannot read z.pdf"]


def test_kept_files_are_copied_byte_for_byte(tmp_path: Path) -> None:
    text = " ".join(f"word{k}" for k in range(50))
    documents = tmp_path / "documents"
    documents.mkdir()
    write_in_every_format(documents, "a", text)
    for path in list(documents.iterdir()):  # files with one name would be a sample, and all stay
        path.rename(path.with_stem(f"{path.suffix[1:]}-a"))
    (documents / "b.pdf").write_bytes(pdf_of("something else entirely that has its own words"))
    (documents / "c.pdf").write_bytes(b"%PDF-1.4 broken")
    out = tmp_path / "out"
    assert exit_status("dedup", documents, "-o", out) == 1
    kept = {path.name: path.read_bytes() for path in (out / "kept").iterdir()}
    assert kept == {name: (documents / name).read_bytes() for name in ("docx-a.docx", "b.pdf", "c.pdf")}
    (problem,) = (json.loads(line) for line in (out / "problems.jsonl").read_text(encoding="utf-8").splitlines())
    assert problem["reason"].startswith("cannot read c.pdf: It is not a PDF file, or is damaged")


def test_threads_change_nothing(tmp_path: Path) -> None:
    for number in range(8):
        write_in_every_format(tmp_path, str(number), " ".join(f"word{k}" for k in range(number, 60 + number)))
    one, many = (nd.find(tmp_path, threads=threads) for threads in (1, 4))
    for name in ("pairs", "groups", "copies"):
        assert getattr(one, name).equals(getattr(many, name))
    assert one.groups.num_rows == 48
