# Linux on AArch64, by Debian's cross compiler. Headers and libraries are those that .ci/portable has put into the
# folder BF_AOT_PORTABLE/target; programs are of this machine.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BF_AOT_PORTABLE)
set(CMAKE_FIND_ROOT_PATH ${BF_AOT_PORTABLE}/target)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind IN ITEMS LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_STANDARD_INCLUDE_DIRECTORIES
      ${BF_AOT_PORTABLE}/target/usr/include/aarch64-linux-gnu ${BF_AOT_PORTABLE}/target/usr/include)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${BF_AOT_PORTABLE}/target)
set(ENV{PKG_CONFIG_LIBDIR} ${BF_AOT_PORTABLE}/target/usr/lib/aarch64-linux-gnu/pkgconfig)
# Which GCC passed a pair in another way matters to nobody: all is compiled by one.
set(CMAKE_CXX_FLAGS_INIT -Wno-psabi)
# bf-aot itself, which is linked but not shipped, uses shared libraries; what those use is not here.
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,--allow-shlib-undefined)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -Wl,--allow-shlib-undefined)
