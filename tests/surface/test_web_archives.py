"""Commands on WARC files: pages of several crawls are compared, and what stays is a WARC that warcio reads."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytest.importorskip("warcio", reason="the extra warc is not installed")

from support.command_line import BASE, NEAR, OTHER, Run
from support.made_warc import PNG, Page, page_of, read_by_warcio, records_of, wet_records, write_warc
from support.messages import has_parts

# warcio leaves the working files of its writer open
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PICTURE = Page("http://a/p.png", PNG, "image/png")
FIRST = [page_of("http://a/1", BASE), page_of("http://a/2", OTHER), PICTURE]
SECOND = [page_of("http://b/1", NEAR), page_of("http://b/2", BASE), PICTURE]


@pytest.fixture
def crawls(tmp_path: Path) -> Path:
    folder = tmp_path / "crawls"
    folder.mkdir()
    write_warc(folder / "a.warc.gz", records_of(FIRST, packed=True))
    write_warc(folder / "b.warc", records_of(SECOND))
    return folder


def captures(path: Path) -> list[tuple[str, str | None]]:
    return [(kind, url) for kind, url, _ in read_by_warcio(path)]


def both(*urls: str) -> list[tuple[str, str | None]]:
    return [("warcinfo", None), *((kind, url) for url in urls for kind in ("request", "response"))]


def test_pages_are_compared_across_files(crawls: Path, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("dedup", crawls, "-o", out, "--id", "url")
    assert result.status == 0, result.err
    assert captures(out / "kept" / "a.warc.gz") == both("http://a/1", "http://a/2", "http://a/p.png")
    assert captures(out / "kept" / "b.warc") == both("http://a/p.png")
    kept = (out / "kept" / "a.warc.gz").read_bytes()
    assert kept == (crawls / "a.warc.gz").read_bytes()
    assert has_parts(result.out, "6 request", "2 warcinfo", "2 images")
    groups = pq.read_table(out / "groups.parquet").to_pylist()
    assert {row["id"] for row in groups if not row["kept"]} == {"http://b/1", "http://b/2"}
    places = [run("show", out, url).out for url in ("http://b/1", "http://b/2")]
    assert has_parts(places[0], "row 2", "b.warc", "near copy")
    assert has_parts(places[1], "exact copy")


def test_repeated_addresses_are_no_ids(run: Run, tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc", records_of([FIRST[0], FIRST[0], FIRST[1]]))
    result = run("dedup", path, "-o", tmp_path / "out")
    assert has_parts(result.out, '"url"', "more than once")
    rows = pq.read_table(tmp_path / "out" / "groups.parquet").to_pylist()
    assert [row["id"] for row in rows] == [f"{path}#2", f"{path}#4"]


def test_headers_are_columns(run: Run, tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc.wet.gz", wet_records([BASE, BASE, NEAR, OTHER], packed=True))
    out = tmp_path / "out"
    assert run("dedup", path, "-o", out, "--within", "WARC-Identified-Content-Language").status == 0
    kept = [f"https://example.org/{number}" for number in (0, 1, 3)]
    assert captures(out / "kept.wet.gz") == [("conversion", url) for url in kept]
    wrong = run("dedup", path, "-o", tmp_path / "no", "--within", "WARC-Language")
    assert wrong.status == 2
    assert has_parts(wrong.err, "WARC-Language", "WARC-Identified-Content-Language")


def test_results_are_read_later_and_taken_up(crawls: Path, run: Run, tmp_path: Path) -> None:
    path, out = crawls / "b.warc", tmp_path / "out"
    assert run("dedup", path, "-o", out).status == 0
    assert run("apply", out, "-o", tmp_path / "final").status == 0
    assert (tmp_path / "final" / "kept.warc").read_bytes() == (out / "kept.warc").read_bytes()
    assert run("fingerprint", crawls / "a.warc.gz", "-o", tmp_path / "fp").status < 2
    assert run("dedup", path, "-o", tmp_path / "new", "--against", tmp_path / "fp").status == 0
    assert captures(tmp_path / "new" / "kept.warc") == both("http://a/p.png")
    lines = run("dedup", path, "-o", "-").out.splitlines()
    assert [json.loads(line)["url"] for line in lines] == ["http://b/1"]


def test_a_verifier_without_a_reader_of_archives_takes_the_stored_texts(run: Run, tmp_path: Path) -> None:
    """Conversions are plain text, which it must not take for a table of another format."""
    path = write_warc(tmp_path / "a.warc.wet", wet_records([BASE, BASE, NEAR, OTHER]))
    assert run("dedup", path, "-o", tmp_path / "out").status == 0
    verified = run("verify", tmp_path / "out")
    assert verified.status == 3, verified.out
    assert "the format warc" in verified.out


def test_files_of_one_size_and_mistakes(crawls: Path, run: Run, tmp_path: Path) -> None:
    assert run("dedup", crawls, "-o", tmp_path / "out", "--file-size", "1kB").status == 0
    shards = sorted((tmp_path / "out" / "kept").iterdir())
    urls = [one for shard in shards for one in captures(shard) if one[0] == "response"]
    assert [url for _, url in urls] == ["http://a/1", "http://a/2", "http://a/p.png", "http://a/p.png"]
    (tmp_path / "no.warc.gz").write_bytes(b"not a web archive")
    wrong = run("dedup", tmp_path / "no.warc.gz", "-o", tmp_path / "no")
    assert wrong.status == 2
    assert has_parts(wrong.err, "no.warc.gz", "not a WARC file", "A whole WARC file")


@pytest.mark.parametrize("packed", [False, True])
def test_what_goes_becomes_revisits_where_the_payload_is_identical(packed: bool, run: Run, tmp_path: Path) -> None:
    from warcio.archiveiterator import ArchiveIterator

    again = page_of("http://a/1", BASE, http=(("Age", "5"),))
    other = Page("http://c/1", FIRST[0].body.replace(b"<p>", b"<p class=x>"))
    pages = [FIRST[0], again, other, page_of("http://b/1", NEAR), PICTURE]
    path = write_warc(tmp_path / ("a.warc.gz" if packed else "a.warc"), records_of(pages, packed=packed))
    out = tmp_path / "out"
    assert run("dedup", path, "-o", out, "--revisits").status == 0
    kept = next(out.glob("kept*"))
    assert [kind for kind, _ in captures(kept)] == [
        *("warcinfo", "request", "response", "request", "revisit", "metadata", "metadata", "request", "response")
    ]
    with open(kept, "rb") as file:
        records = [
            (one.rec_headers, one.http_headers, one.content_stream().read(), one.digest_checker.passed)
            for one in ArchiveIterator(file, check_digests=True)
        ]
    assert all(passed is not False for *_, passed in records)
    revisit, http, content, _ = records[4]
    said = {
        name: revisit.get_header(f"WARC-{name}") for name in ("Profile", "Refers-To", "Refers-To-Date", "Date")
    }
    assert said["Profile"].endswith("identical-payload-digest")
    assert (said["Refers-To"], said["Refers-To-Date"]) == ("<urn:uuid:response-0>", "2026-01-01T00:00:00Z")
    assert said["Date"] == "2026-01-01T00:00:01Z"
    assert revisit.get_header("WARC-Payload-Digest") == records[2][0].get_header("WARC-Payload-Digest")
    assert (http.get_header("Age"), content) == ("5", b"")
    assert has_parts(records[5][2].decode(), "urn:uuid:response-2", "exact copy")
    assert has_parts(records[6][2].decode(), "urn:uuid:response-3", "near copy")
    again = run("dedup", kept, "-o", tmp_path / "again")
    assert has_parts(again.out, "1 read", "1 revisit")


def test_revisits_refer_to_an_earlier_crawl(crawls: Path, run: Run, tmp_path: Path) -> None:
    new = write_warc(tmp_path / "new.warc", records_of([FIRST[0]], requests=False))
    out = tmp_path / "out"
    assert run("dedup", new, "-o", out, "--against", crawls / "a.warc.gz", "--revisits").status == 0
    assert captures(out / "kept.warc") == [("warcinfo", None), ("revisit", "http://a/1")]


def test_revisits_refer_to_an_earlier_crawl_in_fingerprints(crawls: Path, run: Run, tmp_path: Path) -> None:
    run("fingerprint", crawls / "a.warc.gz", "-o", tmp_path / "fp")  # the picture is no document
    pages = [
        page_of("http://new/1", BASE + " new"),
        FIRST[0],
        page_of("http://other/1", "Something else entirely."),
    ]
    new = write_warc(tmp_path / "new.warc", records_of(pages, requests=False))
    out = tmp_path / "out"
    given = ("dedup", new, "-o", out, "--against", tmp_path / "fp", "--revisits", "--write-removed")
    result = run(*given, "--update", tmp_path / "grown")
    assert result.status == 0, result.err
    assert [kind for kind, _ in captures(out / "kept.warc")] == ["warcinfo", "metadata", "revisit", "response"]
    assert b"WARC-Refers-To: <urn:uuid:response-0>" in (out / "kept.warc").read_bytes()
    assert len(captures(out / "removed.warc")) == 2


def test_revisits_are_of_web_archives(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": BASE}) + "\n")
    wrong = run("dedup", tmp_path / "a.jsonl", "-o", tmp_path / "out", "--revisits")
    assert wrong.status == 2
    assert has_parts(wrong.err, "--revisits", "jsonl", "Web archives")
