# What makes the targets of many files quick to build from nothing.

# bf_precompile(TARGET headers...): parses these headers, and those of the standard library and fmt that
# most files include, once for the target. Only where BF_AOT_PRECOMPILE is on: without it, a build
# finds what a file forgets to include.
function(bf_precompile target)
  if(NOT BF_AOT_PRECOMPILE)
    return()
  endif()
  # Without optimisation fmt asks GCC for -Og, in its own functions; what is precompiled keeps that, and intrinsics
  # fail.
  set(fmt <fmt/format.h>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-O0")
    set(fmt "")
  endif()
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <optional> <set> <span>
    <stdexcept> <string> <string_view> <unordered_map> <utility> <variant> <vector> ${fmt}
    ${ARGN})
  bf_cache_precompiled(${target})
endfunction()

# bf_precompile_as(TARGET other): uses the headers that were parsed for another target, which has the same options.
function(bf_precompile_as target other)
  if(BF_AOT_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${other})
    # An executable would be compiled by -fPIE, with which headers that a library parsed by -fPIC are no use.
    if(CMAKE_POSITION_INDEPENDENT_CODE)
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
    endif()
    bf_cache_precompiled(${target})
  endif()
endfunction()

# What ccache needs.
function(bf_cache_precompiled target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  else()
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

# bf_unite(TARGET [MOST]): compiles the files of a folder as one, MOST at a time (30), where BF_AOT_UNITY is on, so that
# what they include is parsed and instantiated once. A change to one then compiles its neighbours again: for builds from
# nothing.
function(bf_unite target)
  if(NOT BF_AOT_UNITY)
    return()
  endif()
  set(most 30)
  if(ARGC GREATER 1)
    set(most ${ARGV1})
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH path ${CMAKE_CURRENT_SOURCE_DIR} ${path})
    get_filename_component(folder ${path} DIRECTORY)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    if(NOT DEFINED count_${folder})
      set(count_${folder} 0)
    endif()
    math(EXPR group "${count_${folder}} / ${most}")
    math(EXPR count_${folder} "${count_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# bf_alone(files...): these files of the current folder are compiled alone; helpers of theirs have names that others
# have given to other things.
function(bf_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
