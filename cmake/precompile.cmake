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
