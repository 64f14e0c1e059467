import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import slowest

NINJA = """# ninja log v5
10\t2010\t0\ta.o\taa
20\t5020\t0\tb.pb.cc\tbb
20\t5020\t0\tb.pb.h\tbb
0\t700\t0\ta.o\taa
"""
CTEST = """Start testing: Nov 24 05:00 UTC
        Start   1: hlo_test:Shape.Scalar
 1/3 Test   #1: hlo_test:Shape.Scalar ........   Passed    0.50 sec
 2/3 Test  #10: hlo_test:Shape.Matrix ........***Failed    2.25 sec
 3/3 Test   #3: install ......................   Passed   12.00 sec

67% tests passed, 1 tests failed out of 3
"""


class Slowest(unittest.TestCase):
    def test_steps_from_begin_on_in_their_order(self):
        text = "99 3 lint\n100 12 configure release\n112 800 build release\n"
        self.assertEqual(slowest.steps(text, 100), [(12.0, "configure release"), (800.0, "build release")])

    def test_an_edge_has_the_time_of_its_last_run(self):
        self.assertEqual(slowest.edges(NINJA), [(0.7, "a.o"), (5.0, "b.pb.cc")])

    def test_passed_and_failed_tests(self):
        self.assertEqual(slowest.tests(CTEST), [(0.5, "hlo_test:Shape.Scalar"), (2.25, "hlo_test:Shape.Matrix"),
                                                (12.0, "install")])

    def test_sums_of_executables(self):
        self.assertEqual(slowest.slowest(slowest.by_executable(slowest.tests(CTEST))),
                         [(12.0, "install"), (2.75, "hlo_test")])

    def test_no_table_without_rows(self):
        self.assertEqual(slowest.table("steps", []), "")
        self.assertEqual(slowest.table("steps", [(1.25, "lint")]), "steps, in seconds\n      1.2  lint\n")


if __name__ == "__main__":
    unittest.main()
