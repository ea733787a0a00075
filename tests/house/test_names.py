"""A class name means one thing: no two public classes of the package have the same name."""

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "neardup"

# Names that several classes still have; add none. Bodies of the service are named after the values they show, and
# their names are those of the published JSON schema. Groups of a run and of a collection are public types of both.
REPEATED = {
    "Added": "service/answers",
    "Cause": "service/answers",
    "Change": "service/answers",
    "Content": "service/models",
    "Decision": "a run, a collection, service/answers",
    "Decisions": "a run, service/answers",
    "Document": "service/answers",
    "Evidence": "a hit of a query, a run",
    "Group": "a run, a collection, service/answers",
    "GroupPage": "service/answers",
    "Hit": "service/answers",
    "Member": "a run, a collection, service/answers",
    "NearCopy": "service/answers",
    "Page": "service/answers",
    "Passage": "service/answers",
    "Plan": "service/answers",
    "WhyNot": "service/answers",
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
