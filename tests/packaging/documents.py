"""The documents: links and their anchors, paths that other files name, lines that a terminal shows, generated tables."""
import functools
import os
import re
import subprocess
import sys
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MEANTIME = os.path.join(os.environ.get("MEANTIME_BUILD", ""), "bin", "meantime")
NO_DOCUMENTS = {"build", ".git", "shared", ".venv", "dist", "node_modules"}
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()]*\))?)\)")
# What names documents: comments, texts for users, scripts.
NAMES = re.compile(r"(?:\bdocs/[\w./-]+|(?<![\w/.])(?:guide|reference|internals|measurements|decisions)/[\w-]+)\.(?:md|svg|yml)\b")
WIDEST = 100


def files(*endings):
    for folder, folders, names in os.walk(SOURCE):
        folders[:] = [name for name in folders if name not in NO_DOCUMENTS and not name.startswith("build")]
        for name in names:
            if name.endswith(endings) or not endings:
                yield os.path.join(folder, name)


@functools.lru_cache(maxsize=None)
def lines(path):
    """Lines of a document outside of code blocks, with their numbers."""
    found, fence = [], None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            mark = re.match(r"\s*(```|~~~)", line)
            if mark and fence in (None, mark[1]):
                fence = None if fence else mark[1]
            elif not fence and not re.match(r" {4,}(?![-*\d])", line):
                found.append((number, line.rstrip("\n")))
    return found


def anchor(heading):
    """As GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@functools.lru_cache(maxsize=None)
def anchors(path):
    found = {}
    for _, line in lines(path):
        if match := re.match(r"#{1,6} +(.*?)\s*#*$", line):
            name = anchor(match[1])
            found[name] = found.get(name, -1) + 1
    return {f"{name}-{again}" if again else name for name, most in found.items() for again in range(most + 1)}


def relative(path):
    return os.path.relpath(path, SOURCE)


class Documents(unittest.TestCase):
    def test_links(self):
        wrong, count = [], 0
        for path in files(".md"):
            for number, line in lines(path):
                for target in LINK.findall(re.sub(r"`[^`]*`", "``", line)):
                    if re.match(r"\w+:", target):
                        continue
                    count += 1
                    name, _, place = target.partition("#")
                    other = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
                    if not os.path.exists(other):
                        wrong.append(f"{relative(path)}:{number}: there is no {target}")
                    elif place and other.endswith(".md") and place not in anchors(other):
                        wrong.append(f"{relative(path)}:{number}: no heading is {target}")
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))
        self.assertGreater(count, 100)

    def test_code_blocks_end(self):
        for path in files(".md"):
            with open(path, encoding="utf-8") as file:
                self.assertEqual(len(re.findall(r"^\s*```", file.read(), re.MULTILINE)) % 2, 0, relative(path))

    def test_index_has_every_document(self):
        index = os.path.join(SOURCE, "docs", "README.md")
        with open(index, encoding="utf-8") as file:
            named = {os.path.normpath(os.path.join(SOURCE, "docs", target.partition("#")[0])) for target in LINK.findall(file.read())}
        self.assertEqual([relative(path) for path in files(".md")
                          if relative(path).startswith("docs" + os.sep) and path != index and path not in named], [])

    def test_documents_that_other_files_name(self):
        wrong = []
        for path in files():
            if not os.path.isfile(path) or relative(path).startswith("docs" + os.sep):
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                for number, line in enumerate(file, 1):
                    wrong += [f"{relative(path)}:{number}: there is no {name}" for name in NAMES.findall(line)
                              if not os.path.exists(os.path.join(SOURCE, "" if name.startswith("docs/") else "docs", name))]
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_lines_fit(self):
        """But tables, and what tools write."""
        wide = []
        for path in files(".md"):
            written = False
            for number, line in lines(path):
                if line.startswith("<!--"):
                    written = bool(re.search(r"from here|: begin", line))
                if len(line) > WIDEST and not written and not line.lstrip().startswith(("|", "![")) and not path.endswith("projects.md"):
                    wide.append(f"{relative(path)}:{number}: {len(line)} columns")
        self.assertEqual(wide, [], "\n" + "\n".join(wide))

    def test_settings_page(self):
        result = subprocess.run([sys.executable, os.path.join(SOURCE, "packaging", "settings-page"), "--check"],
                                capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    @unittest.skipUnless(os.path.exists(MEANTIME), "meantime is not built")
    def test_settings_page_has_what_meantime_knows(self):
        with open(os.path.join(SOURCE, "docs", "reference", "settings.md"), encoding="utf-8") as file:
            page = file.read()
        listed = re.findall(r"^MEANTIME_\w+", subprocess.run([MEANTIME, "config"], capture_output=True, text=True,
                                                             check=True).stdout, re.MULTILINE)
        self.assertGreater(len(listed), 20)
        self.assertEqual([name for name in listed if f"| `{name}` |" not in page], [])


if __name__ == "__main__":
    unittest.main()
