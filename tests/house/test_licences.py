"""Files derived from the Unicode Character Database carry its notice, in the sources and in the wheel."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_unicode_notice_goes_with_the_tables() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "Apache-2.0 AND Unicode-3.0"
    carried = {path for pattern in project["license-files"] for path in ROOT.glob(pattern)}
    assert carried == {ROOT / "LICENSE", ROOT / "NOTICE", ROOT / "LICENSES" / "Unicode-3.0.txt"}
    licence = (ROOT / "LICENSES" / "Unicode-3.0.txt").read_text(encoding="utf-8")
    assert licence.startswith("UNICODE LICENSE V3\n\nCOPYRIGHT AND PERMISSION NOTICE\n")
    assert licence.rstrip().endswith("authorization of the copyright holder.")
    (tables,) = (ROOT / "src" / "neardup").rglob("*.npz")
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert str(tables.relative_to(ROOT)) in notice
    assert "LICENSES/Unicode-3.0.txt" in notice
