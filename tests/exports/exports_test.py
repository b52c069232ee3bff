"""Networks that exporters of today make, against bounds: exports_test.py BF_AOT FAMILY.

FAMILY is a module of families/: it names the packages that it needs, and makes two networks or more, small and with
weights that are random by BF_SEED. Each is exported, and bf-aot bounds it in boxes by `ibp` and `crown`. What ONNX
Runtime makes of points lies within, but for roundings of float32; where it has no kernel, ONNX's reference evaluator is
asked. Bounds of a point are no wider than roundings are. What is refused is refused with the code that the family names.

A package that is missing skips the family, as a machine that runs too old a Python for it does.
"""

import importlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import runtimes  # noqa: E402  (another Python, if it must be)
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

METHODS = ("ibp", "crown")
RADII = (0, 0.01, 0.1)
POINTS = 40
SEED = int(os.environ.get("BF_SEED", "1")) % 2**32


class Network:
    """An export and what is expected of it.

    slack: how far evaluation in float32 may lie outside of bounds, of a share of 1 + |y|. refused: the code of the
    diagnostic that refuses it, or its words. output: the tensor that is bounded, where the model has others."""

    def __init__(self, name, model, slack=2e-5, refused=None, output=None):
        self.name, self.model, self.slack, self.refused, self.output = name, model, slack, refused, output

    def inputs(self):
        """(name, shape, NumPy's type) of each input that has no value; unknown sizes are 1."""
        known = {each.name for each in self.model.graph.initializer}
        for info in self.model.graph.input:
            if info.name not in known:
                tensor = info.type.tensor_type
                shape = [each.dim_value or 1 for each in tensor.shape.dim]
                yield info.name, shape, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)

    def outputs(self):
        return [self.output] if self.output else [each.name for each in self.model.graph.output]


class Evaluator:
    """The network's outputs at a point, as one vector, by whoever can compute them."""

    def __init__(self, network):
        self.network = network
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self.names = network.outputs()
        try:
            session = onnxruntime.InferenceSession(network.model.SerializeToString(), options,
                                                   providers=["CPUExecutionProvider"])
            self.by = f"ONNX Runtime {onnxruntime.__version__}"
            self.run = lambda feed: session.run(self.names, feed)
            self(np.zeros(self.size()))
        except Exception:  # of many kinds: an operator, or a form of one, that it has no kernel for
            evaluator = ReferenceEvaluator(network.model)
            self.by = f"onnx {onnx.__version__}"
            self.run = lambda feed: evaluator.run(self.names, feed)
            try:
                self(np.zeros(self.size()))
            except Exception as error:
                self.by = f"nobody: {str(error).splitlines()[0][:60]}"
                self.run = None

    def size(self):
        return sum(int(np.prod(shape)) for _, shape, _ in self.network.inputs())

    def __call__(self, point):
        feed, used = {}, 0
        for name, shape, kind in self.network.inputs():
            count = int(np.prod(shape))
            feed[name] = point[used:used + count].reshape(shape).astype(kind)
            used += count
        return np.concatenate([np.asarray(each, np.float64).ravel() for each in self.run(feed)])


class Checks:
    def __init__(self, program, folder):
        self.program, self.folder, self.failed = program, pathlib.Path(folder), 0
        self.random = np.random.default_rng(SEED)

    def fail(self, network, message):
        self.failed += 1
        print(f"  {network.name}: {message}")

    def call(self, network, path, box, method):
        command = [self.program, "run", path, "--box", box, "--method", method, "--json", "--repeat", "1", "--jit", "off"]
        for name, shape, _ in network.inputs():
            command += ["--shape", f"{name}={','.join(map(str, shape))}"]
        if network.output:
            command += ["--output-tensor", network.output]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            return None, done.stderr
        found = json.loads(done.stdout)["outputs"]
        return (np.array([float(x) for x in found["lower"]]), np.array([float(x) for x in found["upper"]])), ""

    def points(self, lower, upper):
        for k in range(POINTS):
            share = self.random.random(lower.shape)
            point = lower + (upper - lower) * (np.round(share) if k % 2 else share)
            yield np.clip(point.astype(np.float32), lower, upper)

    def check(self, network):
        path, box = self.folder / "network.onnx", self.folder / "box.json"
        onnx.save(network.model, path)
        evaluate = None if network.refused else Evaluator(network)
        size = sum(int(np.prod(shape)) for _, shape, _ in network.inputs())
        widths = []
        for radius in RADII:
            centre = self.random.uniform(-1, 1, size)
            lower, upper = np.float32(centre - radius), np.float32(centre + radius)
            box.write_text(json.dumps({"lower": lower.tolist(), "upper": upper.tolist()}))
            values = [] if evaluate is None or evaluate.run is None else [evaluate(x) for x in self.points(lower, upper)]
            for method in METHODS:
                bounds, why = self.call(network, path, box, method)
                if network.refused:
                    if bounds is not None or network.refused not in why:
                        self.fail(network, f"is not refused with {network.refused}: {why[:300]}")
                    continue
                if bounds is None:
                    return self.fail(network, why[:500])
                low, high = bounds
                for y in values:
                    slack = network.slack * (1 + np.abs(y))
                    if y.shape != low.shape or not np.all((low - slack <= y) & (y <= high + slack)):
                        self.fail(network, f"{method}, radius {radius}: {y} is outside of {low} .. {high}")
                        break
                width = np.max((high - low) / (1 + np.minimum(np.abs(low), np.abs(high))))
                if not np.isfinite(width) and method == "crown" and radius <= 0.01:
                    self.fail(network, f"crown, radius {radius}: an infinite bound")
                if radius == 0 and method == "crown" and width > max(1e-3, network.slack):
                    self.fail(network, f"bounds of a point are {width} wide")
                widths.append(f"{width:.2g}")
        print(f"  {network.name:28} {network.refused or ' '.join(widths)}{f', by {evaluate.by}' if evaluate else ''}")


def main():
    program, name = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
    warnings.filterwarnings("ignore")
    family = importlib.import_module(f"families.{name}")
    for package in family.PACKAGES:
        if importlib.util.find_spec(package) is None:
            print(f"skipped: needs the Python package {package}")
            sys.exit(runtimes.SKIPPED)
    versions = importlib.metadata.packages_distributions()
    print(", ".join(f"{each} {importlib.metadata.version(versions[each][0])}" for each in family.PACKAGES))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some tools write reports to where they are called
        networks = list(family.networks(Network, SEED))
        if len(networks) < 2:
            raise SystemExit(f"family {name} has {len(networks)} networks")
        checks = Checks(program, folder)
        for network in networks:
            checks.check(network)
    print(f"{len(networks)} networks, {checks.failed} failures")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
