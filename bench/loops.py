"""Asks `bf-aot reach` about a folder of closed loops, and compares its tubes with simulations.

    python3 bench/loops.py [--bf-aot PROGRAM] [--loops FOLDER] [--only NAME,..] [--readings continuous,euler1,euler10]
                           [--runs 1] [--simulations 1000] [--timeout 300] [--out FOLDER] [-- OPTION..]

The folder has pairs of ONNX files NAME_controller.onnx, (x) -> u, and NAME_plant.onnx, (x, u) -> dx, and problems.json:
name -> initial box, period, steps. What each problem demands is in REQUIREMENTS below, as `reach` reads it. A reading is
`continuous`, or `eulerK`: the next state is x + (period / K) f(x, u), K times a period. The questions are written into
--out, build/loops unless said otherwise; options behind -- go to bf-aot. Needs NumPy.

Prints a Markdown table: the answer, the median seconds of whole processes, the cells, the largest width of a state at
the end over the range that simulations found (RK4 for continuous plants, everything in double), and how many simulated
states lie outside of the tube at the beginnings of periods, which should be none.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "models"))
import onnx_format as onnx  # noqa: E402


def within(low, high, *states):
    """A condition: all of these states in [low, high]."""
    return "(and " + " ".join(f"(>= x[{i}] {low}) (<= x[{i}] {high})" for i in states) + ")"


def both(*conditions):
    return "(and " + " ".join(conditions) + ")"


REACH_TORA = [{"at": "end", "holds": both(within(-0.1, 0.2, 0), within(-0.9, -0.6, 1))}]
NAVIGATE = [{"never": both(within(1, 2, 0), within(1, 2, 1))}, {"at": "end", "holds": within(-0.5, 0.5, 0, 1)}]
REQUIREMENTS = {
    "acc": [{"always": "(>= (- x[0] x[3] (* 1.4 x[4])) 10)"}],
    "tora_remain": [{"always": within(-2, 2, 0, 1, 2, 3)}],
    "tora_reach_sigmoid": REACH_TORA,
    "tora_reach_relu_tanh": REACH_TORA,
    "unicycle": [{"at": "end", "holds": both(within(-0.6, 0.6, 0), within(-0.2, 0.2, 1), within(-0.06, 0.06, 2),
                                             within(-0.3, 0.3, 3))}],
    "single_pendulum": [{"within": [0.5, 1], "holds": within(0, 1, 0)}],
    "double_pendulum_less": [{"always": within(-1.7, 2, 0, 1, 2, 3)}],
    "double_pendulum_more": [{"always": within(-1.5, 1.5, 0, 1, 2, 3)}],
    "airplane": [{"always": within(-1, 1, 1, 6, 7, 8)}],
    "attitude": [{"never": both(within(-0.2, 0, 0), within(-0.5, -0.4, 1), within(0, 0.2, 2), within(-0.7, -0.6, 3),
                                within(0.7, 0.8, 4), within(-0.4, -0.2, 5))}],
    "quad": [{"at": "end", "holds": within(0.94, 1.06, 2)}],
    "docking": [{"always": "(<= (sqrt (+ (* x[2] x[2]) (* x[3] x[3]))) "
                           "(+ 0.2 (* 0.002054 (sqrt (+ (* x[0] x[0]) (* x[1] x[1]))))))"}],
    "nav_point": NAVIGATE,
    "nav_set": NAVIGATE,
    # "for t > 8": a state that is continuous in time is in a closed range at 8, too.
    "balancing": [{"within": [8, 10], "holds": within(-0.001, 0.001, 0, 2, 3)}],
}
# Problem -> the element of dx that a disturbance w is added to, and how large it is.
DISTURBED = {"unicycle": (3, 1e-4)}


# ---- Models.

def read_model(path):
    return onnx.decode("Model", path.read_bytes())


def add_disturbance(plant, element):
    """The plant with one more input w [1, 1], added to an element of dx."""
    graph = plant["graph"]
    (out,) = graph["output"]
    states = out["type"]["tensor_type"]["shape"]["dim"][1]["dim_value"]
    for node in graph["node"]:
        node["output"] = ["dx_alone" if name == out["name"] else name for name in node["output"]]
    unit = np.zeros((1, states), np.float32)
    unit[0, element] = 1
    graph["initializer"].append(onnx.tensor("w_where", unit))
    graph["input"].append(onnx.value_info("w", [1, 1]))
    graph["node"] += [onnx.node("Mul", ["w", "w_where"], "w_on_dx"), onnx.node("Add", ["dx_alone", "w_on_dx"], out["name"])]
    return plant


def attributes_of(node):
    return {a["name"]: a["ints"] or a.get("f", a.get("i")) for a in node.get("attribute", [])}


def slice_of(x, begin, end, axes, steps=(1,)):
    cut = [slice(None)] * x.ndim
    for b, e, axis, step in zip(begin, end, axes, steps):
        cut[axis] = slice(b, e, step)
    return x[tuple(cut)]


def gemm(a, b, c=0.0, alpha=1.0, beta=1.0, transA=0, transB=0):
    return alpha * (a.T if transA else a) @ (b.T if transB else b) + beta * c


def conv(x, weights, bias, kernel_shape=(), **_):
    """A convolution whose kernel is as large as its image."""
    if x.shape[1:] != weights.shape[1:]:
        raise ValueError("a kernel that is smaller than its image")
    return (x.reshape(len(x), -1) @ weights.reshape(len(weights), -1).T + bias).reshape(len(x), -1, 1, 1)


OPERATORS = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Neg": np.negative, "MatMul": np.matmul,
    "Sin": np.sin, "Cos": np.cos, "Tanh": np.tanh, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Relu": lambda x: np.maximum(x, 0), "Identity": lambda x: x, "Slice": slice_of, "Gemm": gemm, "Conv": conv,
    "Concat": lambda *parts, axis: np.concatenate(parts, axis),
    "Reshape": lambda x, shape: x.reshape(len(x), *shape[1:]), "Flatten": lambda x, axis=1: x.reshape(len(x), -1),
}


class Network:
    """A model in double on many points at once: its first dimension is 1 in the file."""

    def __init__(self, model):
        graph = model["graph"]
        self.nodes = [(OPERATORS[n["op_type"]], n["input"], n["output"][0], attributes_of(n)) for n in graph["node"]]
        self.constants = {t["name"]: onnx.values_of(t) for t in graph["initializer"]}
        self.inputs = [i["name"] for i in graph["input"] if i["name"] not in self.constants]
        self.output = graph["output"][0]["name"]

    def __call__(self, *values):
        made = dict(self.constants, **dict(zip(self.inputs, values)))
        points = len(values[0])
        for operator, inputs, output, attributes in self.nodes:
            operands = [made[i] for i in inputs]
            if operator is OPERATORS["Concat"]:
                operands = [np.broadcast_to(o, (points, *o.shape[1:])) for o in operands]
            made[output] = operator(*operands, **attributes)
        return np.broadcast_to(made[self.output], (points, *made[self.output].shape[1:]))


# ---- Questions and simulations.

def question_of(name, problem, reading, loops, out):
    """The question, as `reach` reads it, and its plant."""
    plant = read_model(loops / f"{name}_plant.onnx")
    path = loops / f"{name}_plant.onnx"
    question = {"controller": str(loops / f"{name}_controller.onnx"),
                "kind": "continuous" if reading == "continuous" else "euler",
                "period": problem["period"], "steps": problem["steps"], "initial": problem["initial"],
                "requirements": REQUIREMENTS[name]}
    if reading != "continuous":
        question["substeps"] = int(reading.removeprefix("euler"))
    if name in DISTURBED:
        element, size = DISTURBED[name]
        add_disturbance(plant, element)
        path = out / f"{name}_disturbed_plant.onnx"
        path.write_bytes(onnx.encode("Model", plant))
        question["disturbances"] = {"w": {"lower": [-size], "upper": [size], "changing": True}}
    question["plant"] = str(path)
    return question, Network(plant)


def starts_of(initial, count, random):
    """Corners of the box, as far as there are, and random points."""
    lower, upper = np.array(initial["lower"], float), np.array(initial["upper"], float)
    share = random.random((count, len(lower)))
    share[: count // 2] = random.integers(0, 2, (count // 2, len(lower)))
    return lower + share * (upper - lower)


def flow(plant, x, held, span, substeps):
    """x after a span of time while the inputs in `held` stay, by Runge and Kutta's steps of order 4."""
    for _ in range(substeps):
        h = span / substeps
        a = plant(x, *held)
        b = plant(x + h / 2 * a, *held)
        c = plant(x + h / 2 * b, *held)
        d = plant(x + h * c, *held)
        x = x + h / 6 * (a + 2 * b + 2 * c + d)
    return x


