# Builds one target that must not compile and looks at the first error that the compiler shows.
# build, target, config; first_line: "// expect: <regular expression>", or "// compiles" for the control.
execute_process(COMMAND ${CMAKE_COMMAND} --build ${build} --target ${target} --config "${config}"
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REGEX MATCH "[^\n]*error:[^\n]*" first "${output}")
if(first_line STREQUAL "// compiles")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the control must compile:\n${output}")
  endif()
  return()
endif()
string(REGEX REPLACE "^// expect: " "" expect "${first_line}")
if(result EQUAL 0)
  message(FATAL_ERROR "it compiles, and must fail with: ${expect}")
elseif(NOT first MATCHES "error:.*(${expect})")
  message(FATAL_ERROR "the first error is\n  ${first}\nand must be: ${expect}\n\n${output}")
endif()
message("${first}")
