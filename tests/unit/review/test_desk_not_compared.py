"""A review names the parts beside the texts in which two documents differ: they were not compared."""

from contextlib import closing
from pathlib import Path

import neardup as nd
from neardup.review.desk.desk import Desk
from neardup.review.desk.differences import NO_PLACE
from neardup.review.source import Question

WORDS = "the quick brown fox jumps over the lazy dog by the quiet river"


def test_pairs_of_one_text_with_other_images_are_said_to_differ_in_them(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, image in (("a", "one.png"), ("b", "two.png")):
        (tmp_path / "in" / f"{name}.html").write_text(f"<p>{WORDS}<img src={image}>")
    nd.find(tmp_path / "in", keep="first").save(tmp_path / "out")
    with closing(Desk.open(tmp_path / "out")) as desk:
        [line] = desk.groups(Question()).lines
        assert line.differs.endswith("; not compared: images")
        a, b = (desk.group(line.key).members[place].key for place in (0, 1))
        assert desk.pair(a, b).comparison.not_compared == ("images",)
        [alike] = desk.group(line.key).alike
        assert alike.words == f"{NO_PLACE}; not compared: images"
