"""The file systems behind URLs: Arrow's own for S3, Google Cloud Storage and Azure, those of fsspec for the rest.

All are used through the interface of fsspec. Credentials come from where the kept libraries look for them: the
environment, the configuration of the vendor's tools, or the machine.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from typing import Any, Protocol
from urllib.parse import urlsplit

from neardup.errors import InputError, install, unusable
from neardup.io.place import without_password
from neardup.io.storage.answers import patience
from neardup.io.storage.pins import ChangedObjectError, Pin

EXTRAS = {
    **dict.fromkeys(("http", "https"), "http"),
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("az", "abfs", "abfss"), "azure"),
    "hf": "hf",
}
"""The extra that is enough for a protocol."""

WRITABLE = tuple(scheme for scheme, extra in EXTRAS.items() if extra in ("s3", "gcs", "azure"))
"""The protocols of object stores that results are written to."""

_PIECE_BYTES = 1 << 20
"""Bytes of a file without ranges that are read at a time."""

_SECONDS = 10
"""How long the client of an object store tries to connect, or Google's tries again by itself."""

_CHOSEN_BY = ("AWS_", "GOOGLE_", "STORAGE_", "AZURE_", "NEARDUP_NETWORK")

COMMIT = re.compile(r"@[0-9a-f]{40}(?=/|$)")
"""The commit in a path of the Hugging Face hub: such a path has one content for ever."""


def is_writable(url: str) -> bool:
    """Return whether a URL is in an object store that results are written to."""
    return url.partition(":")[0].lower() in WRITABLE


def _s3() -> Any:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return S3FileSystem(
        anonymous=_is_set("AWS_SKIP_SIGNATURE"),
        region=region,
        endpoint_override=endpoint,
        connect_timeout=min(_SECONDS, patience()),
        request_timeout=patience(),  # without a byte; the default of 3 seconds ends slow uploads
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=1),  # ``asked`` tries again
    )


def _gcs() -> Any:
    from pyarrow.fs import GcsFileSystem

    emulator = os.environ.get("STORAGE_EMULATOR_HOST")
    limit = timedelta(seconds=_SECONDS)
    if not emulator:
        return GcsFileSystem(anonymous=_is_set("GOOGLE_SKIP_SIGNATURE"), retry_time_limit=limit)
    scheme, _, host = emulator.rpartition("://")
    return GcsFileSystem(anonymous=True, scheme=scheme or "http", endpoint_override=host, retry_time_limit=limit)


def _azure() -> Any:
    from pyarrow.fs import AzureFileSystem

    parts = (part.partition("=") for part in os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";"))
    connection = {name.strip(): value for name, _, value in parts}
    account = os.environ.get("AZURE_STORAGE_ACCOUNT_NAME") or connection.get("AccountName")
    if not account:
        raise ValueError("neither AZURE_STORAGE_ACCOUNT_NAME nor AZURE_STORAGE_CONNECTION_STRING names an account")
    key = os.environ.get("AZURE_STORAGE_ACCOUNT_KEY") or connection.get("AccountKey")
    token = os.environ.get("AZURE_STORAGE_SAS_TOKEN") or connection.get("SharedAccessSignature")
    places = {}
    if address := connection.get("BlobEndpoint"):  # of an emulator or a proxy: its host has no account before it
        scheme, host = urlsplit(address)[:2]
        names = ("blob_storage", "dfs_storage") if not host.startswith(f"{account}.") else ()
        places = {
            f"{name}_{part}": value for name in names for part, value in (("authority", host), ("scheme", scheme))
        }
    return AzureFileSystem(account, account_key=key, sas_token=token, **places)


_STORES: dict[str, tuple[str, Callable[[], Any]]] = {
    "s3": ("s3", _s3),
    "gcs": ("gs", _gcs),
    "azure": ("az", _azure),
}
"""The object stores of Arrow by their extras: the protocol of their URLs, and the function that opens them."""


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "").lower() in ("1", "true", "yes")


