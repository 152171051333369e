# Holds the rules of inclusion for include/fleet: what an area may include, and who alone touches what is foreign.
#   cmake -P cmake/check_layers.cmake
cmake_minimum_required(VERSION 3.25)
if(NOT DEFINED source)
  cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH source)
endif()

# What each area may include besides itself. The table has no cycle.
set(core)
set(tensor core)
set(device core tensor)
set(net core)
set(comm core tensor device net)
set(nn core tensor device)
set(optim core tensor)
set(job core net comm)
set(data core tensor comm job)
set(metrics core tensor comm job)
set(ps core tensor net optim job)
set(strategy core tensor optim comm ps)
set(train core tensor device net comm nn optim job data metrics ps strategy)
set(models core tensor nn data)
set(launch core net job)
set(areas core tensor device net comm nn optim job data metrics ps strategy train models launch)

# Backends lie one level deeper (comm/tcp, nn/onednn). Besides its own area's, a folder may include only these backends.
set(backends_job comm/local comm/shm comm/tcp)  # init opens the communicator of the job
set(backends_comm/nccl device/cuda)
set(backends_nn/cudnn device/cuda)

# Foreign headers, and the only folders that may include them: pairs of regular expressions.
set(owners
  "^(boost/asio|boost/beast|asio|httplib)"              "^net/"
  "^(dnnl|oneapi/)"                                     "^nn/onednn/"
  "^(mpi\\.h|mpi/)"                                     "^comm/mpi/"
  "^nccl"                                               "^comm/nccl/"
  "^(cuda|cublas|curand|thrust/|cub/)"                  "^(device/cuda|nn/cudnn|comm/nccl)/"
  "^cudnn"                                              "^nn/cudnn/"
  "^(torch|ATen|c10)/"                                  "^torch/"
  "^openssl/"                                           "^(net|train)/"
  "^zlib"                                               "^(data|train)/"
  "^nlohmann/"                                          "^data/"
  "^(CLI|gtest|gmock|benchmark|yaml-cpp)"               "^(none)$")

set(faults "")
macro(fault text)
  string(APPEND faults "${header}: ${text}\n")
endmacro()

file(GLOB_RECURSE headers RELATIVE ${source}/include/fleet ${source}/include/fleet/*.hpp ${source}/include/fleet/*.cuh)
list(REMOVE_ITEM headers fleet.hpp)
list(SORT headers)
foreach(header IN LISTS headers)
  if(NOT header MATCHES "^([a-z0-9_]+)/(([a-z0-9_]+)/)?((detail)/)?[a-z0-9_]+\\.(hpp|cuh)$")
    fault("lies too deep, or outside every area, or has another kind of name than snake_case.hpp")
    continue()
  endif()
  set(area ${CMAKE_MATCH_1})
  set(backend "${CMAKE_MATCH_3}")
  if(backend STREQUAL "" OR backend STREQUAL "detail")
    set(home ${area})
    set(backend "")
  else()
    set(home ${area}/${backend})
  endif()
  if(NOT area IN_LIST areas)
    fault("the area ${area} is not in the table of cmake/check_layers.cmake")
    continue()
  endif()

  file(READ ${source}/include/fleet/${header} text)
  if(NOT text MATCHES "#pragma once")
    fault("has no #pragma once")
  endif()
  if(text MATCHES "[^a-z_]getenv *\\(|[^a-z_]environ[^a-z_]" AND NOT header MATCHES "^(job|launch)/")
    fault("reads the environment; only job/ and launch/ do")
  endif()
  string(REGEX MATCHALL "#[ ]*include[ ]*[<\"][^>\"\n]+[>\"]" includes "${text}")
  foreach(line IN LISTS includes)
    string(REGEX REPLACE "^[^<\"]*([<\"])([^>\"]+).*$" "\\2" include "${line}")
    if(line MATCHES "\"")
      fault("includes \"${include}\": a full path in angle brackets is asked for")
    elseif(include MATCHES "\\.\\./")
      fault("includes ${include}: no way up")
    elseif(include STREQUAL "fleet/fleet.hpp")
      fault("includes the umbrella, which is for users")
    elseif(include MATCHES "^fleet/([a-z0-9_]+)/(([a-z0-9_]+)/)?(([a-z0-9_]+)/)?[a-z0-9_]+\\.(hpp|cuh)$")
      set(to ${CMAKE_MATCH_1})
      set(second "${CMAKE_MATCH_3}")
      set(third "${CMAKE_MATCH_5}")
      if(NOT to STREQUAL area AND NOT to IN_LIST ${area})
        fault("includes ${include}: ${area}/ may include only: ${${area}}")
      endif()
      if((second STREQUAL "detail" OR third STREQUAL "detail") AND NOT to STREQUAL area)
        fault("includes ${include}: detail belongs to ${to}/ alone")
      endif()
      if(NOT second STREQUAL "" AND NOT second STREQUAL "detail")
        if(NOT "${to}/${second}" STREQUAL home AND NOT "${to}/${second}" IN_LIST backends_${home})
          fault("includes ${include}: ${home}/ may not include the backend ${to}/${second}")
        endif()
      endif()
    elseif(include MATCHES "^fleet/")
      fault("includes ${include}, which is no header of an area")
    else()
      set(rest ${owners})
      while(rest)
        list(POP_FRONT rest foreign folders)
        if(include MATCHES "${foreign}" AND NOT header MATCHES "${folders}")
          fault("includes <${include}>: only ${folders} may")
        endif()
      endwhile()
    endif()
  endforeach()
endforeach()

list(LENGTH headers count)
if(faults)
  message(FATAL_ERROR "the layers are broken:\n${faults}")
elseif(count EQUAL 0)
  message(FATAL_ERROR "no header under ${source}/include/fleet")
endif()
message("${count} headers keep to their layers")
