"""The file systems behind URLs: Arrow's own for S3, Google Cloud Storage and Azure, those of fsspec for the rest.

All are used through the interface of fsspec. Credentials come from where the kept libraries look for them: the
environment, the configuration of the vendor's tools, or the machine.
"""

import os
import re
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

from neardup.errors import InputError, NeardupError, install, unusable
from neardup.io.names import reaching, without_password

T = TypeVar("T")

PAUSES = (0.5, 1.0, 2.0)
"""Seconds before each further attempt of a request that failed."""

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


def is_writable(url: str) -> bool:
    """Return whether a URL is in an object store that results are written to."""
    return url.partition(":")[0].lower() in WRITABLE


_SECONDS = 10
"""How long the client of an object store tries to connect, or Google's tries again by itself."""


def _s3() -> Any:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return S3FileSystem(
        anonymous=_is_set("AWS_SKIP_SIGNATURE"),
        region=region,
        endpoint_override=endpoint,
        connect_timeout=_SECONDS,
        request_timeout=6 * _SECONDS,  # the default of 3 seconds ends slow uploads
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


_CHOSEN_BY = ("AWS_", "GOOGLE_", "STORAGE_", "AZURE_")


@lru_cache(maxsize=8)
def _store(extra: str, _: tuple[tuple[str, str], ...]) -> Any:
    """Return a store of Arrow under the interface of fsspec, for one state of the environment."""
    from fsspec.implementations.arrow import ArrowFSWrapper
    from pyarrow.fs import FileSelector, FileType

    scheme, opened = _STORES[extra]

    class _Store(ArrowFSWrapper):  # type: ignore[misc]
        """A store whose folders are listed by one request for a thousand files, not one for each folder."""

        protocol, root_marker = scheme, ""

        def find(self, path: str, maxdepth: int | None = None, withdirs: bool = False, **given: Any) -> Any:
            if maxdepth is not None or withdirs:
                return super().find(path, maxdepth=maxdepth, withdirs=withdirs, **given)
            infos = self.fs.get_file_info(FileSelector(path.rstrip("/"), recursive=True, allow_not_found=True))
            infos = [info for info in infos or [self.fs.get_file_info(path)] if info.type is FileType.File]
            entries = {info.path: self._make_entry(info) for info in infos}
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


_REFUSED = re.compile(
    r"ACCESS_DENIED|NO_SUCH_BUCKET|NO_SUCH_KEY|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT|PERMISSION_DENIED|"
    r"HTTP status(?: code)?:? 4(?!08|29)\d\d|UNAUTHENTICATED|Retry policy exhausted|Azure Error: \[\]",
    re.IGNORECASE,
)
"""Answers of object stores that are the same at the next attempt, and failures after attempts of their clients."""


def _is_refusal(error: Exception) -> bool:
    status = getattr(error, "status", None)
    if isinstance(status, int) and status >= 400:
        return status < 500 and status not in (408, 429)
    return _REFUSED.search(str(error)) is not None


def asked(url: str, request: Callable[[], T], pauses: Sequence[float] = PAUSES, doing: str = "read") -> T:
    """Return the answer to a request, which is made again after failures of the network, with growing pauses.

    Raises InputError for a file that is missing there, and NetworkError when all attempts have failed.
    """
    with reaching(url, doing):
        for pause in pauses:
            try:
                return request()
            except (NeardupError, FileNotFoundError, PermissionError, MemoryError, NotImplementedError):
                raise
            except Exception as error:  # each plugin of fsspec has errors of its own
                if _is_refusal(error):
                    raise
            time.sleep(pause)
        return request()
