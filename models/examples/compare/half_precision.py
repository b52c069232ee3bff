"""Writes a network whose weights are those of another, rounded to half precision.

    half_precision.py MODEL.onnx HALF.onnx
"""

import pathlib
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import onnx_format  # noqa: E402


def rounded(data):
    """float32 numbers as bytes, each the nearest of half precision."""
    count = len(data) // 4
    halves = struct.pack(f"<{count}e", *struct.unpack(f"<{count}f", data))
    return struct.pack(f"<{count}f", *struct.unpack(f"<{count}e", halves))


def main():
    source, target = map(pathlib.Path, sys.argv[1:])
    model = onnx_format.decode("Model", source.read_bytes())
    for weight in model["graph"]["initializer"]:
        if weight["data_type"] == onnx_format.FLOAT and weight.get("raw_data"):
            weight["raw_data"] = rounded(weight["raw_data"])
    target.write_bytes(onnx_format.encode("Model", model))


if __name__ == "__main__":
    main()
