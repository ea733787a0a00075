"""Results of every kind of run over small inputs of our own, for the verifier to confirm or to refute."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from support.command_line import exit_status
from support.made_files import docx_of, html_of

Rows = list[dict[str, Any]]

STEMS = (
    "The {0} crossed the quiet harbour before noon, and {1} waited on the pier with a letter from the mayor",
    "Under the old bridge {1} found a {0} that nobody in the village had missed since the long dry summer",
    "Every Tuesday the {0} is polished by {1}, who keeps the key of the archive and the ledger of the choir",
    "Der {0} stand vor dem Rathaus, und {1} zählte die Schritte bis zur Brücke, die gestern geöffnet wurde",
    "Паром «{0}» отошёл от пристани утром, и {1} долго смотрел на реку, на мост и на мокрые крыши города",
)
NAMES = ["ferry", "lantern", "ladder", "wagon", "barrel"]
PEOPLE = ["Ada", "Bruno", "Clara", "Dov", "Edith"]
SENTENCES = (
    "Nobody spoke of it again until the harvest was in and the roads had dried.",
    "The clerk wrote the figure down twice, once in ink and once in pencil.",
    "It rained for nine days, and the river took the lower garden with it.",
)


def documents() -> Rows:
    """Families of near copies, exact copies, copies of other case, short and empty documents: 44 rows."""
    rows: Rows = []
    for number, stem in enumerate(STEMS):
        first, last = stem.format(NAMES[number], PEOPLE[number]), stem.format("boat", "Greta")
        base = f"{first}. {SENTENCES[number % 3]} {last}."
        words = base.split()
        versions = [
            base,
            base.replace(PEOPLE[number], "Hugo"),
            " ".join([*words[:-1], "yesterday."]),
            base.upper(),
            f"{base} {SENTENCES[(number + 1) % 3]}",
            base,
            " ".join(words[3:]),
        ]
        rows += [{"text": text, "family": number} for text in versions]
    rows += [
        {"text": text, "family": 9}
        for text in ("short note", "Short note!", "another one", "", "…", "第一章 春の海", "第一章、春の海")
    ]
    rows += [
        {"text": f"{SENTENCES[0]} {SENTENCES[1]}", "family": 8},
        {"text": f"{SENTENCES[1]} {SENTENCES[2]}", "family": 8},
    ]
    for number, row in enumerate(rows):
        row |= {"id": f"d{number:02}", "lang": ("en", "de")[number % 2], "year": 1990 + number * 7 % 13}
        row |= {"group": f"g{number % 4}", "similarity": number / 4, "note": f'a "quoted", {number}\nline; \\ ü'}
    return rows


def in_json(rows: Rows, encoding: str = "utf-8", end: str = "\n") -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + end for row in rows).encode(encoding)


def in_csv(rows: Rows, delimiter: str = ",", encoding: str = "utf-8") -> bytes:
    made = io.StringIO(newline="")
    writer = csv.DictWriter(made, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return made.getvalue().encode(encoding, "replace")


def written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def plain(folder: Path) -> list[Path]:
    return [written(folder / "rows.jsonl", in_json(documents()))]


def western() -> Rows:
    """Documents that the encodings of Western Europe can hold."""
    return [
        row for row in documents() if row["text"].isascii() or "Rathaus" in row["text"] or "RATHAUS" in row["text"]
    ]


def japanese() -> Rows:
    """Documents that Shift JIS can hold."""
    text = "春の海は静かで、港には古い船が三つ並んでいた。村の人々は朝から網を直し、昼には魚を焼いた。"
    texts = (text, text + "夕方に雨が降った。", text, text.replace("三つ", "四つ"), "別の話である。")
    return [{"id": f"j{number}", "text": value} for number, value in enumerate(texts)]


def nested() -> Rows:
    rows = documents()
    return [
        {
            "meta": {"id": row["id"]},
            "title": row["lang"],
            "messages": [{"content": part} for part in row["text"].split(". ")],
        }
        for row in rows
    ]


def two_columns() -> Rows:
    return [
        {"id": row["id"], "title": f"Chapter {row['family']}", "body": row["text"], "group": row["group"]}
        for row in documents()
    ]


def broken() -> bytes:
    good = in_json(documents())
    return (
        b'{"text": 3}\n\n{torn\n[1]\n'
        + good.replace(b"}\n", b"}\r\n", 3)
        + b'{"id": "n", "text": null}\n{"id": "m"}\n'
    )


def texts(folder: Path) -> list[Path]:
    for row in documents():
        written(folder / "letters" / row["lang"] / f"{row['id']}.txt", row["text"].encode())
    written(folder / "letters" / "picture.png", b"\x89PNG\r\n\x1a\n0000")
    return [folder / "letters"]


def samples(folder: Path) -> list[Path]:
    """Files that share their names up to the suffix, of the same words but for signs, or of others."""
    for number, row in enumerate(documents()[:40]):
        written(folder / "samples" / f"{number // 2}.txt", row["text"].encode())
        other = row["text"].replace(" ", " -- ", 1) if number % 4 else documents()[-1]["text"]
        written(folder / "samples" / f"{number // 2}.md", other.encode())
    return [folder / "samples"]


def mails(folder: Path) -> list[Path]:
    """Mails of which some have equal texts, with the same attachment, another one or none."""
    for number, row in enumerate(documents()[:40]):
        for copy in range(2):
            mail = EmailMessage()
            mail["From"], mail["Subject"] = "a@example.org", row["id"]
            mail.set_content(row["text"], cte="quoted-printable")
            if number % 3:
                mail.add_attachment(f"plan {number % 3 * copy}", filename="plan.txt")
            written(folder / "mails" / f"{number}-{copy}.eml", mail.as_bytes())
    return [folder / "mails"]


def office(folder: Path) -> list[Path]:
    """Each text as a Word document, as a page and as plain text, with the same and with other names."""
    for number, row in enumerate(documents()[:40]):
        for suffix, made_of in (("docx", docx_of), ("html", html_of), ("txt", str.encode)):
            place = folder / "office" / (suffix if number % 2 else "all") / f"{number}.{suffix}"
            written(place, made_of(row["text"]))
    return [folder / "office"]


def zipped(folder: Path) -> list[Path]:
    with zipfile.ZipFile(folder / "letters.zip", "w") as archive:
        for row in documents()[:20]:
            archive.writestr(f"{row['id']}.txt", row["text"])
    return [folder / "letters.zip"]


def archived(folder: Path) -> list[Path]:
    letters = texts(folder)
    with tarfile.open(folder / "letters.tar.gz", "w:gz") as archive:
        archive.add(letters[0], "letters")
    return [folder / "letters.tar.gz"]


def tabled(write: Callable[[pa.Table, Path], None], name: str) -> Callable[[Path], list[Path]]:
    def make(folder: Path) -> list[Path]:
        write(pa.Table.from_pylist(documents()), folder / name)
        return [folder / name]

    return make


def _arrow(table: pa.Table, path: Path, *, stream: bool) -> None:
    made = pa.ipc.new_stream if stream else pa.ipc.new_file
    with made(path, table.schema) as writer:
        writer.write_table(table)


def of_bytes(name: str, data: Callable[[], bytes]) -> Callable[[Path], list[Path]]:
    return lambda folder: [written(folder / name, data())]


def several(folder: Path) -> list[Path]:
    rows = documents()
    parts = enumerate((rows[:15], rows[15:30], rows[30:]))
    return [written(folder / f"part{number}.jsonl", in_json(part)) for number, part in parts]


def same_names(folder: Path) -> list[Path]:
    rows = documents()
    return [
        written(folder / name / "rows.jsonl", in_json(part)) for name, part in (("a", rows[:20]), ("b", rows[20:]))
    ]


def numbered(folder: Path, ids: Sequence[Any]) -> list[Path]:
    rows = [{**row, "id": id} for row, id in zip(documents(), ids, strict=False)]
    return [written(folder / "numbers.jsonl", in_json(rows))]


def invalid(folder: Path) -> list[Path]:
    data = in_json(western()).replace("ö".encode(), b"\xf6", 2).replace(b"harbour", b"harb\xffour", 1)
    return [written(folder / "invalid.jsonl", data)]


def surrogates(folder: Path) -> list[Path]:
    lines = in_json(documents()) + b'{"id": "s1", "text": "a lone \\ud800 surrogate in a text of seven words"}\n'
    return [
        written(
            folder / "lone.jsonl",
            lines + b'{"id": "s2", "text": "a lone \\udc01 surrogate in a text of seven words"}\n',
        )
    ]


INPUTS: dict[str, Callable[[Path], list[Path]]] = {
    "jsonl": plain,
    "csv": of_bytes("rows.csv", lambda: in_csv(documents())),
    "semicolons": of_bytes("rows.csv", lambda: in_csv(documents(), ";")),
    "tsv": of_bytes("rows.tsv", lambda: in_csv(documents(), "\t")),
    "parquet": tabled(lambda table, path: pq.write_table(table, path), "rows.parquet"),
    "arrow": tabled(lambda table, path: _arrow(table, path, stream=False), "rows.arrow"),
    "arrow stream": tabled(lambda table, path: _arrow(table, path, stream=True), "rows.arrow"),
    "gzip": of_bytes("rows.jsonl.gz", lambda: gzip.compress(in_json(documents()), mtime=0)),
    "xz": of_bytes("rows.jsonl.xz", lambda: lzma.compress(in_json(documents()))),
    "tar": archived,
    "gzipped csv": of_bytes("rows.csv.gz", lambda: gzip.compress(in_csv(documents()), mtime=0)),
    "byte order mark": of_bytes("bom.jsonl", lambda: in_json(documents(), "utf-8-sig")),
    "byte order mark csv": of_bytes("bom.csv", lambda: in_csv(documents(), ",", "utf-8-sig")),
    "utf-16": of_bytes("wide.jsonl", lambda: in_json(documents(), "utf-16")),
    "utf-16 csv": of_bytes("wide.csv", lambda: in_csv(documents(), ";", "utf-16")),
    "latin-1": of_bytes("latin.jsonl", lambda: in_json(western(), "latin-1")),
    "cp1252": of_bytes("windows.csv", lambda: in_csv(western(), ",", "cp1252")),
    "shift jis": of_bytes("sjis.jsonl", lambda: in_json(japanese(), "shift_jis")),
    "invalid bytes": invalid,
    "lone surrogates": surrogates,
    "broken lines": of_bytes("broken.jsonl", broken),
    "carriage returns": of_bytes("crlf.jsonl", lambda: in_json(documents(), end="\r\n")),
    "no last line end": of_bytes("open.jsonl", lambda: in_json(documents())[:-1]),
    "nested": of_bytes("nested.jsonl", lambda: in_json(nested())),
    "two columns": of_bytes("two.csv", lambda: in_csv(two_columns(), ";")),
    "texts": texts,
    "zip": zipped,
    "samples": samples,
    "mails": mails,
    "office files": office,
    "several": several,
    "same names": same_names,
    "numbers": lambda folder: numbered(folder, range(100)),
    "large numbers": lambda folder: numbered(folder, [10**30 + k for k in range(100)]),
    "mixed ids": lambda folder: numbered(folder, [k if k % 3 else f"id{k}" for k in range(100)]),
    "without ids": of_bytes("bare.jsonl", lambda: in_json([{"text": row["text"]} for row in documents()])),
    "new characters": of_bytes(
        "new.jsonl", lambda: in_json([*documents(), {"id": "x", "text": "\U0001e6c0\u0378 word " * 9}])
    ),
}


@dataclass(frozen=True)
class Case:
    """A run: its input and options; ``status`` is that of its verification, 3 if a part is not looked at."""

    input: str
    options: tuple[str, ...] = ()
    status: int = 0
    command: str = "dedup"

    @property
    def name(self) -> str:
        return " ".join((self.input, self.command, *self.options))


def quiet(*arguments: object) -> int:
    """Run a command in this process; return its exit status."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return exit_status(*arguments)


def made(case: Case, folder: Path) -> Path:
    """Make the result of a case in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    inputs = INPUTS[case.input](folder)
    options = [one.replace("FOLDER", os.fspath(folder)) for one in case.options]
    written(folder / "base.jsonl", in_json([{"text": sentence} for sentence in SENTENCES]))
    status = quiet(case.command, *inputs, "-o", folder / "out", *options)
    assert status in (0, 1), (case, status)
    return folder / "out"
