"""The Dockerfile and the systemd unit: their commands exist, and they drop all privileges that they can."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from neardup.cli.commands import COMMANDS
from support.command_line import split_command

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "deploy.md").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
UNIT = (ROOT / "deploy" / "neardup.service").read_text(encoding="utf-8")


def option(name: str) -> str:
    (value,) = re.findall(rf"^{name}=(.*)$", UNIT, flags=re.MULTILINE)
    return str(value)


def typed() -> dict[str, list[str]]:
    """Every command line of neardup in the two, and on the page."""
    command = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, flags=re.MULTILINE)[-1]
    return {
        "the container": [part.strip('" ') for part in command.strip("[]").split(",")],
        "the unit": shlex.split(option("ExecStart"))[1:],
    }


@pytest.mark.parametrize("name", typed())
def test_commands_and_options_exist(name: str) -> None:
    command, words = split_command(typed()[name])
    known = {spelling for option in COMMANDS[command].options for spelling in option.spelling}
    assert {word for word in words if word.startswith("--")} <= known


def test_the_container_is_not_root_and_is_asked_how_it_is() -> None:
    (user,) = re.findall(r"^USER (\d+):(\d+)$", DOCKERFILE, flags=re.MULTILINE)
    assert "0" not in user
    after = DOCKERFILE.partition(f"USER {':'.join(user)}")[2]
    assert "RUN" not in after
    health = re.findall(r"^HEALTHCHECK (?:.*\\\n)?.*$", after, flags=re.MULTILINE)
    assert "http://127.0.0.1:8321/health" in health[0]
    assert '"--port", "8321"' in after
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, flags=re.MULTILINE)
    for name in " ".join(copied).split():
        assert (ROOT / name).exists()
        assert f"!{name}\n" in (ROOT / ".dockerignore").read_text(encoding="utf-8")


def test_the_image_has_the_extras_of_its_page_and_of_the_package() -> None:
    (installed,) = re.findall(r"pip install .*'\.\[([a-z,]+)\]'", DOCKERFILE)
    extras = installed.split(",")
    (row,) = re.findall(r"^\| extras \| (.*) \|$", PAGE, flags=re.MULTILINE)
    assert extras == re.findall(r"`([a-z]+)`", row)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    assert {"office", "web", "mcp", "service", "formats"} <= {*extras} <= {*known}


def test_the_image_can_be_built_again_and_starts_anywhere() -> None:
    assert re.search(r"^ARG PYTHON=\d+\.\d+\.\d+-slim-[a-z]+$", DOCKERFILE, flags=re.MULTILINE)
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, flags=re.MULTILINE) == ["python:${PYTHON}"] * 2
    assert re.search(
        r"SOURCE_DATE_EPOCH=\d+ /opt/neardup/bin/pip install", DOCKERFILE
    )  # byte code outlasts the copy
    (levels,) = re.findall(r'^ARG KERNELS="(.*)"$', DOCKERFILE, flags=re.MULTILINE)
    assert levels.split()[0] == "x86-64-v2", "the oldest that it runs on"
    built = DOCKERFILE.partition("pip install")[0]
    assert 'export NEARDUP_KERNELS_FOR="$KERNELS"' in built
    assert re.search(r"uname -m.* KERNELS=generic", built)


def test_steps_of_images_are_for_a_posix_shell() -> None:
    """In dash, braces are no list: `rm -r` would find no such file, and `rm -rf` would remove nothing."""
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")]
    steps = [
        line for text in (DOCKERFILE, *pages) for line in re.findall(r"^RUN .*(?:\\\n.*)*", text, re.MULTILINE)
    ]
    assert len(steps) > 3
    assert not [step for step in steps if re.search(r"\{[^}]*,[^}]*\}|\[\[|\bsource\b", step)]


def test_the_tokens_are_made_readable_for_the_user_of_the_container() -> None:
    ((user, group),) = re.findall(r"^USER (\d+):(\d+)$", DOCKERFILE, flags=re.MULTILINE)
    (made,) = re.findall(
        rf"install .* -o {user} -g {group} -m 0400 /host/tokens /host/(\S+)$", PAGE, flags=re.MULTILINE
    )
    place = re.findall(r'"--token-file", "(.*?)"', DOCKERFILE)[0]
    assert f"-v $PWD/{made}:{place}:ro" in PAGE


def test_the_unit_gives_up_what_it_can() -> None:
    for name in (
        *("DynamicUser", "NoNewPrivileges", "PrivateTmp", "PrivateDevices", "ProtectHome", "ProtectKernelModules"),
        *("ProtectKernelTunables", "ProtectControlGroups", "RestrictNamespaces", "LockPersonality"),
    ):
        assert option(name) == "yes"
    assert (option("ProtectSystem"), option("CapabilityBoundingSet")) == ("strict", "")
    assert option("StateDirectory") == "neardup"
    assert option("MemoryDenyWriteExecute") == "yes"  # machine code is loaded from files alone
    stop = next(one.default for one in COMMANDS["serve"].options if one.name == "stop_seconds")
    assert int(option("TimeoutStopSec")) > stop