@lru_cache(maxsize=8)
def _store(extra: str, _: tuple[tuple[str, str], ...]) -> Any:
    """Return a store of Arrow under the interface of fsspec, for one state of the environment."""
    from fsspec.implementations.arrow import ArrowFSWrapper
    from pyarrow.fs import FileSelector, FileType

    scheme, opened = _STORES[extra]

    class _Store(ArrowFSWrapper):  # type: ignore[misc]
        """A store whose folders are listed by one request for a thousand files, not one for each folder.

        The search of fsspec below a folder leaves out the folders that cannot be listed, for a pattern, too.
        """

        protocol, root_marker = scheme, ""

        def find(self, path: str, maxdepth: int | None = None, withdirs: bool = False, **given: Any) -> Any:
            root = path.rstrip("/")
            if not root:  # the buckets
                return super().find(path, maxdepth=maxdepth, withdirs=withdirs, **given)
            infos = self.fs.get_file_info(FileSelector(root, recursive=maxdepth != 1, allow_not_found=True))
            types = (FileType.File, FileType.Directory) if withdirs else (FileType.File,)
            entries = {
                info.path: self._make_entry(info)
                for info in infos or [self.fs.get_file_info(path)]
                if info.type in types and (maxdepth is None or info.path[len(root) + 1 :].count("/") < maxdepth)
            }
            return entries if given.get("detail") else list(entries)

    return _Store(opened(), skip_instance_cache=True)


def filesystem(url: str) -> tuple[Any, str]:
    """Return the fsspec filesystem of a URL and the path within it.

    Raises InputError for a URL that nothing here can open, with the extra that opens it.
    """
    scheme = url.partition(":")[0].lower()
    extra = EXTRAS.get(scheme)
    try:
        import fsspec
    except ImportError as error:
        why, do = unusable("fsspec", extra or "http", error)
        given = f"{without_password(url)} is a URL, and fsspec {why}"
        raise InputError(given, "Files, and URLs that fsspec reads", do) from None
    try:
        if extra in _STORES:
            chosen = tuple(item for item in sorted(os.environ.items()) if item[0].startswith(_CHOSEN_BY))
            return _store(extra, chosen), _key_of(url)
        system, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError, OSError) as error:
        raise InputError(
            f"Cannot reach {without_password(url)}: {error}",
            "A URL that Arrow, or fsspec and its plugins can open",
            install(extra) if extra and isinstance(error, ImportError) else "Check the URL and its configuration",
        ) from error
    return system, str(path)


def _key_of(url: str) -> str:
    """Return bucket and key of a URL. Azure may name its account: ``abfs://BOX@ACCOUNT.dfs…/key``."""
    rest = url.split("://", 1)[1]
    bucket, slash, key = rest.partition("/")
    return bucket.rpartition("@")[0].rpartition(":")[0] + slash + key if "@" in bucket else rest


class StoredObject(Protocol):
    """An object behind a URL, of any store."""

    def look(self) -> tuple[Pin, bool]:
        """Return the present pin, and whether parts can be asked for as those of one version."""

    def part(self, start: int, stop: int, pin: Pin) -> bytes | None:
        """Return the bytes of a part of the pinned version; None if only the whole can be asked for.

        Raises ChangedObjectError.
        """

    def whole(self, pin: Pin) -> Iterator[bytes]:
        """Yield the whole object piece by piece. Raises ChangedObjectError."""


class ArrowObject:
    """An object of a store of Arrow, whose requests for parts have no condition: each answer is looked at again.

    As a store replaces an object at once, an answer between two looks that agree is of that version.
    """

    def __init__(self, system: Any, path: str) -> None:
        self._files, self._path = system.fs, path
        self._file: Any = None

    def look(self) -> tuple[Pin, bool]:
        """See ``StoredObject``: a store has a tag for each object."""
        self._file = self._files.open_input_file(self._path)
        facts = {str(name): value for name, value in (self._file.metadata() or {}).items()}
        return Pin.of(facts, self._file.size()), True

    def part(self, start: int, stop: int, pin: Pin) -> bytes | None:
        """See ``StoredObject``."""
        if self._file is None:
            require_pinned(self.look, pin)
        try:
            data = bytes(self._file.read_at(stop - start, start))
        finally:  # an object that is gone or shorter is an error of many kinds
            require_pinned(self.look, pin)
        if len(data) < stop - start:
            raise OSError(f"the connection ended after {len(data):,} of {stop - start:,} bytes")
        return data

    def whole(self, pin: Pin) -> Iterator[bytes]:
        """See ``StoredObject``."""
        yield self.part(0, pin.size or 0, pin) or b""


