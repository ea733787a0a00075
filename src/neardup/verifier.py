"""Verify a result of neardup: count it again from the definitions, in one file that can be read and copied out.

``neardup verify OUT [INPUT ...]``, or without neardup ``python verifier.py OUT [INPUT ...]``: it needs Python and
pyarrow, and shares no code with the program that made the result: no kernels, hashes or indexes. It reads the
inputs that the result records, or INPUT files of the same names, and ends with status 1 at the first difference.
"""

import csv
import hashlib
import io
import json
import random
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from functools import cache
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

# measures whose common text is not counted; their shingles are
COMMON_TEXT = "chunk-longest", "chunk-union", "lcs"
LEAVING_OUT = "mask", "ignore_numbers", "stop_words", "tokenizer", "ignore_common"
FORMATS = {".jsonl": "jsonl", ".parquet": "parquet", ".arrow": "ipc", ".csv": "csv", ".tsv": "csv"}
PLAIN = "", ".txt", ".text", ".md"  # suffixes of documents that are their text; of others the stored text counts
# --count, --annotate
ADDED = "copies", "exact_copies", "near_copies", "sources", "group", "representative", "similarity"
# Default_Ignorable_Code_Point of Unicode 15: invisible characters, which do not count
IGNORABLE = """AD 34F 61C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E 2060-206F 3164 FE00-FE0F FEFF FFA0
    FFF0-FFF8 1BCA0-1BCA3 1D173-1D17A E0000-E0FFF"""
# marks that begin a grapheme of their own (Grapheme_Cluster_Break=Other)
SEPARATE = "102B-102C 1038 1062-1064 1067-106D 1083 1087-108C 108F 109A-109C 1A61 1A63-1A64 AA7B AA7D 11720-11721"
# beginnings of the names of characters in scripts without spaces, where every grapheme is a token
SPACELESS = """CJK UNIFIED IDEOGRAPH,CJK COMPATIBILITY IDEOGRAPH,IDEOGRAPHIC ITERATION,VERTICAL IDEOGRAPHIC
IDEOGRAPHIC NUMBER ZERO,HANGZHOU NUMERAL,OLD CHINESE ITERATION,VIETNAMESE ALTERNATE READING
HIRAGANA,HENTAIGANA,THAI,LAO,KHMER,MYANMAR""".replace("\n", ",").split(",")


class DifferenceError(Exception):
    """The result disagrees with its documents."""


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


@cache
def units_of(text, unit):
    """Return the tokens of a text, or its characters with white space collapsed (docs/explanation/measures.md)."""
    text = unicodedata.normalize("NFC", "".join(map(folded, text)))
    if unit == "char":
        return tuple(" ".join(text.split()))
    tokens, state = [], "none"
    for char in text:
        own, continues = kind(char)
        if own != "none" and state != "none" and (continues or own == state == "word"):
            tokens[-1] += char
        else:
            tokens += [] if own == "none" else [char]
            state = own
    return tuple(tokens)


@cache
def shingles_of(text, unit, length):
    """Return each run of ``length`` units with its number of places; fewer units are one run, none are none."""
    units = units_of(text, unit)
    runs = range(len(units) - length + 1) if len(units) >= length else range(bool(units))
    return Counter(units[i : i + length] for i in runs)


def table_of(path):
    """Return a version of a table, whose log has this file, by the library of its format, which must be there."""
    folder, number = path.parent.parent, path.name.partition(".")[0]
    if path.parent.name == "_delta_log":
        return import_module("deltalake").DeltaTable(folder, version=int(number)).to_pyarrow_table()
    if path.parent.name == "_versions":
        version = 2**64 - 1 - int(number) if len(number) == 20 else int(number)
        return import_module("lance").dataset(folder, version=version).to_table()
    return import_module("pyiceberg.table").StaticTable.from_metadata(str(path)).scan().to_arrow()


READERS = {"parquet": pq.read_table, "ipc": lambda path: pa.ipc.open_file(path).read_all(), "table": table_of}


