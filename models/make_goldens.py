"""Makes golden/NAME.json: reference bounds of this folder's networks, in float64.

    python make_goldens.py                      writes golden/
    python make_goldens.py --check              compares golden/ with what would be written
    python make_goldens.py --validate GOLDENS CORPUS
                                                compares the rules with goldens of auto_LiRPA

Needs numpy alone. The rules are those of reference_bounds.py.
"""

import argparse
import json
import pathlib
import sys

import numpy as np

import reference_bounds
from network import Network

HERE = pathlib.Path(__file__).resolve().parent
TOOL = (
    "models/make_goldens.py: an independent implementation of auto_LiRPA's rules "
    "in numpy, float64; no code shared with the compiler"
)
NOTE = (
    "rules: models/reference_bounds.py; C rows: row.y; unsafe if for some clause of dnf all rows "
    "satisfy row.y <= rhs; rounding_dominated: the box is so small that the width of float32 "
    "bounds is their own rounding, so compare containment and absolute error, not the width"
)
METHODS = ("ibp", "crown_ibp", "crown", "alpha_crown_fixed")
TOLERANCE = 1e-12  # of |a - b| / (1 + |b|)
# An optimiser's path may turn at a kink on the last bit of a gradient.
OPTIMISED_TOLERANCE = 0.05

# Goldens that --validate knows: name -> network in the corpus.
CORPUS = {
    "acasxu_1_1": "acasxu/onnx/ACASXU_run2a_1_1_batch_2000.onnx",
    "acasxu_3_3": "acasxu/onnx/ACASXU_run2a_3_3_batch_2000.onnx",
    "acasxu_5_7": "acasxu/onnx/ACASXU_run2a_5_7_batch_2000.onnx",
    "mnistfc_256x2": "mnist_fc/onnx/mnist-net_256x2.onnx",
    "mnistfc_256x4": "mnist_fc/onnx/mnist-net_256x4.onnx.gz",
    "reach_vdp": "reach_prob_density/onnx/vdp.onnx",
    "rl_cartpole": "rl_benchmarks/onnx/cartpole.onnx",
    "rl_dubinsrejoin": "rl_benchmarks/onnx/dubinsrejoin.onnx",
    "tll_N8": "tllverifybench/onnx/tllBench_n=2_N=M=8_m=1_instance_0_0.onnx.gz",
}


def read_json(path):
    return json.loads(path.read_text())


def demo(name):
    box = read_json(HERE / "boxes" / f"{name}.json")
    rows = read_json(HERE / "specs" / f"{name}.json")["C"]
    return np.array(box["lower"]), np.array(box["upper"]), np.array(rows)


def about_centre(lower, upper, factor):
    centre, radius = (lower + upper) / 2, (upper - lower) / 2
    return centre - factor * radius, centre + factor * radius


def random_part(seed, lower, upper, part):
    """A sub-box with `part` of the side lengths."""
    side = part * (upper - lower)
    corner = lower + np.random.default_rng(seed).random(len(lower)) * (upper - lower - side)
    return corner, corner + side


def partly_fixed(lower, upper, dims):
    """The box with the given inputs fixed at their centres."""
    lower, upper = lower.copy(), upper.copy()
    lower[dims] = upper[dims] = (lower[dims] + upper[dims]) / 2
    return lower, upper


def small_boxes(lower, upper, factor, what):
    """The box that is smaller than float32's rounding, and the point."""
    return [
        (f"{what} shrunk about its centre by {factor}", about_centre(lower, upper, factor), True),
        (f"centre of {what}: a point", about_centre(lower, upper, 0.0), True),
    ]


def digits_boxes(lower, upper):
    what = "boxes/digits_64x2.json (radius 0.02)"
    zero, one = np.zeros(64), np.ones(64)
    noise = random_part(3, zero, one, 0.05)
    return [
        (what, (lower, upper), False),
        (f"{what} shrunk about its centre by 0.25", about_centre(lower, upper, 0.25), False),
        ("seeded (default_rng(3)) random part of [0, 1]^64, 0.05 of its sides", noise, False),
        ("all of [0, 1]^64", (zero, one), False),
        *small_boxes(lower, upper, 1e-4, what),
    ]


def controller_boxes(lower, upper):
    what = "boxes/collision_avoidance_6x50.json"
    domain = np.array([0.0, -0.5, -0.5, 1 / 11, 0.0]), np.array([1.0, 0.5, 0.5, 12 / 11, 1.0])
    boxes = [
        (what, (lower, upper), False),
        (f"{what} with theta, psi and v_own fixed", partly_fixed(lower, upper, [1, 2, 3]), False),
    ]
    for seed, part in ((11, 0.02), (12, 0.1)):
        text = f"seeded (default_rng({seed})) random part of the domain, {part} of its sides"
        boxes.append((text, random_part(seed, *domain, part), False))
    return boxes + small_boxes(lower, upper, 1e-4, what)


