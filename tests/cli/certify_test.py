"""Tests of bf-aot certify. Run as cli_test.py is."""

import csv
import io
import itertools
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

try:
    import numpy as np
except ImportError:
    print("skipped: no NumPy")
    sys.exit(0)

sys.dont_write_bytecode = True
from harness import BF_AOT, CONTROLLER, MODELS, Case  # noqa: E402
from small_models import model, node, tensor, write_model  # noqa: E402

EXAMPLE = MODELS / "examples" / "robustness"
DIGITS = EXAMPLE / "digits_cnn.onnx"
DATA = EXAMPLE / "digits_test.npz"
SCALED = ("--scale", "16", "--clip", "0,1")


class CertifyCase(Case):
    def certify(self, *more, code=0, data=DATA, model=DIGITS):
        return self.run_json("certify", model, "--data", data, *more, code=code)

    def save(self, name, **arrays):
        np.savez(self.work / name, **arrays)
        return self.work / name

    def rows(self, name):
        return list(csv.DictReader(io.StringIO((self.work / name).read_text())))


class Certify(CertifyCase):
    def test_certified_accuracy(self):
        found = self.certify(*SCALED, "--eps", "0.005,0.03", "--csv", "all.csv")
        self.assertEqual([radius["eps"] for radius in found["radii"]], ["0.005", "0.03"])
        for radius in found["radii"]:
            counts = [radius[key] for key in ("certified", "unknown", "falsified", "wrong")]
            self.assertEqual(sum(counts), 300)
            self.assertAlmostEqual(radius["certified_accuracy"], radius["certified"] / 300)
        self.assertGreater(found["radii"][0]["certified"], found["radii"][1]["certified"])
        self.assertGreater(found["radii"][1]["certified"], 250)
        rows = self.rows("all.csv")
        self.assertEqual(len(rows), 600)
        for row in rows:
            self.assertEqual(row["status"] == "certified", float(row["margin"]) > 0)
            self.assertEqual(row["status"] == "wrong", row["answer"] != row["label"])
        self.assertEqual(self.names(), ["all.csv"])

    def test_the_gate(self):
        _, errors = self.run_tool("certify", DIGITS, "--data", DATA, *SCALED, "--eps", "0.01",
                                  "--min-certified", "0.9")
        self.assertEqual(errors, "")
        output, _ = self.run_tool("certify", DIGITS, "--data", DATA, *SCALED, "--eps", "0.01,0.05",
                                  "--min-certified", "0.9,0.99", "--junit", "j.xml", code=3)
        self.assertIn("passed", output)
        self.assertIn("failed: at least 0.99 is asked for", output)
        suite = xml.etree.ElementTree.parse(self.work / "j.xml").getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("2", "1"))
        self.assertEqual([len(case.findall("failure")) for case in suite], [0, 1])
        self.assertIn("sample", suite[1].find("system-out").text)

    def test_the_threads_change_nothing(self):
        one = self.certify(*SCALED, "--eps", "0.03", "--count", "100", "--jobs", "1")
        three = self.certify(*SCALED, "--eps", "0.03", "--count", "100", "--jobs", "3")
        self.assertEqual(one["radii"], three["radii"])

    def test_counterexamples(self):
        found = self.certify(*SCALED, "--eps", "0.1", "--count", "12", "--decide",
                             "--decide-seconds", "2", "--counterexamples", "c.npz", "--html",
                             "c.html")
        falsified = found["radii"][0]["falsified"]
        self.assertGreater(falsified, 0)
        saved = np.load(self.work / "c.npz")
        self.assertEqual(saved["x"].shape, (falsified, 1, 8, 8))
        data = np.load(DATA)
        self.assertTrue((data["y"][saved["sample"]] == saved["label"]).all())
        for x, sample in zip(saved["x"], saved["sample"]):
            # Differences of such doubles are exact.
            self.assertLessEqual(np.abs(x - data["x"][sample] / 16).max(), 0.1 + 1e-17)
            self.assertTrue(((0 <= x) & (x <= 1)).all())
        page = (self.work / "c.html").read_text()
        self.assertIn("data:image/png;base64,", page)
        self.assertIn("falsified", page)
        self.assertNotIn("<script", page)

    def test_folders_of_pictures_and_flat_rows_are_the_same_data(self):
        data = np.load(DATA)
        rows = "\n".join(",".join(map(str, [y, *x.ravel()])) for x, y in zip(data["x"], data["y"]))
        names = ",".join(["label", *(f"p{i}" for i in range(64))])
        table = self.write("x.csv", f"{names}\n{rows}\n")
        options = (*SCALED, "--eps", "0.03", "--count", "40")
        expected = self.certify(*options)["radii"]
        self.assertEqual(self.certify(*options, data=table)["radii"], expected)
        np.save(self.work / "x.npy", data["x"].reshape(-1, 64).astype(np.float32))
        labels = self.write("y.csv", "\n".join(map(str, data["y"])) + "\n")
        self.assertEqual(
            self.certify(*options, "--labels", labels, data=self.work / "x.npy")["radii"], expected)

    def test_normalisation(self):
        """(x / 16 - 0) / 1 and eps as they are; and a model of inputs in 0 to 16 differs."""
        plain = self.certify(*SCALED, "--eps", "0.02", "--count", "60")["radii"]
        data = np.load(DATA)
        x = data["x"].astype(np.float64) / 16 * 0.5 + 0.25
        half = self.save("half.npz", x=x, y=data["y"])
        moved = self.certify("--mean", "0.25", "--std", "0.5", "--eps", "0.01", "--clip",
                             "0.25,0.75", "--count", "60", data=half)["radii"]
        for key in ("certified", "wrong"):
            self.assertEqual(moved[0][key], plain[0][key])

    def test_a_regressor(self):
        rng = np.random.default_rng(2)
        x = rng.uniform(-0.3, 0.3, (20, 5))
        data = self.save("r.npz", x=x, y=np.zeros(20))
        wide = self.certify("--eps", "0.01", "--within", "1000", data=data, model=CONTROLLER)
        self.assertEqual(wide["radii"][0]["certified"], 20)
        tight = self.certify("--eps", "0.01", "--within", "0.0001", "--csv", "r.csv", data=data,
                             model=CONTROLLER)
        self.assertEqual(tight["radii"][0]["certified"], 0)
        row = self.rows("r.csv")[0]
        self.assertLess(float(row["lower_0"]), float(row["upper_0"]))

    def test_rows(self):
        data = self.save("b.npz", low=np.full((3, 5), 0.1), high=np.full((3, 5), 0.11))
        rows = self.write("rows.json", {"C": [[1, 0, 0, 0, 0]], "d": [-1000]})
        found = self.certify("--box-columns", "low,high", "--rows", rows, data=data,
                             model=CONTROLLER)
        self.assertEqual(found["radii"][0]["certified"], 3)
        rows = self.write("rows.json", {"C": [[1, 0, 0, 0, 0]], "d": [1000]})
        found = self.certify("--box-columns", "low,high", "--rows", rows, data=data,
                             model=CONTROLLER)
        self.assertEqual(found["radii"][0]["wrong"], 3)

    def test_balls(self):
        def certified(norm, *more):
            return self.certify("--scale", "16", "--eps", "0.1", "--count", "100", "--norm", norm,
                                *more)["radii"][0]["certified"]

        found = [certified(norm) for norm in ("linf", "l2", "l1")]
        self.assertEqual(found, sorted(found))
        self.assertLess(found[0] + 20, found[1])
        # A ball is not cut at the range.
        self.assertEqual(certified("l2", "--clip", "0,1"), found[1])
        output, _ = self.run_tool("certify", DIGITS, "--data", DATA, "--scale", "16", "--eps", "0.1", "--norm",
                                  "l2", "--count", "5", "--html", "b.html", "--junit", "b.xml")
        self.assertIn("crown, balls in l2", output)
        self.assertIn("crown, balls in l2", (self.work / "b.html").read_text())
        self.assertIn("every input of its ball", (self.work / "b.html").read_text())
        self.assertIn("eps 0.1 in l2", (self.work / "b.xml").read_text())

    def test_balls_are_decided(self):
        for norm, eps, how in (("l2", 0.3, "--decide"), ("l1", 0.8, "--complete")):
            with self.subTest(norm=norm):
                options = ("--scale", "16", "--clip", "0,1", "--eps", str(eps), "--count", "8", "--norm", norm,
                           "--decide-seconds", "4")  # busy machines need more than one
                bounds = self.certify(*options)["radii"][0]
                found = self.certify(*options, how, "--csv", "b.csv", "--counterexamples", "b.npz")["radii"][0]
                self.assertGreaterEqual(found["certified"], bounds["certified"])
                self.assertLess(found["unknown"], bounds["unknown"])
                self.assertGreater(found["falsified"], 0)
                made = np.load(self.work / "b.npz")
                samples = np.load(DATA)
                for x, number in zip(made["x"].reshape(len(made["x"]), -1), made["sample"]):
                    centre = samples["x"][number].reshape(-1).astype(np.float64) / 16
                    parts = abs(x - centre)
                    size = (parts ** 2).sum() ** 0.5 if norm == "l2" else parts.sum()
                    self.assertLessEqual(size, eps * (1 + 1e-9))
                    # The range cuts counterexamples.
                    self.assertTrue(((x >= 0) & (x <= 1)).all())

    def slopes_model(self):
        # y = relu(x_0 - 2 x_1) - relu(2 x_1 - x_0) / 2 + 3 relu(x_2): slopes by x_0 are 1 and 1/2.
        nodes = [node("Gemm", ["x", "w", "b"], "h"), node("Relu", ["h"], "r"),
                 node("Gemm", ["r", "v", "c"], "y")]
        constants = [tensor("w", [3, 3], [1, -1, 0, -2, 2, 0, 0, 0, 1]), tensor("b", [3], [0, 0, 0]),
                     tensor("v", [3, 1], [1, -0.5, 3]), tensor("c", [1], [0])]
        return write_model(self.work / "slopes.onnx",
                           model("slopes", nodes, constants, [1, 3], [1, 1]))

    def test_slopes(self):
        slopes = self.slopes_model()
        data = self.save("s.npz", x=np.array([[0.5, 0.25, 1], [1, 0, 1], [0, 1, -1], [0, 0, 0]]))

        def found(*more):
            radius = self.certify("--eps", "0.125", *more, "--csv", "s.csv", data=data,
                                  model=slopes)["radii"][0]
            return [radius[key] for key in ("certified", "unknown", "falsified", "wrong")]

        # 0 is the exact bound where relu(x_0 - 2 x_1) may be 0: rounding goes a little below.
        least = "--min-slope=-1e-5"
        self.assertEqual(found("--increasing", "0", "--decreasing", "1"), [2, 2, 0, 0])
        self.assertEqual(found("--increasing", "0", "--decreasing", "1", least), [4, 0, 0, 0])
        self.assertEqual(found("--increasing", "1"), [0, 2, 0, 2])
        self.assertEqual(found("--increasing", "2", least), [4, 0, 0, 0])
        self.assertEqual(found("--increasing", "2", "--min-slope", "2.9"), [2, 1, 0, 1])
        self.assertEqual(found("--increasing", "0", "--min-slope", "0.75"), [1, 2, 0, 1])
        self.assertEqual(found("--decreasing", "0", "--min-slope=-1.51"), [4, 0, 0, 0])
        self.assertEqual(found("--decreasing", "0", "--min-slope=-0.75"), [1, 2, 0, 1])
        # Of 5 - y, all but the slope by input 2 where relu(x_2) is 0.
        turned = self.write("turned.json", {"C": [[-1]], "d": [5]})
        self.assertEqual(found("--decreasing", "0,2", "--rows", turned, least), [4, 0, 0, 0])
        self.assertEqual(found("--decreasing", "0", "--increasing", "2", "--rows", turned, least),
                         [1, 1, 0, 2])
        self.assertEqual([row["rival"] for row in self.rows("s.csv")], ["0"] * 4)

    def test_an_unfinished_file_is_of_its_outputs(self):
        # Another tensor is another question, though the model's file is the same.
        slopes = self.slopes_model()
        x = np.full((70, 3), 0.5)
        x[69] = 2  # ends a run behind its first round of samples
        data = self.save("s.npz", x=x)
        questions = set()
        for more in ([], ["--output-tensor", "r"], ["--min-slope", "1"], ["--increasing", "1"]):
            self.run_tool("certify", slopes, "--data", data, "--eps", "0.1", "--clip", "0,1", "--jobs", "1",
                          "--decreasing", "2", "--csv", "s.csv", *more, code=1)
            questions.add((self.work / "s.csv.part").read_text())
        self.assertEqual(len(questions), 4)

    def test_samples_are_those_of_the_data(self):
        options = (*SCALED, "--eps", "0.1", "--first", "70", "--count", "10", "--decide",
                   "--decide-seconds", "2", "--counterexamples", "c.npz", "--csv", "c.csv")
        self.certify(*options)
        self.assertEqual([int(row["sample"]) for row in self.rows("c.csv")], list(range(70, 80)))
        data, saved = np.load(DATA), np.load(self.work / "c.npz")
        self.assertGreater(len(saved["x"]), 0)
        for x, sample in zip(saved["x"], saved["sample"]):
            self.assertLessEqual(np.abs(x - data["x"][sample] / 16).max(), 0.1 + 1e-17)

    def test_semantics(self):
        options = (*SCALED, "--eps", "0.03", "--count", "60")
        real = self.certify(*options)["radii"][0]["certified"]
        for semantics in (["float32"], ["float32-exact"], ["float32", "--flush-to-zero"]):
            found = self.certify(*options, "--semantics", *semantics)["radii"][0]["certified"]
            self.assertLessEqual(found, real)
            self.assertGreater(found, real - 5)

    def test_remarks(self):
        data = np.load(DATA)
        wrong = self.save("w.npz", x=data["x"], y=(data["y"] + 1) % 10)
        _, errors = self.run_tool("certify", DIGITS, "--data", wrong, *SCALED, "--eps", "0.01")
        self.assertIn("as by chance: check --scale", errors)


