file(GLOB_RECURSE sources CONFIGURE_DEPENDS planner/*.cpp)
list(FILTER sources EXCLUDE REGEX "functions/")
bf_alone(planner/entries/live_pixels_test.cpp planner/entries/row_images_test.cpp
  planner/reference/reference_test.cpp planner/reference/reference_graph_test.cpp
  planner/reference/reference_golden_test.cpp planner/tuning/tuning_test.cpp planner/plan/json_test.cpp)
bf_add_test(unit_planner ${sources} LINK bf_planner PkgConfig::GMP LABELS unit)
