"""Tests of bf-aot certify --disturbance against a reference in NumPy. Run as cli_test.py is."""

import json
import signal
import sys
import time
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: no NumPy")
    sys.exit(0)

sys.dont_write_bytecode = True
from harness import MODELS, Case  # noqa: E402
from small_models import model, node, tensor, write_model  # noqa: E402

EXAMPLE = MODELS / "examples" / "robustness"
DIGITS = EXAMPLE / "digits_cnn.onnx"
DATA = EXAMPLE / "digits_test.npz"
SCALED = ("--scale", "16", "--clip", "0,1")


def sampled(picture, x, y):
    """The picture at points between its pixels, 0 outside: each pixel with the weight of a tent."""
    height, width = picture.shape
    columns = np.maximum(1 - np.abs(x[..., None] - np.arange(width)), 0)
    rows = np.maximum(1 - np.abs(y[..., None] - np.arange(height)), 0)
    return np.einsum("...m,...n,mn->...", rows, columns, picture)


def moved(picture, kinds):
    """What docs/guide/disturbances.md says of the kinds that move pixels."""
    height, width = picture.shape
    y, x = np.mgrid[:height, :width].astype(float)
    y -= (height - 1) / 2
    x -= (width - 1) / 2
    for kind, by in reversed(kinds):
        if kind == "rotation":
            cos, sin = np.cos(np.radians(by)), np.sin(np.radians(by))
            x, y = cos * x - sin * y, sin * x + cos * y
        elif kind == "scaling":
            x, y = x / by, y / by
        elif kind == "shearing":
            x = x - by * y
        elif kind == "translation-x":
            x = x - by
        elif kind == "translation-y":
            y = y - by
    return sampled(picture, x + (width - 1) / 2, y + (height - 1) / 2)


def blurred(picture, deviation, most):
    reach = int(np.ceil(3 * most))
    g = np.exp(-np.arange(-reach, reach + 1) ** 2 / (2 * deviation ** 2))
    g /= g.sum()
    along = np.array([np.convolve(row, g)[reach:len(row) + reach] for row in picture])
    return np.array([np.convolve(row, g)[reach:len(row) + reach] for row in along.T]).T


def disturbed(picture, kinds, blur_most=0):
    made = moved(picture, kinds)
    for kind, by in kinds:
        if kind == "blur":
            made = blurred(made, by, blur_most)
    for kind, by in kinds:
        made = (made * by if kind == "contrast" else made + by if kind == "brightness"
                else (1 - by) * made + by if kind == "fog" else made)
    return np.clip(made, 0, 1)


