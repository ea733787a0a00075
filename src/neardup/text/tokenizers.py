"""Tokenizers: functions from a text to its tokens, of this program or of another package.

A tokenizer takes a str and returns ``(token, begin, end)`` for each token, in order: the token comes from
``text[begin:end]``. The tokens are compared in place of the words of the text. Another package registers one as an
entry point of the group ``neardup.tokenizers``, whose name is the value of the setting.

``code`` is for source code of many languages: names and literals count by their kind alone. Copies of programs
differ in the names of their variables, in their numbers and strings, comments and layout. Here a name is ``id``, a
number ``num`` and a string ``str``; keywords and operators are themselves, and comments are left out. The keywords
are those of C, C++, C#, Go, Java, JavaScript, Kotlin, PHP, Python, Ruby, Rust, Swift and TypeScript together: one
rule for files of any of them, since a table of texts rarely says the language.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.errors import InputError
from neardup.settings import OWN, loaded_point, tokenizer_point, tokenizer_version

Tokenizer = Callable[[str], Iterable[tuple[str, int, int]]]

_SIGN = "\ua66e"  # a letter that few texts have: it begins the words that stand for other tokens

_WORDS = (
    "abstract and as assert async auto await bool boolean break byte case catch chan char class const "
    "continue crate debugger def default defer del delete do double elif else elsif end ensure enum "
    "except explicit export extends extern fallthrough false final finally float fn for foreach from "
    "func function global go goto guard if impl implements import in include inline instanceof int "
    "interface internal is lambda let long loop match mod module move mut mutable namespace native "
    "new nil none nonlocal not null operator or override package pass private protected protocol pub "
    "public raise range readonly redo ref register rescue rethrow return sealed select self short "
    "signed sizeof static strictfp string struct super switch synchronized template then this throw "
    "throws trait transient true try type typedef typename typeof undef union unless unsafe unsigned "
    "until use using val var virtual void volatile when where while with yield "
)
_KEYWORDS = frozenset(_WORDS.split())

# every branch is decided by its first characters and none has a choice inside a choice: the time is linear
_TOKEN = re.compile(
    r"""
      (?P<comment> //[^\n]* | /\*(?:[^*]|\*(?!/))*(?:\*/)?
                   | \#(?!\s{0,8}(?:include|define|if|ifdef|ifndef|else|elif|endif|pragma|undef|error)\b)[^\n]* )
    | (?P<str> \"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*(?:\"\"\")? | '''(?:[^'\\]|\\.|'(?!''))*(?:''')?
                   | \"(?:[^\"\\\n]|\\.)*\"? | '(?:[^'\\\n]|\\.)*'? | `(?:[^`\\]|\\.)*`? )
    | (?P<num> \.?[0-9](?:[eEpP][+-]|[\w.])* )
    | (?P<id> [^\W\d]\w* )
    | (?P<sign> <<=|>>=|\.\.\.|===|!==|->|=>|::|:=|\+\+|--|&&|\|\||<=|>=|==|!=|<<|>>|[-+*/%&|^]=|[^\w\s\ufffd] )
    """,
    re.VERBOSE | re.DOTALL,
)


class TokenText(NamedTuple):
    """Tokens as one text of words, and the characters [begin, end) from which each of its characters comes.

    ``begins`` and ``ends`` are int64[len(text)]; a space between two tokens comes from the place between them.
    """

    text: str
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]


@cache
def tokenizer_of(name: str) -> Tokenizer:
    """Return a tokenizer by its name, one of ``tokenizer_names``. Raises InputError if it cannot be imported."""
    if name in OWN:
        return tokens_of_code
    tokenizer: Tokenizer = loaded_point(f"tokenizer {name}", tokenizer_point(name))
    return tokenizer


def tokens_as_words(text: str, name: str) -> TokenText:
    """Return the tokens of a text, by the tokenizer ``name``, as a text in which each token is one word.

    A token of ASCII letters and digits is itself; any other is a word of its own that no other token has. Words
    are compared without case, as always. Raises InputError if the tokenizer fails, or returns anything else.

    >>> tokens_as_words("x1 := 42 // ten", "code").text.split(" ")[::2]
    ['id', 'num']
    """
    tokenizer = tokenizer_of(name)
    words: list[str] = []
    spans: list[int] = []
    before = (0, 0)
    try:
        for token, begin, end in tokenizer(text):
            in_order = before[0] <= begin < end <= len(text) and before[1] <= end
            if not (isinstance(token, str) and token and in_order):
                raise ValueError(f"{token!r} at {begin!r} to {end!r}")
            words.append(as_word(token))
            before = (begin, end)
            spans += before
    except (Exception, SystemExit) as error:  # of another package, given a text that nobody has seen
        raise _failed_error(name, error) from error
    return laid_out(words, np.array(spans, np.int64).reshape(-1, 2))


def laid_out(words: list[str], spans: NDArray[np.int64]) -> TokenText:
    """Join words by spaces; each of their characters comes from the span of its word (int64[words, 2])."""
    lengths = np.array([len(word) for word in words], np.int64)
    begins, ends = (np.repeat(spans[:, side], lengths + 1)[:-1] for side in (0, 1))
    between = np.cumsum(lengths + 1)[:-1] - 1
    begins[between] = ends[between] = spans[:-1, 1] if len(words) else spans[:, 1]
    return TokenText(" ".join(words), begins, ends)


def as_word(token: str) -> str:
    """Return a token as a single word."""
    if token.isascii() and token.isalnum():
        return token
    return _SIGN + token.casefold().encode("utf-8", "surrogatepass").hex()


def _failed_error(name: str, error: Any) -> InputError:
    return InputError(
        f"The tokenizer {name} fails on a text: {type(error).__name__}: {error}",
        "(token, begin, end) for each token in order, a str that is not empty and its place in the text",
        f"Mend the package {tokenizer_version(name)}, or choose another tokenizer",
    )


def tokens_of_code(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the tokens of source code, each with its place ``text[begin:end]``.

    >>> [token for token, _, _ in tokens_of_code("if (total > 3) { /* big */ total += price; }")]
    ['if', '(', 'id', '>', 'num', ')', '{', 'id', '+=', 'id', ';', '}']
    """
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match[0]
        if kind == "comment":
            continue
        if (kind == "id" and token in _KEYWORDS) or kind == "sign":
            yield token, *match.span()
        else:
            yield str(kind), *match.span()