def simulate(question, controller, plant, count):
    """[instant][trajectory][state] at the beginnings of periods, and at the end."""
    random = np.random.default_rng(0)
    x = starts_of(question["initial"], count, random)
    states = [x]
    for _ in range(question["steps"]):
        held = [controller(x)]
        for disturbance in question.get("disturbances", {}).values():
            low, high = np.array(disturbance["lower"]), np.array(disturbance["upper"])
            held.append(low + np.round(random.random((count, len(low)))) * (high - low))
        if question["kind"] == "continuous":
            x = flow(plant, x, held, question["period"], 20)
        else:
            for _ in range(question["substeps"]):
                x = x + question["period"] / question["substeps"] * plant(x, *held)
        states.append(x)
    return np.array(states)


# ---- Answers.

def ask(program, path, timeout, options, runs):
    """The answer as JSON, and the seconds of each process."""
    spent = []
    for _ in range(runs):
        command = [str(program), "reach", str(path), "--json", "--timeout", str(timeout), *options]
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        spent.append(time.monotonic() - start)
        if not done.stdout.startswith("{"):
            sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout), spent


def instants_of(answer, question):
    """Beginning of a period -> lower and upper ends of the states' ranges."""
    found = {}
    for piece in answer.get("tube", []):
        period = piece["from"] / question["period"]
        if piece["from"] == piece["to"] and abs(period - round(period)) < 1e-6:
            found[round(period)] = np.array(piece["state"], float).T
    return found


