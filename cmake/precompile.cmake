# What makes the targets of many files quick to build from nothing.

# bf_precompile(TARGET headers...): parses these headers, and those of the standard library and fmt that
# most files include, once for the target. Only where BF_AOT_PRECOMPILE is on: without it, a build
# finds what a file forgets to include.
function(bf_precompile target)
  if(NOT BF_AOT_PRECOMPILE)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <optional> <set> <span>
    <stdexcept> <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>
    ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  else()
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

# bf_unite(TARGET): compiles a dozen files as one where BF_AOT_UNITY is on, so that what they include is parsed
# and instantiated once. A change to one then compiles its neighbours again: for builds from nothing.
function(bf_unite target)
  if(BF_AOT_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()
