"""The command line: ``python -m bf_aot`` is the program bf-aot."""

import os
import pathlib
import shutil
import sys


def program() -> str:
    """The program that came with the package, else the one that is installed.

    Raises:
        FileNotFoundError: there is neither.
    """
    own = pathlib.Path(__file__).parent / "bin" / "bf-aot"
    if own.exists():
        return str(own)
    # Not the script of this package, which would start itself.
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    scripts = pathlib.Path(sys.executable).parent
    path = os.pathsep.join(folder for folder in folders if folder and pathlib.Path(folder) != scripts)
    found = shutil.which("bf-aot", path=path)
    if found is None:
        raise FileNotFoundError("bf-aot: this package was built without the program; install a wheel that has it, "
                                "or the Debian package bf-aot")
    return found


def main() -> None:
    """Becomes the program, with this process's arguments."""
    try:
        name = program()
    except FileNotFoundError as error:
        sys.exit(str(error))
    sys.stdout.flush()
    os.execv(name, ["bf-aot", *sys.argv[1:]])


if __name__ == "__main__":
    main()
