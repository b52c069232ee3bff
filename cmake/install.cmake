# Installs the compiler, the runtime, the library and the CMake package bf_aot.
include(CMakePackageConfigHelpers)

add_library(bf_aot::runtime ALIAS bf_runtime)
add_executable(bf_aot::bf-aot ALIAS bf-aot)
add_executable(bf_aot::bf-check ALIAS bf-check)

# bf.h, for programs with verifiers: their libraries hold its functions.
add_library(bf_headers INTERFACE)
add_library(bf_aot::headers ALIAS bf_headers)
target_include_directories(bf_headers INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/bf_aot>)
set_target_properties(bf_headers PROPERTIES EXPORT_NAME headers)
target_include_directories(bf_runtime INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/bf_aot>)
set_target_properties(bf_runtime PROPERTIES EXPORT_NAME runtime)

install(TARGETS bf-aot bf-check bf_headers EXPORT bf_aot-targets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Apart: it is of this machine. Optional: a build of bf-aot alone installs, too.
if(TARGET bf-aot-mpi)
  install(TARGETS bf-aot-mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL COMPONENT mpi)
endif()
install(TARGETS bf_runtime EXPORT bf_aot-runtime-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# bf-aot looks for these in ../include/bf_aot beside its own folder; bf.cpp goes into projects.
install(DIRECTORY runtime/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bf_aot
  FILES_MATCHING PATTERN "*.h" PATTERN "*.cpp" PATTERN "*.c" PATTERN "*.ld")

# Not below a folder of one processor: CMake for another system does not look there.
set(package_folder ${CMAKE_INSTALL_DATAROOTDIR}/cmake/bf_aot)
install(EXPORT bf_aot-targets NAMESPACE bf_aot:: DESTINATION ${package_folder})
install(EXPORT bf_aot-runtime-targets NAMESPACE bf_aot:: DESTINATION ${package_folder})
if(BF_AOT_INSTALL_LIBRARY)
  # Optional: a build of bf-aot alone installs, too.
  install(TARGETS bf_aot EXPORT bf_aot-library-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL COMPONENT library)
  # Apart from what programs are compiled with: what they run with.
  install(TARGETS bf_aot_shared EXPORT bf_aot-c-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL COMPONENT shared NAMELINK_SKIP)
  install(TARGETS bf_aot_shared
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL COMPONENT library NAMELINK_ONLY)
  install(EXPORT bf_aot-c-targets NAMESPACE bf_aot:: DESTINATION ${package_folder} COMPONENT library)
  install(FILES aot/library/c/bf_aot.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
  install(FILES aot/library/bf_aot.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bf_aot COMPONENT library)
  install(EXPORT bf_aot-library-targets NAMESPACE bf_aot:: DESTINATION ${package_folder} COMPONENT library)
endif()
set(BF_AOT_INCLUDE_FOLDER ${CMAKE_INSTALL_INCLUDEDIR}/bf_aot)
set(BF_AOT_LIBRARY_FOLDER ${CMAKE_INSTALL_LIBDIR})
configure_package_config_file(cmake/bf_aot-config.cmake.in
  ${PROJECT_BINARY_DIR}/bf_aot-config.cmake INSTALL_DESTINATION ${package_folder}
  PATH_VARS BF_AOT_INCLUDE_FOLDER BF_AOT_LIBRARY_FOLDER)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/bf_aot-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)  # the program runs on this machine, what it makes elsewhere
install(FILES
  ${PROJECT_BINARY_DIR}/bf_aot-config.cmake
  ${PROJECT_BINARY_DIR}/bf_aot-config-version.cmake
  cmake/bf_add_robustness_test.cmake
  cmake/bf_add_verifier.cmake
  DESTINATION ${package_folder})

# For projects that use this one by add_subdirectory or FetchContent.
include(cmake/bf_add_robustness_test.cmake)
include(cmake/bf_add_verifier.cmake)
