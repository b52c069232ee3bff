# What is installed besides the compiler, the runtime and the CMake package: documents, manual pages, completions and
# pkg-config; the target uninstall; the Debian packages bf-aot, bf-aot-mpi, libbf-aot1 and
# libbf-aot-dev, cpack -G DEB.

set(bf_documents ${CMAKE_INSTALL_DATAROOTDIR}/doc/bf-aot)
install(DIRECTORY docs DESTINATION ${bf_documents} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.json"
  PATTERN site EXCLUDE)
install(FILES README.md DESIGN.md CHANGELOG.md CONTRIBUTING.md LICENSE.runtime DESTINATION ${bf_documents})
# A script of its own, which an assessor reads.
install(PROGRAMS aot/check/check_set.py DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME bf-check-set)
# What the pages' examples name.
install(DIRECTORY models DESTINATION ${bf_documents} FILES_MATCHING PATTERN "*.onnx" PATTERN "*.json"
  PATTERN "*.vnnlib" PATTERN README.md PATTERN examples EXCLUDE
  PATTERN digits_64x2.json EXCLUDE PATTERN tiny_* EXCLUDE)

# Another machine's program has not made them, or .ci/portable has.
set(bf_if_made "")
if(CMAKE_CROSSCOMPILING)
  set(bf_if_made OPTIONAL)
endif()
install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR} ${bf_if_made})

file(RELATIVE_PATH BF_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" BF_PC_TO_PREFIX "${BF_PC_TO_PREFIX}")
configure_file(cmake/bf_aot-runtime.pc.in ${PROJECT_BINARY_DIR}/bf_aot-runtime.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/bf_aot-runtime.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(BF_AOT_INSTALL_LIBRARY)
  configure_file(cmake/bf_aot.pc.in ${PROJECT_BINARY_DIR}/bf_aot.pc @ONLY)
  configure_file(cmake/bf_aot-c.pc.in ${PROJECT_BINARY_DIR}/bf_aot-c.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/bf_aot.pc ${PROJECT_BINARY_DIR}/bf_aot-c.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
endif()

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

configure_file(cmake/uninstall.cmake.in ${PROJECT_BINARY_DIR}/uninstall.cmake @ONLY)
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${PROJECT_BINARY_DIR}/uninstall.cmake)

configure_file(cmake/copyright.in ${PROJECT_BINARY_DIR}/copyright @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/copyright DESTINATION ${bf_documents})

set(CPACK_PACKAGE_NAME bf-aot)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "bf-aot")
set(CPACK_PACKAGE_CONTACT "The authors of bf-aot <bf-aot@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler of neural networks into sound verifiers")
set(CPACK_PACKAGE_DESCRIPTION "Bounds the outputs of an ONNX network for every input in a box, decides properties in
VNN-LIB, and compiles the network into C++ code that does so on servers and microcontrollers without a library.")
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/strip_archives.cmake)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME bf-aot)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_SHLIBDEPS ON)
# A compiler makes verifiers from sources; the others make code for boards.
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_RECOMMENDS "g++ | c++-compiler")
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_SUGGESTS "libbf-aot-dev, cmake, gcc-arm-none-eabi, \
libstdc++-arm-none-eabi-newlib, qemu-system-arm, gcc-riscv64-unknown-elf, g++-aarch64-linux-gnu, g++-riscv64-linux-gnu")
set(CPACK_COMPONENT_SHARED_DESCRIPTION "Shared library of bf-aot, for programs that bound networks which they read
while they run.")
set(CPACK_DEBIAN_SHARED_PACKAGE_NAME libbf-aot1)
set(CPACK_DEBIAN_SHARED_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_SHARED_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Static library and headers of bf-aot, for C++ programs that bound networks
which they read while they run.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libbf-aot-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "bf-aot (= ${PROJECT_VERSION}), \
libbf-aot1 (= ${PROJECT_VERSION}), pkgconf | pkg-config, libprotobuf-dev, libfmt-dev, libmpfr-dev, \
libgmp-dev, nettle-dev, zlib1g-dev")
# Of Debian's default MPI, as MPIs have no common binary interface: dpkg-shlibdeps names its library.
set(CPACK_COMPONENT_MPI_DESCRIPTION "Program that decides one property by the processes of an MPI job, which search one
tree.")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME bf-aot-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS "openmpi-bin, bf-aot (= ${PROJECT_VERSION})")
include(CPack)
