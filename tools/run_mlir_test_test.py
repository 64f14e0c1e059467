import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import run_mlir_test

PROGRAMS = {"systole": "/a b/systole", "FileCheck": "/llvm/FileCheck"}


class RunMlirTest(unittest.TestCase):
    def run_file(self, text: str) -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "test.mlir"
            path.write_text(text)
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                status = run_mlir_test.main(["--systole", "echo", "--filecheck", "grep", str(path)])
            return status, output.getvalue()

    def test_replaces_programs_and_the_file(self) -> None:
        text = "// RUN: systole hlo opt --passes cse %s | FileCheck %s\nfunc\n//RUN: systole version\n"
        self.assertEqual(
            run_mlir_test.commands(text, PROGRAMS, "x.mlir"),
            ["'/a b/systole' hlo opt --passes cse x.mlir | /llvm/FileCheck x.mlir", "'/a b/systole' version"],
        )

    def test_fails_where_a_command_fails(self) -> None:
        self.assertEqual(self.run_file("// RUN: systole one | FileCheck -q one\n"), (0, ""))
        status, output = self.run_file("// RUN: systole one | FileCheck -q two\n")
        self.assertEqual(status, 1)
        self.assertIn("exit status 1 of: echo one", output)
        self.assertEqual(self.run_file("// RUN: false | systole one >/dev/null\n")[0], 1)

    def test_fails_without_a_run_line(self) -> None:
        status, output = self.run_file("func.func @main()\n")
        self.assertEqual(status, 1)
        self.assertIn("got no RUN line", output)

    def test_fails_without_filecheck(self) -> None:
        with unittest.mock.patch.object(run_mlir_test, "find_filecheck", return_value=None):
            status, output = self.run_file("// RUN: systole one | FileCheck -q one\n")
        self.assertEqual(status, 1)
        self.assertIn("llvm-19-tools", output)


if __name__ == "__main__":
    unittest.main()
