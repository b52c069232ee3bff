file(GLOB sources CONFIGURE_DEPENDS frontend/numbers/*_test.cpp frontend/property/vnnlib/*_test.cpp)
bf_add_test(unit_vnnlib ${sources} LINK bf_frontend ZLIB::ZLIB LABELS unit)
