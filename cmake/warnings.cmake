# Warnings for our own code. They are errors only in the presets (CMAKE_COMPILE_WARNING_AS_ERROR).
function(bf_target_defaults target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
    # GCC 12 at -O3 sees overlaps in "text" + std::string that are not there (GCC bug 105651).
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>
    # At -O1 it sees writes beyond the ends of std::string that are not there; at -O3 it does not.
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:RelWithDebInfo>>:-Wno-array-bounds -Wno-stringop-overflow>)
  # Checks of tables while compiling take more steps than Clang's default of a million.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-fconstexpr-steps=16777216>)
  # Includes are from the root; those of runtime/ are as verifiers see them.
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                             $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime>)
endfunction()
