# Compares the symbols of object files or archives with allow-lists.
#
#   cmake -DNM=nm "-DFILES=a.o;b.a" -DUNDEFINED=^(memcpy|memset)$ -DGLOBAL=^bf_ -P check_symbols.cmake
#
# UNDEFINED: what the files together may need from outside; GLOBAL: what they may define for the
# linker to see. Weak definitions count as global: the linker keeps one copy of several, perhaps
# one compiled for another instruction set.
cmake_minimum_required(VERSION 3.25)

set(defined "")
set(undefined "")
set(bad "")
foreach(file IN LISTS FILES)
  execute_process(COMMAND ${NM} --extern-only --format=posix ${file}
    OUTPUT_VARIABLE listing RESULT_VARIABLE result)
  if(NOT result EQUAL 0 OR NOT listing MATCHES " T | D | R | B | W ")
    message(FATAL_ERROR "${NM} finds no symbols in ${file}")
  endif()
  if(listing MATCHES "__[atmu]?san_|__ubsan_|__gcov_|__llvm_profile|__sanitizer_")
    message(FATAL_ERROR "skipped: ${file} is instrumented, its symbols are the instrumentation's")
  endif()
  string(REGEX MATCHALL "[^\n]+" lines "${listing}")
  foreach(line IN LISTS lines)
    if(line MATCHES "^([^ ]+) ([Uwv])")
      list(APPEND undefined ${CMAKE_MATCH_1})
    elseif(line MATCHES "^([^ ]+) ([A-Za-z])")
      list(APPEND defined ${CMAKE_MATCH_1})
    endif()
  endforeach()
endforeach()
foreach(symbol IN LISTS undefined)
  if(NOT symbol IN_LIST defined AND NOT symbol MATCHES "${UNDEFINED}")
    string(APPEND bad "\n  undefined: ${symbol}")
  endif()
endforeach()
foreach(symbol IN LISTS defined)
  if(NOT symbol MATCHES "${GLOBAL}")
    string(APPEND bad "\n  defined: ${symbol}")
  endif()
endforeach()
if(bad)
  message(FATAL_ERROR "symbols outside the allow-lists in ${FILES}:${bad}")
endif()
