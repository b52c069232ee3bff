# The folder of the archive libbf-aot-...: the shared library with what it loads, headers, and how pkg-config and CMake
# find it. cmake -DSOURCE=clone -DLIBRARY=libbf_aot.so -DBESIDE=shared;objects -DOUT=folder -P this.
cmake_minimum_required(VERSION 3.25)
include(CMakePackageConfigHelpers)
file(STRINGS ${SOURCE}/CMakeLists.txt line REGEX "^project\\(bf_aot VERSION ")
string(REGEX REPLACE ".*VERSION ([0-9.]+).*" "\\1" PROJECT_VERSION "${line}")

file(REMOVE_RECURSE ${OUT}/lib ${OUT}/include)
file(GLOB objects ${LIBRARY} ${LIBRARY}.*)
file(COPY ${objects} DESTINATION ${OUT}/lib)
foreach(object IN LISTS BESIDE)  # as the loader names them: what a link leads to has another name
  get_filename_component(name ${object} NAME)
  file(REAL_PATH ${object} file)
  file(COPY_FILE ${file} ${OUT}/lib/${name})
endforeach()
file(COPY ${SOURCE}/aot/library/c/bf_aot.h DESTINATION ${OUT}/include)
file(COPY ${SOURCE}/runtime/ DESTINATION ${OUT}/include/bf_aot
  FILES_MATCHING PATTERN "*.h" PATTERN "*.cpp" PATTERN "*.c" PATTERN "*.ld")

set(CMAKE_INSTALL_INCLUDEDIR include)
set(CMAKE_INSTALL_LIBDIR lib)
set(BF_PC_TO_PREFIX ../..)
configure_file(${SOURCE}/cmake/bf_aot-c.pc.in ${OUT}/lib/pkgconfig/bf_aot-c.pc @ONLY)
file(COPY ${CMAKE_CURRENT_LIST_DIR}/bf_aot-config.cmake DESTINATION ${OUT}/lib/cmake/bf_aot)
write_basic_package_version_file(${OUT}/lib/cmake/bf_aot/bf_aot-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
