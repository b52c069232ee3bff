"""The checker of certificates: ``python -m bf_aot.check`` is the program bf-check."""

import os

from .__main__ import main as become
from .__main__ import program


def main() -> None:
    """Becomes the program, with this process's arguments."""
    become("bf-check")


def check_set() -> int:
    """Checks certificates of many answers by that program."""
    from .check_set import main as check

    os.environ.setdefault("BF_CHECK", program("bf-check"))
    return check()


if __name__ == "__main__":
    main()
