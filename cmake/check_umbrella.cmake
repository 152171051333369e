# Keeps fleet/fleet.hpp complete: every public header; those of an optional part behind its macro.
#   cmake -P cmake/check_umbrella.cmake              compares
#   cmake -D write=ON -P cmake/check_umbrella.cmake  writes it anew
cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH source)

set(parts ONEDNN nn/onednn)  # macro and folder of each optional part

file(GLOB_RECURSE headers RELATIVE ${source}/include ${source}/include/fleet/*/*.hpp)
list(FILTER headers EXCLUDE REGEX "/detail/")
list(SORT headers)

function(includes_of result)
  list(JOIN ARGN ">\n#include <" lines)
  set(${result} "#include <${lines}>\n" PARENT_SCOPE)
endfunction()

set(optional "")
while(parts)
  list(POP_FRONT parts macro folder)
  set(own ${headers})
  list(FILTER own INCLUDE REGEX "^fleet/${folder}/")
  list(FILTER headers EXCLUDE REGEX "^fleet/${folder}/")
  if(own)
    includes_of(lines ${own})
    string(APPEND optional "\n#ifdef FLEET_HAS_${macro}\n${lines}#endif\n")
  endif()
endwhile()
includes_of(lines ${headers})
set(umbrella "#pragma once\n// All of fleet. cmake/check_umbrella.cmake writes this file.\n\n${lines}${optional}")

set(file ${source}/include/fleet/fleet.hpp)
set(now "")
if(EXISTS ${file})
  file(READ ${file} now)
endif()
if(now STREQUAL umbrella)
  message("the umbrella is complete")
elseif(write)
  file(WRITE ${file} "${umbrella}")
  message("written: ${file}")
else()
  message(FATAL_ERROR "${file} does not list every public header.\n"
          "Write it anew: cmake -D write=ON -P cmake/check_umbrella.cmake")
endif()
