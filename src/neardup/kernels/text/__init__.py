"""Kernels of texts: characters, tokens, spans, and their hashes."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.kernels.text.characters import character_hashes, normal_points
from neardup.kernels.text.hashing import (
    AS_IS, Key, ODD, PADDING, PRIME, SECOND, TOKEN_KEYS, WORDS, hash_characters, hash_tokens,
)
from neardup.kernels.text.spans import (
    SPACE, characters as character_units, drop_tokens, normalise_with_origin, only_digits, token_places,
)
from neardup.kernels.text.tokens import collapse_white_space, token_streams, tokenise
from neardup.kernels.text.unicode import normalise
