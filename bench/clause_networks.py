#!/usr/bin/env python3
"""Decides networks whose ReLUs encode clauses: clause_networks.py BF_AOT FOLDER

Of formulas in conjunctive normal form, y_0 = 1 - sum relu(1 - literals of a clause) and y_1 = sum
x_k - relu(2 x_k - 1): on [0, 1] y_0 >= 1 and y_1 <= 0 exactly where x fulfils the formula, as in
VNN-COMP's sat_relu (whose files these are not). Other encodings have several layers. Writes the
models and properties to FOLDER, the same everywhere, and prints a line for each family; 1 where an
answer is wrong or missing. Needs numpy.
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
    """(family, name, encoding, variables, formula, answer) of all networks."""
    rng = random.Random(1)
    for n in range(50):
        variables = rng.randint(2, 100)
        clauses = rng.randint(variables, 5 * variables)
        yield ("planted", f"planted_{n}", one_layer, variables, planted(rng, variables, clauses),
               "falsified")
        yield ("widened", f"widened_{n}", one_layer, variables, widened(rng, variables, clauses),
               "verified")
    for n in range(10):  # six clauses a variable: hardly any of them is satisfiable, none of these
        variables = 20 + 4 * n
        yield ("3-SAT", f"sat3_{n}", one_layer, variables,
               random_3sat(rng, variables, 6 * variables), "verified")
    for holes in (3, 4, 5, 6):
        yield "pigeons", f"pigeons_{holes}", one_layer, *pigeons(holes), "verified"
    # About 4.3 clauses a variable are hardest. A solver of formulas found these to be
    # contradictions.
    for encoding in ENCODINGS:
        for variables, seed in ((40, 0), (100, 0), (100, 1), (100, 2), (100, 7)):
            formula = random_3sat(random.Random(seed), variables, round(4.3 * variables))
            yield (f"hard 3-SAT, {encoding.__name__}", f"{encoding.__name__}_{variables}_{seed}",
                   encoding, variables, formula, "verified")
        for n in range(2):
            variables = 30 * (n + 1)
            yield (f"planted, {encoding.__name__}", f"{encoding.__name__}_planted_{n}", encoding,
                   variables, planted(rng, variables, 4 * variables), "falsified")


def sums_of(formula, variables):
    """Rows of minus the sum of each clause's literals, of activations x, then 1 - x."""
    rows = np.zeros((len(formula), 2 * variables))
    for row, clause in enumerate(formula):
        for literal in clause:
            rows[row, abs(literal) - 1 + (0 if literal > 0 else variables)] -= 1
    return rows


def one_layer(variables, formula):
    """Layers (weights, biases) with ReLUs between, and the conditions of a violation."""
    sums = sums_of(formula, variables)
    clauses = sums[:, :variables] - sums[:, variables:]
    eye = np.eye(variables)
    first = np.concatenate([clauses, eye, 2 * eye])
    bias = np.concatenate([1 + sums[:, variables:].sum(axis=1), np.zeros(variables),
                           -np.ones(variables)])
    last = np.zeros((2, len(first)))
    last[0, :len(formula)] = -1
    last[1, len(formula):] = np.repeat([1, -1], variables)
    return [(first, bias), (last, [1, 0])], ["(>= Y_0 1)", "(<= Y_1 0)"]


def literals(variables, formula):
    """Literals, then clauses, and 1/2 - relu(1/2 - x) - relu(x - 1/2), which is 0 at 0 and 1."""
    eye, ones, clauses = np.eye(variables), np.ones(variables), len(formula)
    first = np.concatenate([eye, -eye, -eye, eye])
    second = np.zeros((clauses + variables, 4 * variables))
    second[:clauses, :2 * variables] = sums_of(formula, variables)
    second[clauses:, 2 * variables:] = np.concatenate([-eye, -eye], axis=1)
    last = np.zeros((2, clauses + variables))
    last[0, :clauses] = -1
    last[1, clauses:] = 1
    return ([(first, np.concatenate([0 * ones, ones, ones / 2, -ones / 2])),
             (second, np.concatenate([np.ones(clauses), ones / 2])), (last, [1, 0])],
            ["(>= Y_0 1)", "(<= Y_1 0)"])


