file(GLOB sources CONFIGURE_DEPENDS planner_*.cpp)
bf_alone(planner_reference_test.cpp planner_reference_graph_test.cpp planner_reference_golden_test.cpp
  planner_tuning_test.cpp planner_json_test.cpp)
bf_add_test(unit_planner ${sources} LINK bf_planner PkgConfig::GMP LABELS unit)
