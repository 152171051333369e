# How this tree is built when it is the top project; a parent project keeps its own settings.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(FLEET_CCACHE ccache)
mark_as_advanced(FLEET_CCACHE)
if(FLEET_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${FLEET_CCACHE})
endif()

if(FLEET_SANITIZE)
  add_compile_options(-fsanitize=${FLEET_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${FLEET_SANITIZE})
endif()
