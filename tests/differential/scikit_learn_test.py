"""Models of scikit-learn against bounds: scikit_learn_test.py BF_AOT [POINTS].

Each model is trained on random numbers and exported by skl2onnx. bf-aot bounds its scores in boxes, and the model's own
scores of POINTS random points lie in them. A box of one point has an interval that is no wider than roundings are.
Needs numpy, scikit-learn, skl2onnx and what these need, which the Python that BF_RUNTIMES_PYTHON names may have.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import runtimes  # noqa: E402  (another Python, if it must be)

for package in ("sklearn", "skl2onnx"):
    if importlib.util.find_spec(package) is None:
        print(f"skipped: needs the Python package {package}")
        sys.exit(runtimes.SKIPPED)

import numpy as np  # noqa: E402
from skl2onnx import to_onnx  # noqa: E402
from sklearn import ensemble, linear_model, neural_network, svm, tree  # noqa: E402
from tabular import FEATURES, Rows  # noqa: E402

ROWS = Rows(200)
RANDOM, INPUTS, NUMBERS, TWO, THREE = ROWS.random, ROWS.inputs, ROWS.numbers, ROWS.two, ROWS.three

# Model, what it learns, and its scores as the exported model has them.
MODELS = [
    (linear_model.Ridge(), NUMBERS, lambda m, x: m.predict(x)),
    (linear_model.LogisticRegression(), THREE, lambda m, x: m.predict_proba(x)),
    (tree.DecisionTreeRegressor(max_depth=5), NUMBERS, lambda m, x: m.predict(x)),
    (ensemble.RandomForestClassifier(20, max_depth=5, random_state=1), THREE, lambda m, x: m.predict_proba(x)),
    (ensemble.GradientBoostingRegressor(n_estimators=30, random_state=1), NUMBERS, lambda m, x: m.predict(x)),
    (neural_network.MLPRegressor(hidden_layer_sizes=(16, 16), max_iter=300, random_state=1), NUMBERS, lambda m, x: m.predict(x)),
    (svm.SVR(kernel="rbf"), NUMBERS, lambda m, x: m.predict(x)),
    (svm.SVC(kernel="linear"), TWO, lambda m, x: m.decision_function(x)),
    (svm.SVC(kernel="rbf"), TWO, lambda m, x: m.decision_function(x)),
    (svm.SVC(kernel="poly", degree=3, gamma=0.5), TWO, lambda m, x: m.decision_function(x)),
]


def save(model, path):
    """Writes the model, as scores alone. Returns the name of the output that has them."""
    options = {id(model): {"zipmap": False}} if hasattr(model, "classes_") else {}
    exported = to_onnx(model, INPUTS[:1], options=options, target_opset={"": 17, "ai.onnx.ml": 3})
    path.write_bytes(exported.SerializeToString())
    return exported.graph.output[-1].name


def bounds(program, model, box, output):
    done = subprocess.run([program, "run", model, "--box", box, "--shape", f"X=1,{FEATURES}", "--output-tensor", output, "--json"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{model}: {done.stdout}{done.stderr}")
    found = json.loads(done.stdout)["outputs"]
    return np.array(found["lower"]), np.array(found["upper"])


def scores_of(model, predict, points, count):
    scores = np.asarray(predict(model, points), np.float64).reshape(len(points), -1)
    # Of two classes ONNX has two scores: s, which is positive for the second class in scikit-learn, and -s.
    return np.hstack([scores, -scores]) if scores.shape[1] == 1 and count == 2 else scores


def main():
    program, points = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    boxes = 8
    tried, failed = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path, box_file = pathlib.Path(folder) / "m.onnx", pathlib.Path(folder) / "box.json"
        for model, target, predict in MODELS:
            model.fit(INPUTS, target)
            output = save(model, path)
            for k in range(boxes):
                centre, radius = RANDOM.uniform(-1, 1, FEATURES), (0, 0.01, 0.1, 0.5)[k % 4]
                lower, upper = (np.float32(centre + sign * radius).tolist() for sign in (-1, 1))
                box_file.write_text(json.dumps({"lower": lower, "upper": upper}))
                low, high = bounds(program, path, box_file, output)
                x = RANDOM.uniform(lower, upper, (points // (boxes * len(MODELS)) + 1, FEATURES)).astype(np.float32)
                x = np.clip(x, np.float32(lower), np.float32(upper))
                scores = scores_of(model, predict, x, len(low))
                # The exporter rounds the model's numbers to float32.
                slack = 2e-5 * (1 + np.abs(scores))
                inside = (low - slack <= scores) & (scores <= high + slack)
                tight = radius > 0 or bool(np.all(high - low <= 1e-3 * (1 + np.abs(high))))
                tried += len(x)
                if not inside.all() or not tight:
                    failed += 1
                    print(f"{model}: box {k}, {np.count_nonzero(~inside)} scores outside, widest {np.max(high - low)}")
    print(f"{tried} points of {len(MODELS)} models, {failed} boxes that are wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
