"""Reads and writes the part of the ONNX file format that feed-forward networks use.

Messages are dicts, repeated fields lists. `encode`/`decode` are the protobuf wire format,
`to_text` the text format that `protoc --encode=bf_aot.onnx.ModelProto` reads.
"""

import struct

FLOAT, INT64, DOUBLE = 1, 7, 11  # TensorProto.DataType
ATTRIBUTE_FLOAT, ATTRIBUTE_INT, ATTRIBUTE_STRING, ATTRIBUTE_TENSOR, ATTRIBUTE_INTS = 1, 2, 3, 4, 7

# message -> field -> (number, kind, repeated); kind: a scalar's name or a message's. "packed"
# repeated scalars share one record.
SCHEMA = {
    "Model": {
        "ir_version": (1, "int", ""),
        "producer_name": (2, "string", ""),
        "producer_version": (3, "string", ""),
        "doc_string": (6, "string", ""),
        "graph": (7, "Graph", ""),
        "opset_import": (8, "OperatorSet", "repeated"),
    },
    "OperatorSet": {"domain": (1, "string", ""), "version": (2, "int", "")},
    "Graph": {
        "node": (1, "Node", "repeated"),
        "name": (2, "string", ""),
        "initializer": (5, "Tensor", "repeated"),
        "doc_string": (10, "string", ""),
        "input": (11, "ValueInfo", "repeated"),
        "output": (12, "ValueInfo", "repeated"),
    },
    "Node": {
        "input": (1, "string", "repeated"),
        "output": (2, "string", "repeated"),
        "name": (3, "string", ""),
        "op_type": (4, "string", ""),
        "attribute": (5, "Attribute", "repeated"),
    },
    "Attribute": {
        "name": (1, "string", ""),
        "f": (2, "float", ""),
        "i": (3, "int", ""),
        "s": (4, "bytes", ""),
        "t": (5, "Tensor", ""),
        "ints": (8, "int", "repeated"),
        "type": (20, "int", ""),
    },
    "Tensor": {
        "dims": (1, "int", "repeated"),
        "data_type": (2, "int", ""),
        "float_data": (4, "float", "packed"),
        "int64_data": (7, "int", "packed"),
        "name": (8, "string", ""),
        "raw_data": (9, "bytes", ""),
        "double_data": (10, "double", "packed"),
    },
    "ValueInfo": {"name": (1, "string", ""), "type": (2, "Type", "")},
    "Type": {"tensor_type": (1, "TensorType", "")},
    "TensorType": {"elem_type": (1, "int", ""), "shape": (2, "Shape", "")},
    "Shape": {"dim": (1, "Dimension", "repeated")},
    "Dimension": {"dim_value": (1, "int", ""), "dim_param": (2, "string", "")},
}
ENUM_NAMES = {
    ("Attribute", "type"): {1: "FLOAT", 2: "INT", 3: "STRING", 4: "TENSOR", 7: "INTS"},
}


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _scalar(kind, value):
    """(wire type, payload) of one value."""
    if kind == "int":
        return 0, _varint(int(value))
    if kind == "double":
        return 1, struct.pack("<d", value)
    if kind == "float":
        return 5, struct.pack("<f", value)
    data = value.encode() if kind == "string" else value if kind == "bytes" else encode(kind, value)
    return 2, _varint(len(data)) + data


def encode(message, fields):
    """The wire format of `fields`, in the order of the field numbers, as protoc writes it."""
    out = bytearray()
    for name, (number, kind, repeated) in SCHEMA[message].items():
        if name not in fields or (repeated and len(fields[name]) == 0):
            continue
        if repeated == "packed":
            data = b"".join(_scalar(kind, v)[1] for v in fields[name])
            out += _varint(number << 3 | 2) + _varint(len(data)) + data
            continue
        for value in fields[name] if repeated else [fields[name]]:
            wire, payload = _scalar(kind, value)
            out += _varint(number << 3 | wire) + payload
    return bytes(out)


def _read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (value - (1 << 64) if value >= 1 << 63 else value), at


def _read_record(data, at):
    """(field number, wire type, value, next position)."""
    key, at = _read_varint(data, at)
    number, wire = key >> 3, key & 7
    if wire == 0:
        value, at = _read_varint(data, at)
        return number, wire, value, at
    if wire == 2:
        size, at = _read_varint(data, at)
    elif wire in (1, 5):
        size = 8 if wire == 1 else 4
    else:
        raise ValueError(f"wire type {wire} at byte {at}")
    if at + size > len(data):
        raise ValueError(f"the record at byte {at} runs past the end")
    return number, wire, data[at : at + size], at + size


