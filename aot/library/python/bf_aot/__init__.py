"""Sound bounds and verdicts of ONNX networks.

    import bf_aot

    model = bf_aot.load("model.onnx")
    lower, upper = model.bounds(x - 0.01, x + 0.01)        # of every output, on each box
    result = model.verify("property.vnnlib")               # verified, falsified or unknown
    model.compile("monitor.cpp", target="cortex-m4")       # a verifier in C++, for a device

Bounds hold for every real input in the box, and all rounding is counted: docs/guide/soundness.md.
"""

from ._certified import Certified, Curve, Disturbed, Explanation, box
from ._certify import certify
from ._compare import Comparison, compare
from ._errors import Error
from ._gates import assert_robust, assert_verified
from ._load import include, load
from ._measure import Measured
from ._model import Model
from ._native import __version__
from ._property import Condition, Linear, Property, inputs, outputs
from ._reach import Reach, reach
from ._report import Report
from ._verdict import Progress, Proof, Verdict, VerifyResult
from ._verifier import Bounds, Verifier
from ._verify import verify

__all__ = ["Bounds", "Certified", "Comparison", "Condition", "Curve", "Disturbed", "Error", "Explanation", "Linear",
           "Measured", "Model", "Progress", "Proof", "Property", "Reach", "Report", "Verdict", "Verifier",
           "VerifyResult", "__version__", "assert_robust", "assert_verified", "box", "certify", "compare", "include",
           "inputs", "load", "outputs", "reach", "verify"]
