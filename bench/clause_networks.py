#!/usr/bin/env python3
"""Decides networks whose ReLUs encode clauses: clause_networks.py BF_AOT FOLDER

Of formulas in conjunctive normal form, y_0 = 1 - sum relu(1 - literals of a clause) and y_1 = sum
x_k - relu(2 x_k - 1): on [0, 1] y_0 >= 1 and y_1 <= 0 exactly where x fulfils the formula, as in
VNN-COMP's sat_relu (whose files these are not). Writes the models and properties to FOLDER, the
same everywhere, and prints a line for each family; 1 where an answer is wrong or missing. Needs
numpy.
"""

import argparse
import itertools
import pathlib
import random
import statistics
import subprocess
import sys
import time

try:
    import numpy as np
except ImportError:
    print("skipped: needs the Python package numpy")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))
import onnx_format


def widened(rng, variables, clauses):
    """A contradiction whose clauses are split by a variable and its opposite, again and again."""
    formula = [[1], [-1]]
    while len(formula) < clauses:
        at = rng.choices(range(len(formula)), [1 / len(clause) for clause in formula])[0]
        used = {abs(literal) for literal in formula[at]}
        if len(used) == variables:
            break
        new = rng.choice([k for k in range(1, variables + 1) if k not in used])
        formula.append(formula[at] + [-new])
        formula[at] = formula[at] + [new]
    return formula


def planted(rng, variables, clauses):
    """Clauses of any length that an assignment fulfils."""
    truth = [rng.random() < 0.5 for _ in range(variables)]
    formula = []
    while len(formula) < clauses:
        chosen = rng.sample(range(variables), rng.randint(1, variables))
        signs = [rng.random() < 0.5 for _ in chosen]
        if any(truth[k] == sign for k, sign in zip(chosen, signs)):
            formula.append([k + 1 if sign else -k - 1 for k, sign in zip(chosen, signs)])
    return formula


def random_3sat(rng, variables, clauses):
    return [[k if rng.random() < 0.5 else -k for k in rng.sample(range(1, variables + 1), 3)]
            for _ in range(clauses)]


def pigeons(holes):
    """One pigeon more than there are holes."""
    variable = lambda pigeon, hole: pigeon * holes + hole + 1
    formula = [[variable(p, h) for h in range(holes)] for p in range(holes + 1)]
    for hole in range(holes):
        formula += [[-variable(p, hole), -variable(q, hole)]
                    for p, q in itertools.combinations(range(holes + 1), 2)]
    return (holes + 1) * holes, formula


def instances():
    """(family, name, variables, formula, answer) of all networks."""
    rng = random.Random(1)
    for n in range(50):
        variables = rng.randint(2, 100)
        clauses = rng.randint(variables, 5 * variables)
        yield "planted", f"planted_{n}", variables, planted(rng, variables, clauses), "falsified"
        yield "widened", f"widened_{n}", variables, widened(rng, variables, clauses), "verified"
    for n in range(10):  # six clauses a variable: hardly any of them is satisfiable, none of these
        variables = 20 + 4 * n
        yield "3-SAT", f"sat3_{n}", variables, random_3sat(rng, variables, 6 * variables), "verified"
    for holes in (3, 4, 5, 6):
        yield "pigeons", f"pigeons_{holes}", *pigeons(holes), "verified"


def write(folder, name, variables, formula):
    clauses = np.zeros((len(formula), variables))
    bias = np.ones(len(formula))
    for row, clause in enumerate(formula):
        for literal in clause:
            clauses[row, abs(literal) - 1] += -1 if literal > 0 else 1
            bias[row] -= 0 if literal > 0 else 1
    eye = np.eye(variables)
    first = np.concatenate([clauses, eye, 2 * eye])
    last = np.zeros((2, len(first)))
    last[0, :len(formula)] = -1
    last[1, len(formula):] = np.repeat([1, -1], variables)
    constants = {"w0": first, "b0": np.concatenate([bias, np.zeros(variables),
                                                    -np.ones(variables)]),
                 "w1": last, "b1": np.array([1, 0])}
    graph = {"node": [onnx_format.node("Gemm", ["x", "w0", "b0"], "z", transB=1),
                      onnx_format.node("Relu", ["z"], "a"),
                      onnx_format.node("Gemm", ["a", "w1", "b1"], "y", transB=1)],
             "name": name,
             "initializer": [onnx_format.tensor(key, value.astype(np.float32))
                             for key, value in constants.items()],
             "input": [onnx_format.value_info("x", [1, variables])],
             "output": [onnx_format.value_info("y", [1, 2])]}
    model = {"ir_version": 8, "producer_name": "clause_networks", "graph": graph,
             "opset_import": [{"domain": "", "version": 13}]}
    (folder / f"{name}.onnx").write_bytes(onnx_format.encode("Model", model))
    lines = [f"(declare-const X_{k} Real)" for k in range(variables)]
    lines += ["(declare-const Y_0 Real)", "(declare-const Y_1 Real)"]
    lines += [f"(assert (<= X_{k} 1))(assert (>= X_{k} 0))" for k in range(variables)]
    lines += ["(assert (>= Y_0 1))", "(assert (<= Y_1 0))"]
    (folder / f"{name}.vnnlib").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bf_aot")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1, help="decide one of so many")
    parser.add_argument("--timeout", type=float, default=15, help="seconds for each")
    parser.add_argument("--semantics", default="real")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    bf_aot = pathlib.Path(arguments.bf_aot).resolve()
    seconds, decided, of, wrong = {}, {}, {}, []
    for number, (family, name, variables, formula, answer) in enumerate(instances()):
        if number % arguments.every:
            continue
        write(arguments.folder, name, variables, formula)
        begin = time.monotonic()
        made = subprocess.run(
            [bf_aot, "verify", f"{name}.onnx", f"{name}.vnnlib", "--timeout",
             str(arguments.timeout), "--semantics", arguments.semantics],
            cwd=arguments.folder, stdout=subprocess.PIPE, text=True, check=False)
        said = made.stdout.split("\n", 1)[0].strip()
        of[family] = of.get(family, 0) + 1
        if said == answer:
            decided[family] = decided.get(family, 0) + 1
            seconds.setdefault(family, []).append(time.monotonic() - begin)
        else:
            wrong.append(f"{name}: {said}, expected {answer}")
    for family, count in of.items():
        times = seconds.get(family, [0])
        print(f"{family}: {decided.get(family, 0)} of {count}, median {statistics.median(times):.2f} s,"
              f" longest {max(times):.2f} s")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
