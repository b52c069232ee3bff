"""scikit-learn's models by skl2onnx, whose own scores scikit_learn_test.py compares with."""

PACKAGES = ("sklearn", "skl2onnx")


def networks(network, seed):
    import numpy as np
    from skl2onnx import to_onnx
    from sklearn import decomposition, ensemble, linear_model, naive_bayes, neighbors, neural_network, pipeline, preprocessing

    random = np.random.default_rng(seed)
    rows = random.uniform(-1, 1, (150, 4)).astype(np.float32)
    numbers = np.sin(3 * rows[:, 0]) + rows[:, 1] * rows[:, 2]
    classes = np.digitize(numbers, (-0.5, 0.5))

    def exported(name, model, target, **expected):
        model.fit(rows, target)
        options = {"zipmap": False} if hasattr(model, "classes_") else None
        made = to_onnx(model, rows[:1], options=options)
        return network(name, made, output=made.graph.output[-1].name, **expected)

    make = pipeline.make_pipeline
    yield exported("dense", neural_network.MLPClassifier((8, 8), max_iter=50, random_state=seed), classes)
    yield exported("scaled, of parts", make(preprocessing.StandardScaler(), decomposition.PCA(3),
                                            linear_model.LogisticRegression()), classes)
    yield exported("powers", make(preprocessing.PowerTransformer(), linear_model.Ridge()), numbers)
    yield exported("polynomial", make(preprocessing.PolynomialFeatures(2), linear_model.Ridge()), numbers)
    yield exported("forest", ensemble.RandomForestRegressor(5, max_depth=4, random_state=seed), numbers)
    yield exported("normal densities", naive_bayes.GaussianNB(), classes)
    # The inputs decide which rows are the nearest.
    yield exported("neighbours", neighbors.KNeighborsRegressor(3), numbers, refused="BF1018")