class CertifyResume(CertifyCase):
    OPTIONS = ("certify", DIGITS, "--data", DATA, *SCALED, "--eps", "0.08", "--count", "24",
               "--decide", "--decide-seconds", "1", "--jobs", "1", "--csv", "r.csv")

    def test_goes_on(self):
        process = self.start(*self.OPTIONS)
        part = self.work / "r.csv.part"
        deadline = time.monotonic() + 250
        while not part.exists() or (self.work / "r.csv").read_text().count("\n") < 5:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=100)
        self.assertEqual(process.returncode, 130)
        self.assertTrue(part.exists())
        before = (self.work / "r.csv").read_text()
        rows = before.count("\n") - 1
        self.assertLess(rows, 24)

        # Another question begins anew; the same one, whose last row was cut, goes on.
        (self.work / "r.csv").write_text(before + "0.08,2")
        output, errors = self.run_tool(*self.OPTIONS)
        self.assertIn(f"{rows} results of r.csv are from an earlier run", errors)
        self.assertTrue((self.work / "r.csv").read_text().startswith(before))
        self.assertEqual(sorted(int(row["sample"]) for row in self.rows("r.csv")),
                         list(range(24)))
        self.assertFalse(part.exists())

        part.write_text("another question\n")
        _, errors = self.run_tool("certify", DIGITS, "--data", DATA, *SCALED, "--eps", "0.01", "--count",
                                  "3", "--csv", "r.csv")
        self.assertEqual(errors, "")
        self.assertEqual(len(self.rows("r.csv")), 3)


