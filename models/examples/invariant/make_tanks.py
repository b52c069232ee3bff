"""Makes tanks.onnx: one second of two coupled tanks, whose pump a small network controls.

    python make_tanks.py

Needs Python alone. Inputs: levels [1, 2] in metres, inflow [1, 1] in metres a second (a disturbance).
Output: next_levels [1, 2]. Each tank loses 5 % of its level a second, the first into the second. The
controller drives the first level to 1: pump = max(0, 1 - level) / 5, by two neurons.
"""

import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))
import onnx_format as onnx  # noqa: E402


def tensor(name, dims, numbers):
    data = struct.pack(f"<{len(numbers)}f", *numbers)
    return {"dims": dims, "data_type": onnx.FLOAT, "name": name, "raw_data": data}


def main():
    weights = [
        tensor("first", [2, 2], [-1, 1, 0, 0]), tensor("first_bias", [2], [1, -1]),
        tensor("second", [2, 2], [0.2, 0, -0.02, 0]),      # pump, and less of it above 1
        tensor("physics", [2, 2], [0.95, 0.05, 0, 0.95]),  # levels -> next levels
        tensor("spread", [1, 2], [1, 0]),                  # inflow -> the first tank
    ]
    nodes = [
        onnx.node("Gemm", ["levels", "first", "first_bias"], "hidden", "first"),
        onnx.node("Relu", ["hidden"], "active"),
        onnx.node("MatMul", ["active", "second"], "pump"),
        onnx.node("MatMul", ["levels", "physics"], "flow"),
        onnx.node("MatMul", ["inflow", "spread"], "disturbed"),
        onnx.node("Add", ["flow", "pump"], "driven"),
        onnx.node("Add", ["driven", "disturbed"], "next_levels"),
    ]
    model = {
        "ir_version": 8, "producer_name": "make_tanks.py", "opset_import": [{"domain": "", "version": 13}],
        "graph": {
            "name": "tanks", "node": nodes, "initializer": weights,
            "input": [onnx.value_info("levels", [1, 2]), onnx.value_info("inflow", [1, 1])],
            "output": [onnx.value_info("next_levels", [1, 2])],
        },
    }
    (HERE / "tanks.onnx").write_bytes(onnx.encode("Model", model))


if __name__ == "__main__":
    main()
