"""The names that `import neardup` offers, and the price of the import."""

import subprocess
import sys

import pytest

import neardup

HEAVY = ("numba", "llvmlite", "pyarrow", "numpy", "rich", "typer", "pandas")


def loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sorted(set(sys.modules) & {set(HEAVY)!r}), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_names_are_sorted_and_all_there() -> None:
    assert neardup.__all__ == sorted(neardup.__all__)
    assert dir(neardup) == neardup.__all__
    for name in neardup.__all__:
        assert getattr(neardup, name) is not None


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'neardup' has no attribute 'nothing'"):
        _ = neardup.nothing  # type: ignore[attr-defined]


def test_importing_costs_nothing_heavy() -> None:
    assert loaded_by("import neardup") == set()


def test_help_imports_nothing_heavy() -> None:
    code = (
        "from neardup.cli import main\nsys.argv = ['neardup', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )
    assert loaded_by(code) <= {"typer", "rich"}


def test_planning_needs_no_numerics() -> None:
    assert loaded_by("import neardup; neardup.plan()") == set()
