# Runs a command; prints what it said and ends the test when it fails.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}\n${text}")
  endif()
  set(output "${text}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BINARY_DIR} --prefix ${WORK}/prefix)

# The installed program stands alone: its headers are found from where it lies.
run(${WORK}/prefix/bin/bf-aot --version)
if(NOT output MATCHES "${VERSION}")
  message(FATAL_ERROR "--version prints '${output}', not ${VERSION}")
endif()

run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G ${GENERATOR}
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
  -DMODELS=${SOURCE_DIR}/models)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer_c)
run(${WORK}/build/consumer_cpp)
run(${WORK}/build/consumer_parallel)

# A second build has nothing to do: no verifier is compiled again.
run(${CMAKE_COMMAND} --build ${WORK}/build)
if(output MATCHES "Compiling the verifier")
  message(FATAL_ERROR "the second build compiled a verifier again:\n${output}")
endif()

# The library, where this build has it.
if(LIBRARY)
  run(${CMAKE_COMMAND} -S ${LIBRARY} -B ${WORK}/library -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
    "-DCMAKE_EXE_LINKER_FLAGS=${LINKER_FLAGS}")
  run(${CMAKE_COMMAND} --build ${WORK}/library)
  run(${WORK}/library/library_consumer ${SOURCE_DIR}/models)
  if(NOT output MATCHES "output 9: \\[")
    message(FATAL_ERROR "the library's consumer prints:\n${output}")
  endif()
  foreach(consumer c_consumer pkg_config_consumer)
    run(${WORK}/library/${consumer} ${SOURCE_DIR}/models ${WORK}/library)
    if(NOT output MATCHES "falsified at")
      message(FATAL_ERROR "${consumer} prints:\n${output}")
    endif()
  endforeach()
endif()

# A project made by --project builds without bf-aot installed.
run(${WORK}/prefix/bin/bf-aot ${SOURCE_DIR}/models/tiny.onnx --project ${WORK}/project
  --cxx ${CXX_COMPILER})
run(${CMAKE_COMMAND} -S ${WORK}/project -B ${WORK}/project/build -G ${GENERATOR}
  -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
  "-DCMAKE_C_FLAGS=-std=c99 -Wall -Wextra -Wpedantic -Werror")
run(${CMAKE_COMMAND} --build ${WORK}/project/build)
run(${WORK}/project/build/example)
if(NOT output MATCHES "output 0: \\[.*\\]\noutput 1: \\[.*\\]")
  message(FATAL_ERROR "the example prints:\n${output}")
endif()
file(READ ${WORK}/project/README.md readme)
if(NOT readme MATCHES "flash: code and constants of the library \\| [1-9]")
  message(FATAL_ERROR "README.md does not state the flash size:\n${readme}")
endif()
