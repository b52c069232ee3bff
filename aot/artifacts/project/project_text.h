#pragma once

#include <string_view>

// The build and the README of --project DIR: templates of emit::fill_in().

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

// The user's file: the same for all targets and options but the names.
inline constexpr std::string_view kCMakeLists = R"(cmake_minimum_required(VERSION 3.16)

# Sources, flags and toolchain: verifier.cmake is written anew by bf-aot, for the target at hand. What
# you change in this file stays.
include(${CMAKE_CURRENT_LIST_DIR}/verifier.cmake)

# This folder as a component of ESP-IDF, which knows the flags of the machine.
if(ESP_PLATFORM)
  idf_component_register(SRCS ${verifier_sources} INCLUDE_DIRS .)
  separate_arguments(flags UNIX_COMMAND "${verifier_flags}")
  list(FILTER flags EXCLUDE REGEX "^-m")
  list(JOIN flags " " flags)
  target_compile_options(${COMPONENT_LIB} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:${flags}>")
  return()
endif()

project(@name@_verifier LANGUAGES ${verifier_languages})

# The sizes in README.md hold for these flags, which come after those of CMAKE_CXX_FLAGS and the build
# type.
add_library(@stem@ STATIC ${verifier_sources})
target_include_directories(@stem@ PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(@stem@ PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:${verifier_flags}>")

# In the build of another project, and by another toolchain, there is the library alone.
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR AND
   (CMAKE_TOOLCHAIN_FILE STREQUAL own_toolchain OR NOT (CMAKE_CROSSCOMPILING OR verifier_board)))
  add_executable(example ${example_sources})
  target_compile_options(example PRIVATE ${example_flags})
  target_link_options(example PRIVATE ${example_link_flags})
  set_target_properties(example PROPERTIES LINK_DEPENDS "${example_link_depends}")
  target_link_libraries(example PRIVATE @stem@ ${example_libraries})
  add_custom_target(run COMMAND example VERBATIM)
  if(verifier_parallel)
    find_package(Threads REQUIRED)
    add_executable(example_parallel example_parallel.cpp)
    target_link_libraries(example_parallel PRIVATE @stem@ Threads::Threads)
  endif()
endif()
)";

// CMakeLists.txt includes this before the languages are known.
inline constexpr std::string_view kVerifierCMake =
    R"(# Written anew by bf-aot, here for the target @target@. CMakeLists.txt includes it, and is yours.
@toolchain@set(verifier_languages @languages@)

# No heap, no exceptions, no RTTI; never compile it with -ffast-math.
set(verifier_sources
@sources@  bf.cpp)
set(verifier_flags "@flags@")
@weights@@levels@
@example@)";

inline constexpr std::string_view kHostExample = R"(set(verifier_board FALSE)
set(verifier_parallel @parallel@)
set(example_sources example.c bf_monitor.c @stem@_selftest.c)
)";

inline constexpr std::string_view kBoardExample =
    R"(# The example on QEMU's board @board@: start-up and linker script are the board's.
set(verifier_board TRUE)
set(verifier_parallel FALSE)
set(example_sources example.c bf_monitor.c @stem@_selftest.c board.c console.c)
set(example_flags @board_flags@)
set(example_link_flags @link_flags@
  -T ${CMAKE_CURRENT_LIST_DIR}/board.ld)
set(example_link_depends ${CMAKE_CURRENT_LIST_DIR}/board.ld)
set(example_libraries gcc)
)";

// Where the machine is not this one.
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
    R"(# The assembler source includes the weights as bytes. ESP-IDF reads this file as a script first.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set_source_files_properties(@file@.S PROPERTIES
    COMPILE_OPTIONS "@machine@-Wa,-I${CMAKE_CURRENT_SOURCE_DIR}"
    OBJECT_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/@file@.bin")
endif()
)";

inline constexpr std::string_view kOwnFlags =
    R"(set_source_files_properties(@file@ PROPERTIES COMPILE_OPTIONS "@flags@")
)";

inline constexpr std::string_view kReadme = R"(# Verifier of @model@

Made by bf-aot @version@: method @method@, target @target@. Model SHA-256
`@sha256@`.

