"""The form of generated files: lines of at most 100 columns, which clang-format leaves as they are.

    BF_AOT=.. BF_SOURCE_DIR=.. python3 text_test.py -v Text
"""

import itertools
import pathlib
import shutil
import subprocess
import unittest

from harness import Case, CONTROLLER, SOURCE

COLUMNS = 100
METHODS = ["ibp", "crown-ibp", "crown", "alpha-crown", "forward"]
PROPERTY = SOURCE / "models/properties/collision_avoidance_6x50_wide.vnnlib"
SPEC = SOURCE / "models/specs/collision_avoidance_6x50.json"
OPTIONS = {
    "plain": [],
    "several": ["--batch", "16", "--parallel", "3", "--spec", str(SPEC)],
    "decide": ["--batch", "16", "--property", str(PROPERTY), "--decide"],
    "neurons": ["--property", str(PROPERTY), "--decide=neurons"],
    "cached": ["--cache", "reuse-ibp,cache-bounds", "--spec", str(SPEC)],
}
REFUSED = [("forward", "cached"), ("ibp", "neurons"), ("forward", "neurons")]


class Text(Case):
    def files(self):
        """Every C or C++ file of all methods and options, generated into a folder each."""
        for method, (name, options) in itertools.product(METHODS, OPTIONS.items()):
            if (method, name) in REFUSED:
                continue
            folder = self.work / f"{method}_{name}"
            folder.mkdir()
            self.run_tool(CONTROLLER, "--method", method, "--target", "x86-64-v4", *options,
                          "--no-library", "-o", folder / "a_verifier.cpp")
        folder = self.work / "dispatch"
        folder.mkdir()
        self.run_tool(CONTROLLER, "--dispatch", "--target", "x86-64-v4", "--no-library", "-o",
                      folder / "a_verifier.cpp")
        return sorted(path for path in self.work.rglob("*")
                      if path.suffix in (".cpp", ".h", ".inc"))

    def test_form(self):
        files = self.files()
        self.assertGreater(len(files), 50)
        for path in files:
            for number, line in enumerate(path.read_text().splitlines(), 1):
                self.assertLessEqual(len(line), COLUMNS, f"{path}:{number}: {line}")
                self.assertEqual(line, line.rstrip(), f"{path}:{number}")
        program = shutil.which("clang-format-14") or shutil.which("clang-format")
        if program is None:
            self.skipTest("no clang-format")
        shutil.copy(SOURCE / ".clang-format", self.work)
        code = [path for path in files if path.suffix != ".inc"]
        subprocess.run([program, "--dry-run", "--Werror", *code], check=True, cwd=self.work)
        # A test that cannot fail is none.
        loose = pathlib.Path(self.work, "loose.cpp")
        loose.write_text(code[0].read_text().replace("// clang-format off\n", "")
                         .replace("/* clang-format off */\n", "") + "int   x ;\n")
        self.assertNotEqual(subprocess.run([program, "--dry-run", "--Werror", loose], check=False,
                                           capture_output=True).returncode, 0)


if __name__ == "__main__":
    unittest.main()
