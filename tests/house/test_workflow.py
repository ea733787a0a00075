"""The workflow runs what README.md and the scripts say: the same commands, as every system has them."""

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
QUIET = {"--quiet", "--disable-pip-version-check", "-q"}
# the house rules are among the tests, which follow
ELSEWHERE = {("python", "-m", "pytest", "tests/house")}


def words(line: str) -> tuple[str, ...]:
    """A command without what only one shell has, or only says less."""
    line = line.replace('"$PYTHON"', "python").replace('"${GROUP:-dev}"', "dev").replace("./", "")
    return tuple(word for word in shlex.split(line, comments=True) if word not in QUIET)


def run_by_workflow() -> set[tuple[str, ...]]:
    return {words(line) for line in re.findall(r"^ +- run: (.*)$", WORKFLOW, flags=re.MULTILINE)}


def of_script(name: str) -> set[tuple[str, ...]]:
    """The commands of a script that begin with the interpreter."""
    text = (ROOT / "scripts" / name).read_text(encoding="utf-8")
    found = {words(line) for line in re.findall(r'"\$PYTHON" -m .*', text)}
    assert found
    return found


@pytest.mark.parametrize("script", ["environment", "check"])
def test_the_workflow_runs_the_commands_of_the_scripts(script: str) -> None:
    assert of_script(script) - ELSEWHERE <= run_by_workflow()


def test_the_tests_are_run_as_the_script_runs_them() -> None:
    script = (ROOT / "scripts" / "test").read_text(encoding="utf-8")
    (run,) = re.findall(r"^run=\((.*)\)$", script, flags=re.MULTILINE)
    assert ("python", *run.split()) in run_by_workflow()
    assert ("scripts/test", "--lowest") in run_by_workflow()


def test_the_workflow_runs_the_first_commands_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```\n(python3 -m venv .*?)^```", readme, flags=re.MULTILINE | re.DOTALL)
    commands = [words(command) for line in block.splitlines() for command in line.split("&&")]
    assert commands[:2] == [("python3", "-m", "venv", ".venv"), (".", ".venv/bin/activate")]
    assert set(commands[2:]) <= run_by_workflow()  # a runner has an environment of its own


@pytest.mark.parametrize("name", ["tests", "release"])
def test_a_workflow_is_yaml_whose_jobs_have_steps(name: str) -> None:
    yaml = pytest.importorskip("yaml")
    read = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))
    assert {"name", "permissions", "jobs"} <= set(read)
    for name, job in read["jobs"].items():
        assert {"runs-on", "timeout-minutes", "steps"} <= set(job), name
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), (name, step)


def test_the_newest_versions_are_tried_every_week() -> None:
    """docs/contributing/decisions/borrowed-insides.md relies on it."""
    assert re.search(r'^  schedule:\n(?: +#.*\n)*    - cron: "\d+ \d+ \* \* \d"$', WORKFLOW, flags=re.MULTILINE)
