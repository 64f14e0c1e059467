"""Tests of check_names.py."""

import unittest

import check_names

TEXT = """
#include <vector>
namespace systole::hlo {
namespace {

// not_a_name(
enum : int { kInput, kOther };
enum class Kind { a, b };
using Row = std::vector<int>;
using convert_detail::is_complex_type;
constexpr int kLimit = 3;

template <class T>
std::vector<T> join(const std::vector<T>& x,
                    int y) {
  const int inside = f(y);
  if (inside) {
    return x;
  }
  return {};
}

struct Place {
  int member() { return 1; }
};

}  // namespace

int shared(int x) { return x; }

}  // namespace systole::hlo
"""


class CheckNamesTest(unittest.TestCase):
    def test_names_at_the_margin_of_unnamed_namespaces(self):
        names = {name for _, name in check_names.unnamed(TEXT)}
        self.assertEqual(names, {"Kind", "Row", "kLimit", "join", "Place"})
        self.assertEqual({space for space, _ in check_names.unnamed(TEXT)}, {"systole::hlo"})

    def test_two_files_may_not_share_one(self):
        other = "namespace systole::hlo {\nnamespace {\nvoid join(int x) {}\n}  // namespace\n}  // namespace systole::hlo\n"
        messages = check_names.clashes({"a.cc": TEXT, "b.cc": other})
        self.assertEqual(len(messages), 1)
        self.assertIn("b.cc: join", messages[0])

    def test_another_namespace_may(self):
        other = "namespace systole {\nnamespace {\nvoid join(int x) {}\n}  // namespace\n}  // namespace systole\n"
        self.assertEqual(check_names.clashes({"a.cc": TEXT, "b.cc": other}), [])

    def test_limits_are_min_and_max(self):
        text = "constexpr int kMostRows = 3;  // not kLeastRows\nconstexpr int kMaxRows = kLeast + kMostly;\n"
        self.assertEqual(check_names.odd_limits("a.cc", text),
                         ["a.cc: kLeast, expected kMax... or kMin...", "a.cc: kMostRows, expected kMax... or kMin..."])


if __name__ == "__main__":
    unittest.main()
