"""The recipes of containers, as far as that goes without an engine: container_test.py SOURCE.

What they copy is what .ci/package makes, each package that they install is known to apt where there is one, and the
shell commands are well-formed.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys


def steps_of(text):
    """(instruction, argument) of each step, lines joined."""
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def packages_in(command):
    for words in re.findall(r"apt-get -qq install ([^;&]*)", command):
        yield from (word for word in words.split() if not word.startswith(("-", "/")))


def known(packages):
    """Those that apt knows; without apt, all."""
    if not packages or not shutil.which("apt-cache"):
        return set(packages)
    said = subprocess.run(["apt-cache", "policy", *packages], stdout=subprocess.PIPE, text=True, check=False).stdout
    return set(re.findall(r"^(\S+):$", said, re.MULTILINE))


def problems_in(path, text, setup):
    steps = steps_of(text)
    if steps[0][0] not in ("ARG", "FROM"):
        yield f"{path}: begins with {steps[0][0]}"
    for name, argument in steps:
        if name not in {"FROM", "ARG", "COPY", "RUN", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}:
            yield f"{path}: {name} is no instruction"
        if name in ("ENTRYPOINT", "CMD"):
            json.loads(argument)
        if name == "RUN":
            checked = subprocess.run(["sh", "-n"], input=argument, text=True, capture_output=True, check=False)
            if checked.returncode:
                yield f"{path}: {checked.stderr}"
            asked = [package for package in packages_in(argument) if package not in setup]
            for package in set(asked) - known(asked):
                yield f"{path}: there is no package {package}"
        if name == "COPY":
            for source in argument.split()[:-1]:
                if not re.fullmatch(r"build/dist/(bf-aot|libbf-aot1)_\*_amd64\.deb", source):
                    yield f"{path}: copies {source}, which .ci/package does not make"


def main():
    source = pathlib.Path(sys.argv[1])
    setup = (source / ".ci/setup").read_text()
    recipe = (source / "cmake/container/Containerfile").read_text()
    assert list(problems_in("-", recipe.replace("g++ cmake", "g++ no-such-package-x"), setup)), "the check sees nothing"
    assert list(problems_in("-", recipe.replace("set -eu;", "if ;"), setup)), "the check sees nothing"
    found = list(problems_in("Containerfile", recipe, setup))
    container = json.loads((source / ".devcontainer/devcontainer.json").read_text())
    dev = source / ".devcontainer" / container["build"]["dockerfile"]
    found += problems_in(dev, dev.read_text(), setup)
    for word in container["postCreateCommand"].split("&&"):
        command = word.split()[0]
        if command.startswith(".ci/") and not (source / command).exists():
            found.append(f"devcontainer.json: {command} is not there")
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
