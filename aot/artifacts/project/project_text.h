#pragma once

#include <string_view>

// The build and the README of --project DIR. @key@ is replaced; see arguments_for() in project.cpp.

namespace bf_aot::artifacts {

inline constexpr std::string_view kContextUse =
    R"(`@name@_bounds_cached` and the other functions called so have a context besides: `@NAME@_CONTEXT_BYTES`
bytes of yours, aligned to `@NAME@_CONTEXT_ALIGN`, which `@name@_context_init` prepares and one call at a
time uses. What a call finds there it need not compute; `example.c` shows it.

)";

inline constexpr std::string_view kBatchUse =
    R"(`@name@_bounds_batch` and the other functions called so take up to `@NAME@_BATCH` boxes, one after the
other in the arrays, and give each a status of its own. Their workspace has
`@NAME@_BATCH_WORKSPACE_BYTES` bytes.

)";

inline constexpr std::string_view kParallelUse =
    R"(`@name@_bounds_parallel` and the other functions called so share their work among up to `@NAME@_PARALLEL`
workers, threads of yours: a `bf_executor` runs jobs side by side. Each worker but the first needs
`@NAME@_WORKER_BYTES` more bytes of workspace. Results are the same to the bit.
@shown@
)";
inline constexpr std::string_view kParallelShown =
    R"(`example_parallel.cpp` shows it, with `thread_executor.h`.
)";

inline constexpr std::string_view kParallelTarget = R"(  find_package(Threads REQUIRED)
  add_executable(example_parallel example_parallel.cpp)
  target_link_libraries(example_parallel PRIVATE @stem@ Threads::Threads)
)";

inline constexpr std::string_view kCMakeLists = R"(cmake_minimum_required(VERSION 3.16)
@toolchain@project(@name@_verifier LANGUAGES @languages@)

# The verifier: no heap, no exceptions, no RTTI; never compile it with -ffast-math. The sizes in
# README.md hold for these flags, which come after those of CMAKE_CXX_FLAGS and the build type.
add_library(@stem@ STATIC
@sources@  bf.cpp)
target_include_directories(@stem@ PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(@stem@ PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:@flags@>")
@weights@@levels@
@example_target@)";

inline constexpr std::string_view kHostExample =
    R"(# In the build of another project there is the library alone.
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR AND (NOT CMAKE_CROSSCOMPILING@or_own_toolchain@))
  add_executable(example example.c)
  target_link_libraries(example PRIVATE @stem@)
  add_custom_target(run COMMAND example VERBATIM)
@parallel_target@endif()
)";

inline constexpr std::string_view kBoardExample =
    R"(# The example on QEMU's board @board@: start-up and linker script are the board's.
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR AND CMAKE_TOOLCHAIN_FILE STREQUAL own_toolchain)
  add_executable(example example.c board.c console.c)
  target_compile_options(example PRIVATE @board_flags@)
  target_link_options(example PRIVATE @link_flags@
    -T ${CMAKE_CURRENT_SOURCE_DIR}/board.ld)
  set_target_properties(example PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/board.ld)
  target_link_libraries(example PRIVATE @stem@ gcc)
  add_custom_target(run COMMAND example VERBATIM)
endif()
)";

// Text that comes before project() where the machine is not this one.
inline constexpr std::string_view kOwnToolchain =
    R"(# With another -DCMAKE_TOOLCHAIN_FILE, and in the build of another project, the library alone is built.
set(own_toolchain ${CMAKE_CURRENT_LIST_DIR}/toolchain.cmake)
@query@if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR AND NOT CMAKE_TOOLCHAIN_FILE@elsewhere@)
  set(CMAKE_TOOLCHAIN_FILE ${own_toolchain})
endif()
)";

inline constexpr std::string_view kToolchain =
    R"(# The compilers for @target@, and QEMU to run what they make. CMakeLists.txt uses this file.
set(CMAKE_SYSTEM_NAME @system@)
set(CMAKE_SYSTEM_PROCESSOR @processor@)
set(CMAKE_C_COMPILER @tools@-gcc)
set(CMAKE_CXX_COMPILER @tools@-g++)
set(CMAKE_ASM_COMPILER @tools@-gcc)
@linking@set(CMAKE_CROSSCOMPILING_EMULATOR @emulator@)
)";
inline constexpr std::string_view kNoLinking =
    R"(set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # nothing links without board.ld
)";
inline constexpr std::string_view kStaticLinking =
    R"(set(CMAKE_EXE_LINKER_FLAGS_INIT -static)  # QEMU needs no libraries of the machine then
)";

