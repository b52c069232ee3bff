"""The C interface by ctypes: main.py LIBRARY MODELS [MODULE ...], with modules that are imported before and after."""

import ctypes
import importlib
import sys


def main():
    library, models, *modules = sys.argv[1:]
    before, after = [name for name in modules if name[0] != "+"], [name[1:] for name in modules if name[0] == "+"]
    for name in before:
        importlib.import_module(name)
    lib = ctypes.CDLL(library)
    for name in ("code", "text"):
        getattr(lib, f"bf_aot_error_{name}").restype = ctypes.c_char_p
    for name in ("model_load", "verifier_make", "verifier_bounds"):
        getattr(lib, f"bf_aot_{name}").restype = ctypes.c_void_p

    def check(error):
        if error:
            sys.exit(lib.bf_aot_error_text(ctypes.c_void_p(error)).decode())

    model, verifier = ctypes.c_void_p(), ctypes.c_void_p()
    check(lib.bf_aot_model_load(f"{models}/digits_64x2.onnx".encode(), ctypes.byref(model)))
    check(lib.bf_aot_verifier_make(model, None, None, None, ctypes.c_size_t(0), ctypes.byref(verifier)))
    for name in after:
        importlib.import_module(name)
    box, out = ctypes.c_double * 64, ctypes.c_float * 10
    lower, upper = out(), out()
    check(lib.bf_aot_verifier_bounds(verifier, box(*[0.45] * 64), box(*[0.5] * 64), ctypes.c_size_t(1), lower, upper))
    print(f"output 0: [{lower[0]:.9g}, {upper[0]:.9g}]")
    if "onnx" in before + after:  # the other protobuf still reads
        import onnx
        print(len(onnx.load(f"{models}/digits_64x2.onnx").graph.node), "nodes")
    if "onnxruntime" in before + after:
        import numpy
        import onnxruntime
        session = onnxruntime.InferenceSession(f"{models}/digits_64x2.onnx")
        found = session.run(None, {session.get_inputs()[0].name: numpy.full(session.get_inputs()[0].shape, 0.475, numpy.float32)})[0]
        assert (found >= numpy.array(lower)).all() and (found <= numpy.array(upper)).all(), found
    if "torch" in before + after:  # its exporter writes ONNX by a protobuf of its own; rounding is to nearest
        import io
        import warnings
        import torch
        exact = torch.tensor([1.0, 3.0]) / torch.tensor([3.0, 7.0])
        assert [x.hex() for x in exact.tolist()] == ["0x1.5555560000000p-2", "0x1.b6db6e0000000p-2"], exact
        written = io.BytesIO()
        warnings.simplefilter("ignore")
        torch.onnx.export(torch.nn.Linear(2, 3), (torch.zeros(1, 2),), written,
                          **({"dynamo": False} if int(torch.__version__.split(".")[0]) >= 2 else {}))
        print(len(written.getvalue()), "bytes of torch")
        if "onnx" in before + after:
            assert onnx.load_from_string(written.getvalue()).producer_name == "pytorch"
    lib.bf_aot_verifier_free(verifier)
    lib.bf_aot_model_free(model)
    error = lib.bf_aot_model_load(b"none.onnx", ctypes.byref(model))
    print(lib.bf_aot_error_code(ctypes.c_void_p(error)).decode())
    lib.bf_aot_error_free(ctypes.c_void_p(error))


if __name__ == "__main__":
    main()
