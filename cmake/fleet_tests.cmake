find_package(GTest REQUIRED)
include(GoogleTest)

# fleet_test(comm/tcp): tests/comm/tcp_test.cpp, a program and its cases, with the area as label. NN: it needs the
# networks (oneDNN). The target tests_<area>, made by tests/CMakeLists.txt, builds all programs of an area.
function(fleet_test name)
  cmake_parse_arguments(arg "NN" "TIMEOUT" "LINK" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY fleet_tests_listed ${name})
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.cpp)
    message(WARNING "fleet: the test ${name} has no file tests/${name}_test.cpp; the test `registered` will fail")
    return()
  endif()
  if(arg_NN AND NOT TARGET fleet::nn)
    return()
  endif()
  string(REPLACE "/" "_" target ${name}_test)
  string(REGEX REPLACE "/.*" "" area ${name})
  add_executable(${target} ${name}_test.cpp)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE fleet::fleet fleet_warnings GTest::gtest_main ${arg_LINK})
  if(arg_NN)
    target_link_libraries(${target} PRIVATE fleet::nn)
  endif()
  target_compile_definitions(${target} PRIVATE FLEET_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                             FLEET_BINARY_DIR="${PROJECT_BINARY_DIR}")
  add_dependencies(tests_${area} ${target})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(FLEET_SANITIZE)
    math(EXPR arg_TIMEOUT "5 * ${arg_TIMEOUT}")
  endif()
  gtest_discover_tests(${target} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES
                       PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${area})
endfunction()

# fleet_script_test(layers key=value...): a test that runs cmake/check_<name>.cmake.
function(fleet_script_test name)
  set(settings "")
  foreach(setting IN LISTS ARGN)
    list(APPEND settings -D ${setting})
  endforeach()
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} ${settings} -P ${PROJECT_SOURCE_DIR}/cmake/check_${name}.cmake)
  set_tests_properties(${name} PROPERTIES LABELS tree)
endfunction()

# fleet_compile_fail(<source>): a program that must not compile. Its first line says, as a regular expression, what the
# first error must be: `// expect: LARS.*Momentum`. A program whose first line is `// compiles` is the control: built in
# the same way, it must compile.
function(fleet_compile_fail source)
  cmake_path(GET source STEM name)
  file(STRINGS ${source} expect LIMIT_COUNT 1)
  if(NOT expect MATCHES "^// (expect: .+|compiles)$")
    message(FATAL_ERROR "${source}: the first line must be `// expect: <regular expression>` or `// compiles`")
  endif()
  add_library(compile_fail_${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_compile_options(compile_fail_${name} PRIVATE -fsyntax-only)
  target_link_libraries(compile_fail_${name} PRIVATE fleet::fleet)
  set_target_properties(compile_fail_${name} PROPERTIES CXX_COMPILER_LAUNCHER "" EXPORT_COMPILE_COMMANDS OFF)
  add_test(NAME compile_fail.${name}
           COMMAND ${CMAKE_COMMAND} -D build=${PROJECT_BINARY_DIR} -D target=compile_fail_${name} -D config=$<CONFIG>
                   -D first_line=${expect} -P ${PROJECT_SOURCE_DIR}/cmake/check_compile_fail.cmake)
  set_tests_properties(compile_fail.${name} PROPERTIES LABELS compile_fail RESOURCE_LOCK build_tree)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
endfunction()