inline constexpr std::string_view kWeightsProperties =
    R"(# The assembler source includes the weights as bytes.
set_source_files_properties(@file@.S PROPERTIES
  COMPILE_OPTIONS "@machine@-Wa,-I${CMAKE_CURRENT_SOURCE_DIR}"
  OBJECT_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/@file@.bin")
)";

inline constexpr std::string_view kOwnFlags =
    R"(set_source_files_properties(@file@ PROPERTIES COMPILE_OPTIONS "@flags@")
)";

inline constexpr std::string_view kReadme = R"(# Verifier of @model@

Made by bf-aot @version@: method @method@, target @target@. Model SHA-256
`@sha256@`.

- inputs: @inputs@
- outputs: @outputs@

## Build and run

    cmake -B build && cmake --build build --target run

`example.c` is a monitor: it reads a simulated sensor, asks the verifier what holds for every input
that a reading may stand for, and falls back where nothing is proven or a reading is refused.
@how_built@
Without CMake, in this folder:

@commands@@packages@
## Use

    #include "@stem@.h"

    bf_status @name@_bounds(
        const float *lower, const float *upper, float *out_lower, float *out_upper,
        void *workspace, size_t workspace_bytes);

For every input `x` with `lower <= x <= upper` the network's outputs lie in `[out_lower, out_upper]`:
proven, rounding of the arithmetic included, for the network evaluated in exact arithmetic. The
arrays have `@NAME@_INPUTS` and `@NAME@_OUTPUTS` elements, row-major. A status other than `BF_OK`
says what was wrong with the arguments; the outputs are not written then.

The workspace is yours: `@NAME@_WORKSPACE_BYTES` bytes, aligned to `@NAME@_WORKSPACE_ALIGN`. It holds
nothing between calls. Calls with different workspaces may run at the same time.

@spec@@contexts@@batches@@parallel@`@name@_evaluate` runs the network itself, `@name@_info` describes it; see `@stem@.h`.
`@stem@.json` is the manifest: what was compiled, how, and where each buffer lies.

## Size

@sizes@
@built@
@calls@
## Time

@work@## In a build of yours

`add_subdirectory()` of this folder, from CMake, has the target `@stem@`: the library, without the example. Several such folders
fit into one build when their verifiers have different names, `--name`. Written again by bf-aot, what you changed in the example,
the board's files, `CMakeLists.txt` and this file stays; `.bf-aot.sha256` lists what was written.

## Licence

The files in this folder are made for you from your model. The runtime (`bf.h`, `bf.cpp`
and what lies in `bf/`) and everything else here may be used, changed and shipped without attribution.
)";

// Other build systems that know the folder.
inline constexpr std::string_view kPackages = R"(
Other build systems take this folder as it is, with the machine's flags of theirs:

| file | for |
|---|---|
| `zephyr/module.yml` | Zephyr: `-DZEPHYR_EXTRA_MODULES=`, and the option of `zephyr/Kconfig` |
| `library.json` | PlatformIO: in `lib/` |
| `library.properties`, `src/` | Arduino: in `libraries/`; one source with one header |
| `bf_aot.*.pdsc` | CMSIS-Pack, of Cortex-M |

Where weights are in an assembler file, Zephyr's alone are there.
)";

// Text about the build for a machine that is not this one, or whose code has no system below it.
inline constexpr std::string_view kBoardBuild =
    R"(
`toolchain.cmake` names the compiler, `@tools@-g++`, and
`qemu-system-@processor@`, which stands in for a board: `@board@`. `board.c`,
`console.c` and `board.ld` are its start-up, console and linker script; your board has others.
`put_text` writes by semihosting. With `-DCMAKE_TOOLCHAIN_FILE=` and your own file the library alone
is built, with the same flags.
)";
inline constexpr std::string_view kCrossBuild =
    R"(
`toolchain.cmake` names the compiler, `@tools@-g++`, and `@emulator@`, which runs the program. With
`-DCMAKE_TOOLCHAIN_FILE=` and your own file the library alone is built, with the same flags.
)";

}  // namespace bf_aot::artifacts
