file(GLOB sources CONFIGURE_DEPENDS aot/interface/*.cpp aot/kernels/*.cpp aot/loop/*.cpp aot/text/*.cpp)
bf_alone(aot/kernels/schedule_test.cpp)
bf_add_test(unit_aot ${sources} LINK bf_aot_library ${CMAKE_DL_LIBS} LABELS unit)
# What the random schedules' printed text is compiled with.
target_compile_definitions(unit_aot PRIVATE BF_CXX="${CMAKE_CXX_COMPILER}")

# Whole generated files, compared byte for byte.
set(generated ${PROJECT_SOURCE_DIR}/tests/golden/generated)
bf_add_test(generated_test ${generated}/generated_test.cpp LINK bf_aot_library LABELS golden)
target_compile_definitions(generated_test PRIVATE BF_GENERATED_DIR="${generated}")

# The engine's kernels of each instruction set, and without contraction.
bf_add_test(unit_prebuilt aot/engine/prebuilt_kernels_test.cpp LINK bf_prebuilt bf_prebuilt_exact LABELS unit)

# The library of others' programs.
file(GLOB sources CONFIGURE_DEPENDS aot/library/*.cpp)
bf_alone(${sources})
bf_add_test(unit_library ${sources} LINK bf_library LABELS unit)
# Tests of memory start from a process that has not run others.
bf_test_levels(unit_library unit FILTER -LibraryMemory.*)

# Trees that many threads search.
bf_add_test(unit_tree aot/boxes/box_node_test.cpp aot/engine/watch_test.cpp aot/neurons/bounded_simplex_test.cpp aot/neurons/function_lines_test.cpp
  aot/neurons/node_state_test.cpp aot/neurons/product_lanes_test.cpp aot/neurons/tighten_test.cpp aot/tree/tree_search_test.cpp aot/tree/tree_state_test.cpp LINK bf_decide LABELS unit)

bf_add_test(unit_parts aot/parts/tree_file_test.cpp LINK bf_aot_cli LABELS unit)

# Files of samples and what becomes of them.
bf_add_test(unit_data aot/data/array_test.cpp aot/data/balls_test.cpp aot/data/dataset_test.cpp aot/data/normalise_test.cpp LINK bf_aot_cli PkgConfig::GMP LABELS unit)
