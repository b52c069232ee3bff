"""PyTorch's exporters: by torch.export, and by tracing where modules become functions of the model."""

import io
import logging

import onnx

PACKAGES = ("torch", "onnxscript")


def networks(network, seed):
    logging.disable(logging.WARNING)
    import torch
    from torch import nn
    from torch.nn import functional

    torch.manual_seed(seed)

    class Of(nn.Module):
        """A function of its modules and the inputs."""

        def __init__(self, function, *modules):
            super().__init__()
            self.function, self.own = function, nn.ModuleList(modules)

        def forward(self, *x):
            return self.function(self.own, *x)

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.inner, self.outer = nn.Linear(width, width), nn.Linear(width, width)

        def forward(self, x):
            return x + 0.2 * self.outer(torch.relu(self.inner(x)))

    def deep(own, x):
        for block in own:
            x = block(x)
        return x

    def exported(module, *shapes, **options):
        made = torch.onnx.export(module.eval(), tuple(torch.randn(shape) for shape in shapes), dynamo=True, verbose=False,
                                 **options)
        return made.model_proto

    def traced(module, *shapes, **options):
        file = io.BytesIO()
        torch.onnx.export(module.eval(), tuple(torch.randn(shape) for shape in shapes), file, dynamo=False, **options)
        return onnx.load_model_from_string(file.getvalue())

    def step_with_cache(own, x, past_key, past_value):
        """One more token of a decoder, whose keys and values so far are inputs."""
        query, key, value = (each(x).view(1, 1, 2, 8).transpose(1, 2) for each in own[:3])
        key, value = torch.cat([past_key, key], 2), torch.cat([past_value, value], 2)
        mean = functional.scaled_dot_product_attention(query, key, value)
        return own[3](mean.transpose(1, 2).reshape(1, 1, 16)), key, value

    def static_cache(own, x, keys, values):
        """A cache of fixed length, into which one row is written."""
        keys, values = keys.clone(), values.clone()
        keys[:, 3:4], values[:, 3:4] = own[0](x), own[1](x)
        return torch.softmax(own[2](x) @ keys[:, :4].transpose(1, 2) / 8**0.5, -1) @ values[:, :4], keys, values

    def linear(count, width):
        return [nn.Linear(width, width) for _ in range(count)]

    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu", norm_first=True)
    for operator_set in (18, 24):
        yield network(f"encoder, set {operator_set}", exported(layer, (1, 5, 16), opset_version=operator_set))
    yield network("30 blocks", exported(Of(deep, *[Block(8) for _ in range(30)]), (1, 8)))
    yield network("30 blocks, functions", traced(Of(deep, *[Block(8) for _ in range(30)]), (1, 8), opset_version=17,
                                                 export_modules_as_functions={Block}))
    yield network("images", exported(nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.SiLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=8),
        nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)), (1, 3, 8, 8)))
    yield network("step with a cache", exported(Of(step_with_cache, *linear(4, 16)), (1, 1, 16), (1, 2, 3, 8), (1, 2, 3, 8)))
    yield network("static cache", exported(Of(static_cache, *linear(3, 8)), (1, 1, 8), (1, 6, 8), (1, 6, 8)))
    yield network("fold", exported(Of(lambda own, x: functional.fold(own[0](functional.unfold(x, 3, padding=1).mT).mT,
                                                                     (6, 6), 3, padding=1), nn.Linear(18, 18)), (1, 2, 6, 6)))
    yield network("Fourier", exported(Of(lambda own, x: torch.abs(torch.fft.fft(own[0](x))), nn.Linear(4, 8)), (1, 4)))
    yield network("spectrogram", exported(Of(lambda _, x: torch.view_as_real(torch.stft(
        x, 8, 4, window=torch.hann_window(8), return_complex=True))), (1, 32)))
    yield network("LSTM", traced(Of(lambda own, x: own[0](x)[0][:, -1], nn.LSTM(4, 8, batch_first=True)), (1, 4, 4)))
