"""Files of another machine that cannot be reached, or fail later: an error without the password of the URL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

fsspec = pytest.importorskip("fsspec", reason="neardup[http] is not installed")

from fsspec.implementations.memory import MemoryFile, MemoryFileSystem  # noqa: E402

import neardup as nd  # noqa: E402
from neardup.cli import main  # noqa: E402
from neardup.deduplication.run.find import open_journal  # noqa: E402
from neardup.io.readers import open_files  # noqa: E402
from neardup.io.readers.columns import Chosen  # noqa: E402
from neardup.settings import Settings  # noqa: E402

LINE = b'{"text": "the quick brown fox jumps over the lazy dog"}\n'


class EndpointError(Exception):
    """As plugins have them: no OSError. Its status says that another attempt is useless."""

    status = 403


class BrokenFile(MemoryFile):
    """Fails once it is read."""

    def read(self, *given: Any) -> Any:
        raise EndpointError("the connection to broken://ann:secret@host/late.jsonl was lost")


class BrokenFiles(MemoryFileSystem):
    """Fails by the name of the file: at the look-up, at the opening, at the reading."""

    protocol = "broken"

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.rpartition("/")[2]

    def exists(self, path: str, **_: Any) -> bool:
        if "list" in path:
            raise EndpointError("no route to broken://ann:secret@host")
        return True

    def isdir(self, path: str) -> bool:
        return False

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "size": len(LINE), "type": "file"}

    def open(self, path: str, *given: Any, **_: Any) -> Any:
        if "open" in path:
            raise EndpointError("timed out")
        if "gone" in path:
            raise FileNotFoundError(path)
        return BrokenFile(self, path, LINE)

    def cat_file(self, path: str, **_: Any) -> bytes:
        raise EndpointError("reset")


@pytest.fixture(autouse=True)
def broken() -> None:
    fsspec.register_implementation("broken", BrokenFiles, clobber=True)


@pytest.mark.parametrize("name", ["list.jsonl", "open.jsonl", "late.jsonl", "late.csv", "late.parquet"])
def test_failures_of_another_machine_name_the_url_without_its_password(name: str) -> None:
    with pytest.raises(nd.NetworkError) as caught:
        nd.find(f"broken://ann:secret@host/{name}")
    assert f"/{name} cannot be read" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert isinstance(caught.value, nd.InputError)


def test_a_file_that_is_missing_there_is_no_failure_of_the_network() -> None:
    with pytest.raises(nd.InputError) as caught:
        nd.find("broken://ann:secret@host/gone.jsonl")
    assert not isinstance(caught.value, nd.NetworkError)
    assert "secret" not in str(caught.value)


def test_the_command_line_says_so_in_words(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); import fsspec, test_readers_network as made\n"
        "fsspec.register_implementation('broken', made.BrokenFiles, clobber=True)\n"
        "from neardup.cli import main; sys.argv[0] = 'neardup'; main()"
    )
    words = ["dedup", "broken://ann:secret@host/late.jsonl", "--dry-run"]
    line = [sys.executable, "-c", code, str(Path(__file__).parent), *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=300)
    assert done.returncode == 2
    assert "/late.jsonl cannot be read" in done.stderr
    assert "error in neardup" not in done.stderr
    assert "secret" not in done.stderr


class GuardedFiles(MemoryFileSystem):
    """Its paths are whole URLs, with the user and the password, like those of HTTP."""

    protocol = "guarded"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.rstrip("/")

    def unstrip_protocol(self, path: str) -> str:
        return path


def test_no_output_holds_the_password_of_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec.register_implementation("guarded", GuardedFiles, clobber=True)
    files = GuardedFiles()
    url = "guarded://ann:hunter2@host/texts"
    signed = ".jsonl?part=1&X-Amz-Signature=hunter2&sig=hunter2&apiKey=hunter2"
    text = "The quick brown fox jumps over the lazy dog, and the dog sleeps on in the sun of the afternoon"
    for number in range(3):
        files.store[f"{url}/{number}.txt"] = MemoryFile(files, f"{url}/{number}.txt", text.encode())
    files.store[f"{url}.jsonl"] = MemoryFile(files, f"{url}.jsonl", LINE * 3)
    files.store[f"{url}{signed}"] = MemoryFile(files, f"{url}{signed}", text.encode())
    runs = {"files": [*(f"{url}/{number}.txt" for number in range(2)), f"{url}{signed}"], "rows": [f"{url}.jsonl"]}
    for name, inputs in runs.items():
        monkeypatch.setattr(sys, "argv", ["neardup", "dedup", *inputs, "-o", str(tmp_path / name)])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code
        nd.fingerprint_part(inputs, tmp_path / f"{name} fingerprints")
        documents = open_files(inputs)
        chosen = Chosen("text", None, (), False)
        open_journal(
            tmp_path / f"{name} again", "dedup", Settings(), chosen, {"input": documents}, None, None
        ).close()
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in written if b"hunter2" in path.read_bytes() or "hunter2" in str(path)]
    for name in runs:
        result = nd.load(tmp_path / name)
        assert result.run.counts.removed == 2
        assert "hunter2" not in str(result.groups.to_pylist())
