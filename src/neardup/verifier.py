"""Verify a result of neardup: derive it again from the documents, and compare whole tables, in one file.

``neardup verify OUT [INPUT ...]``, or without neardup ``python verifier.py OUT [INPUT ...]``: it needs Python and
pyarrow, and shares no code with the program that made the result: no kernels, hashes or indexes. It reads the
inputs that the result records, or INPUT in their place, and follows docs/reference/files.md and
docs/explanation/measures.md. Exit status: 0 everything was looked at and is right; 1 a difference; 2 not a result;
3 nothing wrong was seen, but something was not looked at, which is listed with counts.
"""

import csv
import hashlib
import io
import json
import lzma
import math
import random
import re
import sys
import tarfile
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction
from functools import cache
from importlib import import_module
from itertools import chain, pairwise, zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

MOST = 3_000  # up to this many different documents all pairs are counted; of more, those among as many drawn ones
# settings whose shingles are not made here, and those whose fates are not derived here
LEAVING_OUT = "mask", "ignore_numbers", "stop_words", "tokenizer", "ignore_common"
UNUSUAL = "across", "no_self", "only_contained", "decisions", "regrouped_from", "large_clusters"
NUMBER = r"(?i)\s*[-+]?(\d[\d_]*)?\.?\d*(e[-+]?\d+)?\s*|.*(inf|nan).*"  # texts that a program may read as numbers
ERRORS = LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError, EOFError, pa.ArrowException
SETS = *("resemblance", "containment", "overlap", "overlap-max", "dice", "cosine"), "vocabulary", "multiset"
FORMULAS = {"overlap": "smaller", "containment": "own", "overlap-max": "larger", "dice": "both"}
FORMULAS |= {"chunk-longest": "larger", "lcs": "both", "cosine": "product"}
SIDES = {"new-in-old": ("own", "this document in that one"), "old-in-new": ("other", "that document in this one")}
SIDES["either"] = "smaller", "the smaller one in the larger one"
PLAIN = "", ".txt", ".text", ".md"  # suffixes of documents that are their text; of others the stored text counts
OFFICE = re.compile(r"\.((do[ct]|pp[ts]|pot|xl[st])[xm]|o[dt][tsp]|rtf|epub|eml|msg)")  # written by programs
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zstd": "zstd", ".lz4": "lz4", ".xz": "xz"}
# keys of run.json about the process and its options: they say nothing about the documents
OF_PROCESS = """neardup_version format action settings settings_digest versions unicode choice plan notes reading
    closed large_buckets reading_against regrouped_from seconds peak_memory_bytes config kept_files"""
PAIR, MEASURED = ("shared", "size_a", "size_b"), ("common", "total_a", "total_b")
TABLES = "pairs", "groups", "copies", "ranks", "not_judged"
NAMES = ["run", "problems", "kept", "removed", "places", "located", "texts", "missed", "common", "by", "names"]
LOST = "shingles", "lost_shingles", "lost_units", "lost_passage"
# Default_Ignorable_Code_Point of Unicode 15: invisible characters, which do not count
IGNORABLE = """AD 34F 61C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E 2060-206F 3164 FE00-FE0F FEFF FFA0
    FFF0-FFF8 1BCA0-1BCA3 1D173-1D17A E0000-E0FFF"""
# marks that begin a grapheme of their own (Grapheme_Cluster_Break=Other)
SEPARATE = "102B-102C 1038 1062-1064 1067-106D 1083 1087-108C 108F 109A-109C 1A61 1A63-1A64 AA7B AA7D 11720-11721"
# beginnings of the names of characters in scripts without spaces, where every grapheme is a token
SPACELESS = """CJK UNIFIED IDEOGRAPH,CJK COMPATIBILITY IDEOGRAPH,IDEOGRAPHIC ITERATION,VERTICAL IDEOGRAPHIC
IDEOGRAPHIC NUMBER ZERO,HANGZHOU NUMERAL,OLD CHINESE ITERATION,VIETNAMESE ALTERNATE READING
HIRAGANA,HENTAIGANA,THAI,LAO,KHMER,MYANMAR""".replace("\n", ",").split(",")
CONNECTORS, TATWEEL = "_\u203f\u2040\u2054", "\u0640"  # which do not count at the edges of a token, and nowhere
SAME, SPACES = "same words; ", r"[^\S\x1c-\x1f]+"  # the latter is the property White_Space
UNSEEN, GONE, URL_STATES = object(), "nothing", "states of files at URLs: copies were read"  # not derived; absent


class DifferenceError(Exception):
    """The result disagrees with its documents."""


class UnreadError(Exception):
    """Something is not read here, or not there."""


@cache
def _codes(ranges):
    ends = [[int(end, 16) for end in part.split("-")] for part in ranges.split()]
    return frozenset(code for part in ends for code in range(part[0], part[-1] + 1))


@cache
def folded(char):
    """Return NFKC_Casefold of a character (DerivedNormalizationProps.txt)."""
    after = unicodedata.normalize("NFKC", char).casefold()
    after = "".join(c for c in after if ord(c) not in _codes(IGNORABLE))
    return char if after == char else "".join(map(folded, after))


@cache
def kind(char):
    """Return how a character takes part in tokens (none, word or single), and whether it continues any token."""
    category = unicodedata.category(char)
    if category[0] not in "LMN" and category != "Pc":
        return "none", False
    single = unicodedata.name(char, "").startswith(tuple(SPACELESS))
    return "single" if single else "word", category[0] == "M" and ord(char) not in _codes(SEPARATE)


def units_of(text, unit):
    """Return the tokens of a text, or its characters with white space collapsed (docs/explanation/measures.md)."""
    text = unicodedata.normalize("NFC", "".join(map(folded, text)).replace(TATWEEL, ""))
    if unit == "char":
        return tuple(" ".join(filter(None, re.split(SPACES, text))))
    tokens, state = [], "none"
    for char in text:
        own, continues = kind(char)
        if own != "none" and state != "none" and (continues or own == state == "word"):
            tokens[-1] += char
        else:
            tokens += [] if own == "none" else [char]
            state = own
    return tuple(filter(None, (token.strip(CONNECTORS) for token in tokens)))


def record(names, values):
    """Return a record of values by their names."""
    return dict(zip(names, values, strict=True))


def ratio(formula, common, own, other):
    """Return a measure, or the square of a cosine, as two whole numbers, seen from the side of ``own``."""
    sizes = {"smaller": min(own, other), "larger": max(own, other), "own": own, "other": other}
    sizes |= {"both": own + other, "union": own + other - common, "product": own * other}
    return common * {"both": 2, "product": common}.get(formula, 1), max(sizes[formula], 1)


