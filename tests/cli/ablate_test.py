"""bf-aot ablate: its table, its summary, resuming, interrupts, figures."""

import csv
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
from harness import BOX, MODELS, SOURCE, TINY, Case  # noqa: E402

GOLDEN = MODELS / "golden" / "tiny.json"
CONFIGS = [{"name": "ibp", "method": "ibp"}, {"name": "crown", "method": "crown", "lowering": "vector"},
           {"name": "broken, \"quoted\"", "disable-pass": ["lower-affine"]}]
PLAN = ("arena_bytes", "naive_bytes", "lower_bound_bytes", "weights_bytes", "layers",
        "steps", "tasks", "kernels", "planning_s")
COMPILED = ("code_bytes", "compile_s")
RUN = ("boxes", "time_p50_s", "time_p95_s", "mean_width", "max_width", "margin", "cases",
       "certified", "unstable", "ratio_ibp", "ratio_reference")


def documented_columns():
    text = (SOURCE / "docs" / "reference" / "ablation.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `(\w+)` \| (text|integer|real) \|", text, re.MULTILINE)


class AblateCase(Case):
    def ablate(self, *arguments, code=0, out="out"):
        output, errors = self.run_tool("ablate", *arguments, "--out", out, code=code)
        self.assertEqual(errors, "", "quiet when it is not a terminal")
        return output

    def rows(self, out="out"):
        with open(self.work / out / "results.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def small(self, *more):
        return self.ablate(TINY, "--golden", GOLDEN, "--configs",
                           self.write("configs.json", CONFIGS), "--repeat", 2, *more)


class Ablate(AblateCase):
    def check_types(self, row):
        for name, kind in documented_columns():
            text = row[name]
            if text and kind == "integer":
                self.assertRegex(text, r"^-?\d+$", name)
            if text and kind == "real":
                float(text)

    def test_table(self):
        self.assertIn("3 runs, 1 failed", self.small())
        rows = self.rows()
        self.assertEqual(list(rows[0]), [name for name, _ in documented_columns()])
        self.assertEqual([row["config"] for row in rows], [c["name"] for c in CONFIGS])
        for row in rows:
            self.check_types(row)
        for row in rows[:2]:
            self.assertEqual((row["status"], row["message"]), ("ok", ""))
            for name in PLAN + RUN:
                self.assertNotEqual(row[name], "", name)
            for name in COMPILED:  # the engine compiles nothing
                self.assertEqual(row[name] != "", row["config"] == "crown", name)
            self.assertEqual(row["boxes"], str(len(json.loads(GOLDEN.read_text())["boxes"])))
            self.assertGreater(float(row["time_p50_s"]), 0)
            self.assertLessEqual(float(row["time_p50_s"]), float(row["time_p95_s"]))
            self.assertLessEqual(float(row["mean_width"]), float(row["max_width"]))
        self.assertEqual(float(rows[0]["ratio_ibp"]), 1)
        self.assertLess(float(rows[1]["ratio_ibp"]), 1)
        self.assertEqual(json.loads(rows[1]["settings"]), {"method": "crown", "lowering": "vector"})

    def test_failures_are_rows(self):
        self.small()
        row = self.rows()[2]
        self.assertEqual(row["status"], "failed")
        self.assertIn("BF2006", row["message"])
        for name in PLAN + RUN:
            self.assertEqual(row[name], "", f"{name}: missing is empty, never 0")
        summary = (self.work / "out" / "summary.md").read_text()
        self.assertIn("## Failures", summary)

    def test_unreadable_model(self):
        bad = self.write("bad.onnx", "no model")
        self.assertIn("4 runs, 3 failed", self.ablate(bad, TINY, "--configs", self.write(
            "configs.json", [{"method": "ibp"}, {"disable-pass": ["lower-affine"]}])))
        rows = self.rows()
        self.assertEqual([row["status"] for row in rows], ["failed", "failed", "ok", "failed"])
        self.assertIn("BF10", rows[0]["message"])

    def test_plans_without_boxes(self):
        self.ablate(TINY, "--configs", self.write("configs.json", [{"method": "crown", "lowering": "vector"}]))
        (row,) = self.rows()
        for name in PLAN + COMPILED:
            self.assertNotEqual(row[name], "", name)
        for name in RUN:
            self.assertIn(row[name], ("", "0") if name == "boxes" else ("",), name)

    def test_property(self):
        for name, certified in (("tiny_holds", "1"), ("tiny_violated", "0")):
            self.ablate(TINY, "--property", MODELS / "properties" / f"{name}.vnnlib", "--configs",
                        self.write("c.json", [{"method": "crown"}]), "--repeat", 1, out=name)
            (row,) = self.rows(name)
            self.assertEqual((row["cases"], row["certified"]), ("1", certified))
            self.assertEqual(float(row["margin"]) > 0, certified == "1")

    def test_builtin_configurations(self):
        self.ablate(MODELS / "tiny_transpose.onnx", "--repeat", 1)
        rows = self.rows()
        passes, _ = self.run_tool("inspect", "--list-passes")
        listed = set(re.findall(r"^([\w-]+)  +(?!\*)", passes, re.MULTILINE))
        without = {row["without"] for row in rows} - {""}
        self.assertEqual(without, {name for name in listed if name in without} | without & listed)
        self.assertTrue({"fold-scale", "merge-affine", "exact-centres"} <= without)
        self.assertTrue({"ibp", "crown-ibp", "crown"} <= {row["config"] for row in rows})
        summary = (self.work / "out" / "summary.md").read_text()
        for name in without:
            self.assertIn(f"| {name} |", summary)
        self.assertRegex(summary, r"\| fold-scale \| (?!\*\*moves nothing)")

    def test_base_options_hold_for_all(self):
        configs = self.write("c.json", [{"name": "a"}, {"name": "b", "method": "crown"}])
        self.ablate(TINY, "--method", "ibp", "--configs", configs)
        kernels = [int(row["kernels"]) for row in self.rows()]
        self.assertLess(kernels[0], kernels[1])

    def test_refused(self):
        self.assert_refused("BF3005", "ablate", TINY, "--out", "o", "--configs",
                            self.write("c.json", [{"metod": "ibp"}]), says=["metod", "method"])
        self.assert_refused("BF3307", "ablate", TINY, "--out", "o", "--configs",
                            self.write("c.json", [{"method": "magic"}]))
        self.assert_refused("BF3005", "ablate", TINY, "--out", "o", "--configs",
                            self.write("c.json", [{"name": "a"}, {"name": "a"}]), says=["'a'"])
        self.assert_refused("BF3321", "ablate", TINY, TINY, "--out", "o", "--golden", GOLDEN)
        (self.work / "o").mkdir()
        (self.work / "o" / "results.csv").write_text("my,own,table\n")
        self.assert_refused("BF3320", "ablate", TINY, "--out", "o", says=["results.csv:1"])
        self.run_tool("ablate", TINY, code=2)


class Resume(AblateCase):
    def test_second_run_keeps_rows(self):
        self.small()
        before = self.rows()
        self.assertIn("2 of 3 rows of an earlier run are kept", self.small())
        self.assertEqual(self.rows()[:2], before[:2], "not measured again")

    def test_fresh(self):
        self.small()
        (self.work / "out" / "results.csv").write_text("of another version\n")
        self.assertNotIn("kept", self.small("--fresh"))
        self.assertEqual(len(self.rows()), 3)

    def test_line_that_was_cut_off(self):
        self.small()
        path = self.work / "out" / "results.csv"
        whole = path.read_text()
        lines = whole.splitlines(keepends=True)
        for cut in (len(lines[0]) - 3, len(lines[0]) + len(lines[1]) + 40):
            path.write_text(whole[:cut])
            self.small()
            self.assertEqual([row["config"] for row in self.rows()], [c["name"] for c in CONFIGS])
            self.assertEqual(path.read_text().splitlines()[0], lines[0].strip())

    def test_changed_question_runs_again(self):
        box = self.write("box.json", BOX)
        configs = self.write("c.json", [{"method": "ibp"}])
        arguments = (TINY, "--box", box, "--configs", configs, "--repeat", 1)
        self.ablate(*arguments)
        first = self.rows()[0]
        self.write("box.json", {"lower": [0, 0], "upper": [1, 1]})
        self.assertIn("0 of 1 rows", self.ablate(*arguments))
        (row,) = self.rows()
        self.assertNotEqual(row["run"], first["run"])

    def test_other_models_stay(self):
        configs = self.write("c.json", [{"method": "ibp"}])
        self.ablate(TINY, "--configs", configs)
        self.ablate(MODELS / "tiny_linear.onnx", "--configs", configs)
        self.assertEqual({row["model"] for row in self.rows()}, {"tiny.onnx", "tiny_linear.onnx"})

    def test_interrupt_leaves_complete_rows(self):
        """The second configuration's compiler hangs: SIGINT arrives after the first row."""
        started = self.folder / "started"
        compiler = self.folder / "compiler"
        real = shutil.which(os.environ.get("CXX", "c++"))
        compiler.write_text(
            '#!/bin/sh\ncase "$*" in *--version*) exec ' f'{real} --version;; esac\n'
            f"[ -e {self.folder}/once ] || {{ touch {self.folder}/once; exec {real} \"$@\"; }}\n"
            f"echo $$ > {started}.new\nmv {started}.new {started}\nexec sleep 300\n")
        compiler.chmod(0o755)
        configs = self.write("c.json", [{"method": "ibp"}, {"method": "crown"}])
        process = self.start("ablate", TINY, "--configs", configs, "--out", "out", "--cxx", compiler,
                             "--lowering", "vector")
        deadline = time.monotonic() + 120
        while not started.exists():
            self.assertIsNone(process.poll(), "ended before the compiler was started")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=100)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        child = int(started.read_text())
        while pathlib.Path(f"/proc/{child}").exists():
            self.assertLess(time.monotonic(), deadline, "the compiler is still running")
            time.sleep(0.01)
        text = (self.work / "out" / "results.csv").read_text()
        self.assertTrue(text.endswith("\n"))
        for row in self.rows():
            self.assertIn(row["status"], ("ok", "failed"))
        self.assertLess(len(self.rows()), 2)

    def test_timeout_is_a_row(self):
        compiler = self.folder / "compiler"
        compiler.write_text('#!/bin/sh\ncase "$*" in *--version*) echo slow 1.0; exit 0;; esac\n'
                            "exec sleep 300\n")
        compiler.chmod(0o755)
        self.ablate(TINY, "--configs", self.write("c.json", [{"method": "ibp"}]), "--lowering", "vector",
                    "--cxx", compiler, "--timeout", "1")
        (row,) = self.rows()
        self.assertEqual(row["status"], "failed")
        self.assertIn("no result within 1 s", row["message"])


