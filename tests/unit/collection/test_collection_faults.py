"""What befalls a collection from outside: full disks, files that may not be written, clocks, others at work."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from neardup.collection import Collection
from neardup.collection.groups import formation
from neardup.collection.search import search
from support import forked
from support.damaged_files import answers, make
from support.full_run import FULL
from support.messages import has_parts

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


HEAD = """
import json, os, random, sys
import pyarrow as pa
from neardup.collection import Collection
from neardup.errors import NeardupError
folder = sys.argv[1]
"""


def script(body: str, *arguments: object) -> Any:
    """What a program printed as JSON on its last line; ``folder`` is its first argument."""
    done = forked.run(HEAD + body, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# full disks

FILL = """
draw, texts, said = random.Random(1), {}, {}
path = os.path.join(folder, "x.neardup")
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
collection = Collection(path)
while "add" not in said:
    batch = {f"{len(texts)}.{k}": " ".join(f"w{draw.randrange(10**6)}" for _ in range(300)) for k in range(8)}
    try:
        collection.add(pa.table({"id": list(batch), "text": list(batch.values())}))
        texts |= batch
    except NeardupError as error:
        said["add"] = f"{type(error).__name__}: {error}"
def whole():
    assert collection.check() == []
    return {id: collection.get(id).text for id in collection} == texts
said["whole"] = [whole()]
try:
    collection.remove(list(texts)[:40])
    for id in list(texts)[:40]:
        del texts[id]
except NeardupError as error:
    said["remove"] = str(error)
said["whole"].append(whole())
collection.close()
collection = Collection(path)
said["whole"].append(whole())
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
collection.add(pa.table({"id": ["last"], "text": ["there is room again"]}))
texts["last"] = "there is room again"
said["whole"].append(whole())
said["documents"] = len(texts)
print(json.dumps(said))
"""


@POSIX
def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    said = script(FILL, tmp_path)
    assert said["whole"] == [True] * 4
    assert said["add"].startswith(f"OutputError: {tmp_path}/x.neardup could not be")
    assert has_parts(said["add"], "Nothing", "stored", "documents are unharmed")
    assert said["documents"] > 20


# files that may not be written

ATTEMPTS = """
import tempfile
with tempfile.TemporaryDirectory() as other, Collection(os.path.join(other, "x")) as collection:
    collection.add(["so that all is imported"])
    collection.search("all")
    collection.check()
if os.getuid() == 0:  # whom no permission stops
    os.setgid(65534)
    os.setuid(65534)
def attempts(path):
    said = {}
    for readonly in (False, True):
        try:
            with Collection(path, readonly=readonly) as collection:
                for what in ("len(collection)", "collection.search('one').found", "collection.get('#1').text",
                             "collection.check()", "collection.add(['x'])", "collection.remove('#1')",
                             "collection.decide('#1', '#2', 'duplicate')", "collection.compact()"):
                    try:
                        said[f"{readonly} {what}"] = eval(what)
                    except NeardupError as error:
                        said[f"{readonly} {what}"] = f"{type(error).__name__}: {error}"
        except NeardupError as error:
            said[f"{readonly}"] = f"{type(error).__name__}: {error}"
    return said
