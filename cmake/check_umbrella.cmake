# Keeps fleet/fleet.hpp complete: every public header, in the order of the layers; those of an optional part behind its
# macro.
#   cmake -P cmake/check_umbrella.cmake              compares
#   cmake -D write=ON -P cmake/check_umbrella.cmake  writes it anew
cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH source)

set(areas core tensor device net comm nn optim job data metrics ps strategy train models launch)
set(parts ONEDNN nn/onednn)  # macro and folder of each optional part

set(umbrella "#pragma once\n// All of fleet. cmake/check_umbrella.cmake writes this file.\n\n")
set(optional_folders "")
set(optional_includes "")
while(parts)
  list(POP_FRONT parts macro folder)
  list(APPEND optional_folders ${folder})
  file(GLOB headers RELATIVE ${source}/include ${source}/include/fleet/${folder}/*.hpp)
  list(SORT headers)
  if(headers)
    list(JOIN headers ">\n#include <" lines)
    string(APPEND optional_includes "\n#ifdef FLEET_HAS_${macro}\n#include <${lines}>\n#endif\n")
  endif()
endwhile()

foreach(area IN LISTS areas)
  file(GLOB headers RELATIVE ${source}/include ${source}/include/fleet/${area}/*.hpp)
  list(SORT headers)
  file(GLOB backends RELATIVE ${source}/include/fleet ${source}/include/fleet/${area}/*)
  list(SORT backends)
  foreach(backend IN LISTS backends)
    if(IS_DIRECTORY ${source}/include/fleet/${backend} AND NOT backend MATCHES "/detail$"
       AND NOT backend IN_LIST optional_folders)
      file(GLOB below RELATIVE ${source}/include ${source}/include/fleet/${backend}/*.hpp)
      list(SORT below)
      list(APPEND headers ${below})
    endif()
  endforeach()
  foreach(header IN LISTS headers)
    string(APPEND umbrella "#include <${header}>\n")
  endforeach()
endforeach()
string(APPEND umbrella "${optional_includes}")

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
