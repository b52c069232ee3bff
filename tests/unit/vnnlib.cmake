# Of the emitter one file, which reads properties alone: the build with sanitizers needs no more of it.
file(GLOB sources CONFIGURE_DEPENDS frontend/vnnlib/*_test.cpp)
bf_add_test(unit_vnnlib ${sources} ${PROJECT_SOURCE_DIR}/aot/constants/verdict_tables.cpp
  LINK bf_frontend ZLIB::ZLIB LABELS unit)
