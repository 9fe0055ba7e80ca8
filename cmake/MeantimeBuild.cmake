# How everything in this tree is compiled: language, warnings, sanitizers, compiler cache.
# May not know any part by name.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS ON)
set(CMAKE_C_STANDARD 11)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()
# Line tables in a release too: a profile or a stack trace of a user's job should name functions.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")

# Fixed, because the documented tree says lib/ (GNUInstallDirs would say lib/x86_64-linux-gnu or lib64).
set(CMAKE_INSTALL_LIBDIR lib)
include(GNUInstallDirs)

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety>)  # src/base/lock.h
endif()
if(MEANTIME_WARNINGS_ARE_ERRORS)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-Werror>)
endif()
if(MEANTIME_SANITIZER)
  add_compile_options(-fsanitize=${MEANTIME_SANITIZER} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MEANTIME_SANITIZER})
endif()

find_program(MEANTIME_CCACHE ccache)
if(MEANTIME_CCACHE)
  foreach(language C CXX)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${MEANTIME_CCACHE})
    endif()
  endforeach()
endif()
