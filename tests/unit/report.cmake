bf_add_test(unit_report aot/report/report_test.cpp LINK bf_aot_library nlohmann_json::nlohmann_json LABELS unit)
