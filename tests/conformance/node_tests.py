#!/usr/bin/env python3
"""Writes the node tests of the installed ONNX as its older releases laid them: node_tests.py FOLDER

FOLDER/node/NAME has model.onnx and, in test_data_set_0, input_K.pb and output_K.pb. Newer releases make them when they
are asked for. Needs the packages onnx and numpy; without them it ends with 77, which CTest takes as skipped.
"""
import pathlib
import sys
import warnings

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.case import node
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def encode(value, info):
    if info.type.HasField("tensor_type"):
        return value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(np.asarray(value), info.name)
    if info.type.HasField("sequence_type"):
        return numpy_helper.from_list(value, info.name)
    return numpy_helper.from_optional(value, info.name)


def write(case, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for number, (inputs, outputs) in enumerate(case.data_sets or []):
        data = folder / f"test_data_set_{number}"
        data.mkdir(exist_ok=True)
        for kind, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for place, (value, info) in enumerate(zip(values, infos)):
                (data / f"{kind}_{place}.pb").write_bytes(encode(value, info).SerializeToString())


def main():
    warnings.filterwarnings("ignore")
    cases = [case for case in node.collect_testcases(None) if case.model is not None]
    for case in cases:
        write(case, pathlib.Path(sys.argv[1]) / "node" / case.name)
    print(f"{len(cases)} node tests of ONNX {onnx.__version__}")


if __name__ == "__main__":
    main()
