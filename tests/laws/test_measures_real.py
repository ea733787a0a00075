"""Measures on real pairs: what other programs counted, revisions, scans with recognition errors, translations."""

import pytest

import neardup as nd
from neardup.comparison.compare import Comparison
from support.full_run import FULL
from support.shared_data import PROSE, documents, published_pairs

SOME = 40 if FULL else 16


def some_pairs(name: str, count: int = SOME) -> list[dict[str, str]]:
    rows = published_pairs(name)
    return rows[:: max(1, len(rows) // count)]


def compared(name: str, id_a: str, id_b: str, **settings: object) -> Comparison:
    texts = documents(name)
    return nd.compare(texts[id_a], texts[id_b], **settings)  # type: ignore[arg-type]


@pytest.mark.part(3)
@pytest.mark.parametrize("name", PROSE)
def test_set_measures_are_what_another_program_counted(name: str) -> None:
    for row in some_pairs(name):
        found = compared(name, row["id_a"], row["id_b"]).measures
        assert (found["shingles_a"], found["shingles_b"]) == (int(row["n_a"]), int(row["n_b"]))
        assert found["resemblance"] == pytest.approx(float(row["jaccard"]), abs=6e-5)
        assert found["containment_a"] == pytest.approx(float(row["a_in_b"]), abs=6e-5)
        assert found["containment_b"] == pytest.approx(float(row["b_in_a"]), abs=6e-5)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", PROSE)
def test_tilings_are_valid_nearly_all_proven_and_never_capped(name: str) -> None:
    proven = 0
    rows = some_pairs(name)
    for row in rows:
        found = compared(name, row["id_a"], row["id_b"])
        assert not found.degraded
        measures = found.measures
        assert measures["common_literal"] <= measures["common_literal_upper_bound"]
        # greedy is near the best that there can be (design text: mean gap .13 %, at most some per cent)
        assert measures["common_literal"] >= 0.9 * measures["common_literal_upper_bound"]
        proven += found.proven
        for chunk in found.chunks():
            assert nd.compare(chunk["text_a"], chunk["text_b"]).measures["common_literal"] >= chunk["tokens"]
    assert proven >= 0.6 * len(rows)


def test_two_scans_of_one_book_are_alike_in_characters_and_in_words() -> None:
    found = compared("textreuse", "remember00palm", "remembermeorholy00palm").measures
    assert found["resemblance"] == pytest.approx(0.7011, abs=1e-4)
    # a misread word costs five shingles, but only itself in common text
    assert found["chunk_union_literal"] > 0.85
    assert found["lcs"] > 0.94
    characters = compared("textreuse", "remember00palm", "remembermeorholy00palm", unit="char", length=8).measures
    assert characters["resemblance"] > found["resemblance"]


def test_a_borrowed_section_is_told_from_another_on_the_same_matter() -> None:
    borrowed = compared("textreuse", "ca1851-match", "ny1850-match").measures
    other = compared("textreuse", "ca1851-nomatch", "ny1850-match").measures
    assert borrowed["chunk_union_literal"] > 0.5
    assert other["common_literal"] == other["common_information"] == other["shared"] == 0


def test_moved_functions_are_all_there_but_not_in_order() -> None:
    found = compared("dolos_python", "UPGMA_A_functionsmoved.py", "UPGMA_A.py").measures
    copy = compared("dolos_python", "UPGMA_A_copy.py", "UPGMA_A.py").measures
    assert min(copy["chunk_longest_literal"], copy["lcs"], copy["resemblance"]) > 0.99
    assert found["chunk_longest_literal"] > 0.9
    assert found["lcs"] < found["chunk_longest_literal"]
    assert found["vocabulary"] == 1


def test_what_is_contained_is_read_by_who_reads_the_longer_one() -> None:
    rows = [row for row in published_pairs("license_texts") if float(row["a_in_b"]) == 1][:20]
    assert len(rows) == 20
    for row in rows:
        found = compared("license_texts", row["id_a"], row["id_b"])
        assert found.measures["containment_a"] == 1
        assert bool((found.matched_a | found.redundant_a).all())


def test_translations_have_hardly_anything_in_common() -> None:
    texts = documents("udhr")
    long = sorted(texts, key=lambda name: (-len(texts[name]), name))[:12]
    near = 0
    for k, one in enumerate(long):
        for other in long[:k]:
            found = nd.compare(texts[one], texts[other]).measures
            near += found["chunk_union_literal"] > 0.2 and found["resemblance"] < 0.1
    assert near == 0
