"""Static analysis of generated verifiers finds what docs/reference/misra.md has reasons for.

    python3 misra_test.py SOURCE_FOLDER PROGRAM
"""

import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SOURCE, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
os.environ["BF_SOURCE_DIR"] = str(SOURCE)
sys.path.insert(0, str(SOURCE / "tests/cli"))
from small_models import image_model, write_model  # noqa: E402

RUNTIME = SOURCE / "runtime"
CONTROLLER = SOURCE / "models/collision_avoidance_6x50.onnx"
PROPERTY = SOURCE / "models/properties/collision_avoidance_6x50_wide.vnnlib"
# What a compiler for a Cortex-M4 says of itself, as far as the runtime asks.
MACROS = ["-D__FLT_EVAL_METHOD__=0", "-D__ORDER_LITTLE_ENDIAN__=1234", "-D__BYTE_ORDER__=1234",
          "-D__GNUC__=12", "-D__arm__=1", "-D__ARM_FP=4"]
FLOATS = ["-DFLT_EVAL_METHOD=0", "-DFLT_RADIX=2", "-DFLT_MANT_DIG=24", "-DDBL_MANT_DIG=53"]
TIDY = "-*,bugprone-*,cert-*,clang-analyzer-*,misc-*,performance-*,portability-*"
STOPS = "13.4"  # the add-on ends at C++ that it cannot read there


def first(pattern):
    found = sorted(glob.glob(pattern))
    return found[0] if found else None


def of_version(program, version):
    """Other versions find other things."""
    path = shutil.which(program)
    if path is None:
        return None
    said = subprocess.run([path, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return path if version in said else None


CPPCHECK = of_version("cppcheck", "Cppcheck 2.10")
ADDON = first("/usr/lib/*/cppcheck/addons/misra.py") or first("/usr/share/cppcheck/addons/misra.py")
CLANG_TIDY = of_version("clang-tidy-14", "version 14.")


def rows(section):
    """The names in the first column of a section's table."""
    page = (SOURCE / "docs/reference/misra.md").read_text()
    text = page.split(f"\n## {section}\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)[1:]
    return {name.strip("` ") for cell in cells for name in cell.split(",")}


class Analysis(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="bf-aot-misra-"))
        image = write_model(cls.folder / "image.onnx", image_model())
        decide = ["--property", PROPERTY, "--decide", "--batch", "4", "--cache", "reuse-ibp"]
        cls.verifiers = {"dense": (CONTROLLER, []), "decide": (CONTROLLER, decide),
                         "image": (image, [])}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def generate(self, target, ending=".cpp"):
        for name, (model, options) in self.verifiers.items():
            if ending == ".c" and name == "decide":  # C has no searches
                options = ["--method", "ibp"]
            source = self.folder / f"{name}_{target}{ending}"
            subprocess.run([PROGRAM, model, "--name", name, "--target", target, "--no-library",
                            *options, "-o", source], check=True)
            yield source

    def cppcheck(self, source, language):
        """The rules that the add-on finds broken, and what cppcheck finds itself."""
        own = subprocess.run(
            [CPPCHECK, "--dump", "-q", "--enable=warning,style,performance,portability", *language,
             "--platform=unix32", *MACROS, "-I", RUNTIME, source],
            check=True, stderr=subprocess.PIPE, text=True).stderr
        found = set(re.findall(r"\[(\w+)\]$", own, re.MULTILINE))
        self.assertFalse(found & {"syntaxError", "internalAstError", "preprocessorErrorDirective"})
        addon = subprocess.run([sys.executable, ADDON, "--severity=style", "--suppress-rules",
                                STOPS, f"{source}.dump"], check=False, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        self.assertNotIn("Traceback", addon)
        return set(re.findall(r"\[misra-c2012-([\d.]+)\]", addon)), found - {"toomanyconfigs"}

    @unittest.skipIf(CPPCHECK is None or ADDON is None, "no cppcheck 2.10 with its MISRA add-on")
    def test_cppcheck(self):
        rules, findings = set(), set()
        for source in self.generate("cortex-m4"):
            copy = shutil.copy(source, source.with_suffix(".cc"))
            broken, found = self.cppcheck(copy, ["--std=c++17", "--language=c++"])
            rules |= broken
            findings |= found
        self.assertEqual(rules, rows("MISRA C:2012 add-on"))
        self.assertEqual(findings, rows("cppcheck"))

    @unittest.skipIf(CPPCHECK is None or ADDON is None, "no cppcheck 2.10 with its MISRA add-on")
    def test_cppcheck_of_c(self):
        all_headers = self.folder / "headers.c"
        all_headers.write_text("".join(f'#include "bf/c/{header.name}"\n' for header in
                                       sorted((RUNTIME / "bf/c").glob("*.h"))))
        rules, findings = set(), set()
        for source in [all_headers, *self.generate("cortex-m4", ".c")]:
            broken, found = self.cppcheck(source, ["--std=c99", "--language=c", *FLOATS])
            rules |= broken
            findings |= found
        self.assertEqual(rules, rows("MISRA C:2012 add-on, C99"))
        self.assertEqual(findings, rows("cppcheck, C99"))

    @unittest.skipIf(CLANG_TIDY is None, "no clang-tidy-14")
    def test_clang_tidy(self):
        findings = set()
        for source in self.generate("x86-64-v3"):
            found = subprocess.run(
                [CLANG_TIDY, "--quiet", "--header-filter=.*", f"--checks={TIDY}", source, "--",
                 "-std=c++17", "-I", RUNTIME, "-march=x86-64-v3"], check=True,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            findings |= set(re.findall(r"warning: .*\[([\w.-]+)\]$", found, re.MULTILINE))
        self.assertEqual(findings, rows("clang-tidy"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
