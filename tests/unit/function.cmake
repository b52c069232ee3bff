set(sources aot/emit/constants/function_emit_test.cpp frontend/functions/function_evaluate_test.cpp
    planner/functions/function_recipes_test.cpp planner/functions/function_table_test.cpp)
bf_add_test(unit_function ${sources} LINK bf_emit LABELS unit)
# What the printed tables are compiled with.
target_compile_definitions(unit_function PRIVATE BF_CXX="${CMAKE_CXX_COMPILER}")
