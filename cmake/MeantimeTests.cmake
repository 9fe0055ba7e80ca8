# How tests of each label are declared. Their names begin with MEANTIME_TEST_PREFIX, because `make test` runs the
# tests of several builds as one.
include(GoogleTest)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

if(MEANTIME_SANITIZER MATCHES thread)
  set(MEANTIME_TEST_PREFIX tsan.)
elseif(MEANTIME_SANITIZER)
  set(MEANTIME_TEST_PREFIX asan.)
else()
  set(MEANTIME_TEST_PREFIX "")
endif()

# What Meantime measures of the machine it keeps in the user's cache: for all tests that is a folder of the build tree,
# and the developer's own stays as it is. CTest includes the file when it starts, before any test.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/tests/cache)
file(WRITE ${CMAKE_BINARY_DIR}/tests/environment.cmake
     "set(ENV{XDG_CACHE_HOME} \"${CMAKE_BINARY_DIR}/tests/cache\")\n")
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_BINARY_DIR}/tests/environment.cmake)

# meantime_unit_test(path/foo_test.cpp [LIBRARY]): one executable with what it uses of the library in it, or
# of another library.
# Each of its cases is one test named <part>.<file>.<suite>.<case>; 60 s each.
function(meantime_unit_test source)
  file(RELATIVE_PATH relative ${CMAKE_SOURCE_DIR} ${source})
  string(REGEX REPLACE "^(src|tests/unit)/" "" name ${relative})
  string(REGEX REPLACE "_test\\.cpp$" "" name ${name})
  string(REPLACE "/" "." name ${name})
  set(target unit.${name})
  set(library meantime_archive ${ARGN})
  list(GET library -1 library)
  add_executable(${target} ${source})
  target_link_libraries(${target} PRIVATE ${library} GTest::gtest_main)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/unit)
  gtest_discover_tests(${target} TEST_PREFIX "${MEANTIME_TEST_PREFIX}${name}." DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS unit TIMEOUT 60)
endfunction()

# meantime_python_test(name file.py LABEL [TIMEOUT seconds]): a unittest file; it finds this build through
# MEANTIME_BUILD. It skips (not fails) what it lacks the tools for. CFLAGS are what a program needs that is linked to
# this build's library.
function(meantime_python_test name file label)
  cmake_parse_arguments(arg "" "TIMEOUT" "" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set(flags "")
  if(MEANTIME_SANITIZER)
    set(flags "-fsanitize=${MEANTIME_SANITIZER}")
  endif()
  set(name ${MEANTIME_TEST_PREFIX}${name})
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/${file} -v)
  set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT ${arg_TIMEOUT}
                       ENVIRONMENT "MEANTIME_BUILD=${CMAKE_BINARY_DIR};CFLAGS=${flags};PYTHONDONTWRITEBYTECODE=1")
endfunction()
