"""Tests of check_layers.py."""

import unittest

import check_layers

TABLE = check_layers.parse_table("""
# a comment
base:
hlo: base
hlo (tests): runtime
runtime: base hlo     # another
backends/*: base hlo runtime
graph: base hlo
umbrella: *
apps: *
apps/dashboard: base
data: base
  /sources:
  /feed: /sources
""")


class CheckLayersTest(unittest.TestCase):
    def problems(self, path, *names):
        return check_layers.check([path], TABLE, lambda _: list(enumerate(names, 1)))

    def test_layer_of_a_path(self):
        for path, layer in [("systole/hlo/ops/add.cc", "hlo"), ("systole/backends/cpu/x.h", "backends/cpu"),
                            ("systole/systole.h", "umbrella"), ("apps/systole/main.cc", "apps"),
                            ("apps/dashboard/page.cc", "apps/dashboard"), ("systole/new/x.h", None)]:
            self.assertEqual(check_layers.layer_of(path, TABLE), layer, path)

    def test_allowed_includes(self):
        self.assertEqual(self.problems("systole/graph/a.cc", "systole/graph/a.h", "systole/hlo/ir/module.h"), [])
        self.assertEqual(self.problems("systole/backends/cpu/a.cc", "systole/backends/cpu/b.h"), [])
        self.assertEqual(self.problems("apps/systole/a.cc", "systole/systole.h", "systole/graph/a.h"), [])

    def test_upwards(self):
        self.assertEqual(self.problems("systole/hlo/a.cc", "systole/base/x.h", "systole/graph/a.h"),
                         ['systole/hlo/a.cc:2: hlo may not include "systole/graph/a.h" (graph)'])

    def test_what_only_tests_include(self):
        for path in ["systole/hlo/ir/a_test.cc", "systole/hlo/testing/a.h"]:
            self.assertEqual(self.problems(path, "systole/runtime/a.h"), [], path)
        self.assertIn("may not include", self.problems("systole/hlo/ir/a.cc", "systole/runtime/a.h")[0])

    def test_siblings(self):
        self.assertIn("may not include", self.problems("systole/backends/cpu/a.cc", "systole/backends/tpu_v1/b.h")[0])

    def test_backends_from_above(self):
        for path in ["systole/graph/a.cc", "apps/systole/main.cc", "systole/systole.h"]:
            self.assertIn("may not include", self.problems(path, "systole/backends/cpu/b.h")[0])

    def test_a_narrow_app(self):
        self.assertIn("may not include", self.problems("apps/dashboard/a.cc", "systole/hlo/ir/module.h")[0])

    def test_unknown_folders_and_relative_includes(self):
        self.assertIn("no line in", self.problems("systole/new/a.cc")[0])
        self.assertIn("no such layer", self.problems("systole/hlo/a.cc", "systole/new/x.h")[0])
        self.assertIn("from the repository root", self.problems("systole/hlo/a.cc", "module.h")[0])

    def test_folders_of_a_layer(self):
        self.assertEqual(self.problems("systole/data/feed/a.cc", "systole/data/sources/csv/b.h", "systole/data/feed/a.h"), [])
        self.assertEqual(self.problems("systole/data/sources/a_test.cc", "systole/data/feed/b.h"), [])
        self.assertEqual(self.problems("systole/data/sources/csv/a.cc", "systole/data/feed/b.h"),
                         ['systole/data/sources/csv/a.cc:1: data/sources may not include "systole/data/feed/b.h"'])
        self.assertIn("data/ may not include", self.problems("systole/data/a.cc", "systole/data/feed/b.h")[0])

    def circles(self, **includes):
        return self.circles_of({f"systole/{name.replace('_', '/')}.h": [f"systole/{i}.h" for i in names]
                                for name, names in includes.items()})

    def circles_of(self, files):
        return check_layers.find_circles(files, lambda path: list(enumerate(files[path], 1)))

    def test_circles(self):
        self.assertEqual(self.circles(a_x=["b/y"], b_y=["a/z"], a_z=[]), [{"a", "b"}])
        self.assertEqual(self.circles(a_x=["a/y"], a_y=["a/z"], a_z=["a/x"]), [{"a/x", "a/y", "a/z"}])
        self.assertEqual(self.circles(a_x=["a/y"], a_y=["a/x"], b_x=["a/x"]), [])
        self.assertEqual(self.circles(a_x=["b/testing/y"], b_y=["a/x"]), [])

    def test_circles_outside_systole(self):
        self.assertEqual(self.circles_of({"apps/tool/a.cc": ["apps/tool/sub/b.h"], "apps/tool/sub/b.h": ["apps/tool/c.h"]}),
                         [{"apps/tool", "apps/tool/sub"}])
        self.assertEqual(self.circles_of({"plugin/a.h": ["plugin/b.h"], "plugin/b.h": ["plugin/c.h"], "plugin/c.cc": ["plugin/a.h"]}),
                         [{"plugin/a", "plugin/b", "plugin/c"}])

    def test_bad_tables(self):
        for text in ["base", "base:\nbase:", "hlo: base", "base:\nhlo (tests): base",
                     "base:\n  /a: /b"]:
            with self.assertRaises(ValueError):
                check_layers.parse_table(text)

    def test_cycle(self):
        self.assertIsNone(check_layers.find_cycle(TABLE.layers))
        cycle = check_layers.find_cycle(check_layers.parse_table("a: b\nb: c\nc: a\nd:").layers)
        self.assertEqual(cycle, ["a", "b", "c", "a"])


if __name__ == "__main__":
    unittest.main()
