# bf_add_verifier(<target> MODEL <file.onnx>
#                 [METHOD ibp|crown-ibp|crown] [SPEC <file.json> | PROPERTY <file.vnnlib>]
#                 [NAME <prefix>]
#                 [LOWERING generic|vector] [TARGET <machine>] [ROW_TILE <n>]
#                 [BATCH <boxes>] [PARALLEL <workers>]
#                 [CXX_FLAGS <flag>...] [ARGS <option>...])
#
# Compiles a model into the static library <target> at build time, with this project's C++ compiler.
# Who links to it includes "<target>.h", C or C++; bf.h comes with it, and its functions are in the
# library. Symbols begin with NAME, by default the target's name made a lower-case C identifier, so
# several verifiers fit in one program. Relative files are looked for in the current source folder.
# ARGS: further options of bf-aot's command line; those that name a file there are taken from it,
# and the verifier is made again when it changes.
# When cross compiling, TARGET is found from the toolchain, whose machine flags (-m...) and sysroot
# the compiler is given too.

# _bf_machine_flags(<variable>): of CMAKE_CXX_FLAGS and the toolchain, what decides the machine.
function(_bf_machine_flags variable)
  separate_arguments(words UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
  list(FILTER words INCLUDE REGEX "^(-m|--target=|--sysroot=|--gcc-toolchain=)")
  # Verifiers are compiled without Helium: runtime/bf/core/rounding.h.
  list(TRANSFORM words REPLACE "^-mcpu=cortex-m(55|85)$" "-mcpu=cortex-m\\1+nomve")
  if(CMAKE_CXX_COMPILER_TARGET AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    list(APPEND words --target=${CMAKE_CXX_COMPILER_TARGET})
  endif()
  if(CMAKE_SYSROOT)
    list(APPEND words --sysroot=${CMAKE_SYSROOT})
  endif()
  set(${variable} ${words} PARENT_SCOPE)
endfunction()

# _bf_cross_target(<variable> <flag>...): the --target of the machine that is compiled for.
function(_bf_cross_target variable)
  set(says "${ARGN} ${CMAKE_SYSTEM_PROCESSOR}")
  if(says MATCHES "cortex-(m[0-9]+[a-z]*|a53|a7|a9|r5)")
    set(found ${CMAKE_MATCH_0})
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)")
    set(found aarch64)
  elseif(says MATCHES "-march=rv32" OR CMAKE_SYSTEM_PROCESSOR MATCHES "^riscv32")
    set(found riscv32)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^riscv64")
    set(found riscv64)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)")
    set(found x86-64)
  else()
    message(FATAL_ERROR "bf_add_verifier: the toolchain's processor is "
      "'${CMAKE_SYSTEM_PROCESSOR}', and no -mcpu is among CMAKE_CXX_FLAGS: give TARGET")
  endif()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

function(bf_add_verifier target)
  cmake_parse_arguments(PARSE_ARGV 1 arg ""
    "MODEL;METHOD;SPEC;PROPERTY;NAME;LOWERING;TARGET;ROW_TILE;BATCH;PARALLEL" "CXX_FLAGS;ARGS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "bf_add_verifier(${target}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_MODEL)
    message(FATAL_ERROR "bf_add_verifier(${target}): MODEL is missing")
  endif()
  if(NOT CMAKE_CXX_COMPILER)
    message(FATAL_ERROR "bf_add_verifier(${target}): the project needs the language CXX")
  endif()
  foreach(option IN LISTS arg_ARGS)
    if(option MATCHES "^(-o|--output|--project|--no-library|--help|--version)(=|$)")
      message(FATAL_ERROR "bf_add_verifier(${target}): ${option} is no option for ARGS")
    endif()
  endforeach()
  if(NOT arg_NAME)
    string(TOLOWER ${target} arg_NAME)
    string(MAKE_C_IDENTIFIER ${arg_NAME} arg_NAME)
  endif()

  get_filename_component(model ${arg_MODEL} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  set(inputs ${model})
  set(options --name ${arg_NAME} --cxx "${CMAKE_CXX_COMPILER}${CMAKE_CXX_COMPILER_ARG1}")
  if(CMAKE_CROSSCOMPILING)
    _bf_machine_flags(machine)
    if(NOT arg_TARGET AND NOT "--target" IN_LIST arg_ARGS)
      _bf_cross_target(arg_TARGET ${machine})
    endif()
    set(arg_CXX_FLAGS ${machine} ${arg_CXX_FLAGS})
  endif()
  foreach(option SPEC PROPERTY)
    if(arg_${option})
      string(TOLOWER --${option} flag)
      get_filename_component(file ${arg_${option}} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
      list(APPEND inputs ${file})
      list(APPEND options ${flag} ${file})
    endif()
  endforeach()
  foreach(option METHOD LOWERING TARGET ROW_TILE BATCH PARALLEL)
    if(arg_${option})
      string(TOLOWER --${option} flag)
      string(REPLACE _ - flag ${flag})
      list(APPEND options ${flag} ${arg_${option}})
    endif()
  endforeach()
  foreach(flag IN LISTS arg_CXX_FLAGS)
    list(APPEND options --cxx-flags=${flag})
  endforeach()
  foreach(option IN LISTS arg_ARGS)
    get_filename_component(file "${option}" ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    if(EXISTS "${file}" AND NOT IS_DIRECTORY "${file}")
      list(APPEND inputs ${file})
      set(option ${file})
    endif()
    list(APPEND options ${option})
  endforeach()

  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}.verifier)
  file(MAKE_DIRECTORY ${folder})  # an include folder must exist when the build is generated
  set(library ${folder}/lib${target}.a)
  add_custom_command(
    OUTPUT ${folder}/${target}.cpp ${folder}/${target}.h ${folder}/${target}.json ${library}
    COMMAND $<TARGET_FILE:bf_aot::bf-aot> ${model} -o ${folder}/${target}.cpp ${options}
    DEPENDS ${inputs} bf_aot::bf-aot $<TARGET_FILE:bf_aot::bf-aot>
    COMMENT "Compiling the verifier ${target}"
    VERBATIM)
  add_custom_target(${target}_verifier DEPENDS ${library})

  add_library(${target} STATIC IMPORTED GLOBAL)
  add_dependencies(${target} ${target}_verifier)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION ${library}
    INTERFACE_INCLUDE_DIRECTORIES ${folder}
    INTERFACE_LINK_LIBRARIES bf_aot::headers)
endfunction()
