"""make conformance writes its parts of docs/reference/conformance.md, and nothing else of it."""
import pathlib
import re
import tempfile
import unittest

import sections

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "conformance.md"
NAMES = ("processes", "threads")


class Sections(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name, "document.md")
        self.before = DOCUMENT.read_text(encoding="utf-8")
        self.path.write_text(self.before, encoding="utf-8")

    def text(self):
        return self.path.read_text(encoding="utf-8")

    def test_the_rest_stays(self):
        for name in NAMES:
            sections.check(self.path, name)
            sections.write(self.path, name, f"## What {name} said\n\n| a |\n")
        after = self.text()
        for name in NAMES:
            self.assertEqual(after.count(f"## What {name} said\n\n| a |\n\n<!-- "), 1)
        by_hand = re.compile(r"(?<=-->\n)(?:(?!<!--).)*(?=<!-- written by make conformance, to)", re.S)
        self.assertEqual(by_hand.sub("", after), by_hand.sub("", self.before))
        for heading in ("## What CI runs", "## MPICH's current suite", "## Error classes that differ from MPICH's",
                        "## How the two tables were made"):
            self.assertIn(f"\n{heading}\n", after)

    def test_twice_is_once(self):
        sections.write(self.path, "threads", "one\n")
        once = self.text()
        sections.write(self.path, "threads", "two")
        sections.write(self.path, "threads", "one")
        self.assertEqual(self.text(), once)

    def test_a_document_without_markers_is_left_alone(self):
        first, last = (sections.MARKER.format(side=side, name="threads") for side in ("from", "to"))
        for text in ("", "# By hand\n", first, last + first, first + first + last, first + last + last):
            self.path.write_text(text, encoding="utf-8")
            for attempt in (lambda: sections.check(self.path, "threads"), lambda: sections.write(self.path, "threads", "x")):
                with self.assertRaises(sections.Missing):
                    attempt()
            self.assertEqual(self.text(), text)
        with self.assertRaises(sections.Missing):
            sections.check(self.path.with_name("no-such.md"), "threads")


if __name__ == "__main__":
    unittest.main()