class CertifyComplete(CertifyCase):
    OPTIONS = (*SCALED, "--complete", "--eps", "0.01,0.03,0.05", "--count", "30", "--decide-seconds", "30")

    def counts(self, found):
        return [{key: radius[key] for key in ("certified", "falsified", "wrong")}
                for radius in found["radii"]]

    def test_decides_what_decide_does(self):
        found = self.certify(*self.OPTIONS, "--csv", "c.csv", "--html", "c.html", "--proofs", "proofs")
        self.assertEqual(found["method"], "complete")
        self.assertEqual(sum(radius["unknown"] for radius in found["radii"]), 0)
        plain = self.certify(*SCALED, "--eps", "0.01,0.03,0.05", "--count", "30", "--decide",
                             "--decide-seconds", "20")
        self.assertEqual(self.counts(found), self.counts(plain))
        self.assertEqual(found["proofs"], sum(radius["certified"] + radius["falsified"]
                                              for radius in found["radii"]))
        stages = {stage["stage"]: stage for stage in found["stages"]}
        self.assertLess({"sample", "attack", "ibp", "crown-ibp", "crown", "split"}, set(stages) | {""})
        rows = self.rows("c.csv")
        self.assertEqual(len(rows), 90)
        for row in rows:
            self.assertIn(row["stage"], stages)
        for key in ("certified", "falsified", "wrong"):
            # Samples that another radius decides are not counted anew.
            self.assertLessEqual(sum(stage[key] for stage in stages.values()),
                                 sum(radius[key] for radius in found["radii"]))
        self.assertIn("Stages", (self.work / "c.html").read_text())

    def test_parts_make_the_whole(self):
        whole = self.certify(*self.OPTIONS, "--checkpoint", "whole.json")
        for i in range(3):
            part = self.certify(*self.OPTIONS, "--part", f"{i}/3", "--save-part", f"p{i}.json")
            self.assertEqual(part["part"], {"index": i, "count": 3})
            self.assertEqual(sum(part["radii"][0][key] for key in
                                 ("certified", "falsified", "unknown", "wrong")), 10)
        parts = [f"p{i}.json" for i in range(3)]
        merged = self.run_json("merge", *parts)
        self.assertEqual(self.counts(merged["runs"][0]), self.counts(whole))
        self.assert_refused("BF3019", "merge", *parts[:2], says=["part 2 of 3 is missing"])
        self.assert_refused("BF3019", "merge", parts[0], *parts, says=["part 0 is in"])
        # A finished file has all answers, and nothing is done anew.
        again = self.certify(*self.OPTIONS, "--checkpoint", "whole.json", "--quiet")
        self.assertEqual(again["radii"], whole["radii"])
        self.assertEqual([stage["seconds"] for stage in again["stages"]],
                         [stage["seconds"] for stage in whole["stages"]])
        self.assert_refused("BF3018", "certify", DIGITS, "--data", DATA, *SCALED, "--complete", "--eps",
                            "0.02", "--checkpoint", "whole.json")
        text = (self.work / "p1.json").read_text()
        for old, new in (('"certified"', '"right"'), ('"sample":1,', '"sample":2,'), ('"count":3', '"count":0')):
            self.write("bad.json", text.replace(old, new))
            self.assert_refused("BF3017", "merge", "bad.json")

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def test_parts_by_ranks(self):
        command = (f"{BF_AOT} certify {DIGITS} --data {DATA} --scale 16 --clip 0,1 --eps 0.01 --count 9 --complete "
                   "--jobs 1 --part $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE "
                   "--save-part part-$OMPI_COMM_WORLD_RANK.json")
        launched = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "3", "sh", "-c", command],
                                  cwd=self.work, capture_output=True, text=True, timeout=120, check=False)
        if launched.returncode != 0 and "--allow-run-as-root" in launched.stderr:
            self.skipTest("mpirun is not Open MPI's")
        self.assertEqual(launched.returncode, 0, launched.stderr)
        merged = self.run_json("merge", *(f"part-{i}.json" for i in range(3)))
        radius = merged["runs"][0]["radii"][0]
        self.assertEqual(sum(radius[key] for key in ("certified", "falsified", "unknown", "wrong")), 9)

    def test_networks_beside_each_other(self):
        for name, first in (("a", "0"), ("b", "30")):
            self.certify(*SCALED, "--complete", "--eps", "0.01,0.02", "--first", first, "--count", "20",
                         "--checkpoint", f"{name}.json")
        found = self.run_json("merge", "a.json", "b.json", "--html", "front.html")
        for radius in (0, 1):
            shares = [run["radii"][radius] for run in found["runs"]]
            self.assertTrue(any(share["on_front"] for share in shares))
        output, _ = self.run_tool("merge", "a.json", "b.json")
        self.assertIn("on the front", output)
        page = (self.work / "front.html").read_text()
        self.assertIn("Networks, eps 0.02", page)
        self.assertNotIn("<script", page)

    def test_goes_on_after_a_signal_and_within_a_time(self):
        options = (*SCALED, "--complete", "--eps", "0.05", "--count", "80", "--decide-seconds", "30",
                   "--checkpoint", "r.json", "--jobs", "1")
        process = self.start("certify", DIGITS, "--data", DATA, *options, "--csv", "r.csv")
        deadline = time.monotonic() + 250
        while (not (self.work / "r.csv").exists() or
               (self.work / "r.csv").read_text().count("\n") < 5):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=100)
        self.assertEqual(process.returncode, 130)
        kept = json.loads((self.work / "r.json").read_text())["results"]
        self.assertGreater(len(kept), 0)
        begun = time.monotonic()
        short = self.certify(*options, "--timeout", "0.001", "--quiet")
        self.assertLess(time.monotonic() - begun, 60)
        self.assertEqual(short["samples"], 80)
        found = self.certify(*options, "--quiet")
        self.assertEqual(found["radii"][0]["unknown"], 0)

    def test_usage(self):
        for more in (("--timeout", "1"), ("--part", "0/2", "--save-part", "p"), ("--checkpoint", "c"),
                     ("--complete", "--method", "ibp"), ("--complete", "--decide"),
                     ("--complete", "--part", "0/2"), ("--complete", "--part", "2/2", "--save-part", "p"),
                     ("--complete", "--within", "1")):
            self.run_tool("certify", DIGITS, "--data", DATA, "--eps", "0.1", *more, code=2)