def _unpack(kind, wire, value):
    """The values in one record of a scalar field: several when it is packed."""
    if kind == "int":
        if wire == 0:
            return [value]
        values, at = [], 0
        while at < len(value):
            one, at = _read_varint(value, at)
            values.append(one)
        return values
    code, size = ("<f", 4) if kind == "float" else ("<d", 8)
    return [struct.unpack_from(code, value, at)[0] for at in range(0, len(value), size)]


def decode(message, data):
    """The fields of `data`; unknown ones are skipped, absent repeated ones are []."""
    by_number = {number: (name, kind, rep) for name, (number, kind, rep) in SCHEMA[message].items()}
    fields = {name: [] for name, (_, _, repeated) in SCHEMA[message].items() if repeated}
    at = 0
    while at < len(data):
        number, wire, value, at = _read_record(data, at)
        if number not in by_number:
            continue
        name, kind, repeated = by_number[number]
        if kind in ("int", "float", "double"):
            values = _unpack(kind, wire, value)
        elif kind == "string":
            values = [bytes(value).decode()]
        else:
            values = [bytes(value) if kind == "bytes" else decode(kind, value)]
        if repeated:
            fields[name] += values
        else:
            fields[name] = values[-1]
    return fields


def _float_text(value):
    value = np.float32(value)
    return str(int(value)) if value == int(value) else str(value)


def _escape(data):
    return "".join(f"\\x{byte:02x}" for byte in data)


def to_text(message, fields, indent=""):
    """The text format; repeated numbers stay on one line."""
    lines = []
    for name, (_, kind, repeated) in SCHEMA[message].items():
        if name not in fields:
            continue
        values = fields[name] if repeated else [fields[name]]
        if kind in ("int", "float"):
            enum = ENUM_NAMES.get((message, name))
            show = enum.get if enum else _float_text if kind == "float" else str
            text = ", ".join(show(v) for v in values)
            lines.append(f"{indent}{name}: {f'[{text}]' if repeated else text}")
        elif kind == "string":
            lines += [f'{indent}{name}: "{v}"' for v in values]
        elif kind == "bytes":
            lines += [f'{indent}{name}: "{_escape(v)}"' for v in values]
        else:
            for v in values:
                inner = to_text(kind, v, indent + "  ")
                flat = " ".join(inner.split())
                if len(indent) + len(name) + len(flat) + 5 <= 100:
                    lines.append(f"{indent}{name} {{ {flat} }}" if flat else f"{indent}{name} {{}}")
                else:
                    lines.append(f"{indent}{name} {{\n{inner}\n{indent}}}")
    return "\n".join(lines)


def tensor(name, values, raw=True):
    """A TensorProto of float32 or int64 values, as raw bytes or as readable numbers."""
    import numpy as np  # here and below alone: who only encodes needs no package

    values = np.asarray(values)
    integers = values.dtype.kind == "i"
    values = values.astype("<i8" if integers else "<f4")
    fields = {"dims": list(values.shape), "data_type": INT64 if integers else FLOAT, "name": name}
    if raw:
        fields["raw_data"] = values.tobytes()
    else:
        fields["int64_data" if integers else "float_data"] = values.ravel().tolist()
    return fields


def values_of(fields):
    """The values of a TensorProto, floats widened to float64."""
    import numpy as np

    kind = fields.get("data_type", 0)
    if kind not in (FLOAT, INT64, DOUBLE):
        raise ValueError(f"tensor '{fields.get('name', '')}' has element type {kind}")
    wire = {FLOAT: "<f4", INT64: "<i8", DOUBLE: "<f8"}[kind]
    key = {FLOAT: "float_data", INT64: "int64_data", DOUBLE: "double_data"}[kind]
    if "raw_data" in fields:
        values = np.frombuffer(fields["raw_data"], wire)
    else:
        values = np.array(fields[key], wire)
    return values.astype(np.int64 if kind == INT64 else np.float64).reshape(fields["dims"])


def value_info(name, shape):
    dims = [{"dim_value": d} for d in shape]
    return {"name": name, "type": {"tensor_type": {"elem_type": FLOAT, "shape": {"dim": dims}}}}


def node(op_type, inputs, output, name="", **attributes):
    fields = {"input": inputs, "output": [output], "name": name or output, "op_type": op_type}
    listed = []
    for key, value in attributes.items():
        if isinstance(value, float):
            listed.append({"name": key, "f": value, "type": ATTRIBUTE_FLOAT})
        elif isinstance(value, int):
            listed.append({"name": key, "i": value, "type": ATTRIBUTE_INT})
        elif isinstance(value, str):
            listed.append({"name": key, "s": value.encode(), "type": ATTRIBUTE_STRING})
        else:
            listed.append({"name": key, "ints": list(value), "type": ATTRIBUTE_INTS})
    return fields | ({"attribute": listed} if listed else {})
