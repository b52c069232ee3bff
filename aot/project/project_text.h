#pragma once

#include <string_view>

// Files of --project DIR. @key@ is replaced; see arguments_for() in project.cpp.

namespace bf_aot::cli {

inline constexpr std::string_view kExample =
    R"(/* Bounds of a demonstration box. Yours to change and ship, without attribution. */
#include <stdint.h>
#include <stdio.h>

#include "@stem@.h"

/* Room to align the workspace: C99 has no way to ask for an alignment. */
static unsigned char memory[@NAME@_WORKSPACE_BYTES + @NAME@_WORKSPACE_ALIGN];
@context_memory@
int main(void) {
  float lower[@NAME@_INPUTS], upper[@NAME@_INPUTS];
  float out_lower[@NAME@_OUTPUTS], out_upper[@NAME@_OUTPUTS];
  const uintptr_t misaligned = (uintptr_t)memory % @NAME@_WORKSPACE_ALIGN;
  unsigned char *workspace = memory + (misaligned ? @NAME@_WORKSPACE_ALIGN - misaligned : 0);
  bf_status status;
  int i;

  for (i = 0; i < @NAME@_INPUTS; ++i) {
    lower[i] = -0.01f;
    upper[i] = 0.01f;
  }
  status = @name@_bounds(lower, upper, out_lower, out_upper, workspace, @NAME@_WORKSPACE_BYTES);
  if (status != BF_OK) {
    fprintf(stderr, "%s\n", bf_status_text(status));
    return 1;
  }
  for (i = 0; i < @NAME@_OUTPUTS; ++i)
    printf("output %d: [%.9g, %.9g]\n", i, (double)out_lower[i], (double)out_upper[i]);
@context_calls@  return 0;
}
)";

// What the example has besides when the verifier keeps things between calls.
inline constexpr std::string_view kContextMemory =
    R"(/* What calls keep for each other. */
static unsigned char kept[@NAME@_CONTEXT_BYTES + @NAME@_CONTEXT_ALIGN];
)";

inline constexpr std::string_view kContextCalls = R"(
  {
    const uintptr_t rest = (uintptr_t)kept % @NAME@_CONTEXT_ALIGN;
    unsigned char *context = kept + (rest ? @NAME@_CONTEXT_ALIGN - rest : 0);
    bf_cache_counters counters;
    status = @name@_context_init(context, @NAME@_CONTEXT_BYTES);
    for (i = 0; i < 2 && status == BF_OK; ++i)
      status = @name@_bounds_cached(context, @NAME@_CONTEXT_BYTES, lower, upper, out_lower, out_upper,
                                   workspace, @NAME@_WORKSPACE_BYTES);
    if (status == BF_OK) status = @name@_cache_counters(context, @NAME@_CONTEXT_BYTES, &counters);
    if (status != BF_OK) {
      fprintf(stderr, "%s\n", bf_status_text(status));
      return 1;
    }
    printf("%d calls with a context, %d of them on the box of the call before\n",
           (int)counters.calls, (int)counters.hits);
  }
)";

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
`@NAME@_WORKER_BYTES` more bytes of workspace. Results are the same to the bit. `example_parallel.cpp`
shows it, with `thread_executor.h`.

)";

inline constexpr std::string_view kParallelExample =
    R"(// Bounds of a demonstration box by several threads. Yours to change and ship, without attribution.
#include <algorithm>
#include <cstdio>

#include "@stem@.h"
#include "thread_executor.h"

alignas(@NAME@_WORKSPACE_ALIGN) static unsigned char workspace[@NAME@_PARALLEL_WORKSPACE_BYTES];
static float lower[@NAME@_INPUTS], upper[@NAME@_INPUTS];
static float out_lower[@NAME@_OUTPUTS], out_upper[@NAME@_OUTPUTS];

int main() {
  bf::host::ThreadExecutor threads;  // as many workers as this machine has cores
  std::fill_n(lower, @NAME@_INPUTS, -0.01f);
  std::fill_n(upper, @NAME@_INPUTS, 0.01f);
  const bf_status status = @name@_bounds_parallel(lower, upper, out_lower, out_upper, workspace,
                                                 sizeof workspace, threads.get());
  if (status != BF_OK) {
    std::fprintf(stderr, "%s\n", bf_status_text(status));
    return 1;
  }
  for (int i = 0; i < @NAME@_OUTPUTS; ++i)
    std::printf("output %d: [%.9g, %.9g]\n", i, static_cast<double>(out_lower[i]),
                static_cast<double>(out_upper[i]));
  return 0;
}
)";

inline constexpr std::string_view kParallelTarget = R"(  find_package(Threads REQUIRED)
  add_executable(example_parallel example_parallel.cpp)
  target_link_libraries(example_parallel PRIVATE @stem@ Threads::Threads)
)";

inline constexpr std::string_view kCMakeLists = R"(cmake_minimum_required(VERSION 3.16)
project(@name@_verifier LANGUAGES @languages@)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_EXTENSIONS OFF)

# The verifier: no heap, no exceptions, no RTTI; never compile it with -ffast-math. Fused
# multiply-adds make it faster; its bounds hold with and without them.
separate_arguments(target_flags UNIX_COMMAND "@flags@")
add_library(@stem@ STATIC
@sources@  bf.cpp)
target_include_directories(@stem@ PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(@stem@ PRIVATE ${target_flags}
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-math-errno -ffp-contract=@contract@>)
@weights@@levels@
if(NOT CMAKE_CROSSCOMPILING)
  add_executable(example example.c)
  target_link_libraries(example PRIVATE @stem@)
@parallel_target@endif()
)";

inline constexpr std::string_view kWeightsProperties =
    R"(# The assembler source includes the weights as bytes.
set_source_files_properties(@file@.S PROPERTIES
  COMPILE_OPTIONS "-Wa,-I${CMAKE_CURRENT_SOURCE_DIR}"
  OBJECT_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/@file@.bin")
)";

inline constexpr std::string_view kLevelProperties =
    R"(set_source_files_properties(@file@ PROPERTIES COMPILE_OPTIONS "@flags@")
)";

inline constexpr std::string_view kReadme = R"(# Verifier of @model@

Made by bf-aot @version@: method @method@, target @target@. Model SHA-256
`@sha256@`.

- inputs: @inputs@
- outputs: @outputs@

## Build and run

    cmake -B build && cmake --build build && build/example

For a microcontroller give CMake your toolchain file; then only the library is built.

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

## Licence

The files in this folder are made for you from your model. The runtime (`bf.h`, `bf.cpp`
and what lies in `bf/`) and all generated code may be used, changed and shipped without attribution.
)";

}  // namespace bf_aot::cli