class CertifyExplain(CertifyCase):
    def explain(self, path, x, labels, eps, *more):
        data = self.save("data.npz", x=x, y=labels)
        self.certify("--eps", str(eps), "--decide", "--explain", "why.json", *more, data=data, model=path)
        return json.loads((self.work / "why.json").read_text())["explanations"]

    def write_relu(self, name, first, second):
        """y = second relu(first x), or second x where there is no first."""
        inputs = len((first or second)[0])
        nodes, initializers, hidden = [], [], "x"
        if first:
            nodes = [node("MatMul", ["x", "a"], "h"), node("Relu", ["h"], "r")]
            initializers = [tensor("a", (inputs, len(first)), [v for column in zip(*first) for v in column])]
            hidden = "r"
        width = len(second[0])
        nodes.append(node("MatMul", [hidden, "b"], "y"))
        initializers.append(tensor("b", (width, len(second)), [v for column in zip(*second) for v in column]))
        return write_model(self.work / name, model("m", nodes, initializers, (1, inputs), (1, len(second))))

    def test_smallest_sets_of_linear_networks(self):
        """Their least margin on a box is a sum, so that every set can be tried exactly."""
        rng = np.random.default_rng(4)
        found = set()
        for trial in range(6):
            weights = rng.integers(-8, 9, (3, 6)) / 4
            x = rng.integers(-8, 9, (2, 6)) / 8
            labels = (x @ weights.T).argmax(axis=1)
            path = self.write_relu("m.onnx", None, weights.tolist())
            for each in self.explain(path, np.float32(x), labels, 0.5):
                i = each["sample"]

                def keeps(fixed, i=i):
                    free = [k for k in range(6) if k not in fixed]
                    rows = [weights[labels[i]] - row for j, row in enumerate(weights) if j != labels[i]]
                    return all(row @ x[i] - 0.5 * np.abs(row[free]).sum() > 0 for row in rows)

                least = next(size for size in range(7)
                             if any(keeps(s) for s in itertools.combinations(range(6), size)))
                self.assertTrue(each["smallest"] and each["minimal"], (trial, each))
                self.assertTrue(keeps(each["fixed"]))
                self.assertEqual(len(each["fixed"]), least)
                found.add(least)
        self.assertGreater(len(found), 1)

    def test_networks_with_neurons(self):
        rng = np.random.default_rng(9)
        first, second = rng.integers(-8, 9, (8, 5)) / 4, rng.integers(-8, 9, (3, 8)) / 4
        x = rng.integers(-8, 9, (4, 5)) / 8

        def answer(points):
            return (np.maximum(points @ first.T, 0) @ second.T).argmax(axis=-1)

        path = self.write_relu("m.onnx", first.tolist(), second.tolist())
        for each in self.explain(path, np.float32(x), answer(x), 0.25):
            at = x[each["sample"]]
            points = at + rng.uniform(-0.25, 0.25, (2000, 5))
            points[:, each["fixed"]] = at[each["fixed"]]
            self.assertTrue((answer(points) == answer(at)).all())
            self.assertTrue(each["smallest"])

    def test_a_sample_whose_own_answer_is_not_proven(self):
        """In doubles 1 - 2^-60 - 1 is 0, more than the other output; exactly it is less."""
        path = self.write_relu("m.onnx", None, [[1, 2**-60, -1], [0, 2**-70, 0]])
        found = self.explain(path, np.float32([[1, -1, 1]]), np.array([0]), 0.25)
        self.assertEqual([each["fixed"] for each in found], [None])

    def test_many_inputs(self):
        self.certify(*SCALED, "--eps", "0.05", "--count", "3", "--decide", "--explain", "why.json")
        for each in json.loads((self.work / "why.json").read_text())["explanations"]:
            self.assertEqual(each["fixed"], sorted(set(each["fixed"])))
            self.assertEqual(each["smallest"], not each["fixed"])
        self.run_tool("certify", DIGITS, "--data", DATA, "--eps", "0.1", "--complete", "--explain", "w",
                      code=2)


