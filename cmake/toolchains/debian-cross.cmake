# Cross build with Debian's compilers against an unpacked sysroot:
#
#   cmake -S . -B build/arm64 -G Ninja -DCOUNTRACE_BUILD_TESTS=OFF
#     --toolchain cmake/toolchains/debian-cross.cmake
#     -DCOUNTRACE_TRIPLE=aarch64-linux-gnu -DCMAKE_SYSROOT=DIRECTORY
#
# tests/emulated/foreign_packages.py makes such a sysroot.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES COUNTRACE_TRIPLE)
if(NOT COUNTRACE_TRIPLE)
  message(FATAL_ERROR "Name the compiler: -DCOUNTRACE_TRIPLE=aarch64-linux-gnu "
    "or powerpc64le-linux-gnu")
endif()
string(REGEX MATCH "^[^-]+" processor ${COUNTRACE_TRIPLE})
string(REPLACE "powerpc64le" "ppc64le" processor ${processor})

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${processor})
set(CMAKE_C_COMPILER ${COUNTRACE_TRIPLE}-gcc)
set(CMAKE_CXX_COMPILER ${COUNTRACE_TRIPLE}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${COUNTRACE_TRIPLE})

# Compilers and generators come from the host, all else from the target.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${CMAKE_SYSROOT}/usr/lib/${COUNTRACE_TRIPLE}/pkgconfig)
