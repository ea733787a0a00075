"""Who may import whom: a wing imports only wings below it, and the files form no circle."""

import ast
from functools import cache
from pathlib import Path

import pytest

from support.statements import statements

SOURCE = Path(__file__).parents[2] / "src" / "neardup"

# low to high: records below, views above records, faces above views; a wing imports only wings below it
WINGS: dict[str, tuple[str, ...]] = {
    "words": ("errors", "tables", "runtime", "unicode", "settings", "display", "display.view", "display.pictures"),
    "kernels": tuple(
        f"kernels.{name}"
        for name in (
            *("declarations", "formulas", "groups", "join", "lsh", "match", "names", "passages", "postings"),
            *("rows", "sets", "shingles", "sketch", "sorting", "text"),
        )
    ),
    "io": (
        *("io.contents", "io.decisions", "io.fingerprints", "io.files", "io.inputs", "io.outputs", "io.place"),
        "io.sources",
    ),
    "text": (
        *("text.characters", "text.cleaning", "text.hamming", "text.intervals", "text.keys", "text.lsh.bands"),
        *("text.sketch", "text.units"),
    ),
    "comparison": (
        *("comparison.compare", "comparison.first_difference", "comparison.kinds", "comparison.kinds.rules"),
        *("comparison.matching", "comparison.records", "comparison.views", "comparison.walkthrough"),
    ),
    "deduplication": (
        *(f"deduplication.{name}" for name in ("groups", "pairs", "parts", "results", "reviews", "runs", "texts")),
        "deduplication.join.base_documents",
    ),
    "collection": (
        *("collection", "collection.answers", "collection.changes", "collection.queries", "collection.shard"),
        *("collection.shards", "collection.store"),
    ),
    "service": (
        *("service.server", "service.shard_client", "service.workers"),
        *(f"service.web.{name}" for name in ("limits", "middleware", "monitoring", "server")),
    ),
    "corpus": ("corpus.advice", "corpus.decontamination", "corpus.passages"),
    "review": ("review.desk.desk", "review.live.app", "review.report.content", "review.report.verifier"),
    "spark": ("spark.decontamination", "spark.dedup", "spark.files", "spark.job"),
    "verifier": ("verifier",),
    "cli": (),
}
"""The places of the house, each with its contract: the modules that other wings import."""
MOST_CONTRACTS = {"kernels": 15}
"""Contract modules of a wing, where 8 are too few."""
MOST_ARROWS = 50
"""Pairs of wings of which one imports the other."""
WORDS = ("errors", "tables", "runtime", "unicode", "settings", "display")
"""What all wings use, in one place of the picture."""
LAYERS = (
    ("errors", "tables", "kernels", "verifier"),
    ("display",),
    ("runtime", "unicode"),
    ("settings",),
    ("io",),
    ("text",),
    ("comparison",),
    ("deduplication", "collection"),
    ("service", "corpus"),
    ("review", "spark"),
    ("cli",),
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
DOOR = ("__init__", "__main__")
# only io reads or writes files; the other rooms receive the data
FILE_MODULES = {
    "tempfile",
    "glob",
    "fsspec",
    "gzip",
    "csv",
    "pyarrow.parquet",
    "pyarrow.csv",
    "pyarrow.json",
}
# the verifier shares no code with the rooms that it checks
FILE_ROOMS = {"io", "verifier"}
FILE_FUNCTIONS = {"open", "os.open", "os.fdopen", "mmap.mmap", "shutil.rmtree", "shutil.copyfile", "shutil.move"}
FILE_METHODS = (".read_text", ".read_bytes", ".write_text", ".unlink", ".rmdir", ".touch")
OWN_FILES = {
    "cli/__init__.py": "os.devnull, for standard streams that are closed",
    "cli/help.py": "os.devnull, for standard output that is closed",
    "cli/messages.py": "os.devnull, and the memory limits of this process in /proc",
    "runtime.py": "the memory of this process in /proc",
    "kernels/native.py": "the library, and the states of its sources in a working copy",
    "collection/store/file.py": "the one file of a collection",
    "collection/store/sqlite.py": "the one file of a collection",
    "spark/files.py": "Parquet in memory, on file systems that Spark alone reaches",
}
"""Modules outside of io that touch files of their own, and which."""
# the package runs without Numba: the build alone imports intrinsics.py, and compiler.py imports it in functions
COMPILING = {"intrinsics", "compiler"}
AT_ONCE = {"intrinsics"}

MODULES = sorted(SOURCE.rglob("*.py"))


def module_of(path: Path) -> str:
    parts = ("neardup", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_of(path): path for path in MODULES}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def imported(path: Path) -> set[str]:
    """Every name that a file imports: also where only the type checker reads it, and inside of functions."""
    names = set()
    for node in statements(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are written in full"
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def files_imported(path: Path) -> set[str]:
    """The modules a file imports; a package counts where names are taken from it, not where it holds one."""
    files = imported(path) & set(FILES)
    holding = {name.rpartition(".")[0] for name in files}
    return files - (holding - names_taken_from(path))


@cache
def names_taken_from(path: Path) -> set[str]:
    """The modules that a file imports definitions from."""
    nodes = (node for node in statements(path) if isinstance(node, ast.ImportFrom))
    return {
        node.module
        for node in nodes
        if node.module and any(f"{node.module}.{alias.name}" not in FILES for alias in node.names)
    }


def rooms_imported(path: Path) -> set[str]:
    parts = (name.split(".") for name in imported(path) if name.startswith("neardup."))
    return {part[1] for part in parts} & set(LEVEL)


def test_imports_only_lower_layers() -> None:
    for path in MODULES:
        room = room_of(path)
        if room in DOOR:
            continue
        assert room in LEVEL, f"give {room} a place in LAYERS and in ARCHITECTURE.md"
        higher = {other for other in rooms_imported(path) - {room} if LEVEL[other] >= LEVEL[room]}
        assert not higher, f"{path.relative_to(SOURCE)} (layer {LEVEL[room]}) imports {higher}"


def wing_of(module: str) -> str:
    room = module.split(".")[1]
    return "words" if room in WORDS else room


@cache
def entered() -> dict[str, set[tuple[str, str]]]:
    """By wing: the modules of other wings that import something of it, with the module that they name."""
    found: dict[str, set[tuple[str, str]]] = {wing: set() for wing in WINGS}
    for module, path in FILES.items():
        if path.parent == SOURCE and path.stem in DOOR:
            continue
        for node in statements(path):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("neardup"):
                continue
            for alias in node.names:
                within = f"{node.module}.{alias.name}"
                through = node.module in CONTRACTS and within not in CONTRACTS
                name = within if within in FILES and not through else str(node.module)
                if name != "neardup" and wing_of(name) != wing_of(module):
                    found[wing_of(name)].add((module, name))
    return found


CONTRACTS = {f"neardup.{name}" for names in WINGS.values() for name in names}


def test_the_ground_plan_is_small() -> None:
    entries = [path.name for path in SOURCE.iterdir() if path.name not in ("__pycache__", "py.typed")]
    assert len(entries) <= 21, sorted(entries)
    assert len(WINGS) <= 16
    assert {room for rooms in LAYERS for room in rooms} == (WINGS.keys() - {"words"}) | set(WORDS)
    arrows = {(wing_of(module), wing) for wing, modules in entered().items() for module, _ in modules}
    assert len(arrows) <= MOST_ARROWS, sorted(arrows)


@pytest.mark.parametrize("wing", WINGS)
def test_a_wing_is_entered_through_its_contract(wing: str) -> None:
    contract = {f"neardup.{name}" for name in WINGS[wing]}
    assert len(contract) <= MOST_CONTRACTS.get(wing, 8)
    entries = entered()[wing]
    assert {(module, name) for module, name in entries if name not in contract} == set()
    assert contract <= {name for _, name in entries}, "a module that no other wing imports is no contract"


@pytest.mark.parametrize(
    "path", [path for path in MODULES if room_of(path) == "kernels"], ids=lambda path: path.stem
)
def test_kernels_import_only_kernels_and_numerics(path: Path) -> None:
    foreign = {
        name for name in imported(path) if not name.startswith(("neardup.kernels", "numba", "numpy", "llvmlite"))
    }
    assert foreign <= {"__future__", "__future__.annotations"} | standard(foreign), foreign


def needs_numba(names: set[str]) -> bool:
    return any(name.split(".")[0] in ("numba", "llvmlite") for name in names)


def test_only_the_decorators_import_numba_and_only_the_build_at_once() -> None:
    assert {path.stem for path in MODULES if needs_numba(imported(path))} == COMPILING
    at_once = {
        path.stem
        for path in MODULES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        and needs_numba({getattr(node, "module", None) or "", *(alias.name for alias in node.names)})
    }
    assert at_once == AT_ONCE
    importing = {path for path in MODULES if "neardup.kernels.intrinsics" in imported(path)}
    assert {path.stem for path in importing} == {"compiler"}


def test_the_package_does_not_know_its_build() -> None:
    """``kernelbuild`` is not in the wheel."""
    assert not [path.name for path in MODULES if any(name.startswith("kernelbuild") for name in imported(path))]


def standard(names: set[str]) -> set[str]:
    import sys

    return {name for name in names if name.split(".")[0] in sys.stdlib_module_names}


def test_files_form_no_circle() -> None:
    below = {module: files_imported(path) - {module, "neardup"} for module, path in FILES.items()}
    while below:
        free = {module for module, needs in below.items() if not needs & set(below)}
        assert free, f"circle among {sorted(below)}"
        below = {module: needs for module, needs in below.items() if module not in free}


def test_a_listing_hides_no_module() -> None:
    """A name in the ``__init__.py`` of a package would hide the module of the same name."""
    for module, path in FILES.items():
        if path.stem == "__init__" and "# mypy: implicit-reexport" in path.read_text(encoding="utf-8"):
            nodes = [node for node in statements(path) if isinstance(node, ast.ImportFrom)]
            names = {alias.asname or alias.name for node in nodes for alias in node.names}
            assert not {name for name in names if f"{module}.{name}" in FILES}, module


def test_only_the_door_imports_the_command_line() -> None:
    others = [path for path in MODULES if room_of(path) not in (*DOOR, "cli")]
    assert not [path.name for path in others if "cli" in rooms_imported(path)]


def test_nobody_imports_the_door_itself() -> None:
    allowed = {f"neardup.{room}" for room in LEVEL} | {"neardup.__version__"}
    for path in MODULES:
        through_door = {name for name in imported(path) if name.startswith("neardup.") and name.count(".") == 1}
        assert through_door <= allowed, f"{path.name} imports {through_door - allowed} through the public door"


def test_only_the_stores_know_sql() -> None:
    knowing = [path.relative_to(SOURCE) for path in MODULES if "sqlite3" in imported(path)]
    assert knowing
    stores = (("collection", "store"), ("io", "decisions"))
    assert not [str(path) for path in knowing if path.parts[:2] not in stores]


def test_files_are_touched_only_by_readers_and_writers() -> None:
    for path in MODULES:
        if path.relative_to(SOURCE).as_posix() in OWN_FILES or room_of(path) in FILE_ROOMS:
            continue
        touched = {*(imported(path) & FILE_MODULES), *file_calls(path)}
        assert not touched, (str(path.relative_to(SOURCE)), touched)


def file_calls(path: Path) -> set[str]:
    """Calls that open, write or remove a file, but those of ``importlib.resources``, for files of the package."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    calls = {node.func for node in nodes if isinstance(node, ast.Call)}
    named = {ast.unparse(function) for function in calls if isinstance(function, ast.Name | ast.Attribute)}
    ours = {name for name in named if name.startswith("files(")}
    return {name for name in named - ours if name in FILE_FUNCTIONS or name.endswith(FILE_METHODS)}
