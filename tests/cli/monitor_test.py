"""Tests of bf-aot reach -o. Run as cli_test.py is."""

import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from harness import MODELS, SOURCE, Case  # noqa: E402

LOOPS = MODELS / "examples/loops"
GOLDENS = SOURCE / "tests/golden/generated"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]

PROGRAM = r"""
#include <stdio.h>
#include "watch.h"

static double workspace[WATCH_WORKSPACE_BYTES / 8];

int main(void) {
  static watch_result result;
  const double lower[WATCH_STATES] = {0.2, -0.2}, upper[WATCH_STATES] = {0.3, 0.2};
  if (watch_look_ahead(lower, upper, &result, workspace, sizeof workspace) != BF_OK) return 1;
  printf("%u\n", (unsigned)result.safe_periods);
  return 0;
}
"""


class Monitors(Case):
    def emit(self, *options):
        return self.run_tool("reach", LOOPS / "monitor.json", "-o", "watch.cpp", *options)[0]

    def compile(self, *words):
        done = subprocess.run([*map(str, words)], cwd=self.work, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stderr}")
        return done.stdout

    def test_a_c_program_asks_a_monitor(self):
        output = self.emit("--target", "generic")
        self.assertIn("watch.cpp, watch.h, watch_network.cpp, watch_network.h", output)
        self.write("main.c", PROGRAM)
        runtime = SOURCE / "runtime"
        cxx = os.environ.get("CXX", "c++")
        for source in ("watch.cpp", "watch_network.cpp"):
            self.compile(cxx, "-std=c++17", "-O2", "-fno-exceptions", "-fno-rtti", *WARNINGS, f"-I{runtime}", "-c", source)
        self.compile("cc", "-std=c90", *WARNINGS, f"-I{runtime}", "-c", "main.c")
        objects = ["main.o", "watch.o", "watch_network.o"]
        self.compile("cc", *objects, "-o", "main")  # no library of C++
        self.assertEqual(self.compile("./main").split(), ["20"])

    def test_verifiers_of_few_symbols_compile_without_warnings(self):
        self.emit("--target", "generic", "--symbols", 8, "--method", "crown")
        for level in ("-O2", "-O3"):
            self.compile(os.environ.get("CXX", "c++"), "-std=c++17", level, *WARNINGS, f"-I{SOURCE / 'runtime'}", "-c",
                         "watch_network.cpp")

    def test_the_text_stays_as_it_was(self):
        self.emit("--target", "generic", "--order", 2, "--substeps", 1, "--symbols", 10)
        for name in ("watch.cpp", "watch.h"):
            lines = (self.work / name).read_text().splitlines(keepends=True)
            text = "".join(line for line in lines if "made by" not in line)
            golden = GOLDENS / name.replace("watch", "pendulum_monitor")
            if os.environ.get("BF_UPDATE_GOLDEN"):
                golden.write_text(text)
            self.assertEqual(text, golden.read_text(), golden)

    def test_what_is_not_asked_at_any_time_is_refused(self):
        self.assert_refused("BF3630", "reach", LOOPS / "reach.json", "-o", "watch.cpp",
                            says=["times since the start"])
        self.assert_refused("BF3630", "reach", LOOPS / "monitor.json", "-o", "watch.cpp", "--always",
                            "(<= (sqrt x[0]) 1)", says=["sqrt"])

    def test_the_name_of_the_file_ends_in_cpp(self):
        self.run_tool("reach", LOOPS / "monitor.json", "-o", "watch.c", code=2)
        self.run_tool("reach", LOOPS / "monitor.json", "--target", "generic", code=2)


if __name__ == "__main__":
    unittest.main()
