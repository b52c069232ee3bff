file(GLOB sources CONFIGURE_DEPENDS frontend/vnnlib/*_test.cpp)
bf_add_test(unit_vnnlib ${sources} LINK bf_frontend ZLIB::ZLIB LABELS unit)
