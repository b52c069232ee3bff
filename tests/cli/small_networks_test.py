"""bf-aot verify on thousands of random small networks whose exact optimum is known: boxes, l1 and l2 balls."""

import math
import os
import random
import unittest
from fractions import Fraction

from harness import Case
from small_models import model, node, tensor, write_model

SHORT = ["--search", "0.1", "--branch", "0.1", "--jobs", "1"]
STEP = Fraction(1, 8)


class Network:
    """y of two inputs by layers of ReLUs, whose numbers are multiples of 1/8."""

    def __init__(self, rng):
        self.sizes = [2] + [rng.randint(2, 5) for _ in range(rng.randint(1, 3))] + [1]
        self.weights = [[[STEP * rng.randint(-16, 16) for _ in range(below)] for _ in range(above)]
                        for below, above in zip(self.sizes, self.sizes[1:])]
        self.biases = [[STEP * rng.randint(-8, 8) for _ in range(size)] for size in self.sizes[1:]]

    def write(self, path):
        nodes, tensors, value = [], [], "x"
        last = len(self.weights) - 1
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            turned = [float(row[i]) for i in range(len(weight[0])) for row in weight]
            tensors += [tensor(f"w{k}", [len(weight[0]), len(weight)], turned),
                        tensor(f"b{k}", [len(bias)], [float(x) for x in bias])]
            nodes += [node("MatMul", [value, f"w{k}"], f"m{k}"),
                      node("Add", [f"m{k}", f"b{k}"], "y" if k == last else f"z{k}")]
            if k < last:
                nodes.append(node("Relu", [f"z{k}"], f"h{k}"))
                value = f"h{k}"
        return write_model(path, model("small", nodes, tensors, [1, 2], [1, 1]))

    def value(self, x):
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            x = [sum(a * b for a, b in zip(row, x)) + c for row, c in zip(weight, bias)]
            if k < len(self.weights) - 1:
                x = [max(z, 0) for z in x]
        return x[0]

    def pieces(self, polygon):
        """(part, line) of parts that cover a polygon: y is the affine function line = (a, b, c) there."""
        open_parts = [(polygon, [(Fraction(1), Fraction(0), Fraction(0)), (Fraction(0), Fraction(1), Fraction(0))])]
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            parts = []
            for part, lines in open_parts:
                sums = [tuple(sum(a * line[i] for a, line in zip(row, lines)) + (c if i == 2 else 0)
                              for i in range(3)) for row, c in zip(weight, bias)]
                if k == len(self.weights) - 1:
                    parts.append((part, sums))
                    continue
                split = [(part, [])]
                for line in sums:
                    split = [(cut, done + [kept]) for piece, done in split
                             for cut, kept in ((clipped(piece, line), line),
                                               (clipped(piece, tuple(-x for x in line)), (Fraction(0),) * 3))
                             if cut]
                parts += split
            open_parts = parts
        return [(part, lines[0]) for part, lines in open_parts]


def at(line, point):
    return line[0] * point[0] + line[1] * point[1] + line[2]


