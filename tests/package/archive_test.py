"""The folder of the archive libbf-aot-...: archive_test.py LIBRARY SOURCE CC CXX.

Made as .ci/portable makes it, of this build's library, and moved: a C program is built with it by pkg-config and by
CMake, and runs.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from commands import run  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = """cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES C)
find_package(bf_aot 0.2 REQUIRED COMPONENTS c)
add_executable(user main.c)
target_link_libraries(user PRIVATE bf_aot::c)
add_executable(verifier verifier.c)
target_link_libraries(verifier PRIVATE bf_aot::headers)
find_package(bf_aot 0.2 QUIET COMPONENTS library)
if(bf_aot_FOUND)
  message(FATAL_ERROR "the archive has no component library")
endif()
"""


def main():
    library, source = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    cc, cxx = sys.argv[3:5]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        beside = folder / "libbeside.so.7"
        (folder / "libbeside.so.7.1").write_bytes(b"x")
        beside.symlink_to("libbeside.so.7.1")
        run("cmake", f"-DSOURCE={source}", f"-DLIBRARY={library.parent / 'libbf_aot.so'}", f"-DBESIDE={beside}",
            f"-DOUT={folder / 'made'}", "-P", source / "cmake/portable/library_archive.cmake")
        prefix = (folder / "made").rename(folder / "prefix")
        assert (prefix / "lib/libbeside.so.7").is_file() and not (prefix / "lib/libbeside.so.7").is_symlink()
        for path in prefix.rglob("*"):
            if path.suffix in (".pc", ".cmake"):
                assert name not in path.read_text(), path
        shutil.copy(HERE / "c_library/main.c", folder / "main.c")
        (folder / "verifier.c").write_text('#include "bf.h"\nint main(void) { return BF_OK; }\n')
        (folder / "CMakeLists.txt").write_text(PROJECT)
        here = dict(os.environ, PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"), LD_LIBRARY_PATH=str(prefix / "lib"))
        flags = run("pkg-config", "--cflags", "--libs", "bf_aot-c = 0.2.0", env=here).split()
        run(cc, folder / "main.c", *flags, "-o", folder / "by_pkg_config")
        run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_C_COMPILER={cc}", f"-DCMAKE_CXX_COMPILER={cxx}")
        run("cmake", "--build", folder / "build")
        for program in ("by_pkg_config", "build/user"):
            said = run(folder / program, source / "models", folder, env=here)
            assert "falsified at" in said, said
        assert subprocess.run([folder / "build/verifier"], check=False).returncode == 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
