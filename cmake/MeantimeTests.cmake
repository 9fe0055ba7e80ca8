# How tests of each label are declared.
include(GoogleTest)

# meantime_unit_test(path/foo_test.cpp): one executable with everything of the library in it.
# Each of its cases is one test named <part>.<file>.<case>; 60 s each.
function(meantime_unit_test source)
  file(RELATIVE_PATH relative ${CMAKE_SOURCE_DIR} ${source})
  string(REGEX REPLACE "^(src|tests/unit)/" "" name ${relative})
  string(REGEX REPLACE "_test\\.cpp$" "" name ${name})
  string(REPLACE "/" "." name ${name})
  set(target unit.${name})
  add_executable(${target} ${source})
  target_link_libraries(${target} PRIVATE meantime_objects GTest::gtest_main)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/unit)
  gtest_discover_tests(${target} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS unit TIMEOUT 60)
endfunction()