class CertifyBadInput(CertifyCase):
    def refused(self, code, *more, data=DATA, model=DIGITS, says=()):
        return self.assert_refused(code, "certify", model, "--data", data, *more, says=says)

    def test_data(self):
        x = np.zeros((4, 1, 8, 8))
        self.refused("BF3001", "--eps", "1", data=self.work / "none.npz")
        self.refused("BF3011", "--eps", "1", data=self.write("bad.npy", "no array"))
        self.refused("BF3015", "--eps", "1", data=self.write("bad.csv", "a,b\n1,x\n"),
                     says=["bad.csv:2", "'x' in column b"])
        self.refused("BF3016", "--eps", "1", data=self.save("a.npz", x=x), says=["no labels"])
        self.refused("BF3016", "--eps", "1", data=self.save("b.npz", x=x, y=[0, 1, 2, 10]),
                     says=["sample 3", "label 10"])
        self.refused("BF3016", "--eps", "1", data=self.save("c.npz", x=x[:, :, :7], y=[0] * 4),
                     says=["56 numbers", "64 inputs"])
        self.refused("BF3016", "--eps", "1", "--clip", "0,1", data=DATA, says=["--scale 255"])
        x[2, 0, 3, 3] = np.nan
        self.refused("BF3016", "--eps", "1", data=self.save("d.npz", x=x, y=[0] * 4),
                     says=["sample 2, input 27"])

    def test_a_network_that_ends_in_the_class(self):
        nodes = [node("MatMul", ["x", "w"], "scores"),
                 node("ArgMax", ["scores"], "best", attributes='attribute { name: "axis" i: 1 type: INT }'),
                 node("Cast", ["best"], "y", attributes='attribute { name: "to" i: 1 type: INT }')]
        text = model("chosen", nodes, [tensor("w", (2, 3), (1, 0, -1, 0, 1, -1))], (1, 2), (1, 1))
        path = write_model(self.work / "chosen.onnx", text)
        data = self.save("data.npz", x=np.float32([[2, 0], [0, 2]]), y=np.array([0, 1]))
        self.assert_refused("BF3501", "certify", path, "--data", data, "--eps", "0.5",
                            says=["this model has one", "--output-tensor scores"])
        found = self.certify("--eps", "0.5", "--output-tensor", "scores", data=data, model=path)
        self.assertEqual(found["radii"][0]["certified"], 2)

    def test_options(self):
        self.refused("BF3013")
        self.refused("BF3013", "--eps", "x", says=["--eps"])
        self.refused("BF3013", "--eps=-1", says=["negative"])
        self.refused("BF3013", "--eps", "0.1", "--std", "0", says=["--std", "not positive"])
        self.refused("BF3013", "--eps", "0.1", "--clip", "1,0", says=["--clip"])
        self.refused("BF3013", "--eps", "0.1,0.2", "--min-certified", "0.1,0.2,0.3")
        self.refused("BF3013", "--eps", "0.1", "--first", "300", says=["--first"])
        self.refused("BF3013", "--eps", "0.1", "--mean", "1,2", "--std", "1,2,3")
        self.refused("BF3013", "--eps", "0.1", "--within=-1", says=["--within"])
        self.refused("BF3315", "--eps", "0.1", "--flush-to-zero")
        self.refused("BF3013", "--eps", "0.1", "--min-slope", "1", says=["--increasing"])
        self.refused("BF3013", "--eps", "0.1", "--increasing", "0", "--min-slope", "x")
        self.refused("BF2121", "--eps", "0.1", "--increasing", "64", says=["0 to 63"])
        self.refused("BF2117", "--eps", "0.1", "--norm", "l2", "--method", "ibp")
        self.refused("BF3024", "--eps", "0.1", "--norm", "l2", "--decide", "--proofs", "proofs")
        self.refused("BF3013", "--box-columns", "x,x", "--norm", "l2", says=["--norm"])
        self.refused("BF3501", "--eps", "0.1", "--increasing", "0", "--semantics", "float32",
                     says=["real arithmetic"])
        for other in (["--within", "1"], ["--decide"]):
            self.run_tool("certify", DIGITS, "--data", DATA, "--eps", "0.1", "--decreasing", "0", *other,
                          code=2)
        self.refused("BF1001", "--eps", "0.1", model=self.work / "none.onnx")


if __name__ == "__main__":
    unittest.main()
