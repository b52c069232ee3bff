"""bf-aot bench: what it reports, its artefacts, and peers."""

import json
import math
import stat
import sys
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, SOURCE, TINY, Case  # noqa: E402

QUICK = ("--repeats", "4", "--warm-up", "1")


class Bench(Case):
    def peer(self, name, text):
        path = self.write(name, "#!/bin/sh\n" + text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return f"./{name}"

    def check_times(self, times, count):
        self.assertEqual(times["count"], count)
        self.assertGreater(times["min"], 0)
        self.assertLessEqual(times["min"], times["p50"])
        self.assertLessEqual(times["p50"], times["p95"])
        self.assertLessEqual(times["min"], times["mean"])
        self.assertGreaterEqual(times["std"], 0)

    def test_reports_strategies_and_kernels(self):
        found = self.run_json("bench", CONTROLLER, *QUICK, "--compare", "generic,reference",
                              "--radius", "0.01")
        self.assertEqual([each["lowering"] for each in found["strategies"]],
                         ["vector", "generic", "reference"])
        for each in found["strategies"]:
            self.check_times(each["seconds"], 4)
        vector, generic, reference = found["strategies"]
        self.assertGreater(vector["code_bytes"], 1000)
        self.assertNotIn("roofline", reference)
        for each in (vector, generic):
            self.assertGreater(each["flops"], 1000)
            self.assertGreater(each["roofline"], 0)
            self.assertTrue(math.isclose(each["gflops_per_second"],
                                         each["flops"] / each["seconds"]["p50"] * 1e-9))
        # Outward rounding: as wide as the exact plan, and not much wider.
        self.assertGreaterEqual(vector["mean_width"], reference["mean_width"])
        self.assertLess(vector["mean_width"], 1.01 * reference["mean_width"])
        names = [each["name"] for each in found["kernels"]]
        self.assertIn("relax_relu_50", names)
        self.assertEqual([each["seconds"] for each in found["kernels"]],
                         sorted((each["seconds"] for each in found["kernels"]), reverse=True))
        self.assertGreater(found["machine"]["float32_gflops_per_second"], 0)

    def test_the_engine_is_compared_by_default(self):
        found = self.run_json("bench", CONTROLLER, *QUICK)
        vector, engine = found["strategies"]
        self.assertEqual((vector["lowering"], engine["lowering"]), ("vector", "prebuilt"))
        self.check_times(engine["seconds"], 4)
        self.assertNotIn("code_bytes", engine)
        # The engine's bounds are the same but for last bits.
        self.assertTrue(math.isclose(engine["mean_width"], vector["mean_width"], rel_tol=1e-3))
        for name in ("flops", "bytes", "gflops_per_second", "roofline", "weights_bytes"):
            self.assertGreater(engine[name], 0, name)
        found = self.run_json("bench", TINY, *QUICK, "--target", "generic", "--no-kernels")
        self.assertEqual([each["lowering"] for each in found["strategies"]], ["vector"])

    def test_the_engine_alone(self):
        found = self.run_json("bench", CONTROLLER, *QUICK, "--lowering", "prebuilt", "--cxx-flags=-g")
        self.assertEqual([each["lowering"] for each in found["strategies"]], ["prebuilt"])
        self.assertIn("relax_relu_50", [each["name"] for each in found["kernels"]])
        self.assert_refused("BF3304", "bench", TINY, *QUICK, "--target", "generic", "--compare",
                            "prebuilt", says=("generic",))

    def test_text(self):
        output, _ = self.run_tool("bench", TINY, *QUICK, "--method", "ibp")
        for word in ("GFLOP/s", "roofline", "ready", "vector", "prebuilt", "kernel or routine"):
            self.assertIn(word, output)
        output, _ = self.run_tool("bench", TINY, *QUICK, "--no-kernels")
        self.assertNotIn("kernel or routine", output)

    def test_artefacts(self):
        self.run_tool("bench", TINY, *QUICK, "--out", "made")
        names = self.names(self.work / "made")
        for name in ("bench.json", "libverifier.a", "verifier.cpp", "verifier.h", "verifier.json"):
            self.assertIn(name, names)
        found = json.loads((self.work / "made" / "bench.json").read_text())
        plan = json.loads((self.work / "made" / "verifier.json").read_text())
        self.assertEqual(found["sha256"], plan["model"]["sha256"])
        self.assertEqual(found["format"], 1)

    def test_peers(self):
        box = self.write("box.json", {"lower": [-1, -1], "upper": [0.5, 1]})
        # It answers with what it was asked, so that this is seen.
        good = self.peer("good", 'test -f "$1" && grep -q "0.5" "$2" || exit 1\n'
                         'echo "{\\"name\\": \\"$3 $4\\", \\"seconds\\": [2e-3, 1e-3]}"\n')
        skips = self.peer("skips", 'echo "needs a licence" >&2\nexit 77\n')
        found = self.run_json("bench", TINY, "--box", box, "--no-kernels", "--seconds", "0.01",
                              "--method", "ibp", "--peer", good, "--peer", skips,
                              "--peer", "no-such-program-here")
        answered, skipped, missing = found["peers"]
        self.assertEqual(answered["name"], "ibp 0.01")
        self.check_times(answered["seconds"], 2)
        self.assertEqual(answered["seconds"]["min"], 1e-3)
        self.assertEqual(skipped["skipped"], "needs a licence")
        self.assertIn("not installed", missing["skipped"])

    def test_refuses_peers_that_fail(self):
        for name, text, says in (
                ("fails", "echo broken >&2\nexit 3\n", "exit code 3: broken"),
                ("silent", "", "no JSON object"),
                ("nameless", "echo '{\"seconds\": [1]}'\n", '"name"'),
                ("timeless", "echo '{\"name\": \"x\", \"seconds\": []}'\n", '"seconds"'),
                ("negative", "echo '{\"name\": \"x\", \"seconds\": [-1]}'\n", "above 0")):
            with self.subTest(name):
                self.assert_refused("BF3330", "bench", TINY, *QUICK, "--no-kernels",
                                    "--peer", self.peer(name, text), says=(says,))

    def test_refuses_other_machines(self):
        self.assert_refused("BF3304", "bench", TINY, *QUICK, "--target", "cortex-m4",
                            says=("cortex-m4",))

    def test_peer_scripts_say_what_they_need(self):
        box = self.write("box.json", {"lower": [-1, -1], "upper": [1, 1]})
        for name in ("auto_lirpa", "onnxruntime_forward", "pytorch_ibp"):
            command = f"{sys.executable} {SOURCE}/bench/peers/{name}.py"
            with self.subTest(name):
                found = self.run_json("bench", TINY, "--box", box, "--no-kernels", *QUICK,
                                      "--seconds", "0.01", "--method", "ibp", "--peer", command)
                (peer,) = found["peers"]
                if "seconds" in peer:
                    self.assertGreater(peer["seconds"]["min"], 0)
                else:
                    self.assertIn("needs the Python package", peer["skipped"])


if __name__ == "__main__":
    unittest.main()
