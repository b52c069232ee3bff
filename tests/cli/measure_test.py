"""Tests of bf-aot verify --measure. Run as cli_test.py is."""

import json
import random
import sys
import unittest
from fractions import Fraction

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, Case  # noqa: E402

TINY = MODELS / "tiny.onnx"
WIDE = MODELS / "properties" / "collision_avoidance_6x50_wide.vnnlib"


def tiny(x):
    h = [max(Fraction(0), x[0] - 2 * x[1]), max(Fraction(0), x[0] / 2 + 3 * x[1] + 1)]
    return [h[0] - h[1] + Fraction(1, 2), -h[0] / 2 + h[1] / 4 - 1]


def text(box, conditions):
    lines = [f"(declare-const {name}_{i} Real)" for name in "XY" for i in (0, 1)]
    lines += [f"(assert (and (>= X_{i} {low}) (<= X_{i} {high})))" for i, (low, high) in enumerate(box)]
    return "\n".join(lines + conditions) + "\n"


class Measure(Case):
    BOX = (("-1.1", "0.7"), ("-0.9", "1.3"))
    CONDITIONS = ["(assert (or (>= Y_0 0.25) (and (< Y_1 -0.8) (>= Y_0 -1))))"]

    def violates(self, x):
        y = tiny(x)
        return y[0] >= Fraction(1, 4) or (y[1] < Fraction(-4, 5) and y[0] >= -1)

    def measure(self, *more, code=None, width="0.02"):
        self.write("p.vnnlib", text(self.BOX, self.CONDITIONS))
        output, _ = self.run_tool("verify", TINY, "p.vnnlib", "--measure", width, "--json", *more,
                                  code=code)
        return json.loads(output)

    def cells(self, name):
        return [[(Fraction(low), Fraction(high)) for low, high in zip(box["lower"], box["upper"])]
                for box in json.loads((self.work / name).read_text(), parse_float=Fraction)["boxes"]]

    def test_shares_and_cells_are_right(self):
        found = self.measure("--inner", "inner.json", "--outer", "outer.json", "--html", "page.html",
                             code=3)
        self.assertEqual(found["verdict"], "falsified")
        case = found["cases"][0]
        proven, refuted, left = (Fraction(case[key]) for key in ("proven", "refuted", "open"))
        self.assertEqual(proven + refuted + left, 1)
        self.assertLessEqual(left, Fraction(1, 50))
        self.assertTrue(case["reached"] and proven > 0 and refuted > 0)
        inner, outer = self.cells("inner.json"), self.cells("outer.json")
        # The exact volumes of the cells within the exact box, by an independent sum.
        ends = [(Fraction(low), Fraction(high)) for low, high in self.BOX]

        def volume(cells):
            total = Fraction(0)
            for cell in cells:
                share = Fraction(1)
                for (low, high), (least, most) in zip(cell, ends):
                    share *= (min(high, most) - max(low, least)) / (most - least)
                total += share
            return total

        self.assertEqual(volume(inner), refuted)
        self.assertEqual(volume(outer), refuted + left)
        draw = random.Random(3)
        within = [[low + (high - low) * Fraction(draw.randint(0, 64), 64) for low, high in ends]
                  for _ in range(400)]
        for x in within:
            if self.violates(x):
                self.assertTrue(any(all(low <= each <= high for each, (low, high) in zip(x, cell))
                                    for cell in outer), x)
        for cell in inner:
            for s in range(5):
                x = [low + (high - low) * Fraction((s * k) % 5, 4) for k, (low, high) in enumerate(cell, 1)]
                self.assertTrue(self.violates(x), x)
        page = (self.work / "page.html").read_text()
        self.assertIn("<svg", page)
        self.assertNotIn("<script", page)
        self.run_tool("run", TINY, "--box", "inner.json", "--index", "0")

    def test_threads_change_nothing(self):
        one, two = (self.measure("--jobs", jobs, "--outer", f"{jobs}.json") for jobs in ("1", "3"))
        self.assertEqual(one["cases"], two["cases"])
        self.assertEqual((self.work / "1.json").read_text(), (self.work / "3.json").read_text())

    def test_verified_and_a_smaller_width(self):
        output, _ = self.run_tool("verify", CONTROLLER, WIDE, "--measure", "0")
        self.assertTrue(output.startswith("verified"))
        wide, narrow = self.measure(width="0.2"), self.measure(width="1/100")
        self.assertGreater(narrow["cases"][0]["bounded"], wide["cases"][0]["bounded"])
        for key in ("proven", "refuted"):
            self.assertGreaterEqual(Fraction(narrow["cases"][0][key]), Fraction(wide["cases"][0][key]))
        # What two neighbouring widths prove bounds the same number from both sides.
        self.assertLessEqual(Fraction(wide["cases"][0]["proven"]),
                             1 - Fraction(narrow["cases"][0]["refuted"]))

    def test_usage(self):
        self.write("p.vnnlib", text(self.BOX, self.CONDITIONS))
        for width in ("x", "-1", "2"):
            self.assert_refused("BF3013", "verify", TINY, "p.vnnlib", f"--measure={width}",
                                says=["--measure"])
        self.run_tool("verify", TINY, "p.vnnlib", "--inner", "i.json", code=2)
        self.run_tool("verify", TINY, "p.vnnlib", "--measure", "0.1", "--part", "0/2", "--save-part", "p",
                      code=2)
        digits = MODELS / "digits_64x2.onnx"
        self.assert_refused("BF3020", "verify", digits, MODELS / "properties" / "digits_64x2.vnnlib",
                            "--measure", "0.1", says=["64 inputs vary"])


if __name__ == "__main__":
    unittest.main()
