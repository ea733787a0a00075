"""A small result and its desk, for the tests of the review."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from neardup.review.desk.desk import Desk
from neardup.review.desk.texts import TextReader
from support.made_reviews import make_result


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_result(tmp_path_factory.mktemp("review"))


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give pages the time to read all their lines, also on a busy machine."""
    monkeypatch.setattr(TextReader, "seconds", 60.0)


@pytest.fixture
def desk(result: Path) -> Iterator[Desk]:
    (result / "decisions.sqlite").unlink(missing_ok=True)
    desk = Desk.open(result)
    yield desk
    desk.close()
