"""The page of repeated passages: its memory does not grow with the samples of all passages."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import neardup as nd
from neardup.corpus.repetition.passages import PASSAGES
from neardup.corpus.repetition.views import PassagesAccount, as_page
from support.command_line import write_rows
from support.messages import has_parts


def test_a_page_copies_no_samples_but_those_it_shows() -> None:
    n = 20_000
    columns = {
        "passage": range(n),
        "tokens": [50 + k % 7 for k in range(n)],
        "times": [2 + k % 5 for k in range(n)],
        "documents": [2 + (k * 7919) % 1000 for k in range(n)],
        "sample": [f"<{k}> " + "x" * 490 for k in range(n)],
        "id": map(str, range(n)),
        "source": [f"{k % 2}.jsonl" for k in range(n)],
        **{name: [0] * n for name in ("row", "begin", "end")},
    }
    whole = pa.table([pa.array(columns[kind.name], kind.type) for kind in PASSAGES], schema=PASSAGES)
    parts = pa.Table.from_batches(whole.to_batches(max_chunksize=1000))
    sources = [{"source": f"{k}.jsonl", "documents": 9, "tokens": 900, "repeated": 90} for k in range(2)]
    counts = {"documents": 18, "passages": n, "places": 2 * n, "repeated_tokens": 180, "tokens": 1800}
    account = {"counts": counts, "rules": {"unit": "passage", "length": 50}, "sources": sources}
    shown = PassagesAccount(account, parts)
    ranked = sorted(parts.to_pylist(), key=lambda row: (-row["documents"], -row["tokens"], row["passage"]))
    assert shown.top(7) == (ranked[:7], 0)
    plain, counted = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(counted)
    try:
        page = as_page(shown)
    finally:
        pa.set_memory_pool(plain)
    assert page.count("<svg") == 6
    assert counted.max_memory() < whole["sample"].nbytes / 4


def test_a_footer_is_listed_once_and_not_with_the_lines_around_it(tmp_path: Path) -> None:
    footer = " ".join(f"footer{number}" for number in range(60))
    lines = [" ".join(f"line{kind}x{number}" for number in range(8)) for kind in range(3)]
    other = " ".join(f"other{number}" for number in range(55))
    texts = [f"own{k} {lines[k % 3]} {footer} {lines[(k + 1) % 3]} end{k}" for k in range(12)]
    texts += [f"mine{k} {other}" for k in range(2)]
    files = [write_rows(tmp_path / f"{k}.jsonl", [{"text": text} for text in texts[k::2]]) for k in range(2)]
    found = nd.passages([*files, write_rows(tmp_path / "c.jsonl", [{"text": "alone"}])])
    assert len(found.passages) > 3
    listed, left_out = found.shown.top(5)
    assert [row["sample"][:8] for row in listed] == ["footer0 ", "other0 o"]
    assert left_out == len(found.passages) - 2
    said = str(found).splitlines()
    assert said[1].endswith(", in 2 of 3 files")
    assert has_parts(said[-1], f"{left_out} passages", "passages.parquet")
