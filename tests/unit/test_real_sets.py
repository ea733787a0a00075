"""Which tests read the real sets is found in their source."""

from pathlib import Path

from support.paths import TESTS
from support.real_sets import readers

SOURCE = '''
def texts():
    return shared_data.documents(shared_data.or_own("law_de"))

def scored():
    return texts()

BY_NAME = {"real": scored, "made": made}

@pytest.fixture(params=BY_NAME)
def rows(request): ...

def made(): ...
def test_through_a_fixture(rows): ...
def test_through_a_constant(): BY_NAME["made"]()
@pytest.mark.parametrize("name", ["own", "django_docs"])
def test_by_name(name): ...
def test_of_made_texts():
    """It says nothing of law_de in its code."""
    made()
'''


def test_helpers_fixtures_and_constants_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "test_x.py"
    path.write_text(SOURCE)
    found = {name for name in readers(path) if name.startswith("test_")}
    assert found == {"test_through_a_fixture", "test_through_a_constant", "test_by_name"}


def test_the_laws_of_all_sets_are_among_them() -> None:
    assert "test_threads_change_no_byte" in readers(TESTS / "laws" / "test_determinism.py")
    assert "test_threads_change_no_byte" not in readers(TESTS / "unit" / "test_real_sets.py")
