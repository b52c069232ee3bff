# Warnings for our own code. They are errors only in the presets (CMAKE_COMPILE_WARNING_AS_ERROR).
function(bf_target_defaults target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
    # GCC 12 at -O3 sees overlaps in "text" + std::string that are not there (GCC bug 105651).
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
endfunction()
