"""Every page can be followed: in an environment with the packages that it names, in an empty folder.

A page brings its files itself, or names files that each reader has of his own; ``OWN`` makes such files. What
cannot be run is in ``NOT_RUN`` with its reason.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.environments import environment_of, python_with
from support.full_run import FULL
from support.journey_files import OWN
from support.journeys import Reader, blocks_of, installed_by, pages
from support.paths import DOCS, ROOT
from support.postgres_server import USER, missing, programs, server

CLUSTER = "names a cluster; test_engine_alone.py and tests/contract/test_engines.py run the same on small ones"
LARGER = "the figures of a larger input, which is not in the repository"
GOES_ON = "goes on with the collection of another block; tests/unit/collection calls the method"
SERVED = "needs a service that runs; tests/unit/service/test_client.py starts one"
NOT_RUN = {
    "README.md": {
        "python3 -m venv .venv": "installs from the clone; the workflow runs it",
    },
    "agents.md": {'pip install ".[mcp]"\nneardup mcp': "an agent starts it, as tests/surface/test_mcp.py does"},
    "collection-shards.md": {
        "neardup serve mail-0.neardup": "three servers at once; tests/surface/test_serve_shards.py runs them"
    },
    "collection.md": {
        'done = mails.add("more.jsonl"': GOES_ON,
        "page = mails.groups(": GOES_ON,
        "done = mails.group_pending(": GOES_ON,
        "done = mails.regroup(": GOES_ON,
        "with mails.together():": GOES_ON,
    },
    "deploy.md": {"docker build": "needs Docker", "python3 -m venv": "changes the system that it runs on"},
    "formats.md": {
        'pip install ".[sql]"\nneardup dedup': "names a server; tests/surface/test_databases.py has one",
        "neardup dedup https://example.org": "names servers; tests/unit/io/test_fetched_files.py has one",
        "neardup dedup 's3://bucket": "names a bucket; tests/surface/test_object_storage.py has one",
        "neardup dedup crawl.warc.gz": "names archives of a crawl; tests/surface/test_web_archives.py makes some",
        "neardup dedup lake/documents": "names a table; tests/unit/io/test_versioned_tables.py makes some",
        "neardup dedup posts.parquet": "names a table; tests/surface/test_several_formats.py makes some",
    },
    "pipelines.md": {
        "python consume.py": "needs a broker of Kafka; tests/surface/test_howto_applications.py runs its loop"
    },
    "pipes-and-config.md": {
        "by lang": LARGER,
        "neardup --install-completion": "asks the shell that is its parent",
    },
    "python.md": {
        "import neardup as nd\n\nwith nd.Client(": SERVED,
        "async with nd.AsyncClient(": SERVED,
    },
    "service.md": {
        "$ neardup serve mail.neardup --create": SERVED,
        "import neardup as nd\n\nwith nd.Client(": SERVED,
    },
    "parts.md": {
        "#!/bin/bash\n#SBATCH": "needs Slurm",
        "first=$(sbatch": "needs Slurm",
    },
    "spark.md": {"neardup dedup 'data/*.parquet'": CLUSTER, "from neardup.spark import dedup": CLUSTER},
    "templates.md": {"removed       0 documents": LARGER},
}
"""By page, the beginnings of blocks that are not run, each with the reason."""
LARGE = {
    "pipelines.md": "Ray, Airflow, Dagster, datatrove and dbt",
    "libraries.md": "scikit-learn, LangChain, LlamaIndex and Haystack",
}
"""By page, packages that are too large for a run of every day."""
PAGES = {page.name: page for page in pages()}


def bring_a_server(reader: Reader) -> None:
    """Give the reader a PostgreSQL server in place of the one of the page."""
    if reason := missing():
        pytest.skip(reason)
    here, there = server().url("mails", "letters"), "postgresql://ann@db.example/letters?schema=mails"
    reader.names[there] = here
    folder = programs()
    assert folder is not None
    reader.names["createdb "] = f"{folder}/createdb "
    reader.variables |= {"PGHOST": str(server().folder), "PGUSER": USER}


@pytest.mark.parametrize("name", PAGES)
def test_a_reader_can_follow(name: str, tmp_path: Path) -> None:
    if name in LARGE and not FULL:
        pytest.skip(f"installs {LARGE[name]}, 1.1 GB: ./scripts/test --full runs it")
    folder = tmp_path / "reader"
    folder.mkdir()
    if name in OWN:
        OWN[name](folder)
    reader = Reader.of(PAGES[name], folder)
    if name == "postgres.md":
        bring_a_server(reader)
    reader.follow(PAGES[name], [*NOT_RUN.get(name, {})])
    assert not reader.faults, "\n\n".join(reader.faults)
    for account in folder.rglob("run.json"):
        verify(account.parent)


def verify(result: Path) -> None:
    """Count a result of the page again by the file that shares no code with the package; it may refuse some."""
    code = [sys.executable, "-I", str(ROOT / "src" / "neardup" / "verifier.py"), str(result)]
    done = subprocess.run(code, cwd=result.parent, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode != 1, f"{result}: {done.stdout}"


@pytest.mark.parametrize("path", sorted((DOCS / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_need_the_package_alone(path: Path, tmp_path: Path) -> None:
    """In Jupyter they also show their views, as tests/surface/test_notebooks.py has it."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    python = python_with()
    done = subprocess.run(
        [str(python), "-c", code],
        cwd=tmp_path,
        env=environment_of(python, tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_what_is_not_run_is_on_its_page() -> None:
    for name, reasons in NOT_RUN.items():
        for begin, reason in reasons.items():
            assert any(block.text.startswith(begin) for block in blocks_of(PAGES[name])), (name, begin)
            assert reason


def test_the_extras_of_a_page_are_read() -> None:
    assert installed_by(PAGES["README.md"]) == ({"formats", "office", "web", "service"}, set())
