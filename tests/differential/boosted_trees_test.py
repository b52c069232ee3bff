"""Models of LightGBM and XGBoost against bounds: boosted_trees_test.py BF_AOT [POINTS].

Each model is trained on random numbers and exported by onnxmltools. Python descends the exported trees, and adds up
their leaves exactly. The sums agree with the model's own scores, but for roundings; bf-aot's bounds of boxes hold the
sums of POINTS random points of each box without any allowance. Bounds of one point are as wide as roundings of float32,
and upper bounds of a box are sums of leaves that the box reaches. Needs numpy, onnx, onnxruntime, onnxmltools and one
of lightgbm and xgboost, which the Python that BF_RUNTIMES_PYTHON names may have.
"""

import importlib.util
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import runtimes  # noqa: E402  (another Python, if it must be)

LIBRARIES = [name for name in ("lightgbm", "xgboost") if importlib.util.find_spec(name)]
if importlib.util.find_spec("onnxmltools") is None or not LIBRARIES:
    print("skipped: needs the Python packages onnxmltools, and lightgbm or xgboost")
    sys.exit(runtimes.SKIPPED)

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxmltools  # noqa: E402
from onnxmltools.convert.common.data_types import FloatTensorType  # noqa: E402
from tabular import FEATURES, Rows  # noqa: E402

ROWS = Rows(400)
RANDOM, INPUTS, NUMBERS, TWO, THREE = ROWS.random, ROWS.inputs, ROWS.numbers, ROWS.two, ROWS.three
RADII = (0, 0, 0.01, 0.1, 0.3, 1)


