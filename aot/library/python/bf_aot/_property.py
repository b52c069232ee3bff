"""Properties written in Python. All their numbers are exact."""

from __future__ import annotations

import os
from decimal import Decimal
from fractions import Fraction
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

Number = Union[int, float, Fraction, Decimal, np.number]
_Key = Tuple[str, int]


def _exact(value: Any) -> Fraction:
    """The number itself: a float is what it is, not the decimal that it was written as."""
    if isinstance(value, (np.floating, np.integer)):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, Decimal)):
        raise TypeError(f"{value!r} is no number")
    try:
        return Fraction(value)
    except (OverflowError, ValueError):
        raise ValueError(f"{value!r} is not finite") from None


def _decimal(value: Fraction) -> Optional[str]:
    """All its digits, of a number that has finitely many."""
    rest, places = value.denominator, 0
    for prime in (2, 5):
        count = 0
        while rest % prime == 0:
            rest //= prime
            count += 1
        places = max(places, count)
    if rest != 1:
        return None
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    text = digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}"
    return "-" + text if value < 0 else text


def _text(value: Fraction) -> str:
    text = _decimal(value)
    if text is not None:
        return text
    return f"(/ {value.numerator} {value.denominator})"


class Linear:
    """A linear term over inputs and outputs of a network, with exact numbers.

    Made from `inputs` and `outputs` by +, -, * and / with numbers. `<=`, `>=`, `<` and `>` make a
    Condition of it.
    """

    __slots__ = ("_constant", "_factors")
    __array_ufunc__ = None  # a NumPy number on the left leaves the operation to us

    def __init__(self, factors: Dict[_Key, Fraction], constant: Fraction = Fraction(0)) -> None:
        self._factors = {key: factor for key, factor in factors.items() if factor != 0}
        self._constant = constant

    @staticmethod
    def _of(value: Union["Linear", Number]) -> "Linear":
        return value if isinstance(value, Linear) else Linear({}, _exact(value))

    def _plus(self, other: Union["Linear", Number], sign: int) -> "Linear":
        right = Linear._of(other)
        factors = dict(self._factors)
        for key, factor in right._factors.items():
            factors[key] = factors.get(key, Fraction(0)) + sign * factor
        return Linear(factors, self._constant + sign * right._constant)

    def __add__(self, other: Union["Linear", Number]) -> "Linear":
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Union["Linear", Number]) -> "Linear":
        return self._plus(other, -1)

    def __rsub__(self, other: Union["Linear", Number]) -> "Linear":
        return (-self)._plus(other, 1)

    def __neg__(self) -> "Linear":
        return self * -1

    def __mul__(self, number: Number) -> "Linear":
        by = _exact(number)
        return Linear({key: factor * by for key, factor in self._factors.items()},
                      self._constant * by)

    __rmul__ = __mul__

    def __truediv__(self, number: Number) -> "Linear":
        return self * (1 / _exact(number))

    def __le__(self, other: Union["Linear", Number]) -> "Condition":
        return Condition(self - other, strict=False)

    def __ge__(self, other: Union["Linear", Number]) -> "Condition":
        return Condition(Linear._of(other) - self, strict=False)

    def __lt__(self, other: Union["Linear", Number]) -> "Condition":
        return Condition(self - other, strict=True)

    def __gt__(self, other: Union["Linear", Number]) -> "Condition":
        return Condition(Linear._of(other) - self, strict=True)

    def vnnlib(self) -> str:
        """The term without its constant, in VNN-LIB."""
        parts = [name if factor == 1 else f"(* {_text(factor)} {name})"
                 for name, factor in ((f"{kind}_{i}", factor)
                                      for (kind, i), factor in sorted(self._factors.items()))]
        if not parts:
            return "0"
        return parts[0] if len(parts) == 1 else f"(+ {' '.join(parts)})"

    def __repr__(self) -> str:
        return f"Linear({self.vnnlib()} + {self._constant})"


class Condition:
    """`term <= 0`, or `term < 0` when strict. It has no truth value."""

    __slots__ = ("strict", "term")

    def __init__(self, term: Linear, strict: bool = False) -> None:
        self.term = term
        self.strict = strict

    def __bool__(self) -> bool:
        raise TypeError("a condition on a network is neither true nor false: "
                        "put it into a clause of a Property")

    def vnnlib(self) -> str:
        sign = "<" if self.strict else "<="
        return f"({sign} {self.term.vnnlib()} {_text(-self.term._constant)})"

    def __repr__(self) -> str:
        return f"Condition({self.vnnlib()})"


def inputs(count: int) -> List[Linear]:
    """The inputs x_0 ... of a network, as terms; flattened, in order."""
    return [Linear({("X", i): Fraction(1)}) for i in range(count)]


def outputs(count: int) -> List[Linear]:
    """The outputs y_0 ... of a network, as terms; flattened, in order."""
    return [Linear({("Y", i): Fraction(1)}) for i in range(count)]


