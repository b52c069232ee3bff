#!/usr/bin/env python3
"""Decides random two-level lattices, as VNN-COMP's tllverifybench has them: lattice_networks.py BF_AOT FOLDER

A lattice of size N has N random affine functions of two inputs in [-2, 2], N random sets of them, and
y = max over the sets of the min over each: trees of min and max of two, each four ReLUs. All its matrices
are dense in the file. The limit of y is one that no input passes, a share of the range of y away from it,
or one that some do; which of these is known by the exact optimum, since y is piecewise affine: its
greatest value is the largest of the sets' linear programs. Writes models and properties to FOLDER, the same
everywhere, decides each and prints a line for each size; 1 where an answer is wrong. Needs numpy.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: needs the Python package numpy")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))
import onnx_format

BOX = 2.0


def greatest(weight, bias):
    """The greatest min_i w_i x + b_i over the box: at a corner of the box, or where two or three of the functions
    and edges meet. By a sweep over edges and pairs in numpy; exact but for roundings of float64."""
    planes = np.column_stack([weight, bias])
    points = [np.array(each) for each in ((-BOX, -BOX), (-BOX, BOX), (BOX, -BOX), (BOX, BOX))]
    count = len(planes)
    for i in range(count):
        for j in range(i):
            a, c = planes[i, :2] - planes[j, :2], planes[j, 2] - planes[i, 2]  # a x = c
            for axis in range(2):
                if a[1 - axis] == 0:
                    continue
                for end in (-BOX, BOX):
                    x = np.empty(2)
                    x[axis] = end
                    x[1 - axis] = (c - a[axis] * end) / a[1 - axis]
                    points.append(x)
            for k in range(j):
                d, e = planes[i, :2] - planes[k, :2], planes[k, 2] - planes[i, 2]
                determinant = a[0] * d[1] - a[1] * d[0]
                if determinant != 0:
                    points.append(np.array([(c * d[1] - a[1] * e) / determinant, (a[0] * e - c * d[0]) / determinant]))
    points = np.array(points)
    points = points[np.all(np.abs(points) <= BOX, axis=1)]
    return float(np.max(np.min(points @ weight.T + bias, axis=1)))


def tree(layers, groups, size, sign):
    """Appends dense layers that leave sign max(sign ...) of each of `groups` groups of `size` numbers."""
    while size > 1:
        pairs, odd = divmod(size, 2)
        after = pairs + odd
        inner = groups * (4 * pairs + 2 * odd)
        first = np.zeros((groups * size, inner), np.float32)
        second = np.zeros((inner, groups * after), np.float32)
        at = 0
        for g in range(groups):
            for p in range(pairs):
                a, b, to = g * size + 2 * p, g * size + 2 * p + 1, g * after + p
                for factors, by in (((1, 1), 0.5), ((-1, -1), -0.5), ((1, -1), 0.5 * sign), ((-1, 1), 0.5 * sign)):
                    first[a, at], first[b, at] = factors
                    second[at, to] = by
                    at += 1
            if odd:
                a, to = g * size + size - 1, g * after + pairs
                for factor in (1, -1):
                    first[a, at] = factor
                    second[at, to] = factor
                    at += 1
        layers.append((first, True))
        layers.append((second, False))
        size = after


def lattice(rng, n):
    """The dense layers of a lattice, (matrix, is followed by ReLU), with the first one's bias; and its greatest y."""
    weight = rng.normal(0, 1, (n, 2)).astype(np.float32)
    bias = rng.normal(0, 1, n).astype(np.float32)
    sets = [rng.choice(n, n, replace=True) for _ in range(n)]
    selection = np.zeros((n, n * n), np.float32)
    for g, chosen in enumerate(sets):
        for k, i in enumerate(chosen):
            selection[i, g * n + k] = 1
    layers = [(weight.T.copy(), False), (selection, False)]
    tree(layers, n, n, -1)
    tree(layers, 1, n, 1)
    exact = weight.astype(np.float64), bias.astype(np.float64)
    most = max(greatest(exact[0][np.unique(chosen)], exact[1][np.unique(chosen)]) for chosen in sets)
    return layers, bias, most


