"""The importer's graphs against numpy: differential_test.py CHECKER SOURCE_FOLDER [CASES].

Writes random single-operator models with inputs and numpy's results in the layout of the ONNX
backend tests, and lets CHECKER (tests/conformance/check_folder.cpp) import, normalise and evaluate
them. BF_SEED=n repeats a run.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77  # what CTest knows as "skipped"

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(SKIPPED)

sys.path.insert(0, str(pathlib.Path(sys.argv[2]) / "models"))
import numpy_images  # noqa: E402,F401  (beside this file; adds to the cases)
import numpy_operators  # noqa: E402
import onnx_format  # noqa: E402

# Element types that onnx_format does not write itself.
TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float64": 11}
ATTRIBUTE_STRING = 3
onnx_format.SCHEMA["Attribute"]["s"] = (4, "string", "")


def tensor(name, values):
    values = np.asarray(values)
    return {"dims": list(values.shape), "data_type": TYPES[values.dtype.name], "name": name,
            "raw_data": np.ascontiguousarray(values).tobytes()}


def value_info(name, values):
    info = onnx_format.value_info(name, list(np.shape(values)))
    info["type"]["tensor_type"]["elem_type"] = TYPES[np.asarray(values).dtype.name]
    return info


def attribute(key, value):
    if isinstance(value, str):
        return {"name": key, "s": value, "type": ATTRIBUTE_STRING}
    return onnx_format.node("", [], "", **{key: value})["attribute"][0]


def model_of(case):
    names = ["" if each is None else f"x{i}" for i, each in enumerate(case.inputs)]
    given = [(name, *each) for name, each in zip(names, case.inputs) if each is not None]
    outputs = [f"y{i}" for i in range(len(case.outputs))]
    node = {"input": names, "output": outputs, "name": "n", "op_type": case.op_type,
            "attribute": [attribute(k, v) for k, v in case.attributes.items()]}
    return {
        "ir_version": 8,
        "graph": {
            "name": case.op_type,
            "node": [node],
            "initializer": [tensor(name, x) for name, x, constant in given if constant],
            "input": [value_info(name, x) for name, x, constant in given if not constant],
            "output": [value_info(n, y) for n, y in zip(outputs, case.outputs)],
        },
        "opset_import": [{"version": case.opset}],
    }


def write_case(folder, case):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(onnx_format.encode("Model", model_of(case)))
    free = [each[0] for each in case.inputs if each is not None and not each[1]]
    for kind, values in (("input", free), ("output", case.outputs)):
        for i, value in enumerate(values):
            (data / f"{kind}_{i}.pb").write_bytes(
                onnx_format.encode("Tensor", tensor("", value)))


def main():
    checker, count = sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 600
    seed = int(os.environ.get("BF_SEED", "1"))
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for group in ("node", "simple", "pytorch-converted", "pytorch-operator"):
            (folder / group).mkdir()
        for i in range(count):
            draw = numpy_operators.CASES[i % len(numpy_operators.CASES)]
            case = draw(rng)
            write_case(folder / "node" / f"{i:04}_{draw.__name__}_{case.op_type}", case)
        result = subprocess.run([checker, str(folder)], check=False)
    if result.returncode != 0:
        print(f"seed {seed}")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
