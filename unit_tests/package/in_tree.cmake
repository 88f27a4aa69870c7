# SPDX-License-Identifier: BSD-3-Clause
# Configures the project in in_tree/, whose Kokkos comes from the archive that scripts/setup keeps, and compiles its
# source; nothing is linked, as Kokkos takes too long to build. Then configures what Polyad refuses.
cmake_path(SET cache NORMALIZE ${KOKKOS_DIR}/../../../../../downloads)
file(GLOB archive ${cache}/*.tar.gz)
list(LENGTH archive count)
if(NOT count EQUAL 1)
  message(STATUS "SKIPPED: ${cache} has no archive with the sources of Kokkos")
  return()
endif()
file(REMOVE_RECURSE ${WORK})
file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${WORK} PATTERNS "*/tpls/kokkos/*" "*/tpls/kokkos-kernels/*")
file(GLOB sources ${WORK}/*/tpls)

# configure(HOW COMPONENT OPENMP EXPECTED...): the output must contain all that is expected.
function(configure HOW COMPONENT OPENMP)
  execute_process(
    COMMAND
      ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/in_tree -B ${WORK}/${HOW} -G ${GENERATOR} -D HOW=${HOW} -D
      COMPONENT=${COMPONENT} -D Kokkos_ENABLE_OPENMP=${OPENMP} -D Kokkos_ENABLE_SERIAL=ON -D
      KokkosKernels_ENABLE_ALL_COMPONENTS=OFF -D KokkosKernels_ENABLE_COMPONENT_LAPACK=ON -D SOURCES=${sources} -D
      POLYAD_SOURCE=${POLYAD_SOURCE} -D Polyad_ROOT=${POLYAD_BUILD} -D POLYAD_BACKEND=openmp -D
      POLYAD_FORMATS=coo-permuted -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D
      CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG=-O0
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  foreach(expected IN LISTS ARGN)
    string(FIND "${output}" "${expected}" found)
    if(found EQUAL -1)
      message(FATAL_ERROR "configuring ${HOW} did not print '${expected}':\n${output}")
    endif()
  endforeach()
endfunction()

set(accepted "The Kokkos in this project's source tree is 4.7.0 (OPENMP, SERIAL)")
configure(fetch_content openmp ON ${accepted} "Generating done")
if(GENERATOR STREQUAL Ninja)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/fetch_content --target CMakeFiles/outside.dir/main.cpp.o
                  COMMAND_ERROR_IS_FATAL ANY)
endif()
configure(add_subdirectory cuda ON ${accepted} "added to this project with the backend openmp, and COMPONENTS cuda asks")
configure(other_devices openmp OFF "The Kokkos in this project's source tree has the devices SERIAL")
# Polyad's own tests and benchmarks, which would need it, are off in a project of others.
configure(without_kernels openmp ON ${accepted} "Generating done")
configure(tests_without_kernels openmp ON "Kokkos is part of this project's source tree, but Kokkos Kernels is not")