def write(folder, name, layers, bias, limit):
    tensors, nodes, value = {}, [], "x"
    for k, (matrix, relu) in enumerate(layers):
        tensors[f"w{k}"] = matrix
        tensors[f"b{k}"] = bias if k == 0 else np.zeros(matrix.shape[1], np.float32)
        after = "y" if k == len(layers) - 1 else f"a{k}"
        nodes += [onnx_format.node("MatMul", [value, f"w{k}"], f"m{k}"),
                  onnx_format.node("Add", [f"m{k}", f"b{k}"], after)]
        value = after
        if relu:
            nodes.append(onnx_format.node("Relu", [value], f"r{k}"))
            value = f"r{k}"
    graph = {"node": nodes, "name": name,
             "initializer": [onnx_format.tensor(key, values) for key, values in tensors.items()],
             "input": [onnx_format.value_info("x", [1, 2])],
             "output": [onnx_format.value_info("y", [1, 1])]}
    model = {"ir_version": 8, "producer_name": "lattice_networks", "graph": graph,
             "opset_import": [{"domain": "", "version": 13}]}
    (folder / f"{name}.onnx").write_bytes(onnx_format.encode("Model", model))
    lines = [f"(declare-const {each} Real)" for each in ("X_0", "X_1", "Y_0")]
    lines += [f"(assert (>= X_{k} -{BOX:g}))(assert (<= X_{k} {BOX:g}))" for k in range(2)]
    (folder / f"{name}.vnnlib").write_text("\n".join([*lines, f"(assert (>= Y_0 {limit!r}))"]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bf_aot")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=[8, 16, 24, 32, 48, 56, 64])
    parser.add_argument("--of-each", type=int, default=4, help="lattices of each size")
    parser.add_argument("--timeout", type=float, default=20, help="seconds for each")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    bf_aot = pathlib.Path(arguments.bf_aot).resolve()
    wrong = []
    print("| N | decided | of | median, s | processor, s | planned, s | boxes | ms a box |\n"
          "|---|---|---|---|---|---|---|---|")
    for size in arguments.sizes:
        rng = np.random.default_rng(size)
        found = []
        for number in range(arguments.of_each):
            name = f"lattice_{size}_{number}"
            layers, bias, most = lattice(rng, size)
            holds = number % 2 == 0  # each second limit is passed
            limit = most + (0.05 if holds else -0.05)
            write(arguments.folder, name, layers, bias, limit)
            done = subprocess.Popen([bf_aot, "verify", f"{name}.onnx", f"{name}.vnnlib", "--json", "--timeout",
                                     str(arguments.timeout), "--jobs", str(arguments.jobs)],
                                    cwd=arguments.folder, stdout=subprocess.PIPE, text=True)
            output = done.stdout.read()
            usage = os.wait4(done.pid, 0)[2]
            answer = json.loads(output) if output.startswith("{") else {}
            answer["processor"] = usage.ru_utime + usage.ru_stime
            if answer.get("verdict") in ("verified", "falsified"):
                found.append(answer)
                if (answer["verdict"] == "verified") != holds:
                    wrong.append(f"{name}: {answer['verdict']}, but the greatest y is {most!r}")
            elif "verdict" not in answer:
                wrong.append(f"{name}: no answer")
            (arguments.folder / f"{name}.onnx").unlink()
        middle = lambda key: statistics.median(each[key] for each in found) if found else float("nan")
        boxes = sum(each["boxes"] for each in found)
        cost = 1e3 * sum(each["branch_seconds"] for each in found) / max(boxes, 1)
        print(f"| {size} | {len(found)} | {arguments.of_each} | {middle('seconds'):.2f} | {middle('processor'):.2f} | "
              f"{middle('compile_seconds'):.2f} | {boxes} | {cost:.2f} |", flush=True)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
