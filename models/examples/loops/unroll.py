"""Writes a loop of discrete steps out as one network, whose certificates bf-check checks.

    python unroll.py CONTROLLER.onnx PLANT.onnx PERIODS STEPS OUT.onnx

The network reads the state x [1, n] and computes the states after 1, 2, .. PERIODS periods, [1, PERIODS n]: each asks
the controller once, and does STEPS steps of the plant, (x, u) -> the next state.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import onnx_format as onnx  # noqa: E402


def read(path):
    return onnx.decode("Model", pathlib.Path(path).read_bytes())


def inserted(graph, prefix, given):
    """The nodes of a graph, whose inputs are the values `given`, and its output's name. Tensors are named once."""
    constants = {each["name"] for each in graph["initializer"]}
    names = dict(zip((each["name"] for each in graph["input"] if each["name"] not in constants), given))

    def name(old):
        if old in constants:
            return f"{graph['name']}/{old}"
        return names.get(old, f"{prefix}/{old}") if old else ""

    nodes = [dict(each, name=f"{prefix}/{i}", input=[name(old) for old in each["input"]],
                  output=[name(old) for old in each["output"]]) for i, each in enumerate(graph["node"])]
    return nodes, name(graph["output"][0]["name"])


def unrolled(controller, plant, periods, steps):
    control, step = controller["graph"], plant["graph"]
    tensors = [dict(each, name=f"{graph['name']}/{each['name']}") for graph in (control, step)
               for each in graph["initializer"]]
    state = step["input"][0]
    nodes, at, reached = [], "x", []
    for period in range(periods):
        made, u = inserted(control, f"u{period}", [at])
        nodes += made
        for k in range(steps):
            made, at = inserted(step, f"x{period}_{k}", [at, u])
            nodes += made
        reached.append(at)
    nodes.append(onnx.node("Concat", reached, "reached", axis=1))
    width = state["type"]["tensor_type"]["shape"]["dim"][1]["dim_value"]
    graph = {"name": "loop", "node": nodes, "initializer": tensors, "input": [dict(state, name="x")],
             "output": [onnx.value_info("reached", [1, periods * width])]}
    return dict(plant, producer_name="unroll.py", graph=graph)


def main():
    controller, plant, periods, steps, out = sys.argv[1:]
    pathlib.Path(out).write_bytes(onnx.encode("Model", unrolled(read(controller), read(plant), int(periods), int(steps))))


if __name__ == "__main__":
    main()
