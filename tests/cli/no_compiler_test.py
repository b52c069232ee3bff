"""What works on a machine without any C++ compiler, and what says that it needs one."""

import csv
import json
import os
import sys
import unittest

sys.dont_write_bytecode = True
from harness import BOX, MODELS, TINY, Case  # noqa: E402

GOLDEN = MODELS / "golden" / "tiny.json"
HOLDS = MODELS / "properties" / "tiny_holds.vnnlib"
VIOLATED = MODELS / "properties" / "tiny_violated.vnnlib"
CODE = ("--lowering", "vector")


class NoCompiler(Case):
    """An empty PATH, and no $CXX."""

    def setUp(self):
        super().setUp()
        self.environment["PATH"] = ""
        self.environment.pop("CXX", None)
        self.box = self.write("box.json", BOX)

    def tearDown(self):
        self.assertFalse(any(path.is_file() for path in self.cache.rglob("*")),
                         "nothing is compiled")
        super().tearDown()

    def test_run(self):
        for method in ("ibp", "crown-ibp", "crown", "alpha-crown", "forward", "auto"):
            outputs = self.run_json("run", TINY, "--box", self.box, "--method", method)["outputs"]
            self.assertEqual(len(outputs["lower"]), 2, method)

    def test_check(self):
        self.run_tool("check", TINY, "--golden", GOLDEN)

    def test_verify(self):
        for branch in ((), ("--branch", "100")):
            self.assertEqual(self.run_json("verify", TINY, HOLDS, *branch)["verdict"], "verified")
            self.assertEqual(self.run_json("verify", TINY, VIOLATED, *branch, code=3)["verdict"],
                             "falsified")

    def test_ablate(self):
        configs = self.write("configs.json", [{"name": name, "method": name}
                                              for name in ("ibp", "crown-ibp", "crown")])
        self.run_tool("ablate", TINY, "--golden", GOLDEN, "--configs", configs, "--out", "out")
        with open(self.work / "out" / "results.csv", newline="", encoding="utf-8") as file:
            self.assertEqual([row["status"] for row in csv.DictReader(file)], ["ok"] * 3)

    def test_reports(self):
        self.run_tool("inspect", TINY)
        self.run_tool("inspect", TINY, "--report", "report.html", "--property", HOLDS)
        self.assertNotIn("measured</th>", (self.work / "report.html").read_text(encoding="utf-8"))
        self.run_tool(TINY, "-o", "v.cpp", "--no-library", "--report", "report.html", "--property",
                      HOLDS)
        self.assertIn("measured</th>", (self.work / "report.html").read_text(encoding="utf-8"))

    def test_supports(self):
        self.assertIn("Gemm", self.run_tool("supports", "--onnx-operators")[0])

    def test_sources_of_a_verifier(self):
        self.run_tool(TINY, "-o", "v.cpp", "--no-library")
        self.assertIn("v.cpp", self.names())

    def test_bench_of_the_engine(self):
        """Without the machine's peaks, whose code is compiled."""
        bench = ("bench", TINY, "--lowering", "prebuilt", "--repeats", "4")
        found = self.run_json(*bench, "--compare", "reference")
        engine, reference = found["strategies"]
        self.assertEqual((engine["lowering"], reference["lowering"]), ("prebuilt", "reference"))
        self.assertGreater(engine["gflops_per_second"], 0)
        self.assertNotIn("roofline", engine)
        self.assertEqual(list(found["machine"]), ["processor"])
        self.assertGreater(len(found["kernels"]), 0)
        for kernel in found["kernels"]:
            self.assertNotIn("roofline", kernel)
        self.assertNotIn("peak", self.run_tool(*bench)[0])

    def test_what_needs_one_says_so(self):
        for arguments in ((TINY, "-o", "v.cpp"),
                          ("bench", TINY), ("bench", TINY, "--lowering", "generic"),
                          ("bench", TINY, "--lowering", "prebuilt", "--compare", "vector"),
                          ("bench", TINY, "--lowering", "prebuilt", "--compare", "reference",
                           "--out", "made", "--repeats", "1"),
                          ("tune", TINY), ("profile",),
                          ("run", TINY, "--box", self.box, *CODE),
                          ("check", TINY, "--golden", GOLDEN, *CODE),
                          ("verify", TINY, HOLDS, *CODE)):
            with self.subTest(arguments):
                self.assert_refused("BF3202", *arguments, says=["c++, g++, clang++"])
        _, errors = self.run_tool("profile", "--check", TINY, code=1)
        self.assertIn("error BF3202: ", errors)

    def test_a_compiler_that_is_not_there(self):
        """Whose name is in $CXX, on a machine with others."""
        self.environment.update(CXX="no-such-compiler", PATH=os.environ["PATH"])
        self.run_tool("bench", TINY, "--lowering", "prebuilt", "--repeats", "2")
        self.assert_refused("BF3202", "bench", TINY, says=["no-such-compiler"])


if __name__ == "__main__":
    unittest.main()
