file(GLOB sources CONFIGURE_DEPENDS frontend/functions/*_test.cpp planner/functions/*_test.cpp)
list(APPEND sources aot/emit/constants/function_emit_test.cpp)
bf_add_test(unit_function ${sources} LINK bf_emit LABELS unit)
# What the printed tables are compiled with.
target_compile_definitions(unit_function PRIVATE BF_CXX="${CMAKE_CXX_COMPILER}")
