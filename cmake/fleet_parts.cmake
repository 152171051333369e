# The parts of the library, one for each third-party need. A part is a target fleet::<name>, the same name in the build
# tree and installed; linking it defines FLEET_HAS_<NAME>, and the umbrella header then includes the part's headers.

include(fleet_packages)
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL TRUE)  # a parent project that links a part sees what the part links

if(FLEET_SEPARATE_BODIES)
  set(fleet_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fleet)
else()
  set(fleet_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/fleet)
endif()
set(fleet_parts "")       # the parts that this build has
set(fleet_part_table "")  # what the installed package needs to know of them

# Warnings of our own code; never handed to users.
add_library(fleet_warnings INTERFACE)
target_compile_options(fleet_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion
                       $<$<BOOL:${FLEET_WARNINGS_AS_ERRORS}>:-Werror>)

# fleet_part(<name> [REQUIRED] FOLDERS <folder>... EXCEPT <folder>... PARTS <part>... PACKAGES <package>... LINK <target>...)
#   FOLDERS, EXCEPT  the folders of include/fleet that belong to the part, and those below them that do not
#   PARTS            the parts that it builds on
#   PACKAGES, LINK   what find_package must find for it, and the targets that this brings
# A part whose packages are not there is left out, with a message; a REQUIRED one ends the configuration.
# FLEET_WITH_<NAME>=OFF leaves a part out on purpose. A part without folders only gathers other parts.
function(fleet_part name)
  cmake_parse_arguments(arg "REQUIRED" "" "FOLDERS;EXCEPT;PARTS;PACKAGES;LINK" ${ARGN})
  string(TOUPPER ${name} upper)
  set(links ${arg_LINK})
  set(missing "")
  foreach(part IN LISTS arg_PARTS)
    list(APPEND links fleet_${part})
    if(NOT TARGET fleet_${part})
      list(APPEND missing "the part ${part}")
    endif()
  endforeach()
  if(NOT arg_REQUIRED)
    option(FLEET_WITH_${upper} "Build the part fleet::${name} where its needs are found" ON)
    if(NOT FLEET_WITH_${upper})
      return()
    endif()
  endif()
  foreach(package IN LISTS arg_PACKAGES)
    fleet_find_package(${package})
    if(NOT ${package}_FOUND)
      list(APPEND missing "the package ${package}")
    endif()
  endforeach()
  if(missing)
    list(JOIN missing ", " missing)
    if(arg_REQUIRED)
      message(FATAL_ERROR "fleet: not found: ${missing}. On Debian `tools/packages build` installs what is needed.")
    endif()
    message(STATUS "fleet: the part fleet::${name} is left out; not found: ${missing}")
    return()
  endif()

  add_library(fleet_${name} INTERFACE)
  add_library(fleet::${name} ALIAS fleet_${name})
  set_target_properties(fleet_${name} PROPERTIES EXPORT_NAME ${name} VERIFY_INTERFACE_HEADER_SETS ON)
  target_compile_features(fleet_${name} INTERFACE cxx_std_20)
  target_link_libraries(fleet_${name} INTERFACE ${links})

  if(arg_FOLDERS)
    fleet_headers(headers "${arg_FOLDERS}" "${arg_EXCEPT}")
    target_sources(fleet_${name} INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
    if(NOT arg_REQUIRED)
      target_compile_definitions(fleet_${name} INTERFACE FLEET_HAS_${upper}=1)
    endif()
    install(TARGETS fleet_${name} EXPORT fleet-${name} FILE_SET HEADERS)
    if(FLEET_SEPARATE_BODIES)
      fleet_bodies(${name} "${headers}" "${links}")
    endif()
  else()
    install(TARGETS fleet_${name} EXPORT fleet-${name})
  endif()
  install(EXPORT fleet-${name} NAMESPACE fleet:: FILE fleet-part-${name}.cmake DESTINATION ${fleet_package_dir})

  set(fleet_parts ${fleet_parts} ${name} PARENT_SCOPE)
  list(JOIN arg_PARTS " " parts)
  list(JOIN arg_PACKAGES " " packages)
  string(APPEND fleet_part_table "set(fleet_${name}_parts ${parts})\nset(fleet_${name}_packages ${packages})\n")
  set(fleet_part_table "${fleet_part_table}" PARENT_SCOPE)
endfunction()

# The headers in these folders of include/fleet ("." is all of it), but those below the folders of the second list.
function(fleet_headers result folders except)
  set(headers "")
  foreach(folder IN LISTS folders)
    cmake_path(SET pattern NORMALIZE ${PROJECT_SOURCE_DIR}/include/fleet/${folder}/*.hpp)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${pattern})
    list(APPEND headers ${found})
  endforeach()
  foreach(folder IN LISTS except)
    list(FILTER headers EXCLUDE REGEX "/include/fleet/${folder}/")
  endforeach()
  set(${result} ${headers} PARENT_SCOPE)
endfunction()

# The library that holds a part's non-template bodies, compiled once: one source for each detail/*_impl.hpp.
function(fleet_bodies name headers links)
  list(FILTER headers INCLUDE REGEX "/detail/[a-z0-9_]+_impl\\.hpp$")
  if(NOT headers)
    return()
  endif()
  set(bodies fleet_${name}_bodies)
  if(name STREQUAL "fleet")
    set(bodies fleet_bodies)
  endif()
  set(sources "")
  foreach(header IN LISTS headers)
    cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/include OUTPUT_VARIABLE body)
    string(REPLACE "/" "." file ${body})
    file(CONFIGURE OUTPUT bodies/${file}.cpp CONTENT "#include <${body}>\n" @ONLY)
    list(APPEND sources ${CMAKE_CURRENT_BINARY_DIR}/bodies/${file}.cpp)
  endforeach()
  add_library(${bodies} STATIC ${sources})
  set_target_properties(${bodies} PROPERTIES EXPORT_NAME ${name}-bodies POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${bodies} PUBLIC cxx_std_20)
  target_compile_definitions(${bodies} PUBLIC FLEET_SEPARATE_BODIES)
  target_include_directories(${bodies} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${bodies} PUBLIC ${links} PRIVATE $<BUILD_INTERFACE:fleet_warnings>)
  target_link_libraries(fleet_${name} INTERFACE ${bodies})
  install(TARGETS ${bodies} EXPORT fleet-${name})
endfunction()

# The files that make find_package(fleet) work. Called once, after the last part.
function(fleet_install_package)
  include(CMakePackageConfigHelpers)
  set(arch_independent ARCH_INDEPENDENT)
  if(FLEET_SEPARATE_BODIES)
    set(arch_independent "")
  endif()
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/fleet-config.cmake.in fleet-config.cmake
                                INSTALL_DESTINATION ${fleet_package_dir})
  write_basic_package_version_file(fleet-config-version.cmake COMPATIBILITY SameMinorVersion ${arch_independent})
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fleet-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/fleet-config-version.cmake
                ${PROJECT_SOURCE_DIR}/cmake/fleet_packages.cmake
          DESTINATION ${fleet_package_dir})
endfunction()
