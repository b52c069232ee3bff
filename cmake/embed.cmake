# bf_embed(TARGET HEADER NAME=FILE...): the header `generated/HEADER` for the target's sources, which holds the bytes of
# the files, by the names, as bf_aot::embedded::kFiles.
function(bf_embed target header)
  set(rows "")
  set(arrays "")
  set(number 0)
  foreach(pair IN LISTS ARGN)
    string(REGEX MATCH "^([^=]*)=(.*)$" pair "${pair}")
    set(name ${CMAKE_MATCH_1})
    set(file ${CMAKE_MATCH_2})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "inline constexpr unsigned char kFile${number}[] = {\n${bytes}};\n")
    string(APPEND rows "    {\"${name}\", kFile${number}, sizeof kFile${number}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${header} @ONLY CONTENT
    "#pragma once

#include <cstddef>

namespace bf_aot::embedded {

@arrays@
struct File {
  const char* name;
  const unsigned char* bytes;
  std::size_t size;
};
inline constexpr File kFiles[] = {
@rows@};

}  // namespace bf_aot::embedded
")
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
endfunction()
