"""The data set of `bf-aot certify`'s example by auto_LiRPA: certify_auto_lirpa.py [BATCH] [COUNT].

Prints how many images are certified by CROWN, as `bf-aot certify --method crown --eps 0.03` counts, and seconds: since the
process began, of the imports, and of bounding. Needs torch, auto_LiRPA, onnx and numpy. docs/measurements/certify.md
holds what it gave. OMP_NUM_THREADS says on how many cores.
"""

import pathlib
import sys
import time

import numpy as np
import onnx
import onnx.numpy_helper
import torch
from auto_LiRPA import BoundedModule, BoundedTensor
from auto_LiRPA.perturbations import PerturbationLpNorm

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "models/examples/robustness"
EPS, CLASSES = 0.03, 10


def since_start():
    """Seconds since the process began, its imports included."""
    ticks = float(pathlib.Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
    uptime = float(pathlib.Path("/proc/uptime").read_text().split()[0])
    return uptime - ticks / 100


def network():
    graph = onnx.load(str(EXAMPLE / "digits_cnn.onnx")).graph
    weights = [torch.from_numpy(onnx.numpy_helper.to_array(each).copy())
               for each in graph.initializer if each.data_type == onnx.TensorProto.FLOAT]
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(),
        torch.nn.Conv2d(8, 16, 3, stride=2, padding=1), torch.nn.ReLU(),
        torch.nn.Flatten(), torch.nn.Linear(256, 32), torch.nn.ReLU(),
        torch.nn.Linear(32, CLASSES)).eval()
    layers = [layer for layer in net if hasattr(layer, "weight")]
    with torch.no_grad():
        for k, layer in enumerate(layers):
            weight, bias = weights[2 * k], weights[2 * k + 1]
            layer.weight.copy_(weight if weight.shape == layer.weight.shape else weight.T)
            layer.bias.copy_(bias)
    return net


def rows_against(labels):
    """[n, 9, 10]: the differences of the label's output and all others."""
    rows = []
    for label in labels:
        each = -np.eye(CLASSES, dtype=np.float32)
        each[:, label] += 1
        rows.append(np.delete(each, label, axis=0))
    return torch.from_numpy(np.stack(rows))


def main():
    imports = since_start()
    batch = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    data = np.load(EXAMPLE / "digits_test.npz")
    images = torch.from_numpy(data["x"][:count].astype(np.float32) / 16)
    labels = data["y"][:count].astype(int)
    net = network()
    with torch.no_grad():
        right = (net(images).argmax(1).numpy() == labels)
    begin = time.perf_counter()
    certified = 0
    model = BoundedModule(net, torch.empty_like(images[:batch]), device="cpu")
    for first in range(0, count, batch):
        x = images[first:first + batch]
        norm = PerturbationLpNorm(norm=np.inf, eps=EPS, x_L=(x - EPS).clamp(0, 1),
                                  x_U=(x + EPS).clamp(0, 1))
        with torch.no_grad():
            lower, _ = model.compute_bounds(x=(BoundedTensor(x, norm),), method="CROWN",
                                            C=rows_against(labels[first:first + batch]))
        certified += int(((lower.min(1).values > 0).numpy() & right[first:first + batch]).sum())
    bounding = time.perf_counter() - begin
    print(f"{certified} of {count} certified; {since_start():.2f} s, of which imports {imports:.2f}, "
          f"bounding {bounding:.2f}")


if __name__ == "__main__":
    main()
