"""Tests of check_sizes.py."""

import unittest

import check_sizes


def lengths(text):
    return [length for _, length in check_sizes.functions(text)]


class CheckSizesTest(unittest.TestCase):
    def test_functions_and_methods(self):
        text = """
namespace a::b {
class C : public D {
 public:
  C(int x) : x_(x) {}
  int get() const { return x_; }
};
template <class T>
std::vector<int> f(std::span<const T> values,
                   int n) {
  if (n) {
    return {};
  }

  // a comment is free
  return g([&](int i) { return i; });
}
bool operator==(const C& a, const C& b) {
  return true;
}
}  // namespace a::b
"""
        self.assertEqual(lengths(text), [1, 1, 6, 3])

    def test_tables_are_free_and_their_lambdas_are_not(self):
        text = """
const OpDef op_add = {
    .name = "Add",
    .infer = [](const Context& c) -> std::vector<T> {
      return {c.operand(0)};
    },
    .gradient = nullptr,
};
constexpr int kTable[] = {
    f(1), f(2),
};
"""
        self.assertEqual(lengths(text), [3])

    def test_literals_and_comments_do_not_count(self):
        text = 'void f() {\n  g("{", \'{\', R"(\n{\n)");  // {\n  /* { */\n  h(1\'000);\n}\n'
        self.assertEqual(len(lengths(text)), 1)

    def test_types_and_control_statements(self):
        text = "struct S {\n  int x = f();\n};\nenum class E { a, b };\nnamespace {\n}\n"
        self.assertEqual(lengths(text), [])

    def test_long_function(self):
        body = "  g();\n" * 59
        self.assertEqual(check_sizes.check_text("a.cc", f"void f() {{\n{body[:-7]}}}\n"), [])
        self.assertIn("a.cc:1: a function of 61 lines", check_sizes.check_text("a.cc", f"void f() {{\n{body}}}\n")[0])
        with_test = f"TEST(A, B) {{\n{body}}}\n"
        self.assertEqual(len(check_sizes.check_text("a_test.cc", with_test)), 1)

    def test_long_file(self):
        text = "int x;\n" * 801
        self.assertIn("801 lines", check_sizes.check_text("a.cc", text)[0])
        self.assertEqual(check_sizes.check_text("a.def", text), [])

    def test_headers(self):
        bad = "namespace a {\n  using namespace std;\n}\n// using namespace x;\n"
        self.assertEqual(check_sizes.check_text("a.h", bad),
                         ["a.h: no #pragma once", "a.h:2: using namespace in a header"])
        self.assertEqual(check_sizes.check_text("a.cc", bad), [])

    def test_one_door_for_files(self):
        opens = 'std::ifstream file(path);\nint fd = ::open(path, 0);\nstd::ifstream info("/proc/cpuinfo");\n// fopen(\n'
        self.assertEqual(check_sizes.check_text("systole/io/a.cc", opens),
                         ["systole/io/a.cc:1: std::ifstream, expected FileSystem or open_file()",
                          "systole/io/a.cc:2: ::open(, expected FileSystem or open_file()"])
        for free in ("systole/io/a_test.cc", "systole/base/open_file.cc", "bench/a.cc"):
            self.assertEqual(check_sizes.check_text(free, opens), [])


if __name__ == "__main__":
    unittest.main()
