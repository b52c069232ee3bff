"""Claims that are false by little, and changes of certificates, models and properties, none of which may be accepted.

BF_CHECK_MANY: the program check_many, which asks bf-check's library. BF_ATTACKS: how many changes. BF_PROVEN: a folder
where the proven checker may be, which is asked then, too.
"""

import hashlib
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import time
import unittest
from fractions import Fraction

sys.dont_write_bytecode = True
from harness import SOURCE, Case  # noqa: E402
from small_models import model, node, tensor, write_model  # noqa: E402

sys.path.insert(0, str(SOURCE / "aot" / "check"))
import bf_check as twin  # noqa: E402

LEAF, LEAF_CHOICES, EMPTY, HALVE, CUT, SPLIT, DERIVE, EACH = range(8)
GRID = (44, 36, 40)
sys.setrecursionlimit(20000)


def number(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + number(n >> 7)


class Checker:
    """bf-check's library, in a process of its own."""

    def __init__(self):
        self.process = subprocess.Popen([os.environ["BF_CHECK_MANY"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, models, text, certificate):
        sized = b"".join(struct.pack("<I", len(x)) + x for x in (*models, text, certificate))
        self.process.stdin.write(struct.pack("<I", len(models)) + sized)
        self.process.stdin.flush()
        return int(self.process.stdout.read(1))  # nothing: the process has ended by a signal

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def header(models, text, statement=1, grid=GRID, semantics=(0,)):
    digests = b"".join(hashlib.sha256(x).digest() for x in (*models, text))
    return b"BFC2" + bytes([statement, *semantics, *grid, len(models)]) + digests + b"\x04hand"


def point(values):
    words = [str(Fraction(value)).encode() for value in values]
    return b"".join(number(len(word)) + word for word in words)


def asked_of_twin(models, text, certificate):
    try:
        return {1: 0, 2: 3}[twin.check(list(models), text, certificate, 2**21)]
    except twin.NotProven:
        return 4
    except Exception:  # whatever goes wrong is a refusal
        return 1


PROVEN = pathlib.Path(os.environ.get("BF_PROVEN", "none")) / "bf-check-proven"


def tree(depth, leaf, axis=0):
    """Halves inputs in turn; bounds are derived at leaves."""
    if depth == 0:
        return bytes([DERIVE]) + leaf
    below = tree(depth - 1, leaf, 1 - axis)
    return bytes([HALVE, axis]) + below + below


def random_tree(rng, depth=0):
    kind = rng.choice([DERIVE, LEAF, LEAF_CHOICES, EMPTY, HALVE, CUT, SPLIT, EACH]) if depth < 5 else LEAF
    if kind == DERIVE or depth == 0:
        return bytes([DERIVE]) + random_tree(rng, depth + 1)
    if kind in (HALVE, CUT, SPLIT):
        which = [rng.randrange(8)] + ([rng.randrange(128)] if kind == CUT else [])
        return bytes([kind, *which]) + random_tree(rng, depth + 1) + random_tree(rng, depth + 1)
    if kind == EACH:
        return bytes([kind]) + random_tree(rng, depth + 1) + random_tree(rng, depth + 1)
    return chosen(rng) if kind == LEAF_CHOICES else bytes([kind] + ([0] if kind == LEAF else []))


def chosen(rng):
    """A leaf with choices, of one condition."""
    places = [(rng.randrange(2), rng.randrange(129)) for _ in range(rng.randrange(4))]
    return bytes([LEAF_CHOICES, 1, 0, rng.randrange(3), 1, len(places)]) + bytes(x for pair in places for x in pair)


def changed(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        a, b = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
        kind = rng.randrange(7)
        if kind < 3 and data:
            data[rng.randrange(len(data))] = rng.choice((0, 1, 2, 6, 127, 128, 255, rng.randrange(256)))
        elif kind == 3:
            del data[a:min(b, a + 8)]
        elif kind == 4:
            data[a:a] = data[a:min(b, a + 40)]
        elif kind == 5:
            data[a:a] = chosen(rng) if rng.randrange(2) else bytes([rng.randrange(8), rng.randrange(8)])
        else:
            data[a:min(b, a + 60)] = random_tree(rng, 2)
    return bytes(data)


class Claim:
    """Files; a statement of them that is false; bodies of certificates from which attacks begin."""

    def __init__(self, name, models, text, statement, bodies):
        self.name, self.models, self.text, self.statement, self.bodies = name, models, text.encode(), statement, bodies


def box(inputs, outputs=1):
    return ("".join(f"(declare-const X_{i} Real)(assert (<= -1 X_{i} 1))" for i in range(inputs)) +
            "".join(f"(declare-const Y_{i} Real)" for i in range(outputs)))


# y = sum of f at x0 + x1 and at x0 - x1, or what nodes make of those; f for the greatest value, which is found on a grid.
ONE = {"Relu": lambda z: max(z, 0), "Sigmoid": lambda z: 1 / (1 + math.exp(-z)), "Tanh": math.tanh, "Exp": math.exp,
       "Sin": math.sin, "Cos": math.cos, "Atan": math.atan, "Erf": math.erf, "Softplus": lambda z: math.log(1 + math.exp(z)),
       "Floor": math.floor, "Abs": abs, "Softsign": lambda z: z / (1 + abs(z)), "Elu": lambda z: z if z > 0 else math.exp(z) - 1,
       "HardSwish": lambda z: z * max(0, min(1, z / 6 + 0.5)), "Sign": lambda z: (z > 0) - (z < 0),
       "Log": lambda z: math.log(z + 3), "Sqrt": lambda z: math.sqrt(z + 3), "Reciprocal": lambda z: 1 / (z + 3)}
SHIFTED = {"Log", "Sqrt", "Reciprocal"}
BOTH = {
    "product": ([node("MatMul", ["x", "a"], "p"), node("MatMul", ["x", "b"], "q"), node("Mul", ["p", "q"], "y")],
                [tensor("a", (2, 1), (1, 0.5)), tensor("b", (2, 1), (-0.25, 1))],
                lambda x, y: (x + 0.5 * y) * (-0.25 * x + y)),
    "square": ([node("MatMul", ["x", "a"], "p"), node("Mul", ["p", "p"], "y")], [tensor("a", (2, 1), (1, 0.5))],
               lambda x, y: (x + 0.5 * y) ** 2),
    "quotient": ([node("MatMul", ["x", "a"], "p"), node("MatMul", ["x", "b"], "q"), node("Add", ["q", "three"], "r"),
                  node("Div", ["p", "r"], "y")],
                 [tensor("a", (2, 1), (1, 0.5)), tensor("b", (2, 1), (-0.25, 1)), tensor("three", (), (3,))],
                 lambda x, y: (x + 0.5 * y) / (3 - 0.25 * x + y)),
    "softmax": ([node("MatMul", ["x", "w"], "z"), node("Softmax", ["z"], "s"), node("MatMul", ["s", "v"], "y")],
                [tensor("w", (2, 2), (1, 1, 1, -1)), tensor("v", (2, 1), (1, 2))],
                lambda x, y: (math.exp(x + y) + 2 * math.exp(x - y)) / (math.exp(x + y) + math.exp(x - y))),
    "maximum": ([node("MatMul", ["x", "w"], "z"), node("Relu", ["z"], "r"), node("MatMul", ["r", "u"], "h"),
                 node("Relu", ["h"], "g"), node("MatMul", ["g", "v"], "y")],
                [tensor("w", (2, 2), (1, 1, 1, -1)), tensor("u", (2, 2), (1, -1, 0.5, 1)), tensor("v", (2, 1), (1, -1))],
                lambda x, y: max(max(x + y, 0) + 0.5 * max(x - y, 0), 0) - max(max(x - y, 0) - max(x + y, 0), 0)),
}


def two_networks(limit):
    shape = "(declare-input {0} Real [1,2])(declare-output {1} Real [1,1])"
    return ("(vnnlib-version <2.0>)(declare-network f " + shape.format("X", "Y") + ")(declare-network g " +
            shape.format("U", "V") + ")" +
            "".join(f"(assert (<= -1 {t}[0,{i}] 1))" for t in "XU" for i in (0, 1)) +
            f"(assert (>= (+ Y[0,0] V[0,0]) {limit}))")


# Of these float32 rounds nothing at the witnesses: what is false of real numbers is false of float32, too.
EXACT = {"Relu", "Abs", "maximum", "product", "square"}


class Attacks(Case):
    def setUp(self):
        super().setUp()
        self.check = Checker()

    def tearDown(self):
        self.check.close()
        super().tearDown()

    def network(self, name, nodes, initializers):
        return write_model(self.work / f"{name}.onnx", model(name, nodes, initializers, (1, 2), (1, 1))).read_bytes()

    def networks(self):
        """Names, bytes, and the function of two numbers."""
        for op, f in ONE.items():
            read = "t" if op in SHIFTED else "z"
            nodes = [node("MatMul", ["x", "w"], "z"), node("Add", ["z", "three"], "t"), node(op, [read], "r"),
                     node("MatMul", ["r", "v"], "y")]
            yield op, self.network(op, nodes if read == "t" else nodes[:1] + nodes[2:], [
                tensor("w", (2, 2), (1, 1, 1, -1)), tensor("v", (2, 1), (1, 1)), tensor("three", (), (3,))]), (
                lambda x, y, f=f: f(x + y) + f(x - y))
        for name, (nodes, initializers, f) in BOTH.items():
            yield name, self.network(name, nodes, initializers), f

    def claims(self):
        places = [-1 + k / 8 for k in range(17)]
        for name, data, f in self.networks():
            best, x, y = max((f(x, y), x, y) for x in places for y in places)
            products = [("", (data,), lambda limit: box(2) + f"(assert (>= Y_0 {limit}))", (x, y), best)]
            if name in ("Relu", "Tanh", "product"):
                greatest = max((f(a, b) * a, a, b) for a in places for b in places)
                products.append((" times an input", (data,), lambda limit: box(2) + f"(assert (>= (* Y_0 X_0) {limit}))",
                                 greatest[1:], greatest[0]))
                products.append((" twice", (data, data), two_networks, (x, y, x, y), 2 * best))
            for kind, models, asks, witness, best in products:
                text = asks(f"{best - 2e-7:.9f}")
                # The witness: the claim that no input has the property is false.
                proof = header(models, text.encode(), 2) + point(witness)
                self.assertEqual(self.check(models, text.encode(), proof), 3, name + kind)
                bodies = [tree(depth, leaf) for depth in (0, 1, 3) for leaf in (
                    bytes([LEAF, 0]), bytes([LEAF_CHOICES, 1, 0, 1, 1, 2, 0, 0, 0, 100]))]
                yield Claim(name + kind, models, text, 1, bodies)
                # A tree: the claim that an input has it is false.
                asked = [asks(f"{best + more:.9f}").encode() for more in (1e-3, 0.1, 0.7, 3, 9)]
                held = [text for text in asked for depth in (0, 2, 4)
                        if self.check(models, text, header(models, text) + tree(depth, bytes([LEAF, 0]))) == 0]
                self.assertTrue(held, name + kind)
                yield Claim(name + kind, models, held[0].decode(), 2, [point(witness)])

    def asked_of_proven(self, models, text, certificate):
        files = [self.work / f"asked_{i}" for i in range(len(models) + 2)]
        for path, content in zip(files, (*models, text, certificate)):
            path.write_bytes(content)
        return subprocess.run([PROVEN, *files], capture_output=True, timeout=600).returncode

    def asked_of_others(self, *files):
        return [asked_of_twin(*files)] + ([self.asked_of_proven(*files)] if PROVEN.is_file() else [])

    def attack(self, count):
        rng = random.Random(int(os.environ.get("BF_SEED", 1)))
        claims, asked, both, start = list(self.claims()), 0, 0, time.monotonic()
        for k in range(count):
            claim = claims[k % len(claims)]
            grid = GRID if rng.randrange(4) else (rng.randrange(8, 51), rng.randrange(8, 49), rng.randrange(8, 49))
            body = rng.choice(claim.bodies) if rng.randrange(8) else random_tree(rng)
            if claim.statement == 2:
                body = point(Fraction(rng.randrange(-64, 65), rng.randrange(1, 65)) for _ in range(2 * len(claim.models)))
            body = changed(rng, body) if rng.randrange(8) else body
            semantics = (1, rng.randrange(5)) if claim.name in EXACT and rng.randrange(3) == 0 else (0,)
            certificate = header(claim.models, claim.text, claim.statement, grid, semantics) + body
            if rng.randrange(50) == 0:
                certificate = changed(rng, certificate)
            accepted = {1: 0, 2: 3}[claim.statement]
            code = self.check(claim.models, claim.text, certificate)
            self.assertNotEqual(code, accepted, (claim.name, claim.statement, certificate.hex()))
            asked += 1
            if k % max(1, count // 100) == 0:
                self.assertNotIn(accepted, self.asked_of_others(claim.models, claim.text, certificate),
                                 (claim.name, claim.statement, certificate.hex()))
                both += 1
        others = "the twin and the proven checker" if PROVEN.is_file() else "the twin"
        return f"{asked} of {len(claims)} claims, {both} by {others}, {time.monotonic() - start:.0f} s"

    def files(self, count):
        """Changes of the model and the property: what is proven of them and what is found must not contradict."""
        rng = random.Random(int(os.environ.get("BF_SEED", 2)))
        claims = [claim for claim in self.claims() if claim.statement == 1 and len(claim.models) == 1]
        proven = found = 0
        for k in range(count):
            claim = claims[k % len(claims)]
            data, text = claim.models[0], claim.text.replace(b">= Y_0 ", b">= Y_0 1")
            if k % 2:
                data = changed_bytes(rng, data)
            else:
                text = changed_bytes(rng, text)
            holds = header((data,), text) + tree(rng.randrange(3), bytes([LEAF, 0]))
            code = self.check((data,), text, holds)
            self.assertIn(code, (0, 1, 4))
            if code != 0:
                continue
            proven += 1
            for _ in range(5):
                at = point(Fraction(rng.randrange(-8, 9), 8) for _ in range(2))
                self.assertNotEqual(self.check((data,), text, header((data,), text, 2) + at), 3, (data.hex(), text, at))
            if proven % max(1, count // 300) == 0:
                self.assertEqual(asked_of_twin((data,), text, holds), 0, (claim.name, data.hex(), text, holds.hex()))
                found += 1
        return f"{proven} of {count} hold, {found} by the twin"

    def run_all(self, count):
        print(f"certificates: {self.attack(count)}; files: {self.files(count // 4)}", file=sys.stderr)


def changed_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(data))
        kind = rng.randrange(8)
        if kind < 4 and data[at:at + 1].isdigit():
            data[at] = rng.choice(b"0123456789.-")
        elif kind < 6:
            data[at] = rng.choice((0, 1, 8, 127, 128, 255, data[at] ^ 1 << rng.randrange(8), rng.randrange(256)))
        elif kind == 6:
            del data[at:at + rng.randrange(1, 4)]
        else:
            data[at:at] = data[at:at + rng.randrange(1, 12)]
    return bytes(data)


class AttackSample(Attacks):
    def test_a_sample(self):
        self.run_all(2000)


class AttackAllNight(Attacks):
    def test_all_of_them(self):
        self.run_all(int(os.environ.get("BF_ATTACKS", 80000)))


class AttackHostile(Attacks):
    """Certificates that ask for all that they may: each ends within the limit of steps."""

    def test_time_is_bounded(self):
        name, data, _ = next(iter(self.networks()))
        text = (box(2) + "(assert (>= Y_0 9))").encode()
        for body in (bytes([DERIVE]) * 500_000, bytes([HALVE, 0]) * 100_000, bytes([DERIVE] + [SPLIT, 0] * 5000),
                     bytes([DERIVE, LEAF_CHOICES, 1, 0, 1, 1]) + number(2**63), bytes([DERIVE, LEAF_CHOICES]) + number(2**63)):
            start = time.monotonic()
            self.assertEqual(self.check((data,), text, header((data,), text) + body), 4, name)
            self.assertLess(time.monotonic() - start, 60)


if __name__ == "__main__":
    unittest.main()