def steps(variables, formula):
    """Variables b = relu(4 x - 3/2) - relu(4 x - 5/2), then literals, clauses, sums, one row."""
    eye, ones, clauses = np.eye(variables), np.ones(variables), len(formula)
    step = np.concatenate([eye, -eye], axis=1)
    third = np.zeros((clauses + variables, 3 * variables))
    third[:clauses, :2 * variables] = sums_of(formula, variables)
    third[clauses:, :variables] = eye
    third[clauses:, 2 * variables:] = -eye
    fourth = np.zeros((2, clauses + variables))
    fourth[0, :clauses] = 1
    fourth[1, clauses:] = 1
    return ([(np.concatenate([4 * eye, 4 * eye]), np.concatenate([-1.5 * ones, -2.5 * ones])),
             (np.concatenate([step, -step, 2 * step]), np.concatenate([0 * ones, ones, -ones])),
             (third, np.concatenate([np.ones(clauses), 0 * ones])), (fourth, [0, 0]),
             ([[-1, -1]], [1])], ["(>= Y_0 1)"])


def pairs(variables, formula):
    """relu(1 - two literals), then relu of this less the others."""
    eye, ones, clauses = np.eye(variables), np.ones(variables), len(formula)
    second = np.zeros((clauses + 3 * variables, 3 * variables))
    second[:clauses, :2 * variables] = sums_of([clause[:2] for clause in formula], variables)
    second[clauses:clauses + 2 * variables, :2 * variables] = np.eye(2 * variables)
    second[clauses + 2 * variables:, :variables] = eye
    second[clauses + 2 * variables:, 2 * variables:] = -eye
    third = np.zeros((clauses + variables, clauses + 3 * variables))
    third[:clauses, :clauses] = np.eye(clauses)
    third[:clauses, clauses:clauses + 2 * variables] = sums_of([clause[2:] for clause in formula],
                                                              variables)
    third[clauses:, clauses + 2 * variables:] = eye
    last = np.zeros((2, clauses + variables))
    last[0, :clauses] = 1
    last[1, clauses:] = 1
    return ([(np.concatenate([eye, -eye, 2 * eye]), np.concatenate([0 * ones, ones, -ones])),
             (second, np.concatenate([np.ones(clauses), np.zeros(3 * variables)])),
             (third, np.zeros(clauses + variables)), (last, [0, 0])],
            ["(<= Y_0 0)", "(<= Y_1 0)"])


ENCODINGS = (one_layer, literals, steps, pairs)


def write(folder, name, encoding, variables, formula):
    layers, conditions = encoding(variables, formula)
    nodes, constants, value = [], [], "x"
    for k, (weights, biases) in enumerate(layers):
        is_last = k + 1 == len(layers)
        for key, array in ((f"w{k}", weights), (f"b{k}", biases)):
            constants.append(onnx_format.tensor(key, np.array(array).astype(np.float32)))
        nodes.append(onnx_format.node("Gemm", [value, f"w{k}", f"b{k}"],
                                      "y" if is_last else f"z{k}", transB=1))
        if not is_last:
            value = f"a{k}"
            nodes.append(onnx_format.node("Relu", [f"z{k}"], value))
    rows = len(layers[-1][1])
    graph = {"node": nodes, "name": name, "initializer": constants,
             "input": [onnx_format.value_info("x", [1, variables])],
             "output": [onnx_format.value_info("y", [1, rows])]}
    model = {"ir_version": 8, "producer_name": "clause_networks", "graph": graph,
             "opset_import": [{"domain": "", "version": 13}]}
    (folder / f"{name}.onnx").write_bytes(onnx_format.encode("Model", model))
    lines = [f"(declare-const X_{k} Real)" for k in range(variables)]
    lines += [f"(declare-const Y_{k} Real)" for k in range(rows)]
    lines += [f"(assert (<= X_{k} 1))(assert (>= X_{k} 0))" for k in range(variables)]
    lines += [f"(assert {condition})" for condition in conditions]
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
    for number, (family, name, encoding, variables, formula, answer) in enumerate(instances()):
        if number % arguments.every:
            continue
        write(arguments.folder, name, encoding, variables, formula)
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
