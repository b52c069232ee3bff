# The CMake package of the archive libbf-aot-...: bf_aot::c, the C interface, and bf_aot::headers, what verifiers
# include. The Debian packages and an installation have more components.
get_filename_component(bf_aot_folder "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET bf_aot::headers)
  add_library(bf_aot::headers INTERFACE IMPORTED)
  set_target_properties(bf_aot::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${bf_aot_folder}/include/bf_aot")
endif()
if(NOT TARGET bf_aot::c)
  add_library(bf_aot::c SHARED IMPORTED)
  set_target_properties(bf_aot::c PROPERTIES IMPORTED_LOCATION "${bf_aot_folder}/lib/libbf_aot.so"
    INTERFACE_INCLUDE_DIRECTORIES "${bf_aot_folder}/include")
endif()
set(bf_aot_c_FOUND TRUE)
foreach(component IN LISTS bf_aot_FIND_COMPONENTS)
  if(NOT bf_aot_${component}_FOUND AND bf_aot_FIND_REQUIRED_${component})
    set(bf_aot_FOUND FALSE)
    set(bf_aot_NOT_FOUND_MESSAGE "this archive has no component ${component}, but c")
  endif()
endforeach()
