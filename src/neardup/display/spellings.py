"""The right spelling of a name that someone guessed: an option, a keyword, an attribute, a name of the package.

A name is sought in one table of the words of others, and else by its letters (Ratcliff and Metzener 1988, as in
``difflib``).
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from typing import Any, get_type_hints

from neardup.errors import UnknownKeywordError

PEERS: Mapping[str, str] = {
    # names of the package
    "compare jaccard": "similarity similarity_score",
    "similarity": "dice cosine cosine_similarity weighted_jaccard overlap_coefficient",
    "compare": "ratio fuzz_ratio token_set_ratio partial_ratio diff distance levenshtein overlap",
    "jaccard": "resemblance jaccard_similarity jaccard_index jaccard_score",
    "containment": "contained_by max_containment subset contains",
    "find": "duplicates near_duplicates find_duplicates clusters cluster deduplication min_hash_lsh_ensemble",
    "dedup": "deduplicate dedupe drop_duplicates remove_duplicates minhash_dedup",
    "distinct": "unique",
    "join": "all_pairs set_similarity_join jaccard_join similarity_join search_index",
    "top_pairs": "nearest nearest_neighbors nearest_neighbours kneighbors extract extract_one most_similar "
    "min_hash_lsh_forest lsh_forest",
    "passages": "suffix_array exact_substring repeated_substrings",
    "MinHash SimHash": "sketch sketches signature signatures fingerprint",
    "MinHash": "lean_min_hash r_min_hash c_min_hash min_hash_vectorizer min_hash_signature",
    "Index": "min_hash_lsh async_min_hash_lsh lsh_index r_min_hash_lsh hash_index reverse_index",
    "HammingIndex": "simhash_index",
    "SampledShingles": "frac_min_hash scaled_min_hash winnowing",
    "BBit": "b_bit_min_hash",
    "shingles": "ngrams n_grams shingle kmers kgrams",
    "tokens": "tokenize words",
    "hash_tokens": "hash_values",
    "load": "open read read_result load_result",
    # keywords, and options of the command line
    "threshold": "at near similarity sim jaccard cutoff min_similarity similarity_threshold jaccard_threshold "
    "least overlap score_cutoff min_jaccard minimum_jaccard",
    "overlap": "threshold similarity min_containment containment",
    "slots": "num_perm permutations num_hashes hashes n_hashes hash_count perms",
    "bits": "f b",
    "prime": "modulus modulo mod p",
    "modulus": "prime modulo mod p",
    "orders": "permutations order perms",
    "distances": "distance hamming hamming_distance",
    "distance": "bit_diff hamming tolerance max_distance hamming_distance",
    "length": "ngram ngrams n_gram ngram_size n_gram_size n k shingle shingles shingle_size window width "
    "min_length tokens ksize kgram_length ngram_range",
    "unit": "analyzer",
    "sketch": "num_perm permutations num_hashes hashes slots signature minhash simhash bits features distance "
    "bit_diff hamming seed",
    "bands": "b r rows num_bands n_bands",
    "recall": "bands rows b r false_negatives probability weights",
    "method": "lsh exact_join algorithm engine mode",
    "out": "output output_dir output_path outdir dest destination save to",
    "text": "column columns text_column text_key text_field content content_key body",
    "id": "ids id_column id_key id_field doc_id index key name",
    "against": "reference references exclude baseline test eval benchmark old known with",
    "threads": "jobs n_jobs workers num_workers num_proc processes cores cpus parallel",
    "memory": "ram mem max_memory memory_limit batch_size cache",
    "overwrite": "force replace clobber yes exist_ok",
    "quiet": "silent q no_progress summary",
    "json": "format output_format machine jsonl",
    "keep": "prefer policy strategy priority which representative rank",
    "by": "partition group_by per split",
    "within": "same bucket block only",
    "resume": "checkpoint continue restart recover cache_dir",
    "predict": "estimate forecast cost eta",
    "dry_run": "simulate check preview no_write noop test_run",
    "cut": "remove delete strip trim excise",
    "on_near": "skip_near on_duplicate action",
    "mask": "regex pattern exclude_pattern remove_pattern normalize",
    "stop_words": "stopwords language lang",
    "ignore_common": "boilerplate templates frequent df max_df",
    "top": "limit count number most best",
    "measure": "metric similarity_measure similarity_func similarity_func_name cosine dice containment tversky",
    "overlap-max": "containment_min",
    "cosine": "cosine_similarity ochiai_coefficient",
    "dice": "dice_similarity sorensen_dice",
    "limit": "top count most rows page_size",
    "file_size": "shard_size max_file_size chunk_size part_size",
    "write_removed": "removed duplicates save_duplicates rejected",
    # attributes
    "resemblance": "jaccard similarity ratio score estimate_jaccard normalized_similarity",
    "groups": "cluster clusters clustering components linkage communities labels",
    "removed": "duplicates dropped near_duplicates rejected",
    "kept": "unique uniques survivors deduplicated representatives",
    "pairs": "edges matches candidates similar_pairs",
    "values": "hashvalues digest hashes mins value signature",
    "add": "insert put append update add_many bulk_insert",
    "add_all": "insert_all insertion_session",
    "of": "update update_batch add_sequence add_text",
    "query": "find search get lookup get_near_dups kneighbors",
    "remove": "delete discard",
    "merged": "merge union",
    "as_dict": "to_dict to_json asdict",
}
"""Names of ours, and the words of others for them: those of datasketch, simhash, SetSimilaritySearch, text-dedup,
datatrove, sourmash, Dolos, rapidfuzz, scikit-learn and pandas. The first row with a name that is there counts."""


def plain(name: str) -> str:
    """Return a name without signs between its words, in small letters.

    >>> plain("--num-perm"), plain("MinHashLSH")
    ('numperm', 'minhashlsh')
    """
    return name.replace("-", "").replace("_", "").strip().lower()


def _by_peers(word: str, names: Mapping[str, str]) -> list[str]:
    """Return the plain names in the first row of the table with this plain word and one of the ``names``."""
    rows = (ours.split() for ours, words in PEERS.items() if word in map(plain, words.split()))
    return next(filter(None, ([plain(name) for name in row if plain(name) in names] for row in rows)), [])


def meant(word: str, names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that ``word`` may mean: by their letters alone, by the table, or by similarity.

    >>> meant("minhash", ["MinHash"]), meant("num_perm", ["slots", "bits"]), meant("--treshold", ["--threshold"])
    (['MinHash'], ['slots'], ['--threshold'])
    >>> meant("similarity", ["similarities", "compare", "jaccard"]), meant("frobnicate", ["find"])
    (['compare', 'jaccard'], [])
    """
    from difflib import get_close_matches  # imported only after a mistake

    by_plain, wanted = {plain(name): name for name in names}, plain(word)
    near = [wanted] if wanted in by_plain else _by_peers(wanted, by_plain)
    alike = [name for name in by_plain if name[:1] == wanted[:1]]  # who mistypes a name begins it rightly
    return [by_plain[name] for name in near or get_close_matches(wanted, alike, 1, 0.7)]


