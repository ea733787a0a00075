"""Whatever key the hashes of a run have, the same bytes come out."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from test_determinism import made_rows, of_tables, real_rows, without_costs, written

import neardup as nd
from neardup.deduplication.group import leaders as group
from neardup.deduplication.join import method as choose
from neardup.deduplication.join import search as search_module
from neardup.deduplication.join.corpus import Corpus
from neardup.deduplication.join.prefix_join import lookups
from neardup.settings import Settings
from neardup.text import keys
from support import shared_data
from support.full_run import FULL
from support.made_texts import Writer
from support.reference_measured import MEASURES

KEYS = tuple(f"{number:064x}" for number in (0, 1, 2**255 + 12345))
TEXTS = [text for _, text, _ in (*made_rows()[::3], *real_rows()[::4])]
RUNS: list[dict[str, Any]] = [
    *({"measure": measure, "matching": matching} for measure, matching in MEASURES),
    {"measure": "lcs"},
    {"method": "lsh", "threshold": 0.5},
    {"method": "exact", "threshold": 0.3, "groups": "components"},
    {"unit": "char", "length": 9, "groups": "complete"},
    {"sketch": "simhash", "distance": 8},
    {"threshold": 0.9, "audit": 60, "method": "lsh", "slots": 16, "recall": 0.5},
]


def under(
    key: str, out: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> tuple[dict[str, bytes], object]:
    """Return the tables of a run under a key, and its account without times."""
    monkeypatch.setenv("NEARDUP_KEY", key)
    files = written(pa.table({"text": TEXTS}), out, **settings)
    return of_tables(files), without_costs(files["run.json"])


@pytest.mark.part(6)
@pytest.mark.parametrize("form", RUNS, ids=lambda form: "-".join(map(str, form.values())))
def test_many_keys_the_same_bytes(form: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, *others = (under(key, tmp_path / key, monkeypatch, **form) for key in KEYS)
    assert len(one[0]["pairs.parquet"]) > 1000
    for other in others:
        assert other == one


def test_crowds_are_linked_by_the_same_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains between crowds: which pair of two components links them is not a matter of which list comes first."""
    monkeypatch.setattr(group, "CROWD", 4)
    form = {"groups": "components", "threshold": 0.5, "method": "exact"}
    one, *others = (under(key, tmp_path / key, monkeypatch, **form) for key in KEYS)
    assert others == [one] * len(others)


def test_a_text_among_thousands_of_leaders_joins_the_same_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It pairs with more leaders than are looked at: they are not those of the smallest hashes."""
    writer = Writer(seed=31)
    small = [" ".join(writer.words(6)) for _ in range(2500)]
    texts = [*small, " ".join(small)]
    found = []
    for key in KEYS:
        monkeypatch.setenv("NEARDUP_KEY", key)
        run = nd.find(texts, measure="overlap", threshold=1, keep="first")
        found.append(run.removed.to_pylist())
    assert len(found[0]) == 1
    assert found[0] == found[1] == found[2]


def test_near_the_limit_every_key_chooses_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look-ups of one and the same join differ from key to key; those of the published hashes decide."""
    found = shared_data.documents(shared_data.or_own("license_texts"))
    texts = [found[id] for id in sorted(found, key=lambda id: not id.startswith("form/"))][:40]
    counts = set()
    reconsider = choose.reconsider

    def noted(choice: Any, search: Any, lookups: int) -> Any:
        counts.add(lookups)
        return reconsider(choice, search, lookups)

    monkeypatch.setattr(choose, "reconsider", noted)
    near = 38_000 if shared_data.is_here("license_texts") else 10_500  # a little less than all look-ups
    for limit, alike in ((10, False), (near, True)):
        monkeypatch.setattr(choose, "FREE_LOOKUPS", limit)
        counts.clear()
        accounts = []
        for key in KEYS:
            monkeypatch.setenv("NEARDUP_KEY", key)
            accounts.append(nd.find(texts, threshold=0.3).run.choice)
        assert accounts == [accounts[0]] * len(KEYS)
        assert (len(counts) == 1) == alike


def test_boilerplate_that_is_everywhere_leaves_the_choice_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shingles in 300 and in 900 texts count as equally frequent: their hashes decide which lists are read."""
    writer, counts = Writer(seed=77), list[int]()
    everywhere, of_group = writer.words(14), [writer.words(14) for _ in range(3)]
    texts = [" ".join([*everywhere, *of_group[k % 3], *writer.words(2)]) for k in range(900)]

    def noted(hubs: Any, limit: int) -> int:
        counts.append(lookups(hubs, limit))
        return counts[-1]

    monkeypatch.setattr(search_module, "lookups", noted)
    monkeypatch.setattr(choose, "FREE_LOOKUPS", 1_400_000)
    methods = set()
    # the look-ups of the last two keys are the fewest and the most
    for number in range(5) if FULL else (3, 4):
        monkeypatch.setenv("NEARDUP_KEY", f"{number:064x}")
        methods.add(nd.find(texts, threshold=0.7).run.choice.method)
    assert min(counts) < 1_400_000 < max(counts)
    assert len(methods) == 1


def test_two_runs_have_two_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEARDUP_KEY")
    one, two = (Corpus((), Settings()).key for _ in range(2))
    assert not set(one.tokens.tolist()) & set(two.tokens.tolist())
    assert not set(one.shingles.tolist()) & set(two.shingles.tolist())


def test_comparisons_do_not_depend_on_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of one length, full of repeats: the first one decides ties, and published hashes show it."""
    writer = Writer(seed=9)
    words = writer.words(12)
    a, b = (" ".join(writer.random.choices(words, k=400)) for _ in range(2))
    found = set()
    for key in (*KEYS, secrets.token_hex(32)):
        monkeypatch.setenv("NEARDUP_KEY", key)
        keys.process_key.cache_clear()
        for form in ({"length": 2}, {"length": 3, "unit": "char"}):
            there, back = nd.compare(a, b, **form), nd.compare(b, a, **form)
            assert sorted(there.tiles.tolist()) == sorted([j, i, n] for i, j, n in back.tiles.tolist())
            found.add((str(form), str(there.as_dict())))
    keys.process_key.cache_clear()
    assert len(found) == 2
