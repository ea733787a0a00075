"""Documents of one text whose images differ are near copies, and every answer names the images."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.review.desk.desk import Desk
from neardup.review.source import Question
from support.command_line import BASE, Run, run_json
from support.live_pages import live
from support.messages import has_parts

NEAR_COPY = "near copy of a.html: resemblance 1.000"


OTHER_IMAGES = "; not compared: images, which differ"


def page(*images: str, text: str = BASE) -> str:
    return f"<p>{text}</p>" + "".join(f'<img src="{image}">' for image in images)


def made_in(folder: Path, pages: dict[str, str]) -> Path:
    folder.mkdir()
    for name, markup in pages.items():
        (folder / name).write_text(markup, encoding="utf-8")
    return folder


PAGES = {"a.html": page("one.png"), "b.html": page("one.png"), "c.html": page("two.png"), "d.html": page()}


def rows(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]


def reasons(result: Any) -> dict[str, str]:
    return dict(zip(result.groups["id"].to_pylist(), result.groups["reason"].to_pylist(), strict=True))


def test_pages_with_other_images_are_near_copies_and_the_images_are_named(run: Run, tmp_path: Path) -> None:
    folder, out = made_in(tmp_path / "in", PAGES), tmp_path / "out"
    assert run("dedup", folder, "-o", out, "--keep", "first").status == 0
    [copy] = rows(out / "copies.parquet")
    assert (copy["id"], copy["copy_of"], copy["identical_to"]) == ("b.html", "a.html", "a.html")
    other = f"{NEAR_COPY}{OTHER_IMAGES}"
    found = nd.load(out)
    assert reasons(found) == {
        "a.html": "represents 3 other documents",
        "b.html": "exact copy of a.html: identical",
        "c.html": other,
        "d.html": other,
    }
    assert [row["not_compared"] for row in rows(out / "pairs.parquet")] == ["images"] * 3
    parts = {row["id"]: row["attachments"] for row in rows(out / "groups.parquet")}
    assert [(one["name"], one["kind"], one["size"]) for one in parts["c.html"]] == [("images", "unread", 7)]
    assert parts["d.html"] is None
    assert OTHER_IMAGES in run("show", out, "c.html").out

    # from the stored result the same decisions are made
    assert reasons(found.at(1.0)) == reasons(found)
    # and from parts that were fingerprinted elsewhere
    for name in ("a", "c"):
        part = made_in(
            tmp_path / name, {key: PAGES[key] for key in PAGES if key >= name and (name > "a" or key < "c")}
        )
        assert run("fingerprint", part, "-o", tmp_path / f"{name}.fp").status == 0
    merged = run("merge", tmp_path / "a.fp", tmp_path / "c.fp", "-o", tmp_path / "merged", "--keep", "first")
    assert merged.status == 0, merged.err
    ends = {Path(id).name: reason for id, reason in reasons(nd.load(tmp_path / "merged")).items()}
    assert all(ends[name].endswith(OTHER_IMAGES) for name in ("c.html", "d.html"))
    assert ends["b.html"].startswith("exact copy of ")


def test_a_review_says_that_there_is_no_difference_in_the_texts_alone(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the review needs the extra service")
    assert run("dedup", made_in(tmp_path / "in", PAGES), "-o", tmp_path / "out").status == 0
    with closing(Desk.open(tmp_path / "out")) as desk, live(desk) as pages:
        [line] = desk.groups(Question()).lines
        members = {str(one.id): one.key for one in desk.group(line.key).members}
        said = pages.get(f"/pairs/{members['c.html']}/{members['a.html']}").words
    assert has_parts(said, "0 differences in the texts", "images")


def test_a_page_with_the_image_of_a_reference_page_is_its_copy_and_one_with_another_is_not(tmp_path: Path) -> None:
    old = made_in(tmp_path / "old", {"o.html": PAGES["a.html"]})
    found = nd.find(made_in(tmp_path / "new", PAGES), against=old)
    assert has_parts(reasons(found)["b.html"], "exact copy of o.html", "reference set", "identical")
    assert reasons(found)["c.html"].endswith(OTHER_IMAGES)


def test_documents_without_text_are_copies_only_with_equal_images(tmp_path: Path) -> None:
    folder = made_in(
        tmp_path / "in", {"a.html": page("1", text=""), "b.html": page("1", text=""), "c.html": page("2", text="")}
    )
    found = nd.find(folder, empty="drop")
    assert found.removed["id"].to_pylist() == ["a.html", "b.html", "c.html"]
    assert has_parts(str(found.why("c.html")), "without text", "drop", "images", "not read")
    assert has_parts(str(nd.find(folder).why("c.html")), "without text", "images", "not read")
    copies = nd.find(folder, empty="one").copies.select(["id", "copy_of", "identical_to"])
    assert copies.to_pylist() == [{"id": "b.html", "copy_of": "a.html", "identical_to": "a.html"}]


def test_claims_that_differ_only_in_the_values_of_a_form_all_stay(run: Run, tmp_path: Path) -> None:
    canvas = pytest.importorskip("reportlab.pdfgen.canvas")
    (tmp_path / "in").mkdir()
    values = ("Roof leaked on forty bales of cotton", "Fork lift drove into a crate of glass lamps")
    for name, value, checked in (("1", values[0], True), ("2", values[1], True), ("3", values[0], False)):
        page = canvas.Canvas(str(tmp_path / "in" / f"{name}.pdf"), invariant=1)
        page.drawString(60, 780, "Claim for damage to goods in the sheds of the harbour")
        page.acroForm.textfield(name="what", x=60, y=655, width=300, height=20, value=value)
        page.acroForm.checkbox(name="paid", x=60, y=600, checked=checked)
        page.save()
    out = tmp_path / "out"
    assert run("dedup", tmp_path / "in", "-o", out, "--keep", "first").status == 0
    found = nd.load(out)
    assert found.copies.num_rows == 0
    assert sorted(path.name for path in (out / "kept").iterdir()) == ["1.pdf", "2.pdf"]
    assert has_parts(reasons(found)["3.pdf"], "near copy of 1.pdf", "1.000", "not compared: check marks")


def test_a_comparison_names_the_parts_that_it_does_not_compare(run: Run, tmp_path: Path) -> None:
    folder, html = made_in(tmp_path / "in", PAGES), tmp_path / "page.html"
    a, c = folder / "a.html", folder / "c.html"
    said = run("compare", a, c)
    assert has_parts(said.out, "none in the texts", "texts were compared", "different: images", "A and B are the")
    assert json.loads(run("compare", a, c, "--json").out)["not_compared"] == ["images"]
    assert "images" not in run("compare", a, folder / "b.html").out
    assert run("compare", a, c, "--html", html).status == 0
    assert "different: images" in html.read_text(encoding="utf-8")
    assert nd.compare(a, c).difference.endswith(OTHER_IMAGES)

    assert run("dedup", folder, "-o", tmp_path / "out").status == 0
    assert "different: images" in run("compare", tmp_path / "out", "a.html", "c.html").out
    assert "different: images" not in run("compare", tmp_path / "out", "a.html", "b.html").out
    brief, whole = tmp_path / "brief.html", tmp_path / "whole.html"
    assert run("report", tmp_path / "out", "-o", brief).status == 0
    assert re.search("images in .*3", brief.read_text(encoding="utf-8"))
    assert run("report", tmp_path / "out", "-o", whole, "--pairs", 10).status == 0
    assert "different: images" in whole.read_text(encoding="utf-8")


def test_a_summary_names_the_parts_that_go_without_having_been_compared(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = run("dedup", made_in(tmp_path / "in", PAGES), "-o", out, "--keep", "first")
    (lost,) = (line for line in said.out.splitlines() if line.startswith("text lost"))
    assert has_parts(lost, "not compared", "images of 1 document")
    assert run_json(out)["lost"]["unread"] == {"images": 1}
    assert nd.load(out).run.lost.unread == {"images": 1}
    assert nd.find(tmp_path / "in", keep="none").run.lost.unread == {"images": 3}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of warcio
def test_pages_of_a_web_archive_are_compared_with_their_images(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("warcio")
    from support.made_warc import Page, records_of, write_warc

    pages = [
        Page(f"https://example.org/{name}", page(image).encode()) for name, image in zip("abc", "xxy", strict=True)
    ]
    archive = write_warc(tmp_path / "a.warc", records_of(pages))
    assert run("dedup", archive, "-o", tmp_path / "out", "--keep", "first", "--id", "url").status == 0
    found = nd.load(tmp_path / "out")
    assert found.copies["id"].to_pylist() == ["https://example.org/b"]
    assert reasons(found)["https://example.org/c"].endswith(OTHER_IMAGES)
    assert run("fingerprint", archive, "-o", tmp_path / "fp", "--id", "url").status == 0
    assert run("merge", tmp_path / "fp", "-o", tmp_path / "merged", "--keep", "first").status == 0
    assert reasons(nd.load(tmp_path / "merged")) == reasons(found)


def test_the_largest_groups_name_the_parts_that_differ(run: Run, tmp_path: Path) -> None:
    said = run(made_in(tmp_path / "in", PAGES)).out
    members = {line.split()[1]: line for line in said.splitlines() if line.startswith("  ")}
    assert "not compared" not in members["b.html"]
    assert has_parts(members["c.html"], "1.000", "not compared: images")
    assert has_parts(said, "not compared", "in no kept document", "images of 1 document")


def test_documents_that_differ_in_other_parts_alone_are_not_said_to_have_other_characters(
    run: Run, tmp_path: Path
) -> None:
    pages = {name: PAGES[name] for name in ("a.html", "d.html")}
    said = run("dedup", made_in(tmp_path / "in", pages), "-o", tmp_path / "out", "--keep", "first").out
    (lost,) = (line for line in said.splitlines() if line.startswith("text lost"))
    assert has_parts(lost, "no word", "1 removed document", "not identical")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of warcio
@pytest.mark.parametrize("first", ["a.warc", "z.warc"])  # read before the data, and after it
def test_a_web_archive_beside_data_is_compared_with_its_images(first: str, run: Run, tmp_path: Path) -> None:
    pytest.importorskip("warcio")
    from support.made_warc import Page, records_of, write_warc

    folder = tmp_path / "in"
    folder.mkdir()
    pages = [Page(f"https://e.org/{name}", page(image).encode()) for name, image in zip("abc", "xxy", strict=True)]
    write_warc(folder / first, records_of(pages))
    row = {"url": "https://e.org/row", "text": BASE, "attachments": ["of the data"]}
    (folder / "m.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    for command in ("dedup", "fingerprint"):
        assert run(command, folder, "-o", tmp_path / command, "--id", "url").status == 0
    assert run("merge", tmp_path / "fingerprint", "-o", tmp_path / "merged").status == 0
    for out in ("dedup", "merged"):
        found = nd.load(tmp_path / out)
        assert found.copies["identical_to"].to_pylist() == ["https://e.org/a"]
        others = [
            reason
            for id, reason in reasons(found).items()
            if not id.endswith("/b") and not reason.startswith("represents")
        ]
        assert len(others) == 2
        assert all(reason.endswith(OTHER_IMAGES) for reason in others)