def models():
    """Library, model, and what it learns."""
    if "lightgbm" in LIBRARIES:
        import lightgbm
        common = {"n_estimators": 20, "num_leaves": 12, "verbose": -1, "n_jobs": 1, "random_state": 1}
        # onnxmltools divides the sum of a forest by 100, however many trees there are.
        forest = {**common, "n_estimators": 100, "boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7}
        yield "lightgbm", lightgbm.LGBMRegressor(**common), NUMBERS
        yield "lightgbm", lightgbm.LGBMRegressor(**forest), NUMBERS
        yield "lightgbm", lightgbm.LGBMClassifier(**common), TWO
        yield "lightgbm", lightgbm.LGBMClassifier(**common), THREE
    if "xgboost" in LIBRARIES:
        import xgboost
        common = {"n_estimators": 20, "max_depth": 4, "n_jobs": 1, "random_state": 1}
        yield "xgboost", xgboost.XGBRegressor(**common), NUMBERS
        yield "xgboost", xgboost.XGBRFRegressor(**common), NUMBERS
        yield "xgboost", xgboost.XGBClassifier(**common), TWO
        yield "xgboost", xgboost.XGBClassifier(**common), THREE


def own_scores(library, model, x):
    """[points, scores] before any function, and after it."""
    if not hasattr(model, "classes_"):
        raw = after = model.predict(x)
    else:
        raw = model.predict(x, **({"raw_score": True} if library == "lightgbm" else {"output_margin": True}))
        after = model.predict_proba(x)
    return np.asarray(raw, np.float64).reshape(len(x), -1), np.asarray(after, np.float64).reshape(len(x), -1)


class Trees:
    """The trees of an exported model, as its attributes have them."""

    def __init__(self, graph):
        self.node = next(each for each in graph.node if each.op_type.startswith("TreeEnsemble"))
        given = {each.name: onnx.helper.get_attribute_value(each) for each in self.node.attribute}
        prefix = "target" if self.node.op_type == "TreeEnsembleRegressor" else "class"
        keys = list(zip(given["nodes_treeids"], given["nodes_nodeids"]))
        self.nodes = dict(zip(keys, zip(given["nodes_modes"], given["nodes_featureids"],
                                        np.float32(given["nodes_values"]), given["nodes_truenodeids"],
                                        given["nodes_falsenodeids"])))
        self.weights = {}
        for tree, leaf, target, weight in zip(given[prefix + "_treeids"], given[prefix + "_nodeids"],
                                              given[prefix + "_ids"], given[prefix + "_weights"]):
            self.weights.setdefault((tree, leaf), {})[target] = float(np.float32(weight))
        self.targets = 1 + max(given[prefix + "_ids"])
        self.base = [float(np.float32(each)) for each in given.get("base_values", [])] or [0.0] * self.targets
        self.trees = sorted(set(given["nodes_treeids"]))
        divisor = [each for each in graph.initializer if each.name == "denominator"]
        self.divisor = float(onnx.numpy_helper.to_array(divisor[0]).reshape(-1)[0]) if divisor else 1.0

    def leaves(self, lower, upper):
        """The leaves of each tree that points between the ends reach."""
        for tree in self.trees:
            open_nodes, found = [(tree, 0)], []
            while open_nodes:
                key = open_nodes.pop()
                mode, feature, value, yes, no = self.nodes[key]
                if mode == b"LEAF":
                    found.append(key)
                    continue
                low, high = lower[feature], upper[feature]
                may = {b"BRANCH_LEQ": (low <= value, high > value), b"BRANCH_LT": (low < value, high >= value)}[mode]
                open_nodes += [(tree, child) for child, goes in zip((yes, no), may) if goes]
            yield found

    def sums(self, x):
        """The score of each target at a point, rounded once."""
        reached = [found[0] for found in self.leaves(x, x)]
        return [math.fsum([base, *(self.weights.get(leaf, {}).get(target, 0.0) for leaf in reached)]) / self.divisor
                for target, base in enumerate(self.base)]

    def most(self, lower, upper):
        """The sum of the largest leaves that a box reaches, for each target."""
        reached = list(self.leaves(lower, upper))

        def largest(target):
            return (max(self.weights.get(leaf, {}).get(target, 0.0) for leaf in found) for found in reached)
        return [math.fsum([base, *largest(target)]) / self.divisor for target, base in enumerate(self.base)]


def export(library, model):
    convert = onnxmltools.convert_lightgbm if library == "lightgbm" else onnxmltools.convert_xgboost
    more = {"zipmap": False} if library == "lightgbm" else {}
    return convert(model, initial_types=[("X", FloatTensorType([1, FEATURES]))], target_opset=15, **more)


def without_function(exported):
    """The same model, whose scores are sums."""
    made = onnx.ModelProto()
    made.CopyFrom(exported)
    for attribute in Trees(made.graph).node.attribute:
        if attribute.name == "post_transform":
            attribute.s = b"NONE"
    return made


def bounds(program, model, box, output):
    done = subprocess.run([program, "run", model, "--box", box, "--output-tensor", output, "--json"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{model}: {done.stdout}{done.stderr}")
    found = json.loads(done.stdout)["outputs"]
    return np.array(found["lower"], np.float64), np.array(found["upper"], np.float64)


def check(program, library, model, points, folder):
    """What is wrong, in words."""
    exported = export(library, model)
    plain = without_function(exported)
    trees = Trees(exported.graph)
    output = exported.graph.output[-1].name
    classes = len(getattr(model, "classes_", ()))
    path, transformed, box_file = folder / "plain.onnx", folder / "model.onnx", folder / "box.json"
    path.write_bytes(plain.SerializeToString())
    transformed.write_bytes(exported.SerializeToString())
    for k, radius in enumerate(RADII * 2):
        centre = RANDOM.uniform(-1, 1, FEATURES)
        lower, upper = (np.float32(centre + sign * radius) for sign in (-1, 1))
        box_file.write_text(json.dumps({"lower": lower.tolist(), "upper": upper.tolist()}), encoding="utf-8")
        low, high = bounds(program, path, box_file, output)
        count = 1 if radius == 0 else points
        x = np.clip(RANDOM.uniform(lower, upper, (count, FEATURES)).astype(np.float32), lower, upper)
        sums = np.array([trees.sums(each) for each in x])
        raw, after = own_scores(library, model, x)
        if not np.allclose(sums, raw, rtol=1e-5, atol=1e-5):
            yield f"box {k}: exported sums differ from the model's by {np.max(np.abs(sums - raw))}"
        most = np.array(trees.most(lower, upper))
        if classes == 2:  # one score: that of the second class, and its opposite
            sums, most = np.hstack([-sums, sums]), np.array([np.inf, most[0]])
        # Sums are rounded to a double, so that an end may be met.
        outside = (sums < low - 1e-15 * np.abs(low)) | (sums > high + 1e-15 * np.abs(high))
        if outside.any():
            yield f"box {k}: {np.count_nonzero(outside)} of {outside.size} sums are outside of the bounds"
        slack = 1e-5 * (1 + np.abs(sums).max())
        if radius == 0 and np.any(high - low > slack):
            yield f"box {k}: bounds of a point are {np.max(high - low)} wide"
        if np.any(high > most + slack):
            yield f"box {k}: the upper bounds {high} are above the largest leaves {most}"
        low, high = bounds(program, transformed, box_file, output)
        if np.any(after < low - 1e-5) or np.any(after > high + 1e-5):
            yield f"box {k}: the model's own scores are outside of the bounds"


def main():
    program, points = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    warnings.simplefilter("ignore")
    failed = tried = 0
    with tempfile.TemporaryDirectory() as folder:
        for library, model, target in models():
            model.fit(INPUTS, target)
            tried += 1
            for problem in check(program, library, model, points, pathlib.Path(folder)):
                failed += 1
                print(f"{library}: {type(model).__name__}: {problem}")
    print(f"{tried} models of {' and '.join(LIBRARIES)}: {failed} problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
