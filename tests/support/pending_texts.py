"""Families of near copies in collections whose documents wait to be grouped."""

from random import Random
from typing import Any

from neardup import Collection

WORDS = [f"word{number}" for number in range(300)]


def made_texts(seed: int, families: int = 12) -> dict[str, str]:
    """Families of edited copies in a random order, some of them near two families, and texts without words."""
    random = Random(seed)
    texts = {"empty": "", "dots": "… !"}
    for family in range(families):
        base = random.choices(WORDS, k=random.choice((3, 12, 60, 200)))
        for copy in range(random.randint(1, 7)):
            words = list(base)
            for _ in range(random.randint(0, max(1, len(words) // 30))):
                words[random.randrange(len(words))] = random.choice(WORDS)
            texts[f"{family}/{copy}"] = " ".join(words)
    order = list(texts)
    random.shuffle(order)
    return {id: texts[id] for id in order}


def put(collection: Collection, texts: dict[str, str], **how: Any) -> None:
    collection.put_prepared(collection.prepare(list(texts), list(texts.values()), [{}] * len(texts)), **how)


def groups(collection: Collection) -> Any:
    return collection.groups().as_dict()
