"""The tokenizers of the program itself, by their names."""

from importlib.metadata import version

from neardup.settings.extensions import OWN, tokenizer_names, tokenizer_version
from neardup.text.tokenizers import tokenizer_of, tokens_of_code


def test_an_own_tokenizer_has_the_version_of_the_program() -> None:
    assert OWN == ("code",)
    assert tokenizer_names()[: len(OWN)] == OWN
    assert tokenizer_version("code") == f"neardup {version('neardup')}"
    assert tokenizer_of("code") is tokens_of_code