def clipped(polygon, line):
    """The vertices of what a convex polygon has where line >= 0."""
    made = []
    for i, p in enumerate(polygon):
        q = polygon[(i + 1) % len(polygon)]
        a, b = at(line, p), at(line, q)
        if a >= 0:
            made.append(p)
        if a * b < 0:
            t = a / (a - b)
            made.append((p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
    return made


def root_below(x):
    """A rational at most sqrt x, by less than 2^-90."""
    scale = 1 << 96
    return Fraction(math.isqrt(x.numerator * scale * scale // x.denominator), scale)


def least_in_disc(polygon, line, centre, radius):
    """(below, point): line's least value over the polygon's part of the disc is in [below, below + 2^-60]. None where
    they have nothing in common. It is at a vertex, where an edge enters the disc, or where the disc is least."""
    norm = line[0] * line[0] + line[1] * line[1]
    values = []
    inside = lambda p: (p[0] - centre[0]) ** 2 + (p[1] - centre[1]) ** 2 <= radius * radius
    values += [at(line, p) for p in polygon if inside(p)]
    for i, p in enumerate(polygon):
        q = polygon[(i + 1) % len(polygon)]
        d, e = (q[0] - p[0], q[1] - p[1]), (p[0] - centre[0], p[1] - centre[1])
        a, b, c = d[0] ** 2 + d[1] ** 2, d[0] * e[0] + d[1] * e[1], e[0] ** 2 + e[1] ** 2 - radius * radius
        discriminant = b * b - a * c
        if a == 0 or discriminant < 0:
            continue
        root = root_below(discriminant)
        for t in ((-b - root) / a, (-b + root) / a):
            if 0 <= t <= 1:
                values.append(at(line, (p[0] + t * d[0], p[1] + t * d[1])))
    if norm > 0:
        lowest = tuple(centre[i] - radius * line[i] * root_below(norm) / norm for i in range(2))
        turns = [(polygon[(i + 1) % len(polygon)][0] - p[0]) * (lowest[1] - p[1])
                 - (polygon[(i + 1) % len(polygon)][1] - p[1]) * (lowest[0] - p[0]) for i, p in enumerate(polygon)]
        # A part without area is its edges.
        if any(turns) and (all(turn >= 0 for turn in turns) or all(turn <= 0 for turn in turns)):
            values.append(at(line, lowest))
    return min(values) if values else None


def least(network, norm, centre, radius):
    """The least value of y in the ball; of l2 within 2^-60."""
    if norm == "l1":
        corners = [(1, 0), (0, 1), (-1, 0), (0, -1)]
    else:
        corners = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    polygon = [tuple(c + radius * k for c, k in zip(centre, corner)) for corner in corners]
    values = []
    for part, line in network.pieces(polygon):
        if norm == "l2":
            value = least_in_disc(part, line, centre, radius)
            values += [] if value is None else [value]
        else:
            values += [at(line, p) for p in part]
    return min(values)


class SmallNetworks(Case):
    COUNT, SEED = 16, 1

    def verdict(self, network, centre, radius, limit, norm):
        text = "(declare-const Y_0 Real)" + "".join(
            f"(declare-const X_{i} Real)(assert (>= X_{i} {float(x - radius)!r}))"
            f"(assert (<= X_{i} {float(x + radius)!r}))" for i, x in enumerate(centre))
        text = self.write("p.vnnlib", text + f"(assert (<= Y_0 {float(limit)!r}))")
        return self.run_json("verify", network, text, "--norm", norm, *SHORT, code=None)

    def check(self, network, path, norm, centre, radius, limit, holds):
        found = self.verdict(path, centre, radius, limit, norm)
        self.assertNotEqual(found["verdict"], "falsified" if holds else "verified",
                            f"{norm}, y <= {limit} about {centre}, radius {radius}")
        if found["verdict"] == "falsified":
            x = [Fraction(each) for each in found["counterexample"]["x"]]
            self.assertLessEqual(network.value(x), limit)
            parts = [abs(a - b) / radius for a, b in zip(x, centre)]
            self.assertLessEqual({"linf": max(parts), "l1": sum(parts), "l2": sum(p * p for p in parts)}[norm], 1)
        return found["verdict"] == ("verified" if holds else "falsified")

    def test_no_verdict_is_wrong(self):
        decided = asked = 0
        for number in range(self.COUNT):
            rng = random.Random(f"{self.SEED} {number}")
            network = Network(rng)
            path = network.write(self.work / "small.onnx")
            centre = [STEP * rng.randint(-8, 8) for _ in range(2)]
            radius = Fraction(rng.choice([1, 2, 4, 8]), 4)
            for norm in ("linf", "l1", "l2"):
                value = least(network, norm, centre, radius)
                # Limits are doubles. The value of l2 is known within 2^-60, and their distance is more. At the finer
                # ones, boxes of float32 decide what a box is asked, and of a ball, which is widened, some.
                for bits in (10, 20):
                    scale = 1 << bits
                    below = Fraction(math.floor(value * scale) - 1, scale)
                    above = Fraction(math.ceil(value * scale) + 1, scale)
                    said = [self.check(network, path, norm, centre, radius, below, True),
                            self.check(network, path, norm, centre, radius, above, False)]
                    if bits == 10 or norm == "linf":
                        decided += sum(said)
                        asked += 2
        self.assertGreater(decided, 0.95 * asked)


class ManySmallNetworks(SmallNetworks):
    """As many every night, others each day."""

    COUNT, SEED = 900, os.environ.get("BF_SEED", "2")


if __name__ == "__main__":
    unittest.main()
