"""scripts/lowest.txt holds the lower bounds of pyproject.toml, each of them and no other."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_constraints_are_the_lower_bounds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    bounds = {}
    for requirement in [*project["dependencies"], *(one for extra in extras for one in extra)]:
        matched = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)(?:,<[\d.]+)?", requirement)
        assert matched is not None, f"{requirement}: name>=version, with or without an upper bound"
        bounds[matched[1]] = matched[2]
    lines = (ROOT / "scripts" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    lowest = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert list(lowest) == sorted(lowest)
    assert set(lowest) == set(bounds)
    for name, version in lowest.items():
        # 2.0.0 is the lowest version that 2.0 names
        assert re.fullmatch(rf"{re.escape(bounds[name])}(\.0)*", version), (name, version, bounds[name])
