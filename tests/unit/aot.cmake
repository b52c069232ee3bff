# One program of tests for each room of aot/, which links that room alone.

# bf_add_room_test(ROOM arguments of bf_add_test...): unit_ROOM, of the files below aot/ROOM.
function(bf_add_room_test room)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "" "FILES")
  file(GLOB sources CONFIGURE_DEPENDS ${room_FILES})
  bf_add_test(unit_${room} ${sources} LINK bf_${room} LABELS unit ${room_UNPARSED_ARGUMENTS})
endfunction()

bf_add_room_test(system FILES aot/system/*.cpp)
bf_add_room_test(input FILES aot/input/*.cpp)
target_link_libraries(unit_input PRIVATE PkgConfig::GMP)
bf_add_room_test(disturb FILES aot/disturb/*.cpp)
target_link_libraries(unit_disturb PRIVATE PkgConfig::MPFR)

bf_alone(aot/emit/kernels/schedule_test.cpp)
bf_add_room_test(emit FILES aot/emit/constants/constants_check_test.cpp
                 aot/emit/interface/*.cpp aot/emit/kernels/*.cpp aot/emit/loop/*.cpp aot/emit/text/*.cpp)
# What the random schedules' printed text is compiled with.
target_link_libraries(unit_emit PRIVATE ${CMAKE_DL_LIBS})
target_compile_definitions(unit_emit PRIVATE BF_CXX="${CMAKE_CXX_COMPILER}")

# Whole generated files, compared byte for byte.
set(generated ${PROJECT_SOURCE_DIR}/tests/golden/generated)
bf_add_test(generated_test ${generated}/generated_test.cpp LINK bf_build LABELS golden)
target_compile_definitions(generated_test PRIVATE BF_GENERATED_DIR="${generated}")

bf_add_room_test(build FILES aot/build/*.cpp aot/build/footprint/*.cpp aot/build/options/*.cpp)

# The engine's kernels of each instruction set, and without contraction.
bf_add_test(unit_prebuilt aot/engine/prebuilt/prebuilt_kernels_test.cpp LINK bf_prebuilt bf_prebuilt_exact LABELS unit)
bf_add_room_test(engine FILES aot/engine/device/*.cpp aot/engine/jit/*.cpp aot/engine/run/*.cpp
  aot/engine/verifier/*.cpp)

bf_add_room_test(decide FILES aot/decide/boxes/*.cpp aot/decide/neurons/*.cpp aot/decide/parts/*.cpp
  aot/decide/property/*.cpp
                 aot/decide/tree/*.cpp)
# Code that is compiled and what the engine says of the same property.
bf_add_test(verdict_code_test aot/decide/code/verdict_code_test.cpp aot/decide/code/verdict_batch_test.cpp
  LINK bf_decide ${CMAKE_DL_LIBS} LABELS cli)
bf_add_test(decide_code_test aot/decide/code/decide_code_test.cpp aot/decide/code/decide_random_test.cpp
  LINK bf_decide ${CMAKE_DL_LIBS} LABELS cli TOGETHER DecideCodeContract)

bf_add_room_test(reach FILES aot/reach/*/*.cpp)
target_link_libraries(unit_reach PRIVATE PkgConfig::MPFR)
bf_add_room_test(prove FILES aot/prove/*.cpp)
target_link_libraries(unit_prove PRIVATE PkgConfig::MPFR)
bf_add_room_test(artifacts FILES aot/artifacts/gate/*.cpp aot/artifacts/report/*.cpp aot/artifacts/sbom/*.cpp)

# The library of others' programs. Tests of memory start from a process that has not run others.
file(GLOB sources CONFIGURE_DEPENDS aot/library/*.cpp)
bf_alone(${sources})
bf_add_room_test(library FILES aot/library/*.cpp)
bf_test_levels(unit_library unit FILTER -LibraryMemory.*:LibraryDevice.*)

bf_add_room_test(apps FILES aot/apps/measure/*.cpp aot/apps/tune/*.cpp)
bf_add_room_test(cli FILES aot/cli/ablate/*.cpp)
