"""bf-aot tune: its log, what --lowering tuned makes of it, resuming, interruption. Nothing here depends on
which schedule is faster."""

import json
import os
import pathlib
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case  # noqa: E402

DIGITS = MODELS / "digits_64x2.onnx"
SHARED = pathlib.Path(os.environ.get("BF_SHARED", SOURCE.parent / "shared"))
TUNED = ("--lowering", "tuned", "--tuning-log")


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class Tune(Case):
    def tune(self, *arguments, model=CONTROLLER):
        return self.run_tool("tune", model, "--tuning-log", "log", *arguments)[0]

    def log(self):
        return records(self.work / "log")

    def manifest(self, *arguments, model=CONTROLLER):
        return json.loads(self.run_tool("inspect", model, "--plan", *arguments)[0])

    def result(self, kernel, schedule, **changes):
        """A line of a log, as if this schedule had won."""
        times = {"min": 1e-6, "median": 1e-6}
        record = {"schema": 1, "record": "result", "key": kernel["key"],
                  "target": kernel["key"].split("/")[-1], "machine": "m", "compiler": "c",
                  "schedule": schedule, "seconds": times, "default_seconds": times, "samples": 9,
                  "error": "", "ratio": 0.5, "noise": 0.01, "candidates": 3,
                  "is_default": False, "seed": 1, "version": "0"}
        record.update(changes)
        return json.dumps(record) + "\n"

    def test_end_to_end(self):
        output = self.tune("--trials", "6", "--curve", "curve.csv")
        self.assertIn("schedules measured; log", output)
        log = self.log()
        self.assertEqual([each["error"] for each in log if each["error"]], [])
        tunable = [each for each in self.manifest()["kernels"]
                   if each["kind"].endswith("affine")]
        keys = {each["key"] for each in tunable}
        results = {each["key"]: each for each in log if each["record"] == "result"}
        self.assertEqual(set(results), keys)
        for each in log:
            self.assertLessEqual(each["seconds"]["min"], each["seconds"]["median"])
        for key in keys:
            trials = [each["schedule"] for each in log
                      if each["record"] == "trial" and each["key"] == key]
            self.assertEqual(len(trials), min(6, results[key]["candidates"]))
            self.assertEqual(len({json.dumps(each) for each in trials}), len(trials))
        rows = (self.work / "curve.csv").read_text().splitlines()
        self.assertEqual(len(rows), 1 + sum(each["record"] == "trial" for each in log))
        self.assertTrue((self.work / "curve.svg").read_text().startswith("<svg"))

        made = {each["key"]: each for each in self.manifest(*TUNED, "log")["kernels"]}
        for key, result in results.items():
            self.assertEqual(made[key]["strategy"], "tuned")
            self.assertIn("tuned: ", made[key]["reason"])
            if not result["is_default"]:
                self.assertEqual(made[key]["schedule"], result["schedule"])

        # The same command measures nothing again.
        before = (self.work / "log").read_bytes()
        self.assertIn(" 0 schedules measured", self.tune("--trials", "6"))
        self.assertEqual((self.work / "log").read_bytes(), before)

    def test_results_are_applied_and_bounds_stay_sound(self):
        kernels = [each for each in self.manifest(model=DIGITS)["kernels"]
                   if each["kind"] in ("centre_affine", "backward_affine")]
        lines = ""
        for kernel in kernels:  # schedules that no rule chooses
            schedule = dict(kernel["schedule"], unroll=4, chunk=kernel["schedule"]["chunk"],
                            vectors=1)
            if kernel["kind"] == "backward_affine":
                schedule["columns"] = 5
            lines += self.result(kernel, schedule)
        self.write("log", lines)
        made = self.manifest(*TUNED, "log", model=DIGITS)
        for kernel in kernels:
            (same,) = [each for each in made["kernels"] if each["key"] == kernel["key"]]
            self.assertEqual(same["schedule"]["unroll"], 4)
            self.assertEqual(same["depth"], kernel["depth"])
        self.assertEqual(made["layers"], self.manifest(model=DIGITS)["layers"])
        # Golden bounds of another program, and points: as for any lowering.
        self.run_tool("check", DIGITS, "--golden", MODELS / "golden" / "digits_64x2.json",
                      *TUNED, "log")
        self.run_tool(DIGITS, "-o", "v.cpp", *TUNED, "log")
        self.assertIn("BF_UNROLL_BY(4)", (self.work / "v.cpp").read_text())

    def test_bench_compares(self):
        (self.work / "log").write_text("")
        found = self.run_json("bench", TINY, "--repeats", "2", "--no-kernels",
                              "--compare", "tuned", "--tuning-log", "log")
        self.assertEqual([each["lowering"] for each in found["strategies"]], ["vector", "tuned"])
        self.assert_refused("BF3310", "bench", TINY, "--compare", "tuned")

    def test_hostile_schedules_are_refused(self):
        (kernel, *_) = [each for each in self.manifest()["kernels"]
                        if each["kind"] == "backward_affine"]
        huge = {name: 1 << 20 for name in kernel["schedule"]}
        huge.update(groups_first=True, pixels=0)
        self.write("log", self.result(kernel, huge))
        made = self.manifest(*TUNED, "log")
        (same,) = [each for each in made["kernels"] if each["key"] == kernel["key"]]
        self.assertEqual(same["schedule"], kernel["schedule"])
        self.assertIn("does not fit", same["reason"])
        refused = [each for each in made["rejected"] if each["candidate"].startswith(kernel["key"])]
        self.assertEqual(len(refused), 1)
        self.assertIn("lanes", refused[0]["reason"])

    def test_bad_logs(self):
        (kernel, *_) = self.manifest()["kernels"]
        good = self.result(kernel, dict(kernel["schedule"]))
        for bad in ("{", "[]", '{"schema": 1}', good.replace('"samples": 9', '"samples": "9"')):
            self.write("bad", good + bad + "\n")
            for command in ((CONTROLLER, "-o", "v.cpp", "--lowering", "tuned"),
                            ("tune", CONTROLLER)):
                self.assert_refused("BF3010", *command, "--tuning-log", "bad",
                                    says=["bad: line 2"])
        self.assert_refused("BF3310", CONTROLLER, "-o", "v.cpp", "--lowering", "tuned")
        self.assert_refused("BF3001", CONTROLLER, "-o", "v.cpp", *TUNED, "missing")
        self.assert_refused("BF3312", "tune", CONTROLLER, "--kernel", "no such")
        self.assert_refused("BF3304", "tune", CONTROLLER, "--target", "cortex-m4")

    def test_strategies_and_budgets(self):
        self.tune("--trials", "4", "--strategy", "random", "--kernel", "centre_affine")
        first = self.log()
        self.assertEqual({each["key"].split("/")[0].split(".")[0] for each in first},
                         {"centre_affine"})
        # Merged with itself it says the same; the model measures no trials.
        self.write("log", (self.work / "log").read_text() * 2)
        self.tune("--trials", "50", "--strategy", "model", "--kernel", "backward_affine")
        added = self.log()[2 * len(first):]
        self.assertEqual({each["record"] for each in added}, {"result"})
        output = self.tune("--trials", "1000", "--seconds", "0.001", "--kernel", "evaluate")
        self.assertIn("0 of ", output)

    def test_convolutions_are_measured_within_the_verifier(self):
        model = SHARED / "golden" / "nets" / "syn_conv_bn_avgpool.onnx"
        if not model.exists():
            self.skipTest("no shared data: set BF_SHARED")
        kernel = max((each for each in self.manifest(model=model)["kernels"]
                      if each["kind"] == "term_backward" and each["map"] == "conv"),
                     key=lambda each: (each["schedule"]["columns"], each["wide"]))
        self.assertGreater(kernel["schedule"]["columns"], 1)
        # A point: no neuron is unstable, hidden layers have no rows.
        hidden = next(each["key"] for each in self.manifest(model=model)["kernels"]
                      if each["key"].startswith("term_backward.conv/"))
        output = self.tune("--trials", "1", "--kernel", hidden, "--radius", "0", model=model)
        self.assertIn("not called on the box", output)
        self.tune("--trials", "2", "--kernel", kernel["key"], "--radius", "0.1", model=model)
        log = self.log()
        self.assertEqual([each["error"] for each in log if each["error"]], [])
        self.assertEqual({each["key"] for each in log}, {kernel["key"]})
        self.assertEqual([each["record"] for each in log], ["trial", "trial", "result"])
        for each in log:
            if each["record"] == "trial":
                self.assertGreater(each["schedule"]["pixels"], 0)
        self.write("log", self.result(kernel, dict(kernel["schedule"], columns=2, pixels=3, last_columns=4)))
        self.run_tool(model, "-o", "v.cpp", "--no-library", *TUNED, "log")
        self.assertTrue("bf::GivenTile<2, 3, 4>" in (self.work / "v.cpp").read_text())

    def test_interruption_keeps_the_log(self):
        process = self.start("tune", CONTROLLER, "--tuning-log", "log", "--trials", "100000")
        deadline = time.monotonic() + 120
        while not (self.work / "log").exists() or not (self.work / "log").read_bytes():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertIn("kernels tuned", output)
        text = (self.work / "log").read_text()
        self.assertTrue(text.endswith("\n"))
        kept = records(self.work / "log")
        self.assertGreater(len(kept), 0)
        self.assertEqual([each for each in (self.cache / "bf-aot").iterdir()], [])
        # It goes on.
        self.tune("--trials", "2")
        self.assertEqual(self.log()[:len(kept)], kept)


if __name__ == "__main__":
    unittest.main()