def tiny_boxes(size):
    lower, upper = -np.ones(size), np.ones(size)
    part = random_part(5, lower, upper, 0.2)
    return [
        (f"[-1, 1]^{size}", (lower, upper), False),
        (f"seeded (default_rng(5)) random part of [-1, 1]^{size}, 0.2 of its sides", part, False),
        (f"[0, 3]^{size}", (np.zeros(size), 3 * np.ones(size)), False),
        ("box 1 of this file with input 0 fixed", partly_fixed(*part, [0]), False),
        *small_boxes(*part, 1e-5, "box 1 of this file"),
    ]


def cases():
    """(network's name, boxes, C) for each network of the folder."""
    for name, boxes in (
        ("digits_64x2", digits_boxes),
        ("collision_avoidance_6x50", controller_boxes),
    ):
        lower, upper, rows = demo(name)
        yield name, boxes(lower, upper), rows
    for name, size in (
        ("tiny", 2),
        ("tiny_transpose", 4),
        ("tiny_scale", 3),
        ("tiny_linear", 2),
    ):
        yield name, tiny_boxes(size), np.array([[1.0, -1.0]])


def check_samples(network, rows, record, lower, upper):
    """Random points and vertices must lie inside every bound."""
    rng = np.random.default_rng(1)
    unit = np.concatenate([rng.random((200, len(lower))), rng.integers(0, 2, (100, len(lower)))])
    for x in lower + unit * (upper - lower):
        y = network.evaluate(x)
        for method in METHODS:
            bounds = record[method]
            for value, below, above in (
                (y, bounds["lower"], bounds["upper"]),
                (rows @ y, bounds["C_lower"], bounds["C_upper"]),
            ):
                slack = TOLERANCE * (1 + np.abs(value))
                if np.any(value < below - slack) or np.any(value > above + slack):
                    raise SystemExit(f"{method}: a sampled value lies outside")


def golden(name, boxes, rows):
    network = Network(HERE / f"{name}.onnx")
    records = []
    for desc, ends, rounding_dominated in boxes:
        lower, upper = (np.float32(end).astype(np.float64) for end in ends)
        record = {
            "desc": desc,
            "lower": lower.tolist(),
            "upper": upper.tolist(),
            "C": rows.tolist(),
            "rhs": [0.0] * len(rows),
            "dnf": [[k] for k in range(len(rows))],
            **({"rounding_dominated": True} if rounding_dominated else {}),
            **reference_bounds.all_bounds(network, rows, lower, upper),
        }
        check_samples(network, rows, record, lower, upper)
        records.append(record)
    return {
        "network": name,
        "source": f"models/{name}.onnx",
        "dtype": "float64",
        "tool": TOOL,
        "note": NOTE,
        "input_shape": network.input_shape[1:],
        "boxes": records,
    }


def difference(record, other):
    """The largest |a - b| / (1 + |b|) between two records of a box; inf when counts differ.

    Of optimised bounds, in units of their tolerance."""
    counts = ("unstable_per_relu", "unstable_per_relu_ibp", "size_per_relu")
    if any(record[key] != other[key] for key in counts):
        return np.inf
    pairs = [(record["forward"], other["forward"], 1)]
    for method in METHODS:
        scale = TOLERANCE / OPTIMISED_TOLERANCE if method == "alpha_crown_fixed" else 1
        pairs += [(record[method][key], other[method][key], scale) for key in record[method]]
    worst = 0.0
    for a, b, scale in pairs:
        gap = np.abs(np.array(a) - b) / (1 + np.abs(b)) * scale
        worst = max(worst, float(gap.max(initial=0.0)))
    return worst


def validate(goldens, corpus):
    worst = 0.0
    for name, path in CORPUS.items():
        network = Network(corpus / path)
        for k, box in enumerate(read_json(goldens / f"{name}.json")["boxes"]):
            ends = np.array(box["lower"]), np.array(box["upper"])
            record = reference_bounds.all_bounds(network, np.array(box["C"]), *ends)
            gap = difference(record, box)
            print(f"{name}[{k}]: {gap:.1e}")
            worst = max(worst, gap)
    return worst


def check():
    worst = 0.0
    for name, boxes, rows in cases():
        made, stored = golden(name, boxes, rows), read_json(HERE / "golden" / f"{name}.json")
        inputs = [[(b["lower"], b["upper"], b["C"]) for b in g["boxes"]] for g in (made, stored)]
        pairs = zip(made["boxes"], stored["boxes"])
        gap = max(difference(*pair) for pair in pairs) if inputs[0] == inputs[1] else np.inf
        print(f"{name}: {gap:.1e}")
        worst = max(worst, gap)
    return worst


def write():
    (HERE / "golden").mkdir(exist_ok=True)
    for name, boxes, rows in cases():
        made = golden(name, boxes, rows)
        (HERE / "golden" / f"{name}.json").write_text(json.dumps(made) + "\n")
    return 0.0


def main():
    parser = argparse.ArgumentParser(description="Makes the golden bounds of models/.")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--validate", nargs=2, type=pathlib.Path, metavar=("GOLDENS", "CORPUS"))
    options = parser.parse_args()
    if options.validate:
        worst = validate(*options.validate)
    else:
        worst = check() if options.check else write()
    if worst > TOLERANCE:
        sys.exit(f"the largest difference is {worst:.1e}, more than {TOLERANCE:.0e}")


if __name__ == "__main__":
    main()