Bounds hold for @covers@
@semantics@
- inputs: @inputs@
- outputs: @outputs@

## Build and run

    cmake -B build && cmake --build build --target run

`example.c` is a monitor: it reads a simulated sensor, asks the verifier what holds for every input
that a reading may stand for, and falls back where nothing is proven or a reading is refused.
`bf_monitor.c` makes the box of a reading, and switches between controllers: a latch, K of N answers, a deadline, a request
from an interrupt. `bf_monitor.h` says what each does.
@how_built@
Without CMake, in this folder:

@commands@@packages@
## Use

    #include "@stem@.h"

    bf_status @name@_bounds(
        const float *lower, const float *upper, float *out_lower, float *out_upper,
        void *workspace, size_t workspace_bytes);

For every input `x` with `lower <= x <= upper` the network's outputs lie in `[out_lower, out_upper]`:
proven, roundings of the verifier itself included, for the arithmetic of the network that is named
above. The arrays have `@NAME@_INPUTS` and `@NAME@_OUTPUTS` elements, row-major. A status other than `BF_OK`
says what was wrong with the arguments; the outputs are not written then.

The workspace is yours: `@NAME@_WORKSPACE_BYTES` bytes, aligned to `@NAME@_WORKSPACE_ALIGN`. It holds
nothing between calls. Calls with different workspaces may run at the same time.

`@stem@_readings.h` makes boxes of sensors' readings, rounded outward, of floats and of codes.

@spec@@contexts@@batches@@parallel@`@name@_evaluate` runs the network itself, `@name@_info` describes it; see `@stem@.h`.
`@stem@.json` is the manifest: what was compiled, how, and where each buffer lies.

## Self-test

`@name@_selftest` of `@stem@_selftest.c` is for power-on: compile it into your program, too. @selftest@
It returns 0, `@NAME@_SELFTEST_CONSTANTS` where a constant in memory is not what was compiled, or
`@NAME@_SELFTEST_VECTOR` + v where box v has other bounds than it should. `golden.json` has the same boxes and
results for a test bench.

## Size

@sizes@
@built@
@calls@
## Time

@work@## In a build of yours

`add_subdirectory()` of this folder, from CMake, has the target `@stem@`: the library, without the example. Several such folders
fit into one build when their verifiers have different names, `--name`. Written again by bf-aot, what you changed in the example,
the board's files, `CMakeLists.txt` and this file stays; flags and sources are in `verifier.cmake`, which is written anew.
`.bf-aot.sha256` lists what was written.

## Licence

The files in this folder are made for you from your model. The runtime (`bf.h`, `bf.cpp`
and what lies in `bf/`) and everything else here may be used, changed and shipped without attribution.
)";

// The price of bounds for evaluation in float32.
inline constexpr std::string_view kFloat32Use =
    R"(Made with `--semantics real` they hold for exact arithmetic alone, and inference in float32 may leave
them. A call then takes fewer instructions on a Cortex-M4, by `ibp` hardly, by other methods a fifth to
a third.
)";

inline constexpr std::string_view kChecksBoth =
    R"(It recomputes the CRC-32 of
the constants (`@NAME@_CONSTANTS_CRC32` of `@stem@.h`), and bounds boxes with results that are known.)";
inline constexpr std::string_view kChecksVectors = "It bounds boxes with results that are known.";

// Other build systems that know the folder.
inline constexpr std::string_view kPackages = R"(
Other build systems take this folder as it is, with the machine's flags of theirs:

| file | for |
|---|---|
| `zephyr/module.yml` | Zephyr: `-DZEPHYR_EXTRA_MODULES=`, and the option of `zephyr/Kconfig` |
| `CMakeLists.txt`, `idf_component.yml` | ESP-IDF: a component, in `components/` |
| `library.json` | PlatformIO: in `lib/` |
| `library.properties`, `src/` | Arduino: in `libraries/`; one source with one header |
| `bf_aot.*.pdsc` | CMSIS-Pack, of Cortex-M |

Where weights are in an assembler file, Zephyr's and ESP-IDF's alone are there.
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
