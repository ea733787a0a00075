"""The files that readers of a page have of their own: small, and of the kinds that the page names."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from support.made_files import docx_of, pdf_of
from support.paths import ROOT

Rows = Sequence[dict[str, Any]]
NOTICE = (
    "The harbour office is closed on Friday, because the pier is being repaired. Boats that come in must use the "
    "north quay, where the crane stands, and pay the fee at the gate."
)
LIBRARY = (
    "The library opens at nine on weekdays and at ten on Saturdays; books can be returned at any time through the "
    "hatch beside the door."
)
SAMPLE = ROOT / "src" / "neardup" / "cli" / "demo_documents" / "documents.jsonl"
FILES = ROOT / "docs" / "tutorial" / "files"


def of_readme(folder: Path) -> None:
    shutil.copyfile(SAMPLE, folder / "mails.jsonl")
    shutil.copyfile(SAMPLE, folder / "notes.jsonl")
    shutil.copytree(FILES / "letters", folder / "letters")
    for name in ("old.txt", "new.txt"):
        shutil.copyfile(FILES / name, folder / name)
    rows = sample()
    parquet(folder / "old.parquet", rows[:60])
    parquet(folder / "new.parquet", rows[40:])
    (folder / "old.docx").write_bytes(docx_of(NOTICE))
    (folder / "new.pdf").write_bytes(pdf_of(NOTICE.replace("Friday", "Monday")))


def sample() -> list[dict[str, Any]]:
    """The documents of ``neardup demo``."""
    return [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]


def jsonl(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def parquet(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), path)


def of_mail(folder: Path) -> None:
    shutil.copytree(FILES / "letters", folder / "letters")


def of_collected_mails(folder: Path) -> None:
    jsonl(folder / "mails.jsonl", [{**row, "id": str(number)} for number, row in enumerate(sample())])
    write_tokens(folder)


def write_tokens(folder: Path) -> None:
    (folder / "tokens").write_text("write 0123456789abcdef0123\n", encoding="utf-8")
    (folder / "tokens").chmod(0o600)


def of_posts(folder: Path) -> None:
    rows = [
        {**row, "lang": ("de", "fr")[k % 2], "stars": k, "body": row["text"]} for k, row in enumerate(sample())
    ]
    jsonl(folder / "posts.jsonl", rows)
    jsonl(folder / "data" / "lang=de" / "part-0.jsonl", rows[::2])
    jsonl(folder / "data" / "lang=fr" / "part-0.jsonl", rows[1::2])


def of_letters(folder: Path) -> None:
    for name in ("letters.jsonl", "letters-of-may.jsonl"):
        shutil.copyfile(SAMPLE, folder / name)
    (folder / "tags.csv").write_text(
        "id,tags\nnotice-parking,seen\nnotice-parking-again,seen;old\n", encoding="utf-8"
    )


def of_night(folder: Path) -> None:
    for number in range(2):
        jsonl(folder / "shards" / f"{number}.jsonl", sample()[number::2])


def of_pipelines(folder: Path) -> None:
    """Shards, a database of the same rows, and a clone whose branch adds a near copy to its pages."""
    of_night(folder)
    with duckdb.connect(folder / "posts.duckdb") as database:
        database.sql(f"CREATE TABLE posts AS FROM read_json('{folder}/shards/*.jsonl')")

    def git(*words: str) -> None:
        who = ["-c", "user.name=Ann", "-c", "user.email=ann@sea.example"]
        subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)

    def commit(name: str, text: str) -> None:
        page = folder / "docs" / name
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
        git("add", "docs")
        git("commit", "-m", name)

    git("init")
    commit("pier.md", f"# The pier\n\n{NOTICE}\n")
    commit("library.md", f"# The library\n\n{LIBRARY}\n")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    commit("pier-again.md", f"# The pier again\n\n{NOTICE}\n")


def of_shards(folder: Path) -> None:
    jsonl(folder / "parts" / "00.jsonl", sample()[::2])
    jsonl(folder / "parts" / "01.jsonl", sample()[1::2])
    jsonl(folder / "new" / "2026-11-22.jsonl", [{"id": "today", "text": NOTICE}, *sample()[:1]])


def of_templates(folder: Path) -> None:
    (folder / "form.txt").write_text(NOTICE, encoding="utf-8")
    (folder / "letters").mkdir()
    for number in range(8):
        (folder / "letters" / f"{number}.txt").write_text(
            f"{NOTICE}\n{LIBRARY.split(';')[0]} {number}", encoding="utf-8"
        )


def of_three_texts(folder: Path) -> None:
    for name, text in zip(("one", "two", "three"), (NOTICE, NOTICE.upper(), LIBRARY), strict=True):
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")


def of_simhash(folder: Path) -> None:
    shutil.copyfile(SAMPLE, folder / "sample.jsonl")


def of_contracts(folder: Path) -> None:
    parquet(folder / "contracts.parquet", sample())


def of_formats(folder: Path) -> None:
    of_mail(folder)
    for name in ("rows.jsonl", "inbox.mbox"):
        shutil.copyfile(SAMPLE, folder / name)
    (folder / "inbox.mbox").write_text(
        f"From ann@sea.example Fri Nov 20 10:00:00 2026\nSubject: Pier\n\n{NOTICE}\n\n", encoding="utf-8"
    )
    (folder / "mails").mkdir()
    for day in (20, 21):
        mail = f"Date: {day} Nov 2026 10:00:00 +0000\nSubject: Pier\n\n{NOTICE}\n"
        (folder / "mails" / f"{day}.eml").write_text(mail, encoding="utf-8")


def of_collections(folder: Path) -> None:
    of_mail(folder)
    rows = [
        {**row, "id": f"id-{number}", "from": "ann", "date": "2026-11-20"} for number, row in enumerate(sample())
    ]
    jsonl(folder / "inbox.jsonl", rows[:10])
    (folder / "minutes.docx").write_bytes(docx_of(LIBRARY))
    for name in ("notes.md", "form.txt"):
        (folder / name).write_text(NOTICE, encoding="utf-8")


def of_parts(folder: Path) -> None:
    for number in range(4):
        jsonl(folder / "parts" / f"{number}.jsonl", sample()[number::4])


def of_corpus(folder: Path) -> None:
    jsonl(folder / "corpus" / "a.jsonl", sample())


def of_choices(folder: Path) -> None:
    rows = sample()
    parquet(folder / "articles.parquet", [{"id": row["id"], "title": "A", "body": row["text"]} for row in rows])
    jsonl(folder / "pages.jsonl", [{"meta": {"id": row["id"], "body": row["text"]}} for row in rows])
    chats = [{"id": row["id"], "messages": [{"content": row["text"]}, {"content": NOTICE}]} for row in rows]
    jsonl(folder / "chats.jsonl", chats)
    jsonl(folder / "mails.jsonl", rows)
    (folder / "submissions").mkdir()
    for name in ("a", "b"):
        (folder / "submissions" / f"{name}.py").write_text(
            f"def {name}({name}):\n    return {name} + 1\n", encoding="utf-8"
        )


def of_splits(folder: Path) -> None:
    rows = [
        {
            **row,
            **{name: f"{name}-{k % 3}" for name in ("mailbox", "language", "customer")},
            "site": ("wiki", "news", "shop")[k % 3],
            "split": ("train", "valid", "test")[k % 3],
            "date": k,
        }
        for k, row in enumerate(sample())
    ]
    for name in ("mails", "pages", "all"):
        parquet(folder / f"{name}.parquet", rows)
    parquet(folder / "train.parquet", rows[:60])
    parquet(folder / "test.parquet", rows[40:])


OWN: dict[str, Callable[[Path], None]] = {
    "README.md": of_readme,
    "at-night.md": of_night,
    "collection.md": of_collections,
    "comparison.md": of_readme,
    "formats.md": of_formats,
    "kinds.md": of_contracts,
    "mail.md": of_mail,
    "memory.md": of_corpus,
    "pipelines.md": of_pipelines,
    "python.md": of_parts,
    "postgres.md": of_collected_mails,
    "pipes-and-config.md": of_posts,
    "review-decisions.md": of_letters,
    "parts.md": of_shards,
    "simhash.md": of_simhash,
    "templates.md": of_templates,
    "thresholds.md": of_readme,
    "walkthrough.md": of_three_texts,
    "what-is-compared.md": of_choices,
    "which-command.md": of_readme,
    "who-removes-whom.md": of_splits,
}
"""By the name of a page, the function that writes the files of its reader into a folder."""
