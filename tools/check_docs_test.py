"""Tests of check_docs.py."""

import unittest

import check_docs
import check_layers

PAGES = {"docs/a.md": "# One title\n\n## `code`, and more\n", "README.md": ""}


def problems(text, path="docs/b.md"):
    return check_docs.broken_links(path, text, lambda p: p in PAGES or p == "docs", PAGES.__getitem__)


class CheckDocsTest(unittest.TestCase):
    def test_links_that_lead_somewhere(self):
        text = "# B\n[x](a.md) [y](../README.md) [z](a.md#one-title) [w](#b) [v](https://e.org/x) [u](a.md#code-and-more)"
        self.assertEqual(problems(text), [])

    def test_links_that_do_not(self):
        self.assertEqual(problems("[x](c.md)"), ["docs/b.md: the link 'c.md' names no file of the repository"])
        self.assertEqual(problems("![picture](c.png)"), ["docs/b.md: the link 'c.png' names no file of the repository"])
        self.assertEqual(problems("[x](a.md#two)"), ["docs/b.md: 'a.md#two': no such heading"])
        self.assertEqual(problems("[x](#none)"), ["docs/b.md: '#none': no such heading"])

    def test_code_holds_no_links(self):
        self.assertEqual(problems("`[](const X& x)` and\n```\n[x](c.md)\n```\n"), [])

    def test_programs_are_those_of_the_files(self):
        def shown(code, name="x.cc"):
            return check_docs.stale_programs("README.md", f"`{name}`:\n\n```cpp\n{code}```\n", lambda p: p == "x.cc",
                                             lambda _: "// first\nint main() {\n}\n")
        self.assertEqual(shown("int main() {\n}\n"), [])
        self.assertEqual(shown("int main() {}\n"), ["README.md: the code shown of 'x.cc' is not in that file"])
        self.assertEqual(shown("", "y.cc"), ["README.md: shows 'y.cc', which does not exist"])

    def test_indented_blocks_are_those_of_the_files(self):
        def shown(code):
            return check_docs.stale_programs("README.md", f"`x`:\n\n{code}\nText\n", lambda _: True, lambda _: "a:\n  b\n\nc\n")
        self.assertEqual(shown("    a:\n      b\n\n    c\n"), [])
        self.assertEqual(shown("    a:\n      c\n"), ["README.md: the code shown of 'x' is not in that file"])

    def test_comments_begin_with_their_subject(self):
        def found(text):
            return [p.split(" begins ")[1] for p in check_docs.comments_without_subject("a.h", text)]
        self.assertEqual(found("  // Of the last one.\nint x;\n// Their sum,\n// Of all.\n"),
                         ["'Of the last one.', expected its subject", "'Their sum,', expected its subject"])
        self.assertEqual(found("// Offers it.\nint x;  // Of one\n// Itself a sum.\n"), [])

    def test_folders_without_readme(self):
        paths = ["a/README.md", "a/x.cc", "b/c/x.h", "b/data/x.csv", "b/README.md"]
        self.assertEqual(check_docs.folders_without_readme(paths), ["b/c"])

    def test_may_include_as_in_the_table(self):
        table = check_layers.parse_table(
            "base:\nio: base\n  /:\n  /wire: /\n  /http: / /wire\n  /local:\nbackends/*: base io\napps: *\nbench: * apps\n")
        for folder, expected in [
                ("systole/base", "nothing of ours"), ("systole/io", "base"), ("systole/io/http", "what io may, and of io: the top, wire"),
                ("systole/io/local", "what io may"), ("systole/io/local/disk", None), ("systole/backends", "base, io"),
                ("systole/backends/cpu", "base, io"), ("apps", "every layer; backends only by name"), ("docs", None),
                ("bench", "every layer, apps; other backends only by name")]:
            self.assertEqual(check_docs.may_include(folder, table), expected, folder)

        def wrong(text, folder="systole/io/http"):
            return check_docs.wrong_includes(f"{folder}/README.md", text, table)
        self.assertEqual(wrong("# HTTP\n\nMay include: what io may, and of io:\nthe top, wire. More.\n"), [])
        self.assertEqual(wrong("May include: base.\n"), ["systole/io/http/README.md: 'May include: ', got 'base', expected "
                                                          "'what io may, and of io: the top, wire'"])
        self.assertEqual(wrong("May include: base.\n", "systole/io/http/one"), [])
        self.assertIn("got 'no such sentence'", wrong("# HTTP\n")[0])


if __name__ == "__main__":
    unittest.main()
