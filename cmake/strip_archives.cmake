# cpack runs this before it packs: archives without the symbols that no linking asks for, as CPACK_STRIP_FILES strips
# programs and shared objects alone.
file(GLOB_RECURSE archives ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.a)
if(archives)
  execute_process(COMMAND strip --strip-unneeded --enable-deterministic-archives ${archives} COMMAND_ERROR_IS_FATAL ANY)
endif()
