# SPDX-License-Identifier: BSD-3-Clause
# Looks at the Kokkos packages of this machine without loading them (loading one defines its targets, and
# they cannot be taken back). Included by Dependencies.cmake, and run by scripts/setup:
#   cmake -D POLYAD_BACKEND=openmp -P cmake/KokkosLocation.cmake
# prints the prefix of a fitting system Kokkos, or nothing.

# Sets OUT to the kind of Kokkos' default execution space, serial, openmp, cuda or other, given its devices.
function(polyad_kokkos_kind OUT)
  set(kind other)
  if(CUDA IN_LIST ARGN)
    set(kind cuda)
  elseif(HIP IN_LIST ARGN OR SYCL IN_LIST ARGN OR OPENMPTARGET IN_LIST ARGN OR OPENACC IN_LIST ARGN)
    set(kind other)
  elseif(OPENMP IN_LIST ARGN)
    set(kind openmp)
  elseif(THREADS IN_LIST ARGN OR HPX IN_LIST ARGN)
    set(kind other)
  elseif(SERIAL IN_LIST ARGN)
    set(kind serial)
  endif()
  set(${OUT} ${kind} PARENT_SCOPE)
endfunction()

# Sets OUT to the folder of the KokkosConfig.cmake that a plain search finds if it has version 4.7 ... 5.x and
# the requested backend, and Kokkos Kernels is next to it; to the empty string otherwise.
function(polyad_find_system_kokkos OUT BACKEND)
  set(${OUT} "" PARENT_SCOPE)
  if(CMAKE_SCRIPT_MODE_FILE)
    set(machine_prefixes /usr/local /usr)
  endif()
  find_path(
    POLYAD_SYSTEM_KOKKOS_DIR KokkosConfigCommon.cmake
    PATHS ${machine_prefixes}
    PATH_SUFFIXES lib/cmake/Kokkos lib64/cmake/Kokkos lib/x86_64-linux-gnu/cmake/Kokkos
                  lib/aarch64-linux-gnu/cmake/Kokkos
    NO_CACHE)
  if(NOT POLYAD_SYSTEM_KOKKOS_DIR)
    return()
  endif()
  file(STRINGS ${POLYAD_SYSTEM_KOKKOS_DIR}/KokkosConfigVersion.cmake line REGEX "^set\\(PACKAGE_VERSION \"")
  string(REGEX MATCH "[0-9.]+" version "${line}")
  if(version VERSION_LESS 4.7 OR version VERSION_GREATER_EQUAL 6)
    return()
  endif()
  file(STRINGS ${POLYAD_SYSTEM_KOKKOS_DIR}/KokkosConfigCommon.cmake line REGEX "^set\\(Kokkos_DEVICES ")
  string(REGEX REPLACE "^set\\(Kokkos_DEVICES (.*)\\)$" "\\1" devices "${line}")
  polyad_kokkos_kind(kind ${devices})
  if(NOT kind STREQUAL BACKEND OR NOT EXISTS ${POLYAD_SYSTEM_KOKKOS_DIR}/../KokkosKernels)
    return()
  endif()
  set(${OUT} ${POLYAD_SYSTEM_KOKKOS_DIR} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  polyad_find_system_kokkos(found ${POLYAD_BACKEND})
  if(found)
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo ${found})
  endif()
endif()