_outputs = outputs  # arguments are called so as well


def _ends(values: Any, name: str) -> List[Fraction]:
    items = values.reshape(-1) if isinstance(values, np.ndarray) else list(values)
    try:
        return [_exact(value) for value in items]
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


class Property:
    """A property says what must not happen: all conditions of a clause hold at a point of the box.

        y = bf_aot.outputs(5)
        bf_aot.Property(lower, upper, violated=[[y[0] <= y[1], y[0] <= y[2]], [y[3] > 1.5]])

    Args:
        lower, upper: the box, [inputs] in any shape; ints, floats, Fractions or Decimals. A float
            is the number that it is: 0.1 is 0.1000000000000000055511151231257827...
        violated: clauses; each is a condition, or a sequence of conditions that hold together.
        outputs: of the network; by default as many as the conditions name. verify() needs all.

    Raises:
        ValueError: the ends differ in number, are not finite, or cross; there is no clause.
        TypeError: something is no number, or no condition.
    """

    def __init__(self, lower: Any, upper: Any,
                 violated: Iterable[Union[Condition, Iterable[Condition]]],
                 outputs: Optional[int] = None) -> None:
        self.lower = _ends(lower, "lower")
        self.upper = _ends(upper, "upper")
        if len(self.lower) != len(self.upper):
            raise ValueError(f"{len(self.lower)} lower and {len(self.upper)} upper ends")
        for i, (low, high) in enumerate(zip(self.lower, self.upper)):
            if low > high:
                raise ValueError(f"input {i}: the lower end {low} is above the upper end {high}")
        self.clauses: List[List[Condition]] = []
        for clause in violated:
            conditions = [clause] if isinstance(clause, Condition) else list(clause)
            for condition in conditions:
                if not isinstance(condition, Condition):
                    raise TypeError(f"{condition!r} is no condition")
            self.clauses.append(conditions)
        if not self.clauses:
            raise ValueError("nothing can violate a property without clauses")
        keys = [key for clause in self.clauses for each in clause for key in each.term._factors]
        named = 1 + max((i for kind, i in keys if kind == "Y"), default=0)
        self.outputs = named if outputs is None else outputs
        if named > self.outputs or any(kind == "X" and i >= len(self.lower) for kind, i in keys):
            raise ValueError("a condition names an input or output that the network does not have")

    @classmethod
    def robustness(cls, centre: npt.ArrayLike, radius: Union[Number, npt.ArrayLike], label: int,
                   outputs: int, clip: Optional[Tuple[Number, Number]] = None) -> "Property":
        """`label` stays the greatest output on all inputs within `radius` of `centre`.

        Violated where another output is at least as great.

        Args:
            centre: [inputs], in any shape.
            radius: a number, or one for each input.
            label: index of the output.
            outputs: their number; two at least.
            clip: the least and greatest value that inputs have, as (0, 1).
        """
        if not 0 <= label < outputs or outputs < 2:
            raise ValueError(f"there is no label {label} among {outputs} outputs")
        middle = np.asarray(centre)
        around = np.broadcast_to(np.asarray(radius), middle.shape)
        lower = [x - r for x, r in zip(_ends(middle, "centre"), _ends(around, "radius"))]
        upper = [x + r for x, r in zip(_ends(middle, "centre"), _ends(around, "radius"))]
        if clip is not None:
            least, most = _exact(clip[0]), _exact(clip[1])
            lower = [min(max(x, least), most) for x in lower]
            upper = [min(max(x, least), most) for x in upper]
        y = _outputs(outputs)
        return cls(lower, upper, [y[label] <= y[i] for i in range(outputs) if i != label], outputs)

    def vnnlib(self, outputs: Optional[int] = None) -> str:
        """The property in VNN-LIB 1.0, every digit of its numbers.

        Args:
            outputs: to declare; by default `self.outputs`.
        """
        count = self.outputs if outputs is None else outputs
        if count < self.outputs:
            raise ValueError(f"the property is about {self.outputs} outputs, not {count}")
        lines = [f"(declare-const X_{i} Real)" for i in range(len(self.lower))]
        lines += [f"(declare-const Y_{i} Real)" for i in range(count)]
        for i, (low, high) in enumerate(zip(self.lower, self.upper)):
            lines.append(f"(assert (>= X_{i} {_text(low)}))")
            lines.append(f"(assert (<= X_{i} {_text(high)}))")
        clauses = [" ".join(each.vnnlib() for each in clause) for clause in self.clauses]
        lines.append("(assert (or")
        lines += [f"  (and {clause})" if clause else "  true" for clause in clauses]
        return "\n".join(lines) + "\n))\n"

    def write(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes vnnlib() to a file."""
        with open(path, "w", encoding="ascii") as file:
            file.write(self.vnnlib())

    def __repr__(self) -> str:
        return (f"<property of {len(self.lower)} inputs and {self.outputs} outputs: "
                f"{len(self.clauses)} clauses>")
