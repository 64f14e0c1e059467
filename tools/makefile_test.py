import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = re.compile(r"^([a-z][a-z-]*):", re.M)


def targets(text):
    return TARGET.findall(text)


def syntax_errors(makefile, target):
    """What bash says about the recipe of a target, which is not run."""
    # A make that runs this test passes on its options, such as -n or -j.
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    recipe = subprocess.run(["make", "-n", "-f", "-", target], cwd=ROOT, env=env, input=makefile, text=True,
                            capture_output=True)
    if recipe.returncode:
        return recipe.stderr
    return subprocess.run(["bash", "-n"], input=recipe.stdout, text=True, capture_output=True).stderr


class Makefile(unittest.TestCase):
    text = (ROOT / "Makefile").read_text()

    def test_every_recipe_is_valid_shell(self):
        self.assertIn("bench-peers", targets(self.text))
        for target in targets(self.text):
            with self.subTest(target):
                self.assertEqual(syntax_errors(self.text, target), "")

    def test_an_invalid_recipe_is_found(self):
        broken = "configure = { true || { exit 1; }; }\nbroken:\n\t@$(call configure,release) --fresh\n"
        self.assertIn("syntax error", syntax_errors(broken, "broken"))

    def test_every_target_is_phony(self):
        phony = re.search(r"^\.PHONY: (.*)$", self.text, re.M).group(1).split()
        self.assertEqual(sorted(phony), sorted(targets(self.text)))


if __name__ == "__main__":
    unittest.main()
