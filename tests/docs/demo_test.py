"""Whether .ci/demo ends with what README says: demo_test.py SOURCE_FOLDER, with BF_AOT set."""

import pathlib
import re
import subprocess
import sys

END = re.compile(r"The first one ends with\n\n```text\n(.*?)```", re.DOTALL)


def main():
    root = pathlib.Path(sys.argv[1])
    expected = END.search((root / "README.md").read_text())[1]
    ran = subprocess.run([root / ".ci/demo"], check=True, capture_output=True, text=True, timeout=300)
    if ran.stdout.endswith("\n" + expected):
        return 0
    print(f"README says:\n{expected}\n.ci/demo ends with:\n{ran.stdout[-400:]}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