print(json.dumps([attempts(os.path.join(folder, "x.neardup")) for folder in sys.argv[1:]]))
"""


@pytest.fixture(scope="module")
def attempted() -> Iterator[dict[str, Any]]:
    """What a program said of a file and of a folder for reading only, and of a file that is not for reading."""
    modes = {"file": (0o444, 0o777), "folder": (0o644, 0o555), "secret": (0o000, 0o777)}
    folders = {name: Path(tempfile.mkdtemp()) for name in modes}
    before = {}
    for name, (file_mode, mode) in modes.items():
        path = folders[name] / "x.neardup"
        with Collection(path) as collection:
            collection.add(["one two three four five six", "other words"])
        before[path] = path.read_bytes()
        path.chmod(file_mode)
        folders[name].chmod(mode)
    yield dict(zip(modes, script(ATTEMPTS, *folders.values()), strict=True))
    for path, data in before.items():
        path.parent.chmod(0o755)
        path.chmod(0o644)
        assert path.read_bytes() == data
        shutil.rmtree(path.parent)


@POSIX
def test_a_file_that_may_only_be_read(attempted: dict[str, Any]) -> None:
    said = attempted["file"]
    for readonly in (False, True):
        assert [said[f"{readonly} {what}"] for what in ("len(collection)", "collection.check()")] == [2, []]
        assert said[f"{readonly} collection.search('one').found"] == 1
        assert said[f"{readonly} collection.get('#1').text"] == "one two three four five six"
        refused = {text for what, text in said.items() if what.startswith(str(readonly)) and "Error" in str(text)}
        assert len([what for what in said if what.startswith(str(readonly))]) == 8
        [reason] = refused
        assert reason.startswith("OutputError: ")
        assert ("opened for reading only" if readonly else "cannot be written to") in reason


@POSIX
def test_a_folder_that_may_only_be_read(attempted: dict[str, Any]) -> None:
    said = attempted["folder"]
    assert "locks there" in said["False"]
    assert [said[f"True {what}"] for what in ("len(collection)", "collection.check()")] == [2, []]
    assert said["True collection.search('one').found"] == 1
    [reason] = {text for what, text in said.items() if "Error" in str(text) and what != "False"}
    assert "opened for reading only" in reason


BESIDE_A_WRITER = """
from neardup.collection.contract import StoreUnavailableError
os.access = lambda *_: False  # for a folder in which only another user may write
path, counts = os.path.join(folder, "x.neardup"), []
def write(writer, first):
    writer.add([{"id": str(first + k), "text": f"number {first + k} with common words"} for k in range(10)])
with Collection(path) as writer:
    write(writer, 0)
with Collection(path, readonly=True) as reader:
    counts.append(len(reader))
    assert os.listdir(folder) == ["x.neardup"], "its locks need no files"
    with Collection(path) as writer:
        for first in (10, 20):
            write(writer, first)
            counts.append(len(reader))
            counts.append(reader.search("common").found)
with Collection(path):
    pass  # the last one who may write removes the log
with Collection(path, readonly=True) as reader, reader.view() as view:
    counts.append(view.total())
    with Collection(path) as writer:
        write(writer, 30)
        try:
            view.number("0001")
        except StoreUnavailableError:
            counts.append("refused")
print(json.dumps(counts))
"""


def test_a_writer_in_a_folder_for_reading_only(tmp_path: Path) -> None:
    """A reader without locks notices whoever may write there, before and while it reads."""
    assert script(BESIDE_A_WRITER, tmp_path) == [10, 20, 20, 30, 30, 30, "refused"]


@POSIX
def test_a_file_that_may_not_even_be_read(attempted: dict[str, Any]) -> None:
    said = attempted["secret"]
    assert all(has_parts(reason, "cannot be read", "Permission denied") for reason in said.values())
    assert set(said) == {"False", "True"}


# the clock


def test_a_clock_that_goes_back_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "usual.neardup")
    years = iter(range(2040, 1900, -1))
    monkeypatch.setattr(formation, "now", lambda: f"{next(years)}-01-01T00:00:00+00:00")
    monkeypatch.setattr(time, "time", lambda: -1.0 * next(years))
    make(tmp_path / "back.neardup")
    found = []
    for name in ("usual", "back"):
        with Collection(tmp_path / f"{name}.neardup") as collection:
            assert collection.check() == []
            found.append(answers(collection))
            found[-1]["said"] = [change.cause for change in collection.changes()]
            times = [change.at for change in collection.changes()]
    assert found[0] == found[1]
    assert times == sorted(times, reverse=True) != sorted(times), "they were really told so"


# others at work

WRITER = """
name = sys.argv[2]
with Collection(os.path.join(folder, "x.neardup"), wait=60) as collection:
    for step in range(15):
        ids = [f"{name}.{step}.{k}" for k in range(4)]
        collection.add(pa.table({"id": ids, "text": [f"text {id} of {name} with common words" for id in ids]}))
        if step % 5 == 4:
            collection.remove([f"{name}.{step}.0"])
