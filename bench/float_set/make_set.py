#!/usr/bin/env python3
"""make_set.py FOLDER: writes the networks and properties of the set, and FOLDER/set.json: of each
instance its family, files, and what is expected: "unsafe" has a point that violates it in float32;
"safe" is a guess from samples with a margin.

Families (as in NeuroCodeBench, whose files these are not): controllers of reinforcement learning,
Hopfield networks, approximations of polynomials, networks of Lipschitz constant 1, probability
densities, propositional formulas, single layers.
"""

import itertools
import json
import pathlib
import sys

import numpy as np

from networks import GRID, Network, fitted, random_layer, rounded

SAMPLES = 4000


def clauses_text(lower, upper, outputs, clauses):
    """Violated where one clause's conditions hold: each is text about Y."""
    lines = [f"(declare-const X_{i} Real)" for i in range(len(lower))]
    lines += [f"(declare-const Y_{i} Real)" for i in range(outputs)]
    for i, (low, high) in enumerate(zip(lower, upper)):
        lines += [f"(assert (>= X_{i} {float(low)!r}))", f"(assert (<= X_{i} {float(high)!r}))"]
    alternatives = " ".join(f"(and {' '.join(clause)})" for clause in clauses)
    lines.append(f"(assert (or {alternatives}))")
    text = "\n".join(lines) + "\n"
    return text


class Set:
    """The set, written to a folder; without one nothing is written."""

    def __init__(self, folder=None):
        self.folder = pathlib.Path(folder) if folder else None
        self.instances, self.networks = [], {}
        if folder:
            self.folder.mkdir(parents=True, exist_ok=True)
        for seed, family in enumerate(FAMILIES):
            family(self, np.random.default_rng(seed + 1))
        if folder:
            (self.folder / "set.json").write_text(json.dumps(self.instances))

    def add(self, family, name, network, lower, upper, outputs, clauses, expected):
        """clauses: lists of (row of coefficients of y, limit): all rows y <= limit violate."""
        # Limits are rounded as weights are, since the last digits of samples depend on the library.
        clauses = [[(row, np.round(limit * GRID) / GRID) for row, limit in clause]
                   for clause in clauses]
        model = f"{family}_{name}.onnx"
        number = sum(each["model"] == model for each in self.instances)
        file = f"{family}_{name}_{number}.vnnlib"
        self.networks[model] = network
        text = [[f"(<= {_sum(row)} {float(limit)!r})" for row, limit in clause] for clause in clauses]
        if self.folder:
            (self.folder / model).write_bytes(network.onnx(f"{family}_{name}"))
            (self.folder / file).write_text(clauses_text(lower, upper, outputs, text))
        self.instances.append({"family": family, "model": model, "property": file,
                               "expected": expected, "lower": [float(x) for x in lower],
                               "upper": [float(x) for x in upper],
                               "clauses": [[[[float(c) for c in row], float(limit)]
                                            for row, limit in clause] for clause in clauses]})


def _sum(row):
    terms = [f"(* {float(c)!r} Y_{i})" for i, c in enumerate(row) if c != 0]
    return f"(+ {' '.join(terms)})" if len(terms) > 1 else terms[0]


