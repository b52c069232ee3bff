# Writes the source that says which state of the sources is built, when it is another than before:
# cmake -DSOURCE=FOLDER -DOUT=FILE.cpp -P source_state.cmake
# Git says it, of a checkout of this project alone; in an archive that git has made, source_state.txt does.
set(state "")
if(EXISTS ${SOURCE}/.git)
  execute_process(COMMAND git -C ${SOURCE} describe --tags --always --dirty --abbrev=8
    RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(code EQUAL 0)
    set(state "${said}")
  endif()
else()
  file(READ ${SOURCE}/cmake/source_state.txt text)
  if(text MATCHES "commit ([0-9a-f]+)\n")
    string(SUBSTRING "${CMAKE_MATCH_1}" 0 8 state)
    if(text MATCHES "tag ([A-Za-z0-9][^\n]*)\n")
      set(state "${CMAKE_MATCH_1}")
    endif()
  endif()
endif()
if(NOT state MATCHES "^[A-Za-z0-9._/+-]*$")
  set(state "")
endif()

set(text "#include \"frontend/source_state.h\"

namespace bf_aot {

std::string_view source_state() noexcept {
  return \"${state}\";
}

}  // namespace bf_aot
")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUT} "${text}")
endif()
