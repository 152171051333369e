# One case of consuming the installed package.
#   case: header_only    installs a header-only tree; builds and runs the project with the networks
#         missing        the same install: without oneDNN it works, and asking for what is not there fails clearly
#         this_build     installs the build tree as it is
#         subdirectory   the project brings fleet in by add_subdirectory
#   source, build, scratch, generator, compiler, config, separate_bodies, with_nn
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(configure ${CMAKE_COMMAND} -G ${generator} -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_BUILD_TYPE=${config})
set(project ${source}/tests/consume/project)
set(prefix ${scratch}/prefix-${case})
set(tree ${scratch}/build-${case})

function(configure_install)
  run(${configure} -S ${source} -B ${scratch}/build-install -D FLEET_BUILD_TESTS=OFF -D FLEET_BUILD_EXAMPLES=OFF
      -D FLEET_BUILD_BENCHMARKS=OFF -D FLEET_BUILD_TOOLS=OFF -D FLEET_SEPARATE_BODIES=OFF)
  file(REMOVE_RECURSE ${prefix})
  run(${CMAKE_COMMAND} --install ${scratch}/build-install --prefix ${prefix})
endfunction()

function(configure_project)
  file(REMOVE_RECURSE ${tree})
  run(${configure} -S ${project} -B ${tree} ${ARGV})
endfunction()

function(build_and_run)
  run(${CMAKE_COMMAND} --build ${tree})
  run(${tree}/consumer)
  message("${output}")
endfunction()

if(case STREQUAL "header_only")
  configure_install()
  configure_project(-D CMAKE_PREFIX_PATH=${prefix} -D CONSUMER_WITH_NN=${with_nn})
  build_and_run()
elseif(case STREQUAL "missing")
  set(prefix ${scratch}/prefix-header_only)
  configure_project(-D CMAKE_PREFIX_PATH=${prefix} -D CONSUMER_WITH_NN=OFF -D CMAKE_DISABLE_FIND_PACKAGE_dnnl=ON)
  build_and_run()
  execute_process(COMMAND ${configure} -S ${project} -B ${tree} -D CONSUMER_WITH_NN=ON
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(result EQUAL 0 OR NOT output MATCHES "no part nn: ")
    message(FATAL_ERROR "asking for nn without oneDNN must fail and say why:\n${output}")
  elseif(with_nn AND NOT output MATCHES "no part onednn: the package dnnl is not found")
    message(FATAL_ERROR "the reason must name the package:\n${output}")
  endif()
elseif(case STREQUAL "this_build")
  file(REMOVE_RECURSE ${prefix})
  run(${CMAKE_COMMAND} --install ${build} --prefix ${prefix} --config ${config})
  configure_project(-D CMAKE_PREFIX_PATH=${prefix} -D CONSUMER_WITH_NN=${with_nn})
  build_and_run()
elseif(case STREQUAL "subdirectory")
  configure_project(-D CONSUMER_FLEET_SOURCE=${source} -D CONSUMER_WITH_NN=${with_nn})
  build_and_run()
else()
  message(FATAL_ERROR "no case ${case}")
endif()