def require_pinned(seen_now: Callable[[], tuple[Pin, Any]], pin: Pin) -> None:
    """Raise ChangedObjectError unless an object that is looked at now is in the pinned version."""
    try:
        seen = seen_now()[0]
    except FileNotFoundError:
        raise ChangedObjectError(None) from None
    if not pin.is_of(seen):
        raise ChangedObjectError(seen)


class PluginObject:
    """A file of a plugin of fsspec, which is asked about it again after each answer."""

    def __init__(self, system: Any, path: str) -> None:
        self._system, self._path = system, path
        self._file: Any = None

    def look(self) -> tuple[Pin, bool]:
        """See ``StoredObject``; a plugin that says nothing but the size sends the whole."""
        with suppress(Exception):  # plugins forget their listings in ways of their own
            self._system.invalidate_cache(self._system._parent(self._path))
        facts = self._system.info(self._path)
        pin = Pin.of(facts, facts.get("size"))
        if commit := COMMIT.search(self._path):
            pin = replace(pin, version=commit[0][1:])
        if pin.etag is None and type(self._system).ukey is not _ukey():
            pin = replace(pin, etag=str(self._system.ukey(self._path)))
        return pin, pin.size is not None and any((pin.etag, pin.version, pin.modified))

    def part(self, start: int, stop: int, pin: Pin) -> bytes | None:
        """See ``StoredObject``."""
        try:
            if self._file is None:
                self._file = self._system.open(self._path, "rb", cache_type="none")
            if getattr(self._file, "size", 0) is None:  # fsspec has asked, and the server has no ranges
                return None
            self._file.seek(start)
            data = bytes(self._file.read(stop - start))
        except Exception:
            self._file = None  # the next attempt has a connection of its own
            self._require(pin)
            raise
        if len(data) < stop - start:
            self._file = None
        self._require(pin)
        if len(data) < stop - start:
            raise OSError(f"the connection ended after {len(data):,} of {stop - start:,} bytes")
        return data

    def whole(self, pin: Pin) -> Iterator[bytes]:
        """See ``StoredObject``."""
        self._file = None
        # any size keeps fsspec from asking for one that the server may not know
        with self._system.open(self._path, "rb", block_size=0, size=pin.size or 1) as file:
            while data := bytes(file.read(_PIECE_BYTES)):
                yield data
        self._require(pin)

    def _require(self, pin: Pin) -> None:
        """Raise ChangedObjectError unless the plugin reports the pinned version."""
        if not COMMIT.search(self._path):
            require_pinned(self.look, pin)


def at_commit(system: Any, path: str) -> str:
    """Return a path of the hub with the commit of today, so that all requests are for that; any other as it is."""
    if getattr(system, "protocol", None) != "hf" or COMMIT.search(path):
        return path
    from huggingface_hub import HfApi

    place = system.resolve_path(path)
    if not hasattr(place, "revision"):  # a bucket, which has no commits
        return path
    api = HfApi(endpoint=system.endpoint, token=system.token)
    sha = api.repo_info(place.repo_id, repo_type=place.repo_type, revision=place.revision).sha
    kind = "" if place.repo_type == "model" else f"{place.repo_type}s/"
    return f"{kind}{place.repo_id}@{sha}/{place.path_in_repo}".rstrip("/")


def _ukey() -> Any:
    from fsspec import AbstractFileSystem

    return AbstractFileSystem.ukey


def stored_object(url: str) -> StoredObject:
    """Return the object of a URL. Raises InputError for a URL that nothing here can open."""
    system, path = filesystem(url)
    if is_web(url):
        from neardup.io.storage.web import WebObject  # here, as it needs aiohttp

        return WebObject(system, path)
    if EXTRAS.get(url.partition(":")[0].lower()) in _STORES:
        return ArrowObject(system, path)
    return PluginObject(system, path)


def is_web(url: str) -> bool:
    """Whether a URL is one of HTTP, where looking for a folder would fetch the whole file."""
    return url.lower().startswith(("http://", "https://"))
