"""Tests of doxygen_filter.py."""

import unittest

from doxygen_filter import documented


class DoxygenFilterTest(unittest.TestCase):
    def test_comments_are_documentation(self):
        self.assertEqual(documented("// A.\n//\n  // B.\nint x;  // c\n"), "/// A.\n///\n  /// B.\nint x;  // c\n")

    def test_nothing_is_a_command(self):
        self.assertEqual(documented("// #a <b> \\c @d"), "/// \\#a \\<b\\> \\\\c \\@d")

    def test_code_goes_over_lines(self):
        self.assertEqual(documented("// `<a>: 'b'\n// c` d"), "/// <tt>\\<a\\>: 'b'\n/// c</tt> d")
        self.assertEqual(documented("// alone `"), "/// alone `")

    def test_code_is_left_alone(self):
        self.assertEqual(documented("std::vector<int> x;"), "std::vector<int> x;")


if __name__ == "__main__":
    unittest.main()
