"""Programs that are shipped do not name the folder that they were built in: paths_test.py SOURCE WORK CC CXX.

One file of each kind is compiled as the preset `package` does: with checks, and with folders of its own.
"""

import json
import pathlib
import shlex
import shutil
import sys

sys.dont_write_bytecode = True
from commands import run  # noqa: E402

COMPILED = ("frontend/diagnostic.cpp", "aot/system/terminal.cpp")


def main():
    source, work = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    cc, cxx = sys.argv[3:5]
    shutil.rmtree(work, ignore_errors=True)
    presets = json.loads((source / "CMakePresets.json").read_text())["configurePresets"]
    (shipped,) = [each["cacheVariables"] for each in presets if each["name"] == "package"]
    assert shipped["BF_AOT_SOURCE_PATHS"] == "OFF", shipped
    run("cmake", "-S", source, "-B", work, "-DBF_AOT_BUILD_TESTS=OFF", "-DBF_AOT_SOURCE_PATHS=OFF",
        "-DBF_AOT_LEVELS=native", f"-DCMAKE_C_COMPILER={cc}", f"-DCMAKE_CXX_COMPILER={cxx}",
        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    commands = {}
    for each in json.loads((work / "compile_commands.json").read_text()):
        name = each["file"].removeprefix(f"{source}/")
        commands[name] = each
        assert f"-ffile-prefix-map={source}/=" in each["command"], each
        assert not any(str(source) in word and word.startswith("-D") for word in shlex.split(each["command"])), each
    for name in COMPILED:
        words = shlex.split(commands[name]["command"])
        run(*words, cwd=commands[name]["directory"])
        made = (pathlib.Path(commands[name]["directory"]) / words[words.index("-o") + 1]).read_bytes()
        assert name.encode() in made or "terminal" in name, name
        assert str(source).encode() not in made, name
    return 0


if __name__ == "__main__":
    sys.exit(main())