def near_miss(value: object, names: Iterable[str]) -> str:
    """Return the spellings among ``names`` that a value may mean as a question, or "".

    >>> near_miss("clasic", ["one-permutation", "classic"]), near_miss("best", ["longest", "first"])
    ("Did you mean 'classic'?", '')
    """
    return _question(map(repr, meant(value, names) if isinstance(value, str) else ()))


def _question(spellings: Iterable[str]) -> str:
    words = " or ".join(spellings)
    return words and f"Did you mean {words}?"


def missing_attribute_error(owner: str, name: str, spellings: Mapping[str, str], of: object) -> AttributeError:
    """Return the error that ``owner``, in words, lacks an attribute.

    ``spellings`` are those of the names that may be meant. Names that begin with "_" are not public.
    """
    near = meant(name, (each for each in spellings if not each.startswith("_")))
    message = f"{owner} has no attribute {name!r}. {_question(spellings[each] for each in near)}"
    return AttributeError(message.removesuffix(". "), obj=of)  # without its name, the traceback adds no guess


def require_known_keywords(function: Callable[..., Any], owner: str, given: Mapping[str, Any]) -> None:
    """Raise UnknownKeywordError for the first of the ``given`` keywords that ``owner``, this function, lacks.

    >>> require_known_keywords(sorted, "sorted", {"revers": True})
    Traceback (most recent call last):
    neardup.errors.UnknownKeywordError: sorted() has no keyword 'revers'. Did you mean 'reverse'?
    """
    known = _keywords(function)
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None and "**" not in known:
        hint = near_miss(unknown, known)
        raise UnknownKeywordError(
            f"{owner}() has no keyword {unknown!r}", "" if hint else ", ".join(known) or "No keyword", hint
        )


@cache
def _keywords(function: Callable[..., Any]) -> tuple[str, ...]:
    """The keywords of a function, with those of its ``Unpack[TypedDict]``; "**" where any is allowed."""
    names: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            annotation = inspect.get_annotations(function)[name]
            if isinstance(annotation, str):  # the module postpones its annotations
                annotation = eval(annotation, inspect.unwrap(function).__globals__)
            [of] = getattr(annotation, "__args__", (None,))
            names += get_type_hints(of) if hasattr(of, "__total__") else ("**",)
        elif name != "self" and parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            names.append(name)
    return tuple(names)


def checking_keywords(function: Callable[..., Any], owner: str) -> Callable[..., Any]:
    """Return a function that names the right keyword for an unknown one before it does its work."""

    @wraps(function)
    def call(*given: Any, **keywords: Any) -> Any:
        if keywords:
            require_known_keywords(function, owner, keywords)
        return function(*given, **keywords)

    return call


def check_keywords_of_methods(owner: type) -> None:
    """Let the public methods of a class name the right keyword for an unknown one; coroutines stay coroutines."""
    for name, method in list(vars(owner).items()):
        awaited = inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)
        if name.startswith("_") or not inspect.isfunction(method) or awaited:
            continue
        if method.__globals__ is not globals():  # a class with slots is made twice, of the same methods
            setattr(owner, name, checking_keywords(method, name))