print(len(ids))
"""


def test_two_processes_that_write_take_turns(tmp_path: Path) -> None:
    writers = [forked.start(HEAD + WRITER, tmp_path, name) for name in ("ann", "bob", "eve")]
    assert [writer.done().returncode for writer in writers] == [0, 0, 0]
    with Collection(tmp_path / "x.neardup") as collection:
        assert len(collection) == 3 * (15 * 4 - 3)
        assert collection.check() == []
        assert collection.search("common").found == len(collection)


def rows(first: int, count: int) -> pa.Table:
    ids = [f"{k:04}" for k in range(first, first + count)]
    draw = random.Random(first)
    texts = [f"number {id} with common words in a row and w{draw.randrange(9)} of its own w{id}" for id in ids]
    return pa.table({"id": ids, "text": texts})


def test_a_search_sees_the_state_when_it_began(tmp_path: Path) -> None:
    with Collection(tmp_path / "x.neardup") as reader, Collection(tmp_path / "x.neardup") as writer:
        writer.add(rows(0, 20))
        queries = ("common", "FINGERPRINT:0003_10", "NOT w5", "FINGERPRINT:0003_10_80 AND common")
        with reader.view() as view:
            before = [search(view, query, limit=100).as_dict() for query in queries]
            writer.add(rows(20, 20))
            writer.remove(["0001", "0002"])
            assert [search(view, query, limit=100).as_dict() for query in queries] == before
        now = [search_now(reader, query) for query in queries]
        assert now[0] == [f"{k:04}" for k in range(40) if k not in (1, 2)]
        assert now != [[hit["id"] for hit in page["hits"]] for page in before]


def search_now(collection: Collection, query: str) -> list[str]:
    return sorted(hit.id for hit in collection.search(query, limit=100).hits)


def test_searches_while_documents_are_added_see_whole_batches(tmp_path: Path) -> None:
    found: list[int] = []
    failed: list[BaseException] = []
    done = threading.Event()
    with Collection(tmp_path / "x.neardup", wait=60) as writer:
        writer.add(rows(0, 10))

        def ask() -> None:
            try:
                with Collection(tmp_path / "x.neardup", readonly=True) as reader:
                    while not done.is_set():
                        page = reader.search('"common words" AND NOT FINGERPRINT:0000_90', limit=1000)
                        found.append(len(page.hits))
                        assert page.found == len(page.hits)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for first in range(10, 110, 10):
            writer.add(rows(first, 10))
            while not failed and max(found, default=0) < first - 1:  # what was there before has been seen
                time.sleep(0.001)
        done.set()
        for thread in threads:
            thread.join()
    assert not failed
    assert {count % 10 for count in found} == {9}, "all but the one that is asked about"
    assert len(set(found)) > 1


# a large document

LARGE = """
import resource
from pathlib import Path
def mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> (20 if sys.platform == "darwin" else 10)
draw = random.Random(1)
vocabulary = [f"{k:x}".rjust(6, "q") + "x" * (k % 60) for k in range(40_000)]
text = " ".join(draw.choices(vocabulary, k=int(sys.argv[2])))
middle = len(text) // 2
fragment = " ".join(text[middle:middle + 3000].split()[1:-1])
name = os.path.join(folder, "large.txt")
said = {"bytes": len(text)}
with open(name, "w") as file:
    file.write(text)
del text
with Collection(os.path.join(folder, "x.neardup")) as collection:
    collection.add(["a small one"])
    start = mb()
    collection.add(Path(name))
    said["added"] = mb() - start
    [hit] = collection.search(f'TEXT:"{fragment}"_80_95').hits
    found = hit.evidence
    said["words"] = [found.passage.words, len(fragment.split()), found.shared, found.size_query]
    said["found"] = [hit.id == name, found.passage.text[:100] == fragment[:100]]
    said["why"] = collection.why_not(f'TEXT:"{fragment} and more of it and more"_100', hit.id).reason
    said["searched"] = mb() - start
    collection.remove(hit.id)
    said["left"] = [collection.search(f'TEXT:"{fragment}"').found, len(collection), collection.check()]
    said["removed"] = mb() - start
    collection.compact()
    said["file"] = os.path.getsize(os.path.join(folder, "x.neardup"))
print(json.dumps(said))
"""


@POSIX
def test_a_document_of_many_megabytes(tmp_path: Path) -> None:
    said = script(LARGE, tmp_path, 700_000 if FULL else 250_000)
    assert said["bytes"] > (25_000_000 if FULL else 9_000_000)
    assert said["found"] == [True, True]
    words, whole, shared, size = said["words"]
    assert (words, shared) == (whole, size)
    assert said["why"] == "below"
    assert said["left"] == [0, 1, []]
    assert said["file"] < 200_000
    # bytes more than before for each of the document
    assert said["added"] * 1e6 < 15.6 * said["bytes"]
    assert max(said["searched"], said["removed"]) * 1e6 < 39 * said["bytes"]
