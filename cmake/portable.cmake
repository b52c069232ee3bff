# Programs and libraries that run on every Linux with glibc 2.28 or later, and need nothing else: targets of
# .ci/portable, which fills the folder BF_AOT_PORTABLE with root/ (the C library to link with) and lib/ (archives of
# position-independent code). They are made of the archives of this build, whatever shared libraries it uses itself.
set(BF_AOT_PORTABLE "" CACHE PATH "The folder that .ci/portable has filled; empty: no portable targets")
if(NOT BF_AOT_PORTABLE)
  return()
endif()
set(out ${PROJECT_BINARY_DIR}/portable)

include(${CMAKE_CURRENT_LIST_DIR}/portable/link.cmake)
# bf_portable_of(TARGET PARTS target... more...): the same of targets of this build.
function(bf_portable_of target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PARTS;ARCHIVES;SHARED")
  set(files ${arg_PARTS})
  list(TRANSFORM files REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  add_dependencies(${target} ${arg_PARTS})
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  bf_portable(${target} PORTABLE ${BF_AOT_PORTABLE} PARTS ${files} ARCHIVES ${arg_ARCHIVES} SHARED ${arg_SHARED})
endfunction()

set(engine bf_library bf_reach bf_artifacts bf_prove bf_check bf_decide bf_engine bf_build bf_emit bf_input bf_prebuilt
    bf_system bf_planner bf_frontend bf_onnx_schema bf_runtime)
set(readers libprotobuf-lite.a libfmt.a libz.a)
set(pictures libzip.a libpng16.a)
# Under the LGPL: linked into the programs, whose whole source is here; shared objects beside the libraries, so that who
# has these alone can replace them.
set(numbers libmpfr.a libgmp.a libnettle.a)
find_library(BF_GMP_OBJECT libgmp.so REQUIRED)
find_library(BF_MPFR_OBJECT libmpfr.so REQUIRED)
find_library(BF_NETTLE_OBJECT libnettle.so REQUIRED)
mark_as_advanced(BF_GMP_OBJECT BF_MPFR_OBJECT BF_NETTLE_OBJECT)
set(objects ${BF_MPFR_OBJECT} ${BF_GMP_OBJECT} ${BF_NETTLE_OBJECT})

# bf_portable_program(TARGET ARCHIVES file... SHARED file...): bf-aot.
function(bf_portable_program target)
  add_executable(${target} ${PROJECT_SOURCE_DIR}/aot/cli/main.cpp $<TARGET_OBJECTS:bf_source_state>)
  bf_target_defaults(${target})
  target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:bf_cli,INTERFACE_INCLUDE_DIRECTORIES>)
  bf_portable_of(${target} PARTS bf_cli bf_apps ${engine} ${ARGN})
  target_link_options(${target} PRIVATE -static-libgcc)
  # Named by the target: Ninja calls a target by its file's name, too, and bf-aot is that of this build.
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${out})
endfunction()
bf_portable_program(bf-aot-portable ARCHIVES ${pictures} ${readers} ${numbers})
bf_portable_program(bf-aot-wheel ARCHIVES ${pictures} ${readers} SHARED ${objects})

# bf_portable_checker(TARGET ARCHIVES file... SHARED file...): bf-check.
function(bf_portable_checker target)
  add_executable(${target} ${PROJECT_SOURCE_DIR}/aot/check/main.cpp)
  bf_target_defaults(${target})
  set_target_properties(${target} PROPERTIES CXX_STANDARD 17 RUNTIME_OUTPUT_DIRECTORY ${out})
  bf_portable_of(${target} PARTS bf_check ${ARGN})
  target_link_options(${target} PRIVATE -static-libgcc)
endfunction()
bf_portable_checker(bf-check-portable ARCHIVES libgmp.a libz.a)
bf_portable_checker(bf-check-wheel ARCHIVES libz.a SHARED ${BF_GMP_OBJECT})

add_library(bf_aot_portable SHARED $<TARGET_OBJECTS:bf_library> $<TARGET_OBJECTS:bf_source_state>)
bf_portable_of(bf_aot_portable PARTS ${engine} ARCHIVES ${readers} SHARED ${objects})
get_target_property(abi bf_aot_shared SOVERSION)
target_link_options(bf_aot_portable PRIVATE
  LINKER:--version-script=${PROJECT_SOURCE_DIR}/aot/library/c/bf_aot.map)
set_target_properties(bf_aot_portable PROPERTIES OUTPUT_NAME bf_aot SOVERSION ${abi} SKIP_BUILD_RPATH OFF
  BUILD_RPATH "$ORIGIN" LIBRARY_OUTPUT_DIRECTORY ${out}/library/lib)
add_custom_target(portable DEPENDS bf-aot-portable bf-check-portable bf-aot-wheel bf-check-wheel bf_aot_portable)