class Disturb(Case):
    def setUp(self):
        super().setUp()
        with np.load(DATA) as data:
            self.x, self.y = data["x"].reshape(-1, 8, 8) / 16, data["y"]

    def certify(self, *more, data=DATA, scaled=SCALED):
        return self.run_json("certify", DIGITS, "--data", data, *scaled, *more)

    def right(self, pictures, labels):
        """How many pictures the network answers rightly."""
        np.savez(self.work / "made.npz", x=np.array(pictures).reshape(-1, 1, 8, 8), y=np.array(labels))
        found = self.certify("--eps", "0", "--quiet", data=self.work / "made.npz", scaled=())["radii"][0]
        return found["certified"]

    def check(self, count, kinds, *more, points=12):
        """Compares verdicts with the reference at parameters of the range."""
        text = ",".join(f"{kind}={low}..{high}" for kind, low, high in kinds)
        found = self.certify("--count", str(count), "--disturbance", text, "--counterexamples", "c.npz",
                             "--csv", "rows.csv", *more)
        self.assertEqual(found["disturbance"], text.replace(",", " "))
        lines = (self.work / "rows.csv").read_text().splitlines()[1:]
        status = [line.split(",")[5] for line in lines]
        (self.work / "rows.csv").unlink()
        with np.load(self.work / "c.npz") as made:
            refuted = {name: made[name] for name in made.files}
        self.assertEqual(len(refuted["sample"]), status.count("falsified"))
        names = [kind for kind, _, _ in kinds]
        most = max([high for kind, _, high in kinds if kind == "blur"], default=0)
        for i, at, x in zip(refuted["sample"], refuted["parameters"], refuted["x"]):
            for value, (_, low, high) in zip(at, kinds):
                self.assertTrue(low <= value <= high)
            np.testing.assert_allclose(x[0], disturbed(self.x[i], list(zip(names, at)), most), atol=1e-9)
        if len(refuted["sample"]):
            self.assertEqual(self.right(refuted["x"], refuted["label"]), 0)
        random = np.random.default_rng(5)
        held = [i for i in range(count) if status[i] == "certified"]
        pictures = []
        for i in held:
            for _ in range(points):
                u = random.choice([0, 1, random.uniform()], len(kinds))
                at = [low + (high - low) * share for (_, low, high), share in zip(kinds, u)]
                pictures.append(disturbed(self.x[i], list(zip(names, at)), most))
        self.assertEqual(self.right(pictures, np.repeat(self.y[held], points)), len(pictures))
        return status

    def test_rotation(self):
        status = self.check(120, [("rotation", -15, 15)])
        self.assertGreater(status.count("certified"), 70)
        self.assertGreater(status.count("falsified"), 10)
        self.assertEqual(status.count("unknown"), 0)

    def test_moves_together(self):
        status = self.check(30, [("rotation", -5, 5), ("scaling", 0.95, 1.05)], "--decide-seconds", "20")
        self.assertGreater(status.count("certified"), 20)
        status = self.check(15, [("shearing", -0.2, 0.2), ("translation-y", -0.25, 0.5)], "-m", "crown-ibp")
        self.assertGreater(status.count("certified"), 1)

    def test_light(self):
        status = self.check(60, [("contrast", 0.7, 1.2), ("brightness", -0.1, 0.1)])
        self.assertEqual(status.count("unknown"), 0)
        self.assertGreater(status.count("certified"), 40)
        status = self.check(60, [("fog", 0, 0.5)])
        self.assertEqual(status.count("unknown"), 0)
        self.assertGreater(min(status.count("falsified"), status.count("certified")), 5)

    def test_blur(self):
        status = self.check(60, [("blur", 0.3, 1)])
        self.assertGreater(min(status.count("falsified"), status.count("certified")), 5)

    def test_squares(self):
        found = self.certify("--count", "40", "--disturbance", "occlusion=1", "--csv", "rows.csv")["radii"][0]
        lines = (self.work / "rows.csv").read_text().splitlines()[1:]
        pictures, owners = [], []
        for i in range(40):
            for place in range(64):
                made = self.x[i].copy()
                made[place // 8, place % 8] = 0
                pictures.append(made)
                owners.append(i)
        # By all places: a sample is certified where the network answers each of them rightly.
        held = [i for i in range(40) if lines[i].split(",")[5] == "certified"]
        self.assertEqual(found["unknown"], 0)
        self.assertEqual(self.right([p for p, i in zip(pictures, owners) if i in held],
                                    [self.y[i] for i in owners if i in held]), 64 * len(held))
        for i in range(40):
            if lines[i].split(",")[5] == "falsified":
                own = [p for p, owner in zip(pictures, owners) if owner == i]
                self.assertLess(self.right(own, [self.y[i]] * 64), 64)
        patched = self.certify("--count", "40", "--disturbance", "patch=1")["radii"][0]
        self.assertLessEqual(patched["certified"], found["certified"])
        self.assertGreater(patched["certified"], 10)

    def test_time_that_ends_among_patches_certifies_none(self):
        """Sample 38 has a patch that changes its answer: whenever the time is over, it is not certified."""
        seconds, seen = 0.02, set()
        while seconds < 1:
            found = self.certify("--first", "38", "--count", "1", "--disturbance", "patch=2",
                                 "--decide-seconds", f"{seconds:.4f}")["radii"][0]
            self.assertEqual(found["certified"], 0)
            seen.add(found["falsified"])
            seconds *= 1.2
        self.assertEqual(seen, {0, 1})

    # ---- bounds and properties of one sample

    def pictures(self, sample, kinds, count):
        """Pictures at random parameters of the ranges, their ends among them."""
        random = np.random.default_rng(7)
        for _ in range(count):
            u = random.choice([0, 1, random.uniform()], len(kinds))
            at = [low + (high - low) * share for (_, low, high), share in zip(kinds, u)]
            yield disturbed(self.x[sample], list(zip([kind for kind, _, _ in kinds], at)))

    def outputs(self, picture):
        box = picture.ravel().tolist()
        found = self.run_json("run", DIGITS, "--box", self.write("p.json", {"lower": box, "upper": box}), "-m", "ibp")
        return [(a + b) / 2 for a, b in zip(found["outputs"]["lower"], found["outputs"]["upper"])]

    def test_bounds_of_outputs(self):
        for kinds in ([("rotation", -5, 5)], [("contrast", 0.8, 1.2), ("fog", 0, 0.1)]):
            text = ",".join(f"{kind}={low}..{high}" for kind, low, high in kinds)
            widths = []
            for parts in (1, 16, 64):
                found = self.run_json("run", DIGITS, "--data", DATA, "--sample", "3", *SCALED, "--disturbance", text,
                                      "--parts", parts)
                self.assertEqual((found["parts"], found["disturbance"]), (parts, text.replace(",", " ")))
                lower, upper = found["outputs"]["lower"], found["outputs"]["upper"]
                widths.append(sum(upper) - sum(lower))
                values = [self.outputs(picture) for picture in self.pictures(3, kinds, 6)]
                for i in range(10):
                    self.assertLessEqual(lower[i], min(y[i] for y in values) + 1e-4)
                    self.assertGreaterEqual(upper[i], max(y[i] for y in values) - 1e-4)
            self.assertLess(widths[1], widths[0])
            self.assertLess(widths[2], widths[1])
        spec = self.write("rows.json", {"C": [[1, -1] + [0] * 8]})
        found = self.run_json("run", DIGITS, "--data", DATA, "--sample", "3", *SCALED, "--disturbance", "fog=0..0.1",
                              "--spec", spec)
        self.assertEqual(len(found["spec"]["lower"]), 1)
        self.assertGreaterEqual(found["spec"]["lower"][0], found["outputs"]["lower"][0] - found["outputs"]["upper"][1])

    def prop(self, clause, low=-1, high=2):
        text = "".join(f"(declare-const X_{i} Real)\n" for i in range(64))
        text += "".join(f"(declare-const Y_{i} Real)\n" for i in range(10))
        text += "".join(f"(assert (>= X_{i} {low}))\n(assert (<= X_{i} {high}))\n" for i in range(64))
        path = self.work / "p.vnnlib"
        path.write_text(text + clause)
        return path

    def test_properties_of_a_sample(self):
        """As certify decides: the property that another class is at least as large is violated, or is not."""
        rows = ("certify", DIGITS, "--data", DATA, *SCALED, "--count", "12", "--disturbance", "rotation=-15..15",
                "--csv", "rows.csv")
        self.run_tool(*rows)
        status = [line.split(",")[5] for line in (self.work / "rows.csv").read_text().splitlines()[1:]]
        for i in [k for k in range(12) if status[k] in ("certified", "falsified")]:
            label = int(self.y[i])
            others = " ".join(f"(and (>= Y_{j} Y_{label}))" for j in range(10) if j != label)
            asked = ("verify", DIGITS, self.prop(f"(assert (or {others}))\n"), "--data", DATA, "--sample", i, *SCALED,
                     "--disturbance", "rotation=-15..15")
            holds = status[i] == "certified"
            found = self.run_json(*asked, code=0 if holds else 3)
            self.assertEqual(found["verdict"], "verified" if holds else "falsified")
            if not holds:
                angle = found["counterexample"]["parameters"]["rotation"]
                x = np.array([float(value) for value in found["counterexample"]["x"]]).reshape(8, 8)
                np.testing.assert_allclose(x, disturbed(self.x[i], [("rotation", angle)]), atol=1e-9)
                self.assertEqual(self.right([x], [label]), 0)
        self.assertIn("falsified", status)
        # No disturbed picture lies in the property's box.
        found = self.run_json("verify", DIGITS, self.prop("(assert (>= Y_0 -1e9))\n", 3, 4), "--data", DATA, *SCALED,
                              "--disturbance", "rotation=-15..15")
        self.assertEqual(found["verdict"], "verified")

    def test_a_search_is_kept_and_goes_on(self):
        wide = "rotation=-9..9,scaling=0.9..1.1"
        bound = self.run_json("run", DIGITS, "--data", DATA, *SCALED, "--disturbance", wide, "--parts", "64")
        prop = self.prop(f"(assert (>= Y_0 {bound['outputs']['upper'][0] + 0.001:.6f}))\n")
        asked = ["verify", DIGITS, prop, "--data", DATA, *SCALED, "--disturbance", wide]
        alone = self.run_json(*asked, "--jobs", "1")
        self.assertEqual(alone["verdict"], "verified")
        self.assertGreater(alone["boxes"], 8)
        asked += ["--checkpoint", "tree.json"]
        first = self.run_json(*asked, "--branch", "0.0001", code=4)
        self.assertLess(first["boxes"], alone["boxes"])
        second = self.run_json(*asked, "--branch", "60")
        self.assertEqual((second["verdict"], second["boxes"]), ("verified", alone["boxes"]))
        # A point of the file is one of the ranges, and has a number for each.
        for point in ([2.0, 0.5], [0.5], [-0.1, 0.5], [0.0] * 64):
            file = json.loads((self.work / "tree.json").read_text())
            file["witness"] = {"case": 0, "x": point}
            self.write("tree.json", file)
            self.assert_refused("BF3017", *asked, says=["witness"])
        asked[asked.index(wide)] = "rotation=-8..8,scaling=0.9..1.1"
        self.assert_refused("BF3018", *asked)

    def test_layouts_of_samples_change_nothing(self):
        """Rows of pixels with their channels, and channels of pixels, are the same pictures."""
        nodes = [node("Flatten", ["x"], "f"), node("MatMul", ["f", "w"], "y")]
        rng = np.random.default_rng(5)
        for channels in (1, 3):
            weights = [round(float(each), 3) for each in rng.normal(size=channels * 36 * 2)]
            network = write_model(self.work / "net.onnx",
                                  model("net", nodes, [tensor("w", (channels * 36, 2), weights)], (1, channels, 6, 6), (1, 2)))
            pictures = np.float32(rng.random((2, channels, 6, 6)))
            np.savez(self.work / "chw.npz", x=pictures, y=[0, 1])
            np.savez(self.work / "hwc.npz", x=pictures.transpose(0, 2, 3, 1), y=[0, 1])
            found = [self.run_json("run", network, "--data", f"{layout}.npz", "--layout", layout, "--disturbance",
                                   "rotation=-9..9")["outputs"] for layout in ("chw", "hwc")]
            self.assertEqual(found[0], found[1])
            rows = [self.run_json("certify", network, "--data", f"{layout}.npz", "--layout", layout, "--disturbance",
                                  "rotation=-9..9", "--csv", f"{layout}.csv") for layout in ("chw", "hwc")]
            self.assertEqual(rows[0]["radii"][0]["certified"], rows[1]["radii"][0]["certified"])
            self.assertEqual(*([line.split(",")[:-1] for line in (self.work / f"{layout}.csv").read_text().splitlines()]
                               for layout in ("chw", "hwc")))

    def test_questions_that_are_refused(self):
        asked = ["--data", DATA, *SCALED, "--disturbance", "fog=0..0.5"]
        conditions = self.prop("(assert (>= (+ Y_0 X_1) 3))\n")
        self.assert_refused("BF2117", "verify", DIGITS, conditions, *asked, says=["conditions on inputs"])
        plain = self.prop("(assert (>= Y_0 3))\n")
        self.assert_refused("BF2117", "verify", DIGITS, plain, *asked, "--semantics", "float32", says=["real arithmetic"])
        self.assert_refused("BF3013", "verify", DIGITS, plain, *asked, "--sample", "100000", says=["samples"])
        self.assert_refused("BF3013", "run", DIGITS, "--data", DATA, "--disturbance", "patch=1", says=["valid numbers"])
        self.assert_refused("BF3503", "run", DIGITS, "--data", DATA, "--clip", "0,1", "--disturbance", "fog=0..1",
                            says=["valid range"])
        self.run_tool("verify", DIGITS, plain, *asked, "--part", "0/2", "--save-part", "p.json", code=2)
        self.run_tool("run", DIGITS, *asked, "--box", "b.json", code=2)
        for option in (("--device", "opencl:7"), ("--search", "5")):
            self.run_tool("verify", DIGITS, plain, *asked, *option, code=2)
        self.run_tool("run", DIGITS, *asked, "--jobs", "4", code=2)

    def test_is_interrupted_and_goes_on(self):
        # Three parameters of a wide range take all of their time.
        question = ("certify", DIGITS, "--data", DATA, *SCALED, "--count", "8", "--jobs", "1", "--decide-seconds",
                    "100", "--disturbance", "rotation=-9..9,scaling=0.9..1.1,shearing=-0.1..0.1", "--csv", "r.csv")
        process = self.start(*question)
        deadline = time.monotonic() + 250
        while not (self.work / "r.csv.part").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=100)
        self.assertEqual(process.returncode, 130)
        question = [{"100": "0.01"}.get(word, word) for word in question]
        self.run_tool(*question)
        self.assertEqual((self.work / "r.csv").read_text().count("\n"), 9)

    def test_flat_inputs_and_what_is_refused(self):
        text = model("flat", [node("MatMul", ["x", "w"], "y")], [tensor("w", (4, 2), (1, 0, 0, 1, 0, 1, 1, 0))],
                     (1, 4), (1, 2))
        flat = write_model(self.work / "flat.onnx", text)
        pictures = np.float32([[[1, 0], [0, 1]], [[0, 1], [1, 0]]])
        np.savez(self.work / "pictures.npz", x=pictures, y=[0, 1])
        # Turned by 45 degrees the two pictures are the same.
        for most, certified in (("44", 2), ("46", 0)):
            found = self.run_json("certify", flat, "--data", self.work / "pictures.npz",
                                  "--disturbance", f"rotation=0..{most}")["radii"][0]
            self.assertEqual((found["certified"], found["unknown"]), (certified, 0))
        np.savez(self.work / "flat.npz", x=pictures.reshape(2, 4), y=[0, 1])

        def refused(code, *more, network=DIGITS, data=DATA, says=()):
            self.assert_refused(code, "certify", network, "--data", data, *more, says=says)

        refused("BF3016", "--disturbance", "rotation=-1..1", network=flat, data=self.work / "flat.npz",
                says=["no height and width"])
        refused("BF3013", "--disturbance", "spin=1..2", says=["spin is no kind", "rotation=LO..HI"])
        refused("BF3013", "--disturbance", "fog=0..1", "--eps", "0.1", says=["there are boxes already"])
        refused("BF3013", "--disturbance", "fog=0..1", "--norm", "l2", says=["no balls"])
        refused("BF3503", "--clip", "0,1", "--disturbance", "fog=0..1", says=["valid range"])
        self.run_tool("certify", DIGITS, "--data", DATA, "--disturbance", "fog=0..1", "--complete", code=2)


if __name__ == "__main__":
    unittest.main()