def sampled(rng, network, lower, upper):
    x = rng.uniform(lower, upper, (SAMPLES, len(lower)))
    corners = np.round(rng.random((SAMPLES // 4, len(lower))))
    x[:len(corners)] = lower + (upper - lower) * corners
    x = np.clip(x.astype(np.float32), lower, upper)
    return network.evaluate(x).astype(np.float64)


def box(centre, radius):
    low = np.float32(centre) - np.float32(radius)
    return low.astype(np.float64), (np.float32(centre) + np.float32(radius)).astype(np.float64)


def limit_output(made, rng, family, name, network, lower, upper, output, safe, margin=0.3):
    """y_output stays below a limit: beyond all samples by a part of their range, or within it."""
    y = sampled(rng, network, lower, upper)
    outputs = y.shape[1]
    y = y[:, output]
    spread = float(np.ptp(y)) + 1e-3
    limit = float(np.float32(y.max() + margin * spread if safe else y.max() - 0.2 * spread))
    row = [0.0] * outputs
    row[output] = -1.0
    made.add(family, name, network, lower, upper, outputs, [[(row, -limit)]],
             "safe" if safe else "unsafe")


def reinforcement(made, rng):
    for name, sizes in (("cartpole", [4, 32, 32, 2]), ("lander", [8, 64, 64, 4]),
                        ("dubins", [6, 48, 48, 3])):
        gains = rng.uniform(-1, 1, (sizes[0], sizes[-1]))
        network = fitted(rng, sizes, -1, 1, lambda x, gains=gains: np.tanh(x @ gains))
        count = {"safe": 0, "unsafe": 0}
        while min(count.values()) < 4:
            centre = rng.uniform(-0.8, 0.8, sizes[0])
            lower, upper = box(centre, float(rng.choice([0.05, 0.1, 0.2])))
            y = sampled(rng, network, lower, upper)
            best = int(np.argmax(y.mean(axis=0)))
            others = [k for k in range(sizes[-1]) if k != best]
            gap = min(float((y[:, best] - y[:, k]).min()) for k in others)
            spread = float(np.ptp(y, axis=0).max())
            expected = "safe" if gap > 0.1 * spread else "unsafe" if gap < -0.05 * spread else None
            if expected is None or count[expected] == 4:
                continue
            count[expected] += 1
            clauses = []
            for k in others:  # another action is at least as good
                row = [0.0] * sizes[-1]
                row[best], row[k] = 1.0, -1.0
                clauses.append([(row, 0.0)])
            made.add("rl", name, network, lower, upper, sizes[-1], clauses, expected)


def polynomials(made, rng):
    for degree, width in ((2, 16), (3, 32), (5, 64)):
        powers = rng.uniform(-1, 1, degree + 1)
        network = fitted(rng, [1, width, width, 1], -1, 1,
                         lambda x, powers=powers: np.polyval(powers, x[:, 0])[:, None])
        for safe, margin in ((True, 0.3), (True, 0.1), (True, 0.02), (False, 0), (False, 0)):
            lower, upper = box(rng.uniform(-0.7, 0.7, 1), float(rng.choice([0.1, 0.3])))
            limit_output(made, rng, "poly", f"degree{degree}", network, lower, upper, 0, safe,
                         margin)


def hopfield(made, rng):
    for neurons, steps, function in ((4, 2, "Softsign"), (8, 3, "Softsign"), (4, 4, "Tanh"),
                                     (8, 2, "Tanh")):
        pattern = rng.choice([-1.0, 1.0], neurons)
        weight = rounded(2.5 * np.outer(pattern, pattern) / neurons)
        layers = [("linear", weight, rounded(np.zeros(neurons))), function] * steps
        network = Network(neurons, layers)
        for radius, level, expected in ((0.2, None, "safe"), (0.5, None, "safe"),
                                        (0.5, "unsafe", "unsafe")):
            lower, upper = box(pattern, radius)
            y = sampled(rng, network, lower, upper) * pattern
            limit = y.min() * 0.7 if level is None else y.min() * 0.5 + y.max() * 0.5
            clauses = []
            for k in range(neurons):  # neuron k is away from the pattern
                row = [0.0] * neurons
                row[k] = pattern[k]
                clauses.append([(row, float(np.float32(limit)))])
            made.add("hopfield", f"{neurons}_{steps}_{function.lower()}", network, lower, upper,
                     neurons, clauses, expected)


def lipschitz(made, rng):
    for inputs, width, function in ((2, 32, "Relu"), (4, 32, "Abs"), (6, 24, "Relu")):
        layers, sizes = [], [inputs, width, width, 1]
        for k in range(3):
            a = rng.normal(size=(sizes[k], sizes[k + 1]))
            u, _, v = np.linalg.svd(a, full_matrices=False)
            layers += [("linear", rounded(0.999 * (u @ v)), rounded(rng.uniform(-0.2, 0.2,
                                                                                sizes[k + 1])))]
            if k < 2:
                layers.append(function)
        network = Network(inputs, layers)
        for radius, safe in ((0.05, True), (0.1, True), (0.1, False), (0.2, False)):
            centre = rng.uniform(-1, 1, inputs)
            lower, upper = box(centre, radius)
            if not safe:
                limit_output(made, rng, "lipschitz", f"{inputs}x{width}", network, lower, upper, 0,
                             False)
                continue
            # |y - y(centre)| <= |x - centre|: the constant is 1.
            middle = float(network.evaluate(np.float32(centre)[None])[0, 0])
            reach = radius * np.sqrt(inputs) * 1.02 + 1e-4
            clauses = [[([-1.0], -float(np.float32(middle + reach)))],
                       [([1.0], float(np.float32(middle - reach)))]]
            made.add("lipschitz", f"{inputs}x{width}", network, lower, upper, 1, clauses, "safe")


def density(made, rng):
    for inputs, width in ((2, 32), (3, 48)):
        network = fitted(rng, [inputs, width, width, 1], -2, 2,
                         lambda x: np.exp(-(x**2).sum(axis=1, keepdims=True) / 2))
        for safe, margin in ((True, 0.3), (True, 0.1), (True, 0.1), (True, 0.05), (False, 0),
                             (False, 0)):
            lower, upper = box(rng.uniform(-1.5, 1.5, inputs), float(rng.choice([0.1, 0.3, 0.5])))
            limit_output(made, rng, "density", f"{inputs}d", network, lower, upper, 0, safe, margin)


def formulas(made, rng):
    """y = violated clauses + distance of x from 0 and 1, at least; 0 where x solves the formula."""
    for variables, count, satisfiable in ((3, 8, False), (4, 28, False), (5, 44, False),
                                          (6, 60, False), (5, 12, True), (7, 16, True),
                                          (8, 20, True)):
        while True:
            clauses = [(rng.choice(variables, 3, replace=False), rng.choice([-1, 1], 3))
                       for _ in range(count)]
            if variables == 3:
                clauses = [(np.arange(3), np.array(signs))
                           for signs in itertools.product((-1, 1), repeat=3)]
            solved = any(all(any((point[v] == 1) == (s == 1) for v, s in zip(*clause))
                             for clause in clauses)
                         for point in itertools.product((0, 1), repeat=variables))
            if solved == satisfiable:
                break
        first = np.zeros((variables, len(clauses) + 2 * variables))
        bias = np.zeros(first.shape[1])
        for k, (which, signs) in enumerate(clauses):  # 1 - sum of literals
            bias[k] = 1
            for v, s in zip(which, signs):
                first[v, k] -= s
                bias[k] -= 0 if s == 1 else 1
        last = np.ones((first.shape[1], 1))
        for v in range(variables):  # min(x, 1 - x) = x - relu(2 x - 1)
            first[v, len(clauses) + 2 * v] = 1
            first[v, len(clauses) + 2 * v + 1] = 2
            bias[len(clauses) + 2 * v + 1] = -1
            last[len(clauses) + 2 * v + 1] = -1
        network = Network(variables, [("linear", rounded(first), rounded(bias)), "Relu",
                                      ("linear", rounded(last), rounded(np.zeros(1)))])
        lower, upper = np.zeros(variables), np.ones(variables)
        made.add("sat", f"{variables}x{len(clauses)}", network, lower, upper, 1,
                 [[([1.0], 0.125)]], "unsafe" if satisfiable else "safe")


def single_layers(made, rng):
    image = (1, 4, 4)
    filters = ("conv", rounded(rng.uniform(-0.5, 0.5, (2, 1, 3, 3))),
               rounded(rng.uniform(-0.2, 0.2, 2)), image)
    after = random_layer(rng, 8, 2)
    networks = {"conv": [filters, "Relu", random_layer(rng, 32, 2)],
                "avgpool": [filters, ("pool", "AveragePool", (2, 4, 4)), after],
                "maxpool": [filters, ("pool", "MaxPool", (2, 4, 4)), after]}
    for function in ("Relu", "Tanh", "Softsign", "Sigmoid", "Elu", "Softplus", "LeakyRelu"):
        networks[function.lower()] = [random_layer(rng, 4, 8), function, random_layer(rng, 8, 2)]
    for name, layers in networks.items():
        inputs = 16 if layers[0][0] == "conv" else 4
        network = Network(inputs, layers)
        for safe, margin in ((True, 0.3), (True, 0.1), (False, 0)):
            lower, upper = box(rng.uniform(-0.5, 0.5, inputs), 0.1)
            # Samples tell less where there are many inputs.
            limit_output(made, rng, "layers", name, network, lower, upper, 0, safe,
                         margin if inputs == 4 else margin + 0.3)


FAMILIES = (reinforcement, polynomials, hopfield, lipschitz, density, formulas, single_layers)


def main():
    made = Set(sys.argv[1])
    safe = sum(each["expected"] == "safe" for each in made.instances)
    print(f"{len(made.instances)} instances, {safe} expected to be safe")


if __name__ == "__main__":
    main()
