"""Tokens of source code of many languages: names and literals count by their kind alone.

Copies of programs differ in the names of their variables, in their numbers and strings, comments and layout. Here
a name is ``id``, a number ``num`` and a string ``str``; keywords and operators are themselves, and comments are
left out. The keywords are those of C, C++, C#, Go, Java, JavaScript, Kotlin, PHP, Python, Ruby, Rust, Swift and
TypeScript together: one rule for files of any of them, since a table of texts rarely says the language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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


def tokens_of_code(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the tokens of source code, each with its place ``text[begin:end]``.

    >>> [token for token, _, _ in tokens_of_code("if (total > 3) { /* big */ total += price; }")]
    ['if', '(', 'id', '>', 'num', ')', '{', 'id', '+=', 'id', ';', '}']
    """
    for found in _TOKEN.finditer(text):
        kind, token = found.lastgroup, found[0]
        if kind == "comment":
            continue
        if (kind == "id" and token in _KEYWORDS) or kind == "sign":
            yield token, *found.span()
        else:
            yield str(kind), *found.span()
