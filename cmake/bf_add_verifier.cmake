# bf_add_verifier(<target> MODEL <file.onnx>
#                 [METHOD ibp|crown-ibp|crown] [SPEC <file.json> | PROPERTY <file.vnnlib>]
#                 [NAME <prefix>]
#                 [LOWERING generic|vector] [TARGET <machine>] [ROW_TILE <n>]
#                 [BATCH <boxes>] [PARALLEL <workers>]
#                 [CXX_FLAGS <flag>...])
#
# Compiles a model into the static library <target> at build time, with this project's C++ compiler.
# Who links to it includes "<target>.h", C or C++; bf.h comes with it. Symbols begin with NAME, by
# default the target's name made a lower-case C identifier, so several verifiers fit in one program.
# Relative files are looked for in the current source folder.
function(bf_add_verifier target)
  cmake_parse_arguments(PARSE_ARGV 1 arg ""
    "MODEL;METHOD;SPEC;PROPERTY;NAME;LOWERING;TARGET;ROW_TILE;BATCH;PARALLEL" "CXX_FLAGS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "bf_add_verifier(${target}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_MODEL)
    message(FATAL_ERROR "bf_add_verifier(${target}): MODEL is missing")
  endif()
  if(NOT arg_NAME)
    string(TOLOWER ${target} arg_NAME)
    string(MAKE_C_IDENTIFIER ${arg_NAME} arg_NAME)
  endif()

  get_filename_component(model ${arg_MODEL} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  set(inputs ${model})
  set(options --name ${arg_NAME} --cxx ${CMAKE_CXX_COMPILER})
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

  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}.verifier)
  file(MAKE_DIRECTORY ${folder})  # an include folder must exist when the build is generated
  set(library ${folder}/lib${target}.a)
  add_custom_command(
    OUTPUT ${folder}/${target}.cpp ${folder}/${target}.h ${folder}/${target}.json ${library}
    COMMAND bf_aot::bf-aot ${model} -o ${folder}/${target}.cpp ${options}
    DEPENDS ${inputs} bf_aot::bf-aot
    COMMENT "Compiling the verifier ${target}"
    VERBATIM)
  add_custom_target(${target}_verifier DEPENDS ${library})

  add_library(${target} STATIC IMPORTED GLOBAL)
  add_dependencies(${target} ${target}_verifier)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION ${library}
    INTERFACE_INCLUDE_DIRECTORIES ${folder}
    INTERFACE_LINK_LIBRARIES bf_aot::runtime)
endfunction()
