file(GLOB sources CONFIGURE_DEPENDS planner_*.cpp)
bf_add_test(unit_planner ${sources} LINK bf_planner PkgConfig::GMP LABELS unit)
