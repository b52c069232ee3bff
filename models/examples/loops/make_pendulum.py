"""Makes a pendulum that a small network holds upright: controller.onnx, plant.onnx, step.onnx.

    python make_pendulum.py

Needs NumPy. The state x [1, 2] is the angle from upright in radians, and its speed; the control u [1, 1] is what the
motor adds to the acceleration.

plant.onnx: (x, u) -> dx, with angle' = speed, speed' = 9.81 sin(angle) - 0.2 speed + u.
step.onnx: (x, u) -> the state 0.01 s later, as a simulator has it: first the speed, then the angle by the new speed.
controller.onnx: x -> u, two layers of ReLUs: u = -(20 angle + 6 speed), steeper beyond 0.2 radians, within [-8, 8].
"""

import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))
import onnx_format as onnx  # noqa: E402

GRAVITY, FRICTION, STEP = 9.81, 0.2, 0.01
ANGLE_GAIN, SPEED_GAIN, FAR_GAIN, FAR, MOST = 20, 6, 10, 0.2, 8


def write(name, inputs, output, tensors, nodes):
    graph = {"name": name, "node": nodes,
             "initializer": [onnx.tensor(key, np.array(value, np.float32)) for key, value in tensors.items()],
             "input": [onnx.value_info(*each) for each in inputs], "output": [onnx.value_info(*output)]}
    model = {"ir_version": 8, "producer_name": "make_pendulum.py",
             "opset_import": [{"domain": "", "version": 13}], "graph": graph}
    (HERE / f"{name}.onnx").write_bytes(onnx.encode("Model", model))


def controller():
    pull = [-ANGLE_GAIN, -SPEED_GAIN]  # of angle, speed
    write("controller", [("x", [1, 2])], ("u", [1, 1]), {
        # pull and its opposite, the angle beyond FAR to both sides
        "first": np.array([pull, np.negative(pull), [1, 0], [-1, 0]]).T, "first_bias": [0, 0, -FAR, -FAR],
        # wanted + MOST, wanted - MOST
        "second": np.array([[1, -1, -FAR_GAIN, FAR_GAIN]] * 2).T, "second_bias": [MOST, -MOST],
        "third": [[1], [-1]], "third_bias": [-MOST]}, [
        onnx.node("Gemm", ["x", "first", "first_bias"], "parts"),
        onnx.node("Relu", ["parts"], "active_parts"),
        onnx.node("Gemm", ["active_parts", "second", "second_bias"], "wanted"),
        onnx.node("Relu", ["wanted"], "active_wanted"),
        onnx.node("Gemm", ["active_wanted", "third", "third_bias"], "u")])


def acceleration():
    """The constants and nodes of "acceleration" from x and u."""
    tensors = {"of_angle": [[1], [0]], "of_speed": [[0], [1]], "gravity": [[GRAVITY]], "friction": [[FRICTION]]}
    return tensors, [
        onnx.node("MatMul", ["x", "of_angle"], "angle"),
        onnx.node("MatMul", ["x", "of_speed"], "speed"),
        onnx.node("Sin", ["angle"], "sine"),
        onnx.node("Mul", ["sine", "gravity"], "fall"),
        onnx.node("Mul", ["speed", "friction"], "brake"),
        onnx.node("Sub", ["fall", "brake"], "free"),
        onnx.node("Add", ["free", "u"], "acceleration")]


def plants():
    inputs = [("x", [1, 2]), ("u", [1, 1])]
    tensors, nodes = acceleration()
    write("plant", inputs, ("dx", [1, 2]), tensors,
          nodes + [onnx.node("Concat", ["speed", "acceleration"], "dx", axis=1)])
    write("step", inputs, ("next_x", [1, 2]), tensors | {"h": [[STEP]]}, nodes + [
        onnx.node("Mul", ["acceleration", "h"], "faster"),
        onnx.node("Add", ["speed", "faster"], "next_speed"),
        onnx.node("Mul", ["next_speed", "h"], "way"),
        onnx.node("Add", ["angle", "way"], "next_angle"),
        onnx.node("Concat", ["next_angle", "next_speed"], "next_x", axis=1)])


if __name__ == "__main__":
    controller()
    plants()