def read(path, form, column, delimiter):
    """Yield number, text and content of each row of a file; a document is one row without a number."""
    if form == "text":
        content = path.read_bytes()
        yield None, content.decode("utf-8", "replace") if path.suffix.lower() in PLAIN else None, content
    elif form not in (*READERS, "jsonl", "csv"):
        raise ValueError(f"the verifier does not read {form}")
    elif form in READERS:
        yield from ((number, row[column], row) for number, row in enumerate(READERS[form](path).to_pylist()))
    else:
        content = pa.input_stream(str(path), compression="detect").read().decode("utf-8-sig")
        mark = {"auto": "\t" if ".tsv" in path.suffixes else ",", "tab": "\t"}.get(delimiter, delimiter)
        lines = content.split("\n") if form == "jsonl" else csv.DictReader(io.StringIO(content), delimiter=mark)
        for number, line in enumerate(lines):
            with suppress(ValueError, KeyError, TypeError):  # of an empty or rejected line
                row = json.loads(line) if form == "jsonl" else line
                yield number, row[column], row


def comparable(row):
    """Return a row as a value that can be counted, without the columns that neardup adds."""
    return row if isinstance(row, bytes) else tuple((k, repr(v)) for k, v in row.items() if k not in ADDED)


def equal(subject, recorded, counted):
    """Refute a value of the result that is not as counted."""
    if recorded != counted:
        raise DifferenceError(f"{subject}: the result has {recorded!r}, counted {counted!r}")


