# bf_portable(TARGET PORTABLE folder PARTS file... ARCHIVES file... SHARED file...): links our archives (PARTS) and
# others' into it, of which it shows no symbol, with the C library in the folder that .ci/portable has filled.
function(bf_portable target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PORTABLE" "PARTS;ARCHIVES;SHARED")
  set(root ${arg_PORTABLE}/root)
  set(triplet ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/older_glibc.c)
  list(TRANSFORM arg_ARCHIVES PREPEND ${arg_PORTABLE}/lib/)
  target_link_options(${target} PRIVATE --sysroot=${root} -B${root}/usr/lib/${triplet}/
    -L${root}/usr/lib/${triplet} -L${root}/lib/${triplet} -fuse-ld=bfd -static-libstdc++ -s
    LINKER:--gc-sections,--exclude-libs,ALL LINKER:--wrap=exp,--wrap=exp2,--wrap=log,--wrap=log2,--wrap=pow)
  target_link_libraries(${target} PRIVATE -Wl,--start-group ${arg_PARTS} -Wl,--end-group ${arg_ARCHIVES} ${arg_SHARED}
    -ldl -lpthread -lm)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX SKIP_BUILD_RPATH ON)
endfunction()
