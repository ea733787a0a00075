"""A class name means one thing: no two public classes of the package have the same name."""

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "neardup"

# Names that several classes still have. Rename all but one of them, and remove the line; add none.
# The answers of the service are named after the values they show; their names are also those of the JSON schema.
REPEATED = {
    "Added": "service/answers: AddedAnswer",
    "Asked": "kernels/join/cover_prefixes: Requirements; service/models: QueryRequest",
    "Cause": "service/answers: CauseAnswer",
    "Change": "service/answers: ChangeAnswer",
    "Chunk": "walkthrough/record: CommonChunk",
    "Classes": "group/decide: CopyClasses; kernels/group/linkage: MemberClasses",
    "Comparison": "collection/query/syntax: FieldClause",
    "Content": "service/models: DocumentContent",
    "Cut": "io/readers/csv_long: LeftOutBytes; join/lcs_join: PieceLengths",
    "Decided": "io/readers/kinds: FolderFiles; service/answers: DecidedAnswer",
    "Decision": "run/records: Fate; service/answers: DecisionAnswer",
    "Decisions": "service/answers: DecisionsAnswer",
    "Document": "service/answers: DocumentAnswer; walkthrough/record: ShownDocument",
    "Drawn": "join/missing: DrawnFamilies; kernels/join/audit: DrawnDocuments; "
    "kernels/match/long_runs: DrawnWindows; walkthrough/record: DrawnHashes",
    "Evidence": "collection/pages: HitCounts; join/search: SearchResult",
    "Group": "collection/groups/records: StoredGroup; service/answers: GroupAnswer",
    "GroupPage": "service/answers: GroupsAnswer",
    "Held": "collection/store/holding: OpenFile; kernels/join/pieces: PieceIndex",
    "Hit": "service/answers: HitAnswer",
    "Judged": "run/account: JudgedRun; service/models: DecisionRequest",
    "Limits": "kernels/match/chunks: WorkLimits; service/limits: RequestLimits",
    "Listed": "join/prefix_join: Prefixes; kernels/group/leader_bits: LeaderBits",
    "Lookups": "collection/store/lookups: StoreLookups",
    "Member": "collection/groups/records: StoredMember; service/answers: MemberAnswer",
    "ModP": "walkthrough/families: RowsModP",
    "MultiplyShift": "walkthrough/families: RowsMultiplyShift",
    "Near": "lsh/hamming/pairs: HammingPairs",
    "NearCopy": "service/answers: NearCopyAnswer",
    "Order": "cli/batch: BatchArguments; cli/compare: CompareArguments",
    "Outcome": "collection/arrivals: ArrivalCounts; run/find: FinishedRun",
    "Page": "io/readers/parquet_pages: ParquetPage; kernels/show/marked: MarkedPage; service/answers: PageAnswer",
    "Part": "io/readers/parquet_plan: RowGroups; join/corpus: CorpusInput",
    "Passage": "service/answers: PassageAnswer",
    "Piece": "comparison/alignment/table: TextPiece; join/corpus: CorpusChunk",
    "Places": "kernels/match/free_places: FreePlaces; service/places: RequestPlaces",
    "Plan": "collection/query/plan: QueryPlan; service/answers: PlanAnswer",
    "Reading": "collection/query/syntax: IdReading; text/units: TextReading",
    "Row": "collection/contract: StoredRow; comparison/alignment/table: AlignedRow",
    "Table": "comparison/alignment/table: AlignedRows; walkthrough/tables: ShownTable",
    "WhyNot": "service/answers: WhyNotAnswer",
    "Words": "collection/query/syntax: WordsClause; lsh/hamming/words: FingerprintWords",
}


def test_no_two_public_classes_have_one_name() -> None:
    files = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(path.relative_to(SOURCE).as_posix())
    repeated = {name: where for name, where in files.items() if len(where) > 1}
    assert not {name: where for name, where in repeated.items() if name not in REPEATED}
    assert not REPEATED.keys() - repeated.keys(), "these names are no longer repeated: remove their lines"
