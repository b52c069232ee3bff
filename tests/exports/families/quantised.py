"""What quantisers write: QDQ and operators of integers by ONNX Runtime, blocks of 4 bits, floats of 8 and 4 bits, AMD's
and NVIDIA's tools where these are installed."""

import importlib.util
import pathlib
import tempfile

import onnx

PACKAGES = ("torch", "onnxscript", "onnxruntime")


def networks(network, seed):
    import numpy as np
    import torch
    from onnxruntime import quantization
    from onnxruntime.quantization import matmul_nbits_quantizer
    from torch import nn

    torch.manual_seed(seed)
    kinds, formats = quantization.QuantType, quantization.QuantFormat

    class Calibration(quantization.CalibrationDataReader):
        def __init__(self, shape):
            random = np.random.default_rng(seed)
            self.rows = [{"x": random.normal(size=shape).astype(np.float32)} for _ in range(8)]
            self.rewind()

        def rewind(self):
            self.left = iter(self.rows)

        def get_next(self):
            return next(self.left, None)

    def exported(path, module, shape):
        made = torch.onnx.export(module.eval(), (torch.randn(shape),), dynamo=True, verbose=False, opset_version=21,
                                 input_names=["x"])
        onnx.save(made.model_proto, path)
        return str(path), shape

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        dense = exported(folder / "dense.onnx", nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 16), nn.GELU(),
                                                             nn.Linear(16, 4)), (1, 32))
        images = exported(folder / "images.onnx", nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 4)), (1, 3, 8, 8))
        out = folder / "quantised.onnx"

        def quantised(model, **options):
            quantization.quantize_static(model[0], out, Calibration(model[1]), **options)
            return onnx.load(out)

        for label, options in (
                ("QDQ of 8 bits", {"quant_format": formats.QDQ, "per_channel": True}),
                ("operators of 8 bits", {"quant_format": formats.QOperator}),
                ("QDQ of 16 bits", {"quant_format": formats.QDQ, "activation_type": kinds.QUInt16}),
                ("QDQ, weights of 4 bits", {"quant_format": formats.QDQ, "weight_type": kinds.QInt4})):
            for model, what in ((dense, "dense"), (images, "images")):
                yield network(f"{label}, {what}", quantised(model, **options))
        float8 = {"activation_type": kinds.QFLOAT8E4M3FN, "weight_type": kinds.QFLOAT8E4M3FN, "quant_format": formats.QDQ,
                  "calibrate_method": quantization.CalibrationMethod.Distribution}
        yield network("QDQ of floats of 8 bits", quantised(images, **float8))
        for quant_format in (formats.QDQ, formats.QOperator):
            maker = matmul_nbits_quantizer.MatMulNBitsQuantizer(onnx.load(dense[0]), bits=4, block_size=16,
                                                               is_symmetric=False, quant_format=quant_format)
            maker.process()
            yield network(f"blocks of 4 bits, {quant_format.name}", maker.model.model)
        for type_name in ("FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT4E2M1"):
            yield network(f"blocks of {type_name}", blocked(type_name, seed))
        yield from by_tools(network, folder, dense, images, Calibration, seed)


def blocked(type_name, seed):
    """Weights whose scales are floats of 8 bits with a scale of their own, as NVIDIA's format of 4 bits has them."""
    import numpy as np

    helper, random = onnx.helper, np.random.default_rng(seed)
    kind, floats = getattr(onnx.TensorProto, type_name), onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("DequantizeLinear", ["scales", "scale"], ["s"]),
         helper.make_node("DequantizeLinear", ["codes", "s"], ["w"], axis=0, block_size=4),
         helper.make_node("MatMul", ["x", "w"], ["y"])], "blocked",
        [helper.make_tensor_value_info("x", floats, [1, 8])], [helper.make_tensor_value_info("y", floats, [1, 6])],
        [helper.make_tensor("codes", kind, (8, 6), random.normal(size=48).tolist()),
         helper.make_tensor("scales", onnx.TensorProto.FLOAT8E4M3FN, (2, 6), random.uniform(0.5, 2, 12).tolist()),
         helper.make_tensor("scale", floats, (), [0.7])])
    return helper.make_model(graph, ir_version=11, opset_imports=[helper.make_opsetid("", 23)])


def by_tools(network, folder, dense, images, calibration, seed):
    import numpy as np

    out = str(folder / "by_tool.onnx")
    if importlib.util.find_spec("quark") is None:
        print("  AMD's Quark is not installed")
    else:
        from quark.onnx import ModelQuantizer
        from quark.onnx.quantization.config.config import Config
        from quark.onnx.quantization.config.custom_config import get_default_config

        # Its own operators, of numbers that share an exponent, have no definition in ONNX.
        for name, refused in (("A8W8", None), ("XINT8", None), ("A16W8", None), ("MXFP4E2M1", "BF1010")):
            ModelQuantizer(Config(global_quant_config=get_default_config(name))).quantize_model(
                dense[0], out, calibration(dense[1]))
            yield network(f"Quark, {name}", onnx.load(out), refused=refused)
    missing = [each for each in ("modelopt", "onnx_graphsurgeon") if importlib.util.find_spec(each) is None]
    if missing:
        print(f"  NVIDIA's Model Optimizer is not installed: {', '.join(missing)}")
        return
    from modelopt.onnx import quantization

    data = np.random.default_rng(seed).normal(size=(8, *images[1][1:])).astype(np.float32)
    for mode in ("int8", "fp8"):
        quantization.quantize(images[0], quantize_mode=mode, calibration_data=data, output_path=out,
                              calibration_eps=["cpu"], high_precision_dtype="fp32")
        yield network(f"Model Optimizer, {mode}", onnx.load(out))
