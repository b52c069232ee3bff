"""The command line: ``python -m bf_aot`` is the program bf-aot."""

import os
import pathlib
import shutil
import sys


def program(name: str) -> str:
    """The program that came with the package, else the one that is installed.

    Raises:
        FileNotFoundError: there is neither.
    """
    own = pathlib.Path(__file__).parent / "bin" / name
    if own.exists():
        return str(own)
    # Not the script of this package, which would start itself.
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    scripts = pathlib.Path(sys.executable).parent
    path = os.pathsep.join(folder for folder in folders if folder and pathlib.Path(folder) != scripts)
    found = shutil.which(name, path=path)
    if found is None:
        raise FileNotFoundError(f"{name}: this package was built without the program; install a wheel that has it, "
                                "or the Debian package bf-aot")
    return found


def main(name: str = "bf-aot") -> None:
    """Becomes the program, with this process's arguments."""
    try:
        found = program(name)
    except FileNotFoundError as error:
        sys.exit(str(error))
    sys.stdout.flush()
    os.execv(found, [name, *sys.argv[1:]])


if __name__ == "__main__":
    main()