def compare(answer, question, states):
    """The largest width over the range of the simulations at the end, and the states that lie outside."""
    instants = instants_of(answer, question)
    outside = sum(int(((states[k] < low) | (states[k] > high)).any(axis=1).sum()) for k, (low, high) in instants.items())
    if question["steps"] not in instants:
        return "", outside
    low, high = instants[question["steps"]]
    seen = states[-1].max(axis=0) - states[-1].min(axis=0)
    return f"{np.max((high - low)[seen > 0] / seen[seen > 0], initial=0):.3g}", outside


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bf-aot", type=pathlib.Path, default=SOURCE / "build" / "demo" / "aot" / "bf-aot")
    parser.add_argument("--loops", type=pathlib.Path, default=SOURCE / ".." / "shared" / "loops")
    parser.add_argument("--only", default="")
    parser.add_argument("--readings", default="continuous,euler1,euler10")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--out", type=pathlib.Path, default=SOURCE / "build" / "loops")
    parser.add_argument("--write", action="store_true", help="write the questions alone")
    parser.add_argument("options", nargs="*", help="of bf-aot, behind --")
    arguments = parser.parse_args()
    loops = arguments.loops.resolve()
    arguments.out = arguments.out.resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)
    problems = json.loads((loops / "problems.json").read_text())
    names = arguments.only.split(",") if arguments.only else list(problems)
    if not arguments.write:
        print("| problem | reading | answer | seconds | cells | width / simulations | outside |\n|---|---|---|---|---|---|---|")
    for name in names:
        controller = Network(read_model(loops / f"{name}_controller.onnx"))
        for reading in arguments.readings.split(","):
            question, plant = question_of(name, problems[name], reading, loops, arguments.out)
            path = arguments.out / f"{name}_{reading}.json"
            path.write_text(json.dumps(question, indent=2) + "\n")
            if arguments.write:
                continue
            answer, spent = ask(arguments.bf_aot, path, arguments.timeout, arguments.options, arguments.runs)
            ratio, outside = compare(answer, question, simulate(question, controller, plant, arguments.simulations))
            print(f"| {name} | {reading} | {answer['answer']} | {statistics.median(spent):.2f} | {answer['cells']} | {ratio} "
                  f"| {outside} |", flush=True)


if __name__ == "__main__":
    main()
