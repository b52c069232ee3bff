"""The analytic cost that `collision_avoidance_6x50.onnx` is fitted to.

Two aircraft fly in a plane. The ownship is at the origin and heads along +x; seen from it the
intruder is at distance rho (ft) and bearing theta (rad, positive to the left), heads along psi
(rad, relative to the ownship's heading, positive to the left), and the speeds are v_own and v_int
(ft/s). Under advisory a the ownship turns at the constant rate w_a for HORIZON seconds while the
intruder keeps its course:

    own_a(t)  = v_own / w_a (sin w_a t, 1 - cos w_a t)          (v_own t, 0) for w_a = 0
    other(t)  = rho (cos theta, sin theta) + v_int t (cos psi, sin psi)
    miss_a    = min over t = 0, 0.5, ..., HORIZON of |own_a(t) - other(t)|
    cost_a    = 1 / (1 + (miss_a / MISS_SCALE)^2) + turn penalty_a

The advisory with the least cost is given. The network reads each quantity divided by its range
(`RANGE`) and subtracts the mean (`MEAN`, in the same units) itself.
"""

import numpy as np

INPUTS = ("rho", "theta", "psi", "v_own", "v_int")
ADVISORIES = ("clear of conflict", "weak left", "weak right", "strong left", "strong right")
TURN_RATE = np.radians([0.0, 1.5, -1.5, 3.0, -3.0])  # rad/s, left positive
TURN_PENALTY = np.array([0.0, 0.03, 0.03, 0.06, 0.06])
HORIZON = 40.0
MISS_SCALE = 4000.0

LOWER = np.array([0.0, -np.pi, -np.pi, 100.0, 0.0])
UPPER = np.array([60760.0, np.pi, np.pi, 1200.0, 1200.0])
RANGE = UPPER - LOWER
MEAN = np.array([20000.0, 0.0, 0.0, 650.0, 600.0]) / RANGE


def cost(state):
    """Costs [n, 5] of the five advisories in the states [n, 5] (physical units)."""
    rho, theta, psi, v_own, v_int = np.asarray(state, dtype=np.float64).T
    miss = np.full((len(rho), len(ADVISORIES)), np.inf)
    for t in np.arange(0.0, HORIZON + 0.25, 0.5):
        other_x = rho * np.cos(theta) + v_int * t * np.cos(psi)
        other_y = rho * np.sin(theta) + v_int * t * np.sin(psi)
        for a, rate in enumerate(TURN_RATE):
            along = t if rate == 0 else np.sin(rate * t) / rate
            aside = 0.0 if rate == 0 else (1.0 - np.cos(rate * t)) / rate
            distance = np.hypot(v_own * along - other_x, v_own * aside - other_y)
            np.minimum(miss[:, a], distance, out=miss[:, a])
    return 1.0 / (1.0 + (miss / MISS_SCALE) ** 2) + TURN_PENALTY


def sample(rng, count):
    """Random states [count, 5], one half of them with the distance drawn towards zero."""
    unit = rng.random((count, len(INPUTS)))
    unit[: count // 2, 0] **= 2
    return LOWER + unit * RANGE


def normalise(state):
    """What the network reads: each quantity in units of its range."""
    return np.asarray(state, dtype=np.float64) / RANGE
