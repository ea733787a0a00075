"""Only a missing package is "not installed"; another failure of its import says what failed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from neardup.errors import InputError, SettingError
from neardup.io.formats.pdf import read_pdf
from neardup.io.formats.web import read_main
from neardup.io.storage.systems import filesystem
from neardup.settings.stop_words import words_of
from support.messages import assert_refused, has_parts

LXML = (
    "lxml.html.clean module is now a separate project lxml_html_clean.\n"
    "Install lxml[html_clean] or lxml_html_clean directly."
)


def put(name: str, content: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a package of this name before the installed one."""
    (folder / f"{name}.py").write_text(content)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, name, raising=False)


def test_a_package_that_cannot_load_another_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put("trafilatura", f"raise ImportError({LXML!r})", tmp_path, monkeypatch)
    with pytest.raises(InputError) as raised:
        read_main(b"<p>text")
    assert has_parts(raised.value.given, "lxml.html.clean", "separate project")
    assert "not installed" not in str(raised.value)
    assert raised.value.do == 'pip install "lxml[html_clean]"'
    put("pypdfium2", "import module_that_nobody_has", tmp_path, monkeypatch)
    with pytest.raises(InputError) as raised:
        read_pdf(b"%PDF-")
    assert "module_that_nobody_has" in raised.value.given
    assert raised.value.do == 'pip install "module_that_nobody_has"'


def test_a_missing_package_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("trafilatura", "fsspec", "stopwordsiso"):
        monkeypatch.setitem(sys.modules, name, None)
    assert_refused(
        (InputError, r"trafilatura, which is not installed.*\[web\]", lambda: read_main(b"<p>text")),
        (InputError, r"fsspec is not installed.*\[s3\]", lambda: filesystem("s3://bucket/a")),
        (SettingError, "", lambda: words_of("en")),
    )


def test_a_failing_shared_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put("fsspec", "raise ImportError('libz.so.1: cannot open shared object file')", tmp_path, monkeypatch)
    with pytest.raises(InputError, match=r"fsspec cannot be loaded: libz\.so\.1"):
        filesystem("s3://bucket/a")
