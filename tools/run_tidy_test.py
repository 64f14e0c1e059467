"""Tests of run_tidy.py and of what the tools share."""

import pathlib
import tempfile
import unittest

import check_headers
import check_layers
import run_tidy
import sources


class RunTidyTest(unittest.TestCase):
    def test_what_a_change_checks(self):
        known = {"a/x.cc", "a/x_test.cc", "a/y_test.cc", "a/z.cc"}
        changed = ["a/x.h", "a/y.h", "a/z.cc", "a/gone.cc", "README.md", "a/only.h"]
        self.assertEqual(run_tidy.sources_to_check(changed, known), ["a/x.cc", "a/y_test.cc", "a/z.cc"])

    def test_files_are_checked_together_where_no_name_is_twice(self):
        twice = "namespace a {\nnamespace {\n\nint f() { return 1; }\n\n}  // namespace\n}  // namespace a\n"
        once = "int g() { return 1; }\n"
        texts = {"l/a.cc": twice, "l/b.cc": twice, "l/c.cc": once, "l/c_test.cc": once, "m/d.cc": once}
        self.assertEqual(run_tidy.groups_of(sorted(texts), texts, check_layers.parse_table("l:\nm:\n")),
                         [["l/a.cc", "l/c.cc"], ["l/b.cc"], ["l/c_test.cc"], ["m/d.cc"]])


class SourcesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        (self.root / "systole").mkdir()
        self.write("a.h", '#pragma once\n#include <vector>\n#include "systole/b.h"\n')
        self.write("b.h", "int b;\n")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        (self.root / "systole" / name).write_text(text)

    def test_files_outside_a_git_checkout(self):
        self.write("c.txt", "")
        self.assertEqual(sources.files(root=self.root), ["systole/a.h", "systole/b.h"])

    def test_includes(self):
        self.assertEqual(sources.includes("systole/a.h", self.root), [(3, "systole/b.h")])

    def test_headers_that_a_change_reaches(self):
        headers = ["systole/a.h", "systole/b.h"]
        self.assertEqual(check_headers.headers_to_check({"systole/b.h"}, headers, self.root), headers)
        self.assertEqual(check_headers.headers_to_check({"systole/a.h"}, headers, self.root), ["systole/a.h"])

    def test_key_follows_includes(self):
        before = sources.content_key("systole/a.h", self.root)
        self.assertEqual(before, sources.content_key("systole/a.h", self.root))
        self.assertNotEqual(before, sources.content_key("systole/a.h", self.root, salt="other flags"))
        self.write("b.h", "int c;\n")
        self.assertNotEqual(before, sources.content_key("systole/a.h", self.root))


if __name__ == "__main__":
    unittest.main()
