"""--single-file: the files alone compile without warnings, for other machines too, give the same
bounds as with the runtime beside them, and can be linked together."""

import os
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case  # noqa: E402

CXX = os.environ["CXX"].split()
STRICT = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror",
          "-fno-exceptions", "-fno-rtti"]
PROPERTY = MODELS / "properties" / "collision_avoidance_6x50.vnnlib"
CROSS = [("arm-none-eabi-g++", ["-mcpu=cortex-m4", "-mthumb", "-ffreestanding"], "cortex-m4"),
         ("aarch64-linux-gnu-g++", [], "generic"),
         ("riscv64-linux-gnu-g++", [], "generic")]

# Of options that include most of the runtime that dense networks can.
OPTIONS = {
    "ibp": ["--method", "ibp"],
    "crown": [],
    "alpha": ["--method", "alpha-crown"],
    "forward": ["--method", "forward"],
    "cache": ["--cache", "reuse-ibp,cache-bounds"],
    "parallel": ["--parallel", "2"],
    "decide": ["--property", PROPERTY, "--decide", "--batch", "16"],
    "neurons": ["--property", PROPERTY, "--decide=neurons"],
}

PROGRAM = r"""
#include <cstdio>

#include "net.h"

alignas(NET_WORKSPACE_ALIGN) static unsigned char workspace[NET_WORKSPACE_BYTES];

int main() {
  float lower[NET_INPUTS], upper[NET_INPUTS], low[NET_OUTPUTS], high[NET_OUTPUTS];
  for (int i = 0; i < NET_INPUTS; ++i) {
    lower[i] = -0.25f + 0.01f * static_cast<float>(i);
    upper[i] = lower[i] + 0.125f;
  }
  const bf_status status = net_bounds(lower, upper, low, high, workspace, sizeof workspace);
  std::printf("%s\n", bf_status_text(status));
  for (int i = 0; i < NET_OUTPUTS; ++i)
    std::printf("%a %a\n", static_cast<double>(low[i]), static_cast<double>(high[i]));
}
"""

BOTH = r"""
#include <cstdio>

#include "a.h"
#include "b.h"

int main() {
  std::printf("%s %s %s\n", a_info()->name, b_info()->name, bf_status_text(BF_OK));
}
"""


def compilers():
    names = [name for name in ("g++", "clang++") if shutil.which(name)]
    return names or CXX[-1:]


class SingleFile(Case):
    def compile(self, *command):
        made = subprocess.run([*map(str, command)], cwd=self.work, capture_output=True, text=True,
                              check=False)
        self.assertEqual(made.returncode, 0, f"{command}\n{made.stderr[:4000]}")

    def single(self, *arguments):
        self.run_tool(*arguments, "--single-file", "--no-library")

    def test_files(self):
        self.run_tool(TINY, "-o", "net.cpp", "--single-file")
        self.assertEqual(self.names(), ["libnet.a", "net.cpp", "net.h", "net.json"])
        for name in ("net.cpp", "net.h"):
            text = (self.work / name).read_text()
            included = [line for line in text.splitlines() if line.startswith("#include")]
            self.assertEqual(len(included), len(set(included)))
            for line in included:
                self.assertTrue(line.startswith("#include <") or line == '#include "net.h"', line)
            self.assertIn("(0BSD)", text)
        self.assertNotIn("bf/conv/", (self.work / "net.cpp").read_text())

    def test_compiles_without_warnings(self):
        for name, options in OPTIONS.items():
            self.single(CONTROLLER, "--name", "net", "-o", f"{name}.cpp", *options)
            flags = [flag for flag in ("-march=native",) if "x86" in os.uname().machine]
            for compiler in compilers():
                self.compile(compiler, *STRICT, *flags, "-O0", "-c", f"{name}.cpp", "-o", "net.o")

    def test_compiles_for_other_machines(self):
        for compiler, flags, target in CROSS:
            if not shutil.which(compiler):
                continue
            self.single(CONTROLLER, "--name", "net", "-o", "net.cpp", "--target", target,
                        "--lowering", "generic", "--property", PROPERTY)
            self.compile(compiler, *STRICT, *flags, "-O1", "-c", "net.cpp", "-o", "net.o")

    def test_same_bounds(self):
        self.write("main.cpp", PROGRAM)
        printed = []
        for more, folder in ([], "apart"), (["--single-file"], "single"):
            (self.work / folder).mkdir()
            self.run_tool(CONTROLLER, "--name", "net", "-o", f"{folder}/net.cpp", *more)
            include = [] if more else [f"-I{SOURCE / 'runtime'}"]
            self.compile(*CXX, "-std=c++17", f"-I{folder}", *include, "main.cpp",
                         f"{folder}/libnet.a", "-o", folder + "/program")
            printed.append(subprocess.run([self.work / folder / "program"], check=True,
                                          capture_output=True, text=True).stdout)
        self.assertTrue(printed[0].startswith("ok\n"), printed[0])
        self.assertEqual(printed[0].count("\n"), 6)
        self.assertEqual(printed[0], printed[1])

    def test_two_in_one_program(self):
        self.write("main.cpp", BOTH)
        self.single(TINY, "--name", "a", "-o", "a.cpp", "--method", "ibp")
        self.single(CONTROLLER, "--name", "b", "-o", "b.cpp")
        flags = ["-march=native"] if "x86" in os.uname().machine else []
        self.compile(*CXX, "-std=c++17", *flags, "main.cpp", "a.cpp", "b.cpp", "-o", "both")
        output = subprocess.run([self.work / "both"], check=True, capture_output=True, text=True)
        self.assertEqual(output.stdout, "a b ok\n")

    def test_refuses_what_needs_more_files(self):
        self.run_tool(TINY, "-o", "x.cpp", "--single-file", "--dispatch", code=2)
        self.run_tool(TINY, "--project", "x", "--single-file", code=2)


if __name__ == "__main__":
    unittest.main()