def digest_of(data):
    """Return the digest of a file in places.parquet: of its size and content, or of 17 blocks of a large one."""
    state, large = hashlib.blake2b(len(data).to_bytes(8, "little"), digest_size=16), len(data) > 17 << 16
    for start in [(len(data) - (1 << 16)) * k // 16 for k in range(17)] if large else [0]:
        state.update(data[start : start + (1 << 16)] if large else data)
    return state.digest()


def equal(subject, recorded, derived):
    """Refute a value of the result that is not as derived, or has another type."""
    if repr(recorded) != repr(derived):
        raise DifferenceError(f"{subject}: the result has {recorded!r:.300}, derived {derived!r:.300}")


def trees(members, edges):
    """Return the least member of the tree of each member; ``edges`` join trees."""
    above = {member: member for member in members}

    def top(one):
        while above[one] != one:
            above[one] = one = above[above[one]]
        return one

    for ends in edges:
        low, high = sorted(map(top, ends))
        above[high] = low
    return {member: top(member) for member in above}


def content_of(path):
    """Return the bytes of a file, or of a member of an archive: its path, ``!/``, and the name of the member."""
    archive, _, member = str(path).partition("!/")
    if not member:
        return Path(path).read_bytes()
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            return opened.read(member)
    try:
        with tarfile.open(archive) as opened:
            return opened.extractfile(member).read()
    except tarfile.TarError as error:  # zstd, in Python below 3.14
        raise OSError(f"the archive cannot be read here: {error}"[:99]) from None


def unpacked(name, data):
    """Return a content uncompressed, by the suffix of its name."""
    codec = CODECS.get(Path(name).suffix.lower())
    if codec == "xz":
        return lzma.decompress(data)
    return pa.CompressedInputStream(pa.BufferReader(data), codec).read() if codec else data


def table_in(data):
    """Return the rows of Parquet, an Arrow file or an Arrow stream."""
    file, form = pa.BufferReader(data), pa.ipc.open_file if data[:6] == b"ARROW1" else pa.ipc.open_stream
    return (pq.ParquetFile(file).read() if data[:4] == b"PAR1" else form(file).read_all()).to_pylist()


def version_in(path):
    """Return the rows of a version of a table, whose log has this file, by the library of its format."""
    folder, number = path.parent.parent, path.name.partition(".")[0]
    if path.parent.name == "_delta_log":
        return import_module("deltalake").DeltaTable(folder, version=int(number)).to_pyarrow_table().to_pylist()
    if path.parent.name == "_versions":
        version = 2**64 - 1 - int(number) if len(number) == 20 else int(number)
        return import_module("lance").dataset(folder, version=version).to_table().to_pylist()
    return import_module("pyiceberg.table").StaticTable.from_metadata(str(path)).scan().to_arrow().to_pylist()


def paths_of(spelled, columns):
    """Return the names and steps of a text made of several columns and nested fields (None: each of a list)."""
    paths = [] if set(',.[]"') & set(spelled) and spelled not in columns else [(spelled,)]
    for part in [] if paths else map(str.strip, next(csv.reader([spelled], skipinitialspace=True))):
        ends = [end for end, char in enumerate(part) if char in ".["]
        end = next((end for end in (len(part), *ends[::-1]) if part[:end] in columns), (ends or [len(part)])[0])
        steps = re.findall(r"\[\]|\.[^.\[]+", part[end:])
        paths.append((part[:end], *(None if step == "[]" else step[1:] for step in steps)))
    return paths


def values_at(value, steps):
    """Yield the values at the end of some steps. Raises TypeError or ValueError for a value of another kind."""
    if value is not None and not steps:
        yield value
    elif value is not None:
        if steps[0] is None and not isinstance(value, list):
            raise TypeError(value)
        for item in value if steps[0] is None else [dict(value).get(steps[0])]:
            yield from values_at(item, steps[1:])


def text_in(fields, paths):
    """Return the text of a row, None without any. Raises one of ERRORS for a row that has none and needs one."""
    parts = [part for path in paths for part in values_at(fields.get(path[0]), path[1:])]
    parts = [fields[paths[0][0]]] if list(map(len, paths)) == [1] else parts
    parts = [part.decode("utf-8", "replace") if isinstance(part, bytes) else part for part in parts]
    whole = None if parts in ([], [None]) else "\n".join(parts)
    return whole and whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def json_in(line):
    """Return the object in a line of JSON; None for anything else."""
    try:
        result = json.loads(line.decode("utf-8", "replace"), parse_constant=lambda _: None)
        return result if isinstance(result, dict) else None
    except (ValueError, RecursionError):
        return None


def records_of(data, mark, sign='"'):
    """Return the records of a CSV file that are not empty; invalid bytes are U+FFFD."""
    csv.field_size_limit(1 << 30)
    text = io.StringIO(data.decode("utf-8", "replace"), newline="")
    return [row for row in csv.reader(text, delimiter=mark, quotechar=sign) if row]


def csv_of(data, marks, names):
    """Return the mark and the records of a CSV file, by the mark that most records have as often as the header."""
    best = -1, "", []
    for mark, sign in ((mark, sign) for sign in "\"'" for mark in marks):
        records = records_of(data, mark, sign) or [[]]
        fit = sum(len(row) == len(records[0]) for row in records)
        if fit > best[0] and {path[0] for name in names for path in paths_of(name, records[0])} <= {*records[0]}:
            best = fit, mark, records
    if best[0] < 0:
        raise UnreadError("no delimiter splits its header into the recorded columns")
    return best[1:]


class Verifier:
    """A result and its documents. Each check returns a line; ``unseen`` counts the parts left out."""

    CHECKS = "manifest", "texts", "copies", "pairs", "groups", "ranks", "kept", "account"

    def __init__(self, out: str | Path, inputs: Iterable[str] = (), sample: int = 0) -> None:
        self.out, self.sample, self.unseen = Path(out), sample, Counter[str]()
        self.tables, self.numbers = dict[str, Any](), dict[Any, int]()
        self.inputs = [p for name in inputs for p in (Path(name), *Path(name).glob("**/*")) if p.is_file()]
        self.run = json.loads((self.out / "run.json").read_text(encoding="utf-8"))
        self.command = self.run.get("command") or ("part" if self.run.get("action") == "part" else "")
        if not self.command:
            self.set, self.counts = self.run["settings"], self.run["counts"]
            self.measure, self.threshold = self.set["measure"], Fraction(str(self.set["threshold"]))
            self.formula = FORMULAS.get(self.measure, "union")
            self.threshold **= 2 if self.formula == "product" else 1
            self.cleaned = bool(self.run.get("base_text") or any(self.set[name] for name in LEAVING_OUT))
            self.thinned = bool(self.run["large_clusters"] or self.run["popular"]["documents"])
            informed = self.measure[:5] == "chunk" and self.set["matching"] == "information"
            self.words = self.measure + " by information" * informed

    def check(self, name: str) -> str:
        """Make one of CHECKS, in their order."""
        if self.command and name != "manifest":
            self.unseen[f"output of neardup {self.command}, but for its manifest"] = 1
            return f"not looked at: this is the output of neardup {self.command}"
        try:
            return str(getattr(self, f"_{name}")())
        except ERRORS as error:
            raise DifferenceError(f"{name}: neardup writes nothing like this: {error!r:.200}") from error

    def _table(self, name):
        if name not in self.tables:
            path = self.out / f"{name}.parquet"
            self.tables[name] = pq.read_table(path).to_pylist() if path.exists() or name in TABLES else []
        return self.tables[name]

    def _beside(self, name, items):
        """Yield some items, each with its line in a table of the result, or an empty one."""
        return zip_longest(items, self._table(name)[: len(items)], fillvalue={})

    def _same(self, subject, recorded, derived):
        """Compare tables, records and values with all their parts; those not derived are counted."""
        if derived is UNSEEN:
            self.unseen[re.sub(r" row \d+", "", subject)] += 1
        elif isinstance(derived, dict) and isinstance(recorded, dict):
            for key in (*recorded, *(derived.keys() - recorded.keys())):
                self._same(f"{subject}, {key}", recorded.get(key, GONE), derived.get(key, UNSEEN))
        elif isinstance(derived, list) and isinstance(recorded, list):
            for number, (one, other) in enumerate(zip_longest(recorded, derived, fillvalue=GONE)):
                self._same(f"{subject} row {number}", one, other)
        else:
            equal(subject, recorded, derived)

    def _manifest(self):
        files = json.loads((self.out / "manifest.json").read_text(encoding="utf-8"))["files"]
        for name, recorded in files.items():
            path, inside = self.out / name, sorted((self.out / name).rglob("*"))
            content = path.read_bytes() if path.is_file() else b""
            size = len(content) + sum(p.stat().st_size for p in inside if p.is_file())
            names = b"\0".join(sorted(p.relative_to(path).as_posix().encode() for p in inside))
            digest = hashlib.sha256(names if path.is_dir() else content).hexdigest()
            result = {"files": len(inside), "bytes": size, "sha256": digest}
            self._same(f"manifest, {name}", recorded, {key: result.get(key) for key in recorded})
        others = {p.name for p in self.out.iterdir() if "decisions.sqlite" not in p.name}
        equal("files that the manifest does not name", sorted(others - {*files, "manifest.json"}), [])
        stems = {name: name.partition(".")[0] for name in files if not self.command}
        equal("files that no run writes", [n for n, stem in stems.items() if stem not in (*NAMES, *TABLES)], [])
        for name, stem in stems.items():
            self.unseen[f"file {name}"] += stem in ("missed", "common", "by", "names")
        return f"{len(files):,} files have the recorded sizes and digests"

    # --- documents
    def _content(self, place):
        """Return the path and the content of an input: as recorded, or the one of INPUT that has its digest."""
        path, digest = Path(place["path"]), place["digest"]
        named = (p for p in self.inputs if p.name == path.name)
        for other in sorted(named, key=lambda p: p.parts[::-1] != path.parts[::-1]):
            path = other if digest in (None, digest_of(other.read_bytes())) else path
        if place["format"] == "table":
            return path, b""
        data = content_of(path)
        if digest not in (None, digest_of(data)):
            raise UnreadError("it is not the file that was read: it has another digest")
        versions = [place.get(name) for name in ("etag", "version", "modified")]  # those of URLs: a copy has none
        if "://" in place["path"]:
            self.unseen[URL_STATES] += any(versions)
        else:
            equal(f"places, {place['name']!r}, its state", versions, [None] * 3)
        equal(f"places, {place['name']!r}, its size", place["size"] or 0, len(data))
        return path, unpacked(path, data)

    def _decoded(self, name, data):
        """Return a text in UTF-8, by its recorded encoding, without its byte order mark."""
        result = chain(*(of["encoded_files"] for of in (self.run["reading"], self.run["reading_against"]) if of))
        setting = self.set["encoding"] if self.set["encoding"] != "auto" else "utf-8"
        encoding = next((one["encoding"] for one in result if name in one.values()), setting)
        data = data if encoding == "utf-8" else data.decode(encoding, "replace").encode("utf-8", "replace")
        self.invalid |= data.decode("utf-8", "ignore").encode() != data
        return data.removeprefix(b"\xef\xbb\xbf")

    def _documents(self, place):
        """Return the rows of an input file as documents, rejected ones included."""
        form, name = place["format"], place["name"]
        id = (self.run["columns_against" if place["reference"] else "columns"] or place)["id"]
        names = [place["text"], *filter(None, [id])]
        file = self.files[place["file"]] = SimpleNamespace(place=place, form=form, header=(), mark=",")
        if form == "text":
            return [self._text_document(place)]
        path, data = self._content(place)
        if form == "jsonl":
            lines = enumerate(io.BytesIO(self._decoded(name, data)))
            rows = [(number, json_in(line), line) for number, line in lines if line.strip()]
        elif form == "csv":
            setting, usual = self.set["delimiter"], "\t" if ".tsv" in name.lower()[-8:] else ","
            marks = [usual, *",;\t|"] if setting == "auto" else ["\t" if setting == "tab" else setting]
            file.mark, (file.header, *records) = csv_of(self._decoded(name, data), marks, names)
            fits = (record(file.header, row) if len(row) == len(file.header) else None for row in records)
            rows = [(number, fields, None) for number, fields in enumerate(fits)]
        elif form in ("parquet", "ipc", "table"):
            table = version_in(path) if form == "table" else table_in(data)
            rows = [(number, row, None) for number, row in enumerate(table)]
        else:
            raise UnreadError(f"the format {form} is not read here")
        columns = set(file.header).union(*(row[1] or () for row in rows))
        return [self._row(place, row, *(paths_of(name, columns) for name in names)) for row in rows]

    def _row(self, place, row, text, id=None):
        number, fields, native = row
        doc = SimpleNamespace(place=place, number=number, fields=fields, native=native, data=None, null=False)
        doc.id, doc.rejected, doc.text = f"{place['name']}#{number}", True, None
        try:
            text = text_in(fields, text)
            doc.null, doc.text, doc.data = text is None, text or "", (text or "").encode()
            doc.id = doc.id if id is None else next(values_at(fields.get(id[0][0]), id[0][1:]), None)
            doc.rejected = not isinstance(doc.id, int | str | None) or isinstance(doc.id, bool)
        except ERRORS:  # no text, or no row: it is rejected
            doc.fields = fields or {}
        return doc

    def _text_document(self, place):
        """Return the document that a file is; its text is known if the file is plain text."""
        name, (folder, _, base) = place["name"], place["name"].rpartition("/")
        first = min(file for file, one in self.places.items() if one["reference"] is place["reference"])
        doc = self._row(place, (place["file"] - first, {}, None), [("",)])
        doc.id, doc.rejected = name, name in self.aside
        suffixes = [suffix.lower() for suffix in Path(base).suffixes if suffix.lower() not in CODECS]
        doc.fields = {"folder": folder.removesuffix("!") or ".", "name": base, "size": place["size"]}
        doc.fields["suffix"] = "".join(suffixes[-1:])
        try:
            path, doc.native = self._content(place)
            inner = Path(path.stem if path.suffix.lower() in CODECS else path).suffix.lower()
            doc.fields |= {"origin": "digital"} if OFFICE.fullmatch(inner) else {}
            if inner in PLAIN and doc.native[:5] != b"%PDF-" and path.parent.name not in ("cur", "new"):
                if doc.rejected and not re.search(rb"[\0-\x08]", doc.native):
                    raise DifferenceError(f"{name!r} is plain text, and the result leaves it aside")
                doc.data, doc.fields["origin"] = self._decoded(name, doc.native), None
                doc.text = doc.data.decode("utf-8", "replace")
        except (UnreadError, *ERRORS) as error:
            self.unseen[f"files that are documents: {error!s:.25}"] += 1
        self.unseen["files that are left aside: that they hold no text"] += doc.rejected
        return doc

    def _texts(self):
        self.places, self.files, read = {place["file"]: place for place in self._table("places")}, {}, []
        self.problems = [*map(json.loads, (self.out / "problems.jsonl").read_text(encoding="utf-8").splitlines())]
        self.aside, self.whole, self.invalid = {one["file"] for one in self.problems}, bool(self.places), False
        self.aside |= {line["id"] for line in self._table("not_judged") if line["bytes"] is None}
        if (self.out / "names.parquet").exists():  # the reference set is fingerprints of some of its rows
            self.unseen["names of groups, and which rows the fingerprints of the reference set have"] += 1
            self.whole = False
        for place in self.places.values():
            try:
                read += self._documents(place)
            except (UnreadError, ImportError, *ERRORS) as error:
                self.unseen[f"input {place['name']!r}: {type(error).__name__}: {error!s:.150}"] += 1
                self.whole = False
        self.old = [d for d in read if d.place["reference"] and d.place["format"] == "text" and d.data is None]
        self.unseen["what files of a reference set hold"], self.whole = len(self.old), self.whole and not self.old
        rejected = [(d.place["name"], d.number) for d in read if d.rejected and d.place["format"] != "text"]
        listed = [(problem["source"], problem["row"]) for problem in self.problems if not problem["file"]]
        if self.whole:
            equal("rejected rows", sorted(listed, key=str), sorted(rejected, key=str))
        self.all, read = read, [doc for doc in read if not doc.rejected]
        self.docs = dict(enumerate(read)) if self.whole else self._recorded(read)
        own = sum(doc.data is not None for doc in self.docs.values())
        for line in self._table("texts"):
            if (doc := self.docs[line["row"]]).data is None:
                doc.data, doc.text = line["text"], line["text"].decode("utf-8", "replace")
            if "digital" in self.set["keep"] and doc.place.get("format") == "text" and "origin" not in doc.fields:
                doc.fields["origin"] = json.loads(line.get("fields") or "{}").get("origin")
                self.unseen["origins of PDF, HTML and such files: as recorded"] += 1
        for row, doc in self.docs.items():
            doc.row, doc.new, doc.units = row, not doc.place["reference"], None
            known = doc.data is not None and "Cn" not in map(unicodedata.category, set(doc.text))
            if known and not self.set["tokenizer"]:
                doc.units = units_of(doc.text, self.set["unit"])
        self.new = [row for row, doc in self.docs.items() if doc.new]
        self.hidden = sum(doc.units is None for doc in self.docs.values())
        self.unseen["documents whose text is not read here, or has characters new to Python"] += self.hidden
        self.unseen["documents in no pair: not all inputs are read"] += (not self.whole) * self.counts["read"]
        return f"{own:,} documents were read from the inputs; of {self.hidden:,} others the text is not known"

    def _recorded(self, read):
        """Return the documents of the table of ranks, of which those that were ``read`` are as in the input."""
        result = {(doc.place["file"], doc.number): doc for doc in read}
        places, docs = {line["row"]: (line["file"], line["number"]) for line in self._table("located")}, {}
        for line in self._table("ranks"):
            place = {"reference": line["reference"], "name": "", "file": UNSEEN}
            stub = self._row(place, (UNSEEN, {}, None), [("",)])
            stub.id, docs[line["row"]] = line["id"], result.get(places.get(line["row"]), stub)
        return docs

    def _value(self, doc, column):
        if column and doc.place["file"] is UNSEEN:
            return UNSEEN
        value = doc.fields.get(column) if column else None
        value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        return None if value in (None, "") else str(value).lower() if isinstance(value, bool) else str(value)

    def _copies(self):
        ranks, classes, self.first, derived = {line["row"]: line for line in self._table("ranks")}, {}, {}, []
        self.typed = str if any(isinstance(line["id"], str) for line in ranks.values()) else lambda id: id
        texts = not self.whole or any(file.form == "text" for file in self.files.values())
        related = self.related = not texts or not (self.set["within"] or self.set["across"])
        for row, doc in self.docs.items():
            line = ranks.get(row, {"first": row})
            doc.within = [self._value(doc, name) for name in self.set["within"]]
            doc.carried = line.get("attachments") or []
            doc.across = not doc.new if self.set["no_self"] else self._value(doc, self.set["across"])
            parts = [part for part in doc.carried if part["sha256"] != "beside"]  # that is a file of its sample
            key = doc.units, repr((doc.within, doc.across, parts))
            key = row if doc.units == () and self.set["empty"] != "one" else key
            text = unicodedata.normalize("NFC", (doc.text or "").removeprefix("\ufeff"))
            text = re.sub(SPACES, " ", text).strip(" ")
            ends = {row, line["first"], line.get("words", row), line.get("identical", row)} & self.docs.keys()
            known = related and all(self.docs[end].units is not None for end in ends)
            doc.words = classes.setdefault(key, row) if known else line.get("words", row)
            doc.alike = classes.setdefault((key, text), row) if known else line.get("identical", row)
            first = doc.alike if self.set["copies"] == "identical" else doc.words
            self.first[row] = first if known else line["first"]
        self.rows = {(doc.new, self._id(row)): row for row, doc in self.docs.items()}
        self.copied = [row for row in self.new if self.first[row] != row]
        for row, line in self._beside("copies", self.copied):
            first, alike = self.first[row], self.docs[row].alike
            words = self._characters(row, first, line.get("difference"))
            derived.append({"id": self._id(row), "copy_of": self._id(first)})
            derived[-1]["identical_to"] = self._id(alike) if alike != row else None
            derived[-1]["difference"] = None if words == "identical" else words.removeprefix(SAME) or None
        self._same("copies", self._table("copies"), derived)
        return f"{len(derived):,} exact copies have the same units in the same order"

    def _characters(self, row, other, recorded):
        """Return whether two rows have the same characters, else the recorded difference if it fits."""
        a, b, there = self.docs[row], self.docs[other], "[a-z][a-z ]*: “(.*?)” here, “(.*?)” there"
        parts = re.search(there, recorded or "")
        if a.alike == b.alike or a.words != b.words:
            return "identical" if a.alike == b.alike else ""
        if not parts or None in (a.data, b.data):
            self.unseen["differences of characters that are not named, or of texts that are not known"] += 1
            return SAME + (parts[0] if parts else "")
        texts = [" ".join((doc.text or "").split()) for doc in (a, b)]
        shown = zip(parts.groups(), texts, strict=True)
        right = all("\\" in part or part.removesuffix("…") in text for part, text in shown)
        return SAME + (parts[0] if right and parts[1] != parts[2] else f"none of {parts[0]!r}")

    def _id(self, row):
        return self.typed(self.docs[row].id)

    # --- pairs
    def _features(self):
        """Give each different document its shingles, and the elements of its measure, as sets of numbers."""
        number, length = self.numbers.setdefault, self.set["length"]
        unique = [row for row, doc in self.docs.items() if self.first[row] == row and doc.units != ()]
        for doc in map(self.docs.__getitem__, unique):
            doc.shingles = doc.elements = None
            if doc.units is not None and not self.cleaned:
                starts = range(max(1, len(doc.units) - length + 1))
                doc.runs = [number(doc.units[i : i + length], len(self.numbers)) for i in starts]
                doc.shingles = doc.elements = frozenset(doc.runs)
                if self.measure in SETS[-2:]:
                    counts = Counter(doc.runs if self.measure == "multiset" else {*units_of(doc.text, "word")})
                    repeats = ((one, k) for one, count in counts.items() for k in range(count))
                    doc.elements = frozenset(number(one, len(self.numbers)) for one in repeats)
        return unique

    def _measured(self, a, b):
        """Return the counts of two documents on shingles, and by the measure; None where they are not derived."""
        a, b = self.docs[a], self.docs[b]
        if a.shingles is None or b.shingles is None:
            return None, None
        counts = [(len(x & y), len(x), len(y)) for x, y in ((a.shingles, b.shingles), (a.elements, b.elements))]
        return counts[0], counts[1] if self.measure in SETS else None

    def _is_pair(self, a, b, counts):
        a, b = self.docs[a], self.docs[b]
        part, whole = ratio("smaller" if self.formula == "own" else self.formula, *counts)
        apart = a.across != b.across or not (self.set["across"] or self.set["no_self"])
        apart = (a.within == b.within and apart) or UNSEEN in (a.across, b.across, *a.within, *b.within)
        return b.new and apart and part >= self.threshold * whole

    def _join(self, rows):
        """Return all pairs among rows."""
        holders, result = defaultdict(list), set()
        for row in rows:
            own = self.docs[row].elements
            met = Counter(chain.from_iterable(holders[element] for element in own))
            counts = ((other, (common, len(self.docs[other].elements), len(own))) for other, common in met.items())
            result |= {(other, row) for other, counted in counts if self._is_pair(other, row, counted)}
            for element in own:
                holders[element].append(row)
        return result

    def _pairs(self):
        self.unique, lines, self.pairs, rows = self._features(), self._table("pairs"), {}, []
        ends = (((not line.get("a_in_reference"), line["id_a"]), (True, line["id_b"])) for line in lines)
        named = [(self.rows[a], self.rows[b]) for a, b in ends]
        equal("pairs, their order", named, sorted(set(named)))
        full = [row for row in self.unique if self.docs[row].elements and self.related and self.measure in SETS]
        joined = full if len(full) <= MOST else sorted(random.Random(0).sample(full, MOST))
        self.unseen["documents whose pairs may be missing, not joined here"] += len(self.unique) - len(joined)
        result, exact = self._join(joined), self.run["choice"]["method"] == "exact"
        tree = trees(self.unique, named)
        missing, within = result - set(named), set(joined)
        for a, b in missing if not self.thinned else ():
            if exact or (tree[a] == tree[b] and not self.run["closed"]["left_out"]):
                equal(f"pairs, {self._id(a)!r} and {self._id(b)!r}", "no pair", "a pair")
        self.unseen["pairs that are not listed: of large clusters, or missed by signatures"] += len(missing)
        drawn = set(random.Random(0).sample(named, self.sample)) if 0 < self.sample < len(named) else set(named)
        for pair, line in zip(named, lines, strict=True):
            counts = self._measured(*pair) if pair in drawn and tree.keys() >= set(pair) else (None, None)
            rows.append(self._pair(pair, line, *counts))
            possible = tree.keys() >= set(pair) and (pair in result or not within.issuperset(pair))
            equal(f"pairs, {line['id_a']!r} and {line['id_b']!r}", "a pair", "a pair" if possible else "no pair")
        self._same("pairs", lines, rows)
        return f"{len(rows):,} pairs; {len(joined):,} of {len(tree):,} different documents were joined"

    def _pair(self, pair, line, shared, counts):
        """Return the row of a pair in the table; counts that are not derived are taken as recorded."""
        row = {"id_a": self._id(pair[0]), "id_b": self._id(pair[1])} | record(PAIR, shared or [UNSEEN] * 3)
        both, a, b = shared = shared or tuple(line[name] for name in PAIR)
        row |= {"resemblance": both / (a + b - both), "containment_a": both / a, "containment_b": both / b}
        if self.measure not in SETS[:-2]:
            row |= record(MEASURED, counts or [UNSEEN] * 3)
        counts = counts or (shared if self.measure in SETS[:-2] else tuple(line[name] for name in MEASURED))
        value = self._float_of(Fraction(*ratio(self.formula, *counts)))
        row |= {self.measure.replace("-", "_"): value} if self.measure not in SETS[:2] else {}
        row |= {"a_in_reference": not self.docs[pair[0]].new} if "a_in_reference" in line else {}
        subject = f"pairs, {row['id_a']!r} and {row['id_b']!r} at {value}"
        equal(subject, "a pair", "a pair" if self._is_pair(*pair, counts) else "no pair")
        self.pairs[pair] = counts
        return row

    def _float_of(self, share):
        """Return a value as a float, of the square of a cosine its root; both steps round correctly."""
        root = Fraction(*map(math.isqrt, share.as_integer_ratio())) if self.formula == "product" else share
        return float(root) if root == share or root * root == share else math.sqrt(share)

    # --- groups

    def _preference(self, policy):
        """Return a key of documents: the smaller, the better; None where the values are of several kinds."""
        way, _, spelled = {"digital": "order:origin=digital,unknown,scan"}.get(policy, policy).partition(":")
        if not spelled:
            return lambda doc: {"first": 0, "last": -doc.row}.get(way, -len(doc.units or ()))
        column, _, listed = spelled.partition("=")
        values = {doc.row: doc.fields.get(column) for doc in self.docs.values() if doc.new}
        values |= {row: "unknown" for row in values if policy == "digital" and values[row] is None}
        kinds = {*map(type, values.values())}
        if kinds <= {type(None)} or any(value != value or value == "" for value in values.values()):
            return None
        texts = [value for value in values.values() if kinds == {str}]
        if way == "order":
            order = {value: place for place, value in enumerate(listed.split(","))}
            values = {row: order.get(str(value), len(order)) for row, value in values.items() if value is not None}
        elif texts and all(re.fullmatch(r"-?\d+(\.\d+)?", text) for text in texts):
            values = {row: float(value) for row, value in values.items()}
        elif all(re.fullmatch(NUMBER, text) for text in texts) and not kinds <= {int, float, type(None)}:
            return None
        dense = {value: place for place, value in enumerate(sorted({*values.values()} - {None}))}
        sign = -1 if way == "max" else 1
        return lambda doc: sign * dense[values[doc.row]] if values.get(doc.row) in dense else doc.new * math.inf

    def _order(self):
        """Return the place of each row in the order of preference; as recorded where it is not derived."""
        recorded = {line["row"]: line["rank"] for line in self._table("ranks")}
        policies = [self.set["keep"]] if isinstance(self.set["keep"], str) else self.set["keep"]
        keys, docs = list(map(self._preference, policies)), self.docs
        files = [row for row in docs if docs[row].place.get("format", "text") == "text"]
        unsure = {row for row in files if "digital" in policies and "origin" not in docs[row].fields}
        known = None not in keys
        order = sorted(docs, key=lambda row: (docs[row].new, *(known and key(docs[row]) for key in keys), row))
        whole = self.whole and not unsure and not (self.hidden and {"longest", "none"} & {*policies})
        if known and whole:
            return {row: place for place, row in enumerate(order)}
        self.unseen["ranks, the order of preference among all documents"] += len(recorded)
        if known and not any(":" in policy for policy in policies):
            order = [row for row in order if row in recorded and row not in unsure and docs[row].units is not None]
            equal("ranks, the order of preference", sorted(order, key=recorded.get), order)
        return recorded

    def _similarity(self, document, head):
        """Return the measure of a document and its head, seen from the document; None if it is not derived."""
        pair = min(document, head), max(document, head)
        counts = self.pairs.get(pair) or self._measured(*pair)[1] or (0, 0, 0)
        of_old = self.formula == "own" and self.docs[document].new and not self.docs[head].new
        formula = SIDES[self.set["direction"]][0] if of_old else self.formula
        part, whole = ratio(formula, *(counts if document < head else (counts[0], *counts[:0:-1])))
        return Fraction(part, whole) if any(counts) else None

    def _leaders(self):
        """Return the best row of each document, and the document that leads it: by the best pair, or by chains."""
        best, leader, partners, members = {}, {}, defaultdict(set), defaultdict(set)
        for row, first in self.first.items():
            if self.docs[row].units != () and row in self.rank:
                best[first] = min(best.get(first, row), row, key=self.rank.get)
        order = sorted(best, key=lambda document: self.rank[best[document]])
        if self.set["groups"] == "components":
            tree = trees(order, self.pairs)
            return best, {document: leader.setdefault(tree[document], document) for document in order}
        for a, b in (ends for pair in self.pairs for ends in (pair, pair[::-1])):
            partners[a].add(b)
        for document in order:
            heads = [p for p in partners[document] if leader.get(p) == p and self.docs[document].new]
            alike = ((self.docs[p].new, -self._similarity(document, p), self.rank[best[p]], p) for p in heads)
            fit = [p for _, value, _, p in sorted(alike) if -value >= self.threshold]
            fit = [p for p in fit if self.set["groups"] != "complete" or members[p] <= partners[document]]
            leader[document] = next(iter(fit), document)
            members[leader[document]] |= {document} - {leader[document]}
        return best, leader

    def _members(self):
        """Return the members of groups in their order: those that something new follows."""
        best, self.leader = self._leaders()
        heads = {row: best[self.leader[first]] for row, first in self.first.items() if first in self.leader}
        empty = (row for row, doc in self.docs.items() if doc.units == ())
        for row in sorted(empty, key=lambda row: self.rank.get(row, row)):
            heads[row] = heads.get(-1 - self.first[row], heads.setdefault(-1 - self.first[row], row))
        heads = {row: head for row, head in heads.items() if row >= 0}
        sizes, new = Counter(heads.values()), {head for row, head in heads.items() if self.docs[row].new}
        order = sorted((head, row != head, row) for row, head in heads.items() if sizes[head] > 1 and head in new)
        members = [SimpleNamespace(row=row, head=head, doc=self.docs[row], lost=()) for head, _, row in order]
        members, stay = [m for m in members if m.doc.new or m.row == m.head], defaultdict(list)
        for document, leader in self.leader.items():
            stay[best[leader]] += [document] if document == leader or not self.docs[document].new else []
        for m in members:
            m.first, top, m.shingles = self.first[m.row], self.first[m.head], ()
            stays = self.run["action"] == "group" or not m.doc.new
            m.exact, m.kept = m.first == top, stays or (m.row == m.head and not self.none)
            m.similarity = Fraction(1) if m.exact else self._similarity(m.first, top)
            if not m.exact and self.docs[m.first].new:
                m.shingles, inside = self.docs[m.first].shingles, [self.docs[one].shingles for one in stay[m.head]]
                m.lost = UNSEEN if None in (m.shingles, *inside) else m.shingles.difference(*inside)
        return members

    def _lost(self, m, line):
        """Return the columns about the text that a member takes with it."""
        if m.kept or m.lost is UNSEEN or self.none:
            return dict.fromkeys(LOST, None if m.kept or self.none else UNSEEN)
        row, doc = record(LOST, (len(m.shingles) or None, len(m.lost), 0, None)), self.docs[m.first]
        if m.lost and line.get("lost_units") is None and (self.run["bytes"]["text"] > 1 << 20 or not self.whole):
            return row | dict.fromkeys(LOST[2:], UNSEEN)
        if m.lost:
            inside = (i for i, run in enumerate(doc.runs) if run not in m.lost)
            stays = {i + k for i in inside for k in range(self.set["length"]) if i + k < len(doc.units)}
            ends, shown = [-1, *sorted(stays), len(doc.units)], line.get("lost_passage") or ""
            begin, end = max(pairwise(ends), key=lambda gap: (gap[1] - gap[0], -gap[0]))
            row["lost_units"], whole = sum(b - a - 1 for a, b in pairwise(ends)), doc.units[begin + 1 : end]
            own, there = units_of(shown.removesuffix("…"), self.set["unit"]), " ".join(doc.text.split())
            alike = own and own[:-1] == whole[: len(own) - 1] if shown.endswith("…") else own == whole
            there = shown.removesuffix("…") in there or "\\" in shown
            row["lost_passage"] = (shown if alike and there else " ".join(whole)) or None
        return row

    def _reason(self, m, size, line):
        head = self.docs[m.head]
        if m.row == m.head:
            goes = "" if m.kept else "; goes, too: keep is none"
            return f"represents {size - 1} other document{'s' * (size != 2)}{goes}"
        where = f"{self._id(m.head)}{'' if head.new else ' in the reference set'}"
        side = f" (of {SIDES['new-in-old' if head.new else self.set['direction']][1]})" * (self.formula == "own")
        cut = Decimal(repr(self._float_of(m.similarity or Fraction(0)))).quantize(Decimal("0.001"), ROUND_DOWN)
        other = m.head if m.exact or m.row == m.first else m.first
        words = self._characters(m.row, other, line.get("reason"))
        unnamed = re.search(r"same words, other characters \([a-z0-9,: ]+\)", line.get("reason") or "")
        words = (unnamed[0] if unnamed else "") if words == SAME else words
        first = "" if m.row == m.first else f"exact copy of {self._id(m.first)}{': ' * bool(words)}{words}, "
        near = f"{first}near copy of {where}: {self.words} {cut}{side}"
        near += f"; {words}" if words and m.row == m.first else ""
        exact = f"exact copy of {where}{': ' * bool(words)}{words}"
        return UNSEEN if m.similarity is None else exact if m.exact else near

    def _groups(self):
        self.rank, self.members, lines, rows = self._order(), None, self._table("groups"), []
        self.none = self.set["keep"] == "none"
        gone = {line["id"] for line in (*lines, *self._table("not_judged")) if not line["kept"]}
        self.gone = {row for row in self.new if self._id(row) in gone}
        odd = [name for name in UNUSUAL if self.run.get(name, self.set.get(name))]
        odd += ["lose"] * (self.set["lose"] < 1) + ["attachments"] * any(d.carried for d in self.docs.values())
        if odd:
            self.unseen[f"members of groups and their reasons, because of {', '.join(odd)}"] += len(lines)
            return f"not looked at: {len(lines):,} members of groups"
        self.members = self._members()
        sizes = Counter(m.head for m in self.members)
        for m, line in self._beside("groups", self.members):
            m.columns = {"id": self._id(m.row), "group": self._id(m.head), "size": sizes[m.head], "kept": m.kept}
            m.columns |= {"representative": m.row == m.head, "identical": self.docs[m.head].alike == m.doc.alike}
            m.columns |= {"similarity": UNSEEN if m.similarity is None else self._float_of(m.similarity)}
            m.columns |= {"group_in_reference": not self.docs[m.head].new} if "group_in_reference" in line else {}
            rows.append(m.columns | {"reason": self._reason(m, sizes[m.head], line)} | self._lost(m, line))
            m.columns = rows[-1] | {"kept_id": None if self.none else self._id(m.head)}
        self._same("groups", lines, rows)
        return f"{len(rows):,} members of {len(sizes):,} groups, each kept or removed, and the reasons"

    def _ranks(self):
        ranks, located, texts, across = self._table("ranks"), self._table("located"), self._table("texts"), {}
        ends = [(not line.get("a_in_reference"), line["id_a"]) for line in self._table("missed")]
        ends += [(True, line["id_b"]) for line in self._table("missed")]
        involved = {self.first[row] for row in (*self.copied, *map(self.rows.get, ends))}.union(*self.pairs)
        listed, derived = {line["row"] for line in ranks} if self.run["decisions"] else set(), []
        docs = [doc for doc in self.docs.values() if self.first[doc.row] in involved or doc.row in listed]
        for doc in docs:
            line = {"id": self._id(doc.row), "row": doc.row, "rank": self.rank[doc.row], "reference": not doc.new}
            line |= {"first": self.first[doc.row], "words": doc.words, "identical": doc.alike}
            line |= {"bytes": UNSEEN if doc.data is None else len(doc.data)}
            line |= {"across": UNSEEN if doc.across is UNSEEN else across.setdefault(doc.across, len(across))}
            line |= {"source": self._value(doc, self.set["sources"]) if doc.new else None}
            derived.append({name: line[name] for name in line if name in ranks[0]})
        self._same("ranks", ranks, derived)
        docs = [self.docs[line["row"]] for line in located] if self.run["regrouped_from"] else docs
        result = [{"row": doc.row, "file": doc.place["file"], "number": doc.number} for doc in docs]
        self._same("located", located, result if self.places else [])
        if (self.out / "texts.parquet").exists():
            result = [self._stored(doc, line) for doc, line in self._beside("texts", docs)]
            self._same("texts", texts, result if not self.run["regrouped_from"] else UNSEEN)
        self._same("not_judged", self._table("not_judged"), self._aside())
        return f"{len(derived):,} documents in pairs and copies, with their ranks, places and texts"

    def _stored(self, doc, line):
        """Return the stored text of a document, and its other values where they are strings or numbers."""
        stored = json.loads(line.get("fields") or "{}") if line.get("row") == doc.row else {}
        for name, value in stored.items():
            own = str(doc.fields.get(name)) if isinstance(doc.fields.get(name), str | int | float) else value
            cut = value.endswith("…") and own.startswith(value[:-1])
            if name != "mtime" and not cut:  # that of a file, which may have been copied
                equal(f"texts, fields of {doc.id!r}", value.removesuffix(".0"), own.removesuffix(".0"))
        return {"row": doc.row, "text": UNSEEN if doc.data is None else doc.data, "fields": line.get("fields")}

    def _aside(self):
        """Return the documents that were not judged, in order; those that are not read here as recorded."""
        lines, derived = {line["id"]: line for line in self._table("not_judged")}, []
        empty = "keep" if self.run["action"] == "group" and self.set["empty"] == "drop" else self.set["empty"]
        why = "without text" + (", and empty is drop" if empty == "drop" else ": there is nothing to compare")
        for doc in (doc for doc in self.all if self.whole and not doc.place["reference"]):
            line = lines.get(id := self.typed(doc.id), {})
            if line and (doc.rejected or doc.units is None or (self.cleaned and doc.units)):
                derived.append(line | {"kind": UNSEEN, "reason": UNSEEN})
            elif not doc.rejected and doc.units == () and empty != "one":
                row = {"id": id, "kind": "without text", "bytes": len(doc.data), "kept": empty != "drop"}
                derived.append(row | {"reason": UNSEEN if "files beside it" in line.get("reason", "") else why})
        return derived if self.whole else [dict.fromkeys(line, UNSEEN) for line in lines.values()]

    def _kept(self):
        has, there = self.run.get("kept_files"), {p.name.partition(".")[0] for p in self.out.iterdir()}
        equal("files of kept rows", "kept" in there, bool(has))
        if not has or not self.whole:
            self.unseen["kept and removed rows"] += self.counts["read"] if there & {"kept", "removed"} else 0
            return "not looked at" if has else "the result has none"
        annotated = self.run["action"] == "annotate"
        stay = [self.docs[row] for row in self.new if annotated or row not in self.gone]
        rows, listed = [doc for doc in stay if doc.place["format"] != "text"], has["listed"]
        self.added = {m.row: m.columns for m in self.members or ()}
        for file in listed if has["form"] != "by size" else [{"file": "kept", "rows": len(rows)}]:
            own = [doc for doc in rows if self._is_in(doc, file)]
            equal(f"run.json, rows of {file['file']}", file["rows"], len(own if rows else stay))
            if rows:
                columns = dict.fromkeys(("group", "representative", "similarity") if annotated else ())
                self._same_rows(self.out / file["file"], file.get("input"), own, columns)
        equal("kept rows", sum(file["rows"] for file in listed), len(rows or stay if listed else ()))
        self._same_files({doc.id for doc in stay}, {self.out / file["file"] for file in listed})
        removed = [self.docs[row] for row in sorted(self.gone) if self.docs[row].place["format"] != "text"]
        paths = [p for p in self.out.glob("removed*") if removed and has["form"] == "one file"]
        self.unseen["removed rows"] += len(self.gone) if "removed" in there and not paths else 0
        for path in paths:
            self._same_rows(path, None, removed, {"kept_id": None, "reason": UNSEEN})
        return f"{len(stay):,} rows are those of the input less the removed ones, in its order"

    def _is_in(self, doc, file):
        """Return whether a document belongs in a kept file: by the name of its input, or by the value of --by."""
        form, (by, _, value) = self.run["kept_files"]["form"], Path(file["file"]).name.partition("=")
        if form == "by value":
            return (self._value(doc, by) or "__HIVE_DEFAULT_PARTITION__") == unquote(value)
        return form != "as the input" or doc.place["name"] == file["input"]

    def _same_rows(self, path, input, docs, added):
        """Compare the rows in a file or folder with documents, in order, every column, also those ``added``."""
        places = [f for f in self.files.values() if f.form != "text" and not f.place["reference"]]
        file, result = next(f for f in places if input in (None, f.place["name"])), []
        own = [doc.fields | {name: self.added.get(doc.row, added)[name] for name in added} for doc in docs]
        raw = not added and not self.set["count"]
        for part in sorted(p for p in (path, *path.glob("*")) if p.is_file()):
            data = unpacked(part, part.read_bytes())
            if file.form == "csv":
                header, *records = records_of(data, file.mark)
                names = header if raw else header[: len(file.header)]
                self._same("header of kept rows", dict(enumerate(names)), dict(enumerate(file.header)))
                result += [record(header, row) for row in records]
                own = [doc.fields for doc in docs]  # the added columns are not derived in the form of CSV
            else:
                result += io.BytesIO(data) if file.form == "jsonl" else table_in(data)
        if file.form == "jsonl":
            own = [doc.native.removesuffix(b"\n") + b"\n" for doc in docs] if raw else own
            result = result if raw else list(map(json_in, result))
        self._same(f"{path.name.partition('.')[0]} rows", result, own)

    def _same_files(self, staying, listed):
        """Compare the kept files that are documents with those of the input that stay, byte by byte."""
        texts = {doc.id: doc for doc in self.all if doc.place["format"] == "text" and not doc.place["reference"]}
        paths = [p for p in (self.out / "kept").rglob("*") if texts and p.is_file() and p not in listed]
        result = {p.relative_to(self.out / "kept").as_posix(): unpacked(p, p.read_bytes()) for p in paths}
        for id, doc in texts.items():
            stays = id in staying or (doc.rejected and id in result)
            away = stays and (doc.native is None or "!/" in id)
            self.unseen["kept files whose original is not read here, or in an archive"] += away
            self._same(f"kept {id!r}", result.get(id), result.get(id) if away else doc.native if stays else None)
        self.unseen["kept files that are no documents"] += len(result.keys() - texts)

    def _account(self):
        derived = {key: value for key, value in self.run.items() if key in OF_PROCESS.split() or not value}
        self._same("run.json", self.run, derived | self._totals() | self._of_inputs() | self._of_groups())
        return f"{len(self.run):,} keys of run.json, but for those about the process"

    def _read(self, new):
        docs, sure = [doc for doc in self.docs.values() if doc.new is new], self.whole and not self.hidden
        sources = {doc.place["name"] for doc in self.all if doc.place["reference"] is not new}
        sizes = [len(doc.units or ()) for doc in docs]
        result = {"read": len(docs), "empty": sizes.count(0), "null": sum(doc.null for doc in docs)}
        result |= {"rejected": sum(bool({p["source"], p["file"]} & sources) for p in self.problems)}
        result |= {"short": sum(0 < n < self.set["length"] for n in sizes)}
        result = result if sure else dict.fromkeys(result, UNSEEN)
        return result | {"invalid_utf8": 0 if self.whole and not self.invalid else UNSEEN}

    def _totals(self):
        """Derive the counts of documents, of the tables and of the text that is lost."""
        groups, lines, sure = self._table("groups"), self._table("not_judged"), self.whole and not self.hidden
        near = sum(m.row != m.head and not m.exact and m.first == m.row for m in self.members or ())
        gone = UNSEEN if not self.whole and any(not line["kept"] for line in lines) else len(self.gone)
        searched = dict.fromkeys(("candidates", "verified", "capped"), UNSEEN if self.run["closed"] else 0)
        counts = self._read(True) | searched | {"exact_copies": len(self.copied), "not_judged": len(lines)}
        counts["identical_copies"] = sum(self.docs[row].alike != row for row in self.copied)
        counts |= {"pairs": len(self.pairs), "groups": sum(m["representative"] for m in groups), "removed": gone}
        counts["kept"] = UNSEEN if gone is UNSEEN else self.counts["read"] - gone
        counts["different"] = len(self.unique) if sure and not self.cleaned else UNSEEN
        counts["near_copies"] = near if self.members is not None else UNSEEN
        judged = {"total": len(lines), "removed": sum(not line["kept"] for line in lines)}
        judged["kinds"] = dict(sorted(Counter(line["kind"] for line in lines).items()))
        judged["files_left_aside"] = sum(line["bytes"] is None for line in lines)
        judged["unit"] = self.run["not_judged"]["unit"]
        judged["listed"] = [{name: line[name] for name in ("id", "kind")} for line in lines[:100]]
        out = [m for m in groups if not m["kept"]]
        counted = [m for m in out if m["lost_shingles"] is not None]
        losing = sorted((m for m in counted if m["lost_shingles"]), key=lambda m: -m["lost_shingles"])
        lost = {"removed": len(out), "losing": len(losing), "unknown": len(out) - len(counted)}
        lost |= {"lost": sum(m["lost_shingles"] for m in losing), "identical": sum(m["identical"] for m in out)}
        lost["shingles"] = sum(m["shingles"] or 0 for m in counted)
        lost["most"] = [{name: m[name] for name in ("id", "group", *LOST)} for m in losing[:10]]
        result = {"counts": counts, "not_judged": judged, "lost": lost, "bytes": {}}
        for name, rows in (("text", self.new), ("removed_text", self.gone)):
            result["bytes"][name] = sum(len(self.docs[row].data or b"") for row in rows) if sure else UNSEEN
        return result

    def _of_inputs(self):
        """Derive what run.json says about the files, and how many rows of each stay."""
        result = {}
        for new, inputs, columns in ((True, "inputs", "columns"), (False, "against", "columns_against")):
            places = [p for p in self.places.values() if p["reference"] is not new]
            if places and all(p["format"] != "text" for p in places):
                names, id = [p["name"] for p in places], (self.run[columns] or {}).get("id") and places[0]["id"]
                result |= {inputs: names, columns: {"text": places[0]["text"], "id": id}}
            elif places and all(p["path"].endswith(p["name"].partition("/")[2]) for p in places):
                result |= {inputs: self.run[inputs], columns: {"text": "text", "id": "id"}}
            result |= {"counts_against": self._read(False)} if places and not new else {}
        forms = {place["format"] for place in self.places.values() if not place["reference"]}
        if self.whole and (forms == {"text"} or "text" not in forms) and self.run["removed_by"]:
            whole = ", ".join(self.run["inputs"][:3]) if forms == {"text"} else ""
            names = {row: whole or self.docs[row].place["name"] for row in self.new}
            read, gone = Counter(names.values()), Counter(names[row] for row in self.gone)
            files = [{"name": name, "read": n, "removed": gone[name]} for name, n in read.most_common(1000)]
            result["removed_by"] = {"files": files, "sources": UNSEEN if self.set["sources"] else []}
        return result

    def _of_groups(self):
        """Derive what run.json says about the search and about chains."""
        result, kinds = {"popular": self.run["popular"]}, Counter(p.get("kind") for p in self._table("pairs"))
        if self.run.get("kinds"):
            result["kinds"] = {kind: kinds[kind] for kind in self.run["kinds"]}
        if self.run["choice"]["method"] == "exact" and not (self.thinned or self.old):
            stored = f"exact: every pair at {self.words} {self.set['threshold']:g} or above is found"
            aside = self.run["not_judged"]["files_left_aside"]
            unread = self.counts["rejected"] + (self.run["counts_against"] or {}).get("rejected", 0)
            lacks = (aside, f"w{'as' if aside == 1 else 'ere'} not looked at"), (unread, "could not be read")
            for n, why in lacks:
                stored += f"; {n:,} row{'s' * (n != 1)} or file{'s' * (n != 1)} {why}" if n else ""
            sure, none = dict.fromkeys(("estimated", "low", "high"), 1.0), {"estimated": 0.0, "low": 0, "high": 0}
            result["recall"] = {"planned": 1.0, "at_threshold": 1.0, "at_least": False, "statement": stored}
            result["recall"] |= {"predicted": sure, "missed": none}
        if self.members is not None:
            far = [m for m in self.members if m.similarity is None or m.similarity < self.threshold]
            tree, weak = trees(self.unique, self.pairs), UNSEEN if far else None
            would = sum(count > 1 for count in Counter(tree[one] for one in {*self.leader.values()}).values())
            groups = UNSEEN if any(m.similarity is None for m in far) else len({m.head for m in far})
            if groups is not UNSEEN and far:
                least = min(far, key=lambda m: m.similarity)
                ends = sorted(self.first[row] for row in (least.row, least.head))
                weak = record(("id_a", "id_b", "group"), map(self._id, (*ends, least.head)))
                weak["similarity"] = self._float_of(least.similarity)
            result["chaining"] = {"groups": groups, "weakest": weak, "components_would_chain": would}
        return result


def main(arguments):
    """Check the result that is named first; return the exit status."""
    try:
        verifier = Verifier(arguments[0], arguments[1:])
        for check in Verifier.CHECKS:
            sys.stdout.write(f"{check:<10}{verifier.check(check)}\n")
    except DifferenceError as difference:
        sys.stdout.write(f"different {difference}\n")
        return 1
    except (IndexError, OSError, ValueError, KeyError) as error:
        sys.stdout.write(f"refused   not a result that can be verified: {error!r}\n")
        return 2
    unseen = sorted((what, count) for what, count in verifier.unseen.items() if count)
    sys.stdout.writelines(f"not looked at: {count:,} {what}\n" for what, count in unseen)
    return 3 if unseen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