class Figures(AblateCase):
    def test_scripts_without_gnuplot(self):
        """A PATH like this one's but for gnuplot."""
        programs = self.folder / "bin"
        programs.mkdir()
        for folder in os.environ["PATH"].split(os.pathsep):
            for path in pathlib.Path(folder).glob("*"):
                if not path.name.startswith("gnuplot") and not (programs / path.name).is_symlink():
                    (programs / path.name).symlink_to(path)
        self.environment["PATH"] = str(programs)
        self.assertIn("gnuplot is not installed", self.small())
        names = self.names(self.work / "out" / "plots")
        self.assertIn("plots.gp", names)
        self.assertIn("methods.dat", names)
        self.assertFalse([name for name in names if name.endswith((".svg", ".png"))])
        self.assertNotIn("](plots/", (self.work / "out" / "summary.md").read_text())

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_figures(self):
        self.small()
        plots = self.work / "out" / "plots"
        summary = (self.work / "out" / "summary.md").read_text()
        shown = re.findall(r"\]\((plots/\S+)\)", summary)
        self.assertTrue(shown)
        for name in shown:
            svg = (self.work / "out" / name).read_text(encoding="utf-8")
            self.assertIn("<svg", svg)
            self.assertGreater(svg.count("<path"), 2)
            png = (self.work / "out" / name).with_suffix(".png").read_bytes()
            self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
            self.assertGreater(len(png), 2000)
        self.assertNotIn("methods.svg", [p.name for p in plots.glob("*.svg") if p.stat().st_size == 0])


if __name__ == "__main__":
    unittest.main()
