file(GLOB sources CONFIGURE_DEPENDS vnnlib_*_test.cpp)
bf_add_test(unit_vnnlib ${sources} LINK bf_frontend bf_aot_library ZLIB::ZLIB LABELS unit)
