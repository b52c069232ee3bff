"""--dispatch: one library with code for several levels of x86-64."""

import ctypes
import json
import os
import platform
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case  # noqa: E402

CXX = os.environ["CXX"].split()
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
LEVELS = ("x86_64_v4", "x86_64_v3", "x86_64")
PROPERTY = MODELS / "properties" / "collision_avoidance_6x50.vnnlib"
BOX = MODELS / "boxes" / "collision_avoidance_6x50.json"


def supported():
    """How many of LEVELS, from the last, this processor runs."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = set(next(line for line in file if line.startswith("flags")).split())
    v3 = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"} <= flags
    v4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags
    return 1 + v3 + (v3 and v4)


@unittest.skipUnless(platform.machine() in ("x86_64", "AMD64"), "levels are those of x86-64")
class Dispatch(Case):
    def load(self):
        subprocess.run([*CXX, "-shared", "-o", "all.so", "-Wl,--whole-archive", "libavoid.a",
                        "-Wl,--no-whole-archive"], cwd=self.work, check=True)
        return ctypes.CDLL(str(self.work / "all.so"))

    def define(self, name):
        for line in (self.work / "avoid.h").read_text().splitlines():
            if line.startswith(f"#define AVOID_{name} "):
                return int(line.split()[2])
        return self.fail(f"no AVOID_{name}")

    def bounds(self, library, prefix):
        box = json.loads(BOX.read_text())
        numbers = ctypes.c_float * 5
        lower, upper = numbers(*box["lower"]), numbers(*box["upper"])
        low, high = numbers(), numbers()
        size = self.define("WORKSPACE_BYTES")
        memory = ctypes.create_string_buffer(size + 64)
        start = (ctypes.addressof(memory) + 63) // 64 * 64
        status = library[f"{prefix}_bounds"](lower, upper, low, high, ctypes.c_void_p(start),
                                             ctypes.c_size_t(size))
        self.assertEqual(status, 0)
        return list(low), list(high)

    def test_calls_go_to_the_highest_level(self):
        self.run_tool(CONTROLLER, "--name", "avoid", "-o", "avoid.cpp", "--dispatch", "--target",
                      "x86-64-v4")
        library = self.load()
        ours = LEVELS[len(LEVELS) - supported():]
        found = {level: self.bounds(library, f"avoid_{level}") for level in ours}
        self.assertEqual(self.bounds(library, "avoid"), found[ours[0]])
        for low, high in found.values():  # each proves the same, but for roundings
            for a, b, c, d in zip(low, high, *found[ours[0]]):
                self.assertLess(max(abs(a - c), abs(b - d)), 1e-3 * (d - c))

    def test_sizes_suit_every_level(self):
        self.run_tool(CONTROLLER, "--name", "avoid", "-o", "avoid.cpp", "--dispatch", "--target",
                      "x86-64-v4", "--no-library")
        plans = json.loads((self.work / "avoid.json").read_text())["dispatch"]
        self.assertEqual([plan["target"] for plan in plans], ["x86-64-v4", "x86-64-v3", "x86-64"])
        self.assertEqual(self.define("WORKSPACE_BYTES"), max(each["arena_bytes"] for each in plans))
        self.assertEqual(self.define("WORKSPACE_ALIGN"), 64)
        self.assertEqual(self.define("WEIGHTS_BYTES"), sum(each["weights_bytes"] for each in plans))
        for plan in plans:
            whole = json.loads((self.work / plan["manifest"]).read_text())
            self.assertEqual(whole["options"]["target"]["name"], plan["target"])

    def test_every_function_is_forwarded(self):
        self.run_tool(CONTROLLER, "--name", "avoid", "-o", "avoid.cpp", "--dispatch", "--property",
                      PROPERTY, "--method", "alpha-crown", "--cache",
                      "reuse-ibp,cache-bounds,reuse-alpha", "--batch", "16", "--decide",
                      "--no-library")
        subprocess.run([*CXX, "-std=c++17", *STRICT, f"-I{SOURCE / 'runtime'}", "-I.", "-c",
                        "avoid.cpp"], cwd=self.work, check=True)
        source = (self.work / "avoid.cpp").read_text()
        for function in ("bounds", "spec_bounds", "verify", "property_box", "context_init",
                         "cache_counters", "bounds_cached", "spec_bounds_cached", "verify_cached",
                         "context_save", "context_load", "evaluate", "info", "bounds_batch",
                         "spec_bounds_batch", "verify_batch", "decide"):
            self.assertIn(f"avoid_{function}(", source)
            self.assertIn(f"return avoid_x86_64_{function}(", source)

    def test_levels_share_no_code(self):
        self.run_tool(TINY, "--name", "avoid", "-o", "avoid.cpp", "--dispatch", "--target",
                      "x86-64-v3", "--method", "alpha-crown", "--no-library")
        for level, flag in (("x86_64_v3", "x86-64-v3"), ("x86_64", "x86-64")):
            # Without inlining every inline function is there for the linker to merge.
            subprocess.run([*CXX, "-std=c++17", "-O0", f"-march={flag}", f"-I{SOURCE / 'runtime'}",
                            "-c", f"avoid_{level}.cpp", "-o", "level.o"], cwd=self.work, check=True)
            names = subprocess.run(["nm", "-C", "level.o"], cwd=self.work, check=True,
                                   capture_output=True, text=True).stdout.splitlines()
            weak = [line for line in names if line[17:18] in ("W", "V", "u")]
            self.assertTrue(weak, "the check sees nothing")
            for line in weak:
                self.assertIn(f"avoid_{level}_bf::", line)

    def test_projects_build(self):
        self.run_tool(TINY, "--project", "demo", "--dispatch", "--target", "x86-64-v4")
        subprocess.run(["cmake", "-S", "demo", "-B", "demo/build"], cwd=self.work, check=True,
                       capture_output=True)
        subprocess.run(["cmake", "--build", "demo/build"], cwd=self.work, check=True,
                       capture_output=True)
        output = subprocess.run(["demo/build/example"], cwd=self.work, check=True,
                                capture_output=True, text=True).stdout
        self.assertIn("output 0: [", output)

    def test_boxes_side_by_side(self):
        self.run_tool(TINY, "--name", "avoid", "-o", "avoid.cpp", "--dispatch", "--method", "ibp",
                      "--batch", "16", "--target", "x86-64-v4")
        self.assertEqual(self.define("BATCH"), 16)
        sizes = [int(line.split()[2]) for level in LEVELS
                 for line in (self.work / f"avoid_{level}.h").read_text().splitlines()
                 if line.startswith(f"#define AVOID_{level.upper()}_BATCH_WORKSPACE_BYTES ")]
        self.assertEqual(len(sizes), 3)
        self.assertEqual(self.define("BATCH_WORKSPACE_BYTES"), max(sizes))

    def test_reports(self):
        self.run_tool(CONTROLLER, "-o", "avoid.cpp", "--name", "avoid", "--dispatch", "--property",
                      PROPERTY, "--method", "ibp", "--report", "page.html")
        self.assertIn("avoid", (self.work / "page.html").read_text())

    def test_refuses_other_processors(self):
        self.assert_refused("BF3104", TINY, "-o", "x.cpp", "--dispatch", "--target", "cortex-m4",
                            "--no-library", says=("cortex-m4",))


if __name__ == "__main__":
    unittest.main()