class Verifier:
    """A result and its documents. Each check returns a line about the things it compared."""

    CHECKS = "manifest", "texts", "copies", "pairs", "groups", "fates", "lost", "kept", "missing"

    def __init__(self, out: str | Path, inputs: Iterable[str] = (), sample: int = 0) -> None:
        self.out, self.sample, self.inputs = Path(out), sample, {Path(path).name: Path(path) for path in inputs}
        self.run = json.loads((self.out / "run.json").read_text(encoding="utf-8"))
        self.set, self.counts, self.people = (self.run[key] for key in ("settings", "counts", "decisions"))
        tables = map(self._table, ("pairs", "groups", "copies", "ranks", "not_judged"))
        self.pair_rows, self.group_rows, self.copy_rows, self.ranks, self.not_judged = tables
        if any(self.set[name] for name in LEAVING_OUT) or self.run.get("base_text"):
            raise ValueError("its settings leave parts of the texts out, which this verifier does not know")
        self.measure, self.threshold = self.set["measure"], Fraction(str(self.set["threshold"]))
        self.reference = {line["id"]: line["row"] for line in self.ranks if line["reference"]}
        # where two documents have one id, the one that is not of the reference set
        self.row = self.reference | {line["id"]: line["row"] for line in self.ranks if not line["reference"]}
        self.members = defaultdict(list)
        for line in self.group_rows:
            self.members[line["group"]].append(line)

    def check(self, name: str) -> str:
        """Make one of CHECKS, in their order."""
        return str(getattr(self, f"_{name}")())

    def _table(self, name):
        path = self.out / f"{name}.parquet"
        return pq.read_table(path).to_pylist() if path.exists() or name == "pairs" else []

    def shingles(self, row):
        """Return the shingles of a row, each with its number of places."""
        return shingles_of(self.text[row], self.set["unit"], self.set["length"])

    def features(self, row):
        """Return the features that the measure counts: shingles, or words."""
        return shingles_of(self.text[row], "word", 1) if self.measure == "vocabulary" else self.shingles(row)

    def compared(self, a, b):
        """Return the common part of two rows and the total of each, in the unit of the measure."""
        a, b = self.features(a), self.features(b)
        return tuple(map(Counter.total if self.measure == "multiset" else len, (a & b, a, b)))

    def value(self, common, a, b):
        """Return the measure of a pair from its integers; of a containment the better direction."""
        whole = {"containment": min(a, b), "overlap": min(a, b), "chunk-longest": max(a, b), "lcs": (a + b) / 2}
        return Fraction(common) / Fraction(whole.get(self.measure, a + b - common))

    def _manifest(self):
        files = json.loads((self.out / "manifest.json").read_text(encoding="utf-8"))["files"]
        for name, recorded in files.items():
            path = self.out / name
            if not path.is_dir():
                content = path.read_bytes() if path.exists() else b""
                digest = hashlib.sha256(content).hexdigest() if "sha256" in recorded else None
                equal(f"bytes of {name}", (recorded["bytes"], recorded.get("sha256")), (len(content), digest))
        return f"{len(files):,} files have the recorded sizes and digests"

    def _texts(self):
        self.rows, self.text, self.unread = {}, {}, []
        self.places = {place["file"]: place for place in self._table("places")}
        for file, place in self.places.items():
            path = self.inputs.get(Path(place["path"]).name, Path(place["path"]))
            try:
                for number, *row in read(path, place["format"], place["text"], self.set["delimiter"]):
                    self.rows[file, number] = row
            except (OSError, ValueError, csv.Error, KeyError, ImportError) as error:
                self.unread.append(f"; not read: {place['name']!r} ({type(error).__name__}: {error!s:.150})")
        for line in self._table("located"):
            number = None if self.places[line["file"]]["format"] == "text" else line["number"]
            if self.rows.get((line["file"], number), [None])[0] is not None:
                self.text[line["row"]] = self.rows[line["file"], number][0]
        own = len(self.text)
        for line in self._table("texts"):
            stored = line["text"].decode("utf-8", "replace")
            equal(f"text of row {line['row']}", stored, self.text.setdefault(line["row"], stored))
        if gone := [line["id"] for line in self.ranks if line["row"] not in self.text]:
            raise ValueError(f"{len(gone):,} texts are missing, as that of {gone[0]!r}: name the inputs after OUT")
        return f"{len(self.ranks):,} in pairs and copies, {own:,} read from the inputs{''.join(self.unread[:3])}"

    def _copies(self):
        for line in self.copy_rows:
            a, b = (units_of(self.text[self.row[line[name]]], self.set["unit"]) for name in ("id", "copy_of"))
            if a != b:
                raise DifferenceError(f"{line['id']!r} is not an exact copy of {line['copy_of']!r}")
        return f"{len(self.copy_rows):,} exact copies have the same units in the same order"

    def _pairs(self):
        rows, names = self.pair_rows, ("shared", "size_a", "size_b")
        some = random.Random(0).sample(rows, self.sample) if 0 < self.sample < len(rows) else rows
        for line in some:
            own, subject = self.reference if line.get("a_in_reference") else self.row, (line["id_a"], line["id_b"])
            a, b = own[line["id_a"]], self.row[line["id_b"]]
            x, y = self.shingles(a), self.shingles(b)
            equal(f"shingles of {subject}", [line[name] for name in names], [len(x & y), len(x), len(y)])
            keys = zip(("common", "total_a", "total_b"), names, strict=True)
            integers = [line.get(key, line[name]) for key, name in keys]
            if self.measure not in COMMON_TEXT:
                equal(f"{self.measure} of {subject}", tuple(integers), self.compared(a, b))
            if a >= b or self.value(*integers) < self.threshold:
                raise DifferenceError(f"{subject} is not in input order, or below: {float(self.value(*integers))}")
        equal("pairs", self.counts["pairs"], len(rows))
        return f"{len(some):,} of {len(rows):,} counted again; each reaches {float(self.threshold)}"

    def _groups(self):
        linked, direct = defaultdict(set), self.set["groups"] != "components" and not self.people
        links = [(line["id_a"], line["id_b"]) for line in self.pair_rows]
        for a, b in links + [(line["id"], line["copy_of"]) for line in self.copy_rows]:
            linked[a], linked[b] = linked[a] | {b}, linked[b] | {a}
        for group, members in self.members.items():
            equal(f"representatives of {group!r}", [m["id"] for m in members if m["representative"]], [group])
            equal(f"sizes in {group!r}", {m["size"] for m in members}, {len(members)})
            for member in members if self.measure not in COMMON_TEXT else ():
                common, own, total = self.compared(self.row[member["id"]], self.row[group])
                directed = self.measure == "containment" and self.set["held"] == "new-in-old"
                similarity = Fraction(common, own) if directed else self.value(common, own, total)
                recorded = float(similarity) if member["similarity"] is None else member["similarity"]
                equal(f"similarity of {member['id']!r} and {group!r}", recorded, float(similarity))
                if direct and similarity < self.threshold:
                    raise DifferenceError(f"{member['id']!r} is below the threshold with {group!r}")
            reached = new = {group}
            while new := set().union(*(linked[id] for id in new)) - reached:
                reached = reached | new
            if not self.people and not self.run["crowds"] and {m["id"] for m in members} - reached:
                raise DifferenceError(f"no chain of pairs links all members of {group!r}")
        equal("groups", self.counts["groups"], len(self.members))
        return f"{len(self.members):,} groups, {len(self.group_rows):,} members compared with their representative"

    def _fates(self):
        gone = [line["id"] for line in (*self.group_rows, *self.not_judged) if not line["kept"]]
        for group, members in self.members.items():
            if not (self.set["keep"] == "none" or self.people or any(m["kept"] for m in members)):
                raise DifferenceError(f"no document of the group {group!r} stays")
        self.gone, read, kept = set(gone), self.counts["read"], self.counts["kept"]
        equal("removed", [self.counts["removed"]] * 3, [len(gone), len(self.gone), read - kept])
        return f"{len(gone):,} of {read:,} documents are removed; every group has one that stays"

    def _lost(self):
        counted = 0
        for members in self.members.values():
            stay = set().union(*(self.shingles(self.row[m["id"]]) for m in members if m["kept"]))
            for member in (m for m in members if not m["kept"] and m["lost_shingles"] is not None):
                lost = self.shingles(self.row[member["id"]]).keys() - stay
                equal(f"lost shingles of {member['id']!r}", member["lost_shingles"], len(lost))
                counted += 1
        return f"the shingles that {counted:,} removed documents take with them"

    def documents(self):
        """Yield the id, text and row of each document of the input that was not rejected, in order."""
        problems = map(json.loads, (self.out / "problems.jsonl").read_text(encoding="utf-8").splitlines())
        rejected = {(problem["source"], problem["row"]) for problem in problems}
        for (file, number), (text, row) in self.rows.items():
            place = self.places[file]
            if not place["reference"] and (place["name"], number) not in rejected:
                name = place["name"] if number is None else f"{place['name']}#{number}"
                yield row[place["id"]] if place["id"] and number is not None else name, text, row

    def _kept(self):
        if not (has := self.run.get("kept_files")) or self.unread or not self.places:
            return f"not compared: {'not all inputs were read' if has else 'the result has no kept rows'}"
        gone = self.gone if self.run["action"] == "dedup" else ()
        expected, kept = Counter(comparable(row) for id, _, row in self.documents() if id not in gone), Counter()
        place = next(place for place in self.places.values() if not place["reference"])
        for path in (*self.out.glob("kept.*"), *self.out.glob("kept/**/*")):
            form = next((FORMATS[suffix] for suffix in path.suffixes if suffix in FORMATS), "text")
            own = form if place["format"] != "text" else "text", place["text"], self.set["delimiter"]
            kept.update(comparable(row) for _, _, row in (read(path, *own) if path.is_file() else ()))
        if wrong := (expected - kept) + (kept - expected):
            raise DifferenceError(
                f"a row is kept too often, or not as often as it should: {next(iter(wrong))!r:.300}"
            )
        return f"{kept.total():,} rows are those of the input less the removed ones"

    def _missing(self, most=3_000):
        holders, listed = defaultdict(list), 0
        # None: only neardup itself reads the file, such as a PDF or a compressed text
        texts = [text if isinstance(row, bytes) else text or "" for _, text, row in self.documents()]
        different = {units_of(t, self.set["unit"]): t for t in texts if t and units_of(t, self.set["unit"])}
        limits = (self.run["crowds"], self.run["popular"]["documents"], self.run["against"])
        limits += (self.set["across"], self.set["within"], self.measure in COMMON_TEXT, self.unread, None in texts)
        if any(limits) or self.run["choice"]["method"] != "exact" or not 0 < len(different) <= most:
            return f"not counted: it is for exact runs of {most:,} documents at most, read here, listing all pairs"
        self.text = dict(enumerate(different.values()))
        for number in self.text:
            features = self.features(number)
            for other in {other for feature in features for other in holders[feature]}:
                listed += self.value(*self.compared(other, number)) >= self.threshold
            for feature in features:
                holders[feature].append(number)
        equal("pairs of all documents", len(self.pair_rows), listed)
        return f"nothing: {len(different):,} different documents have {listed:,} pairs at the threshold or above"


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
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
