# SPDX-License-Identifier: BSD-3-Clause
# What a Kokkos is, read from its own header. This is right for every Kokkos: an installed one, one in the source tree,
# and one that another folder of the project found. Installed with Polyad, whose package needs it too.

# Sets OUT to the KokkosCore_config.h of the target Kokkos::kokkos.
function(polyad_kokkos_header OUT)
  set(folders "")
  foreach(target IN ITEMS Kokkos::kokkoscore Kokkos::kokkos)
    if(TARGET ${target})
      get_target_property(found ${target} INTERFACE_INCLUDE_DIRECTORIES)
      list(APPEND folders ${found})
    endif()
  endforeach()
  string(REGEX REPLACE "\\$<[A-Z_]+:([^<>]*)>" "\\1" folders "${folders}")
  foreach(folder IN LISTS folders)
    if(EXISTS ${folder}/KokkosCore_config.h)
      set(${OUT} ${folder}/KokkosCore_config.h PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "Polyad: the target Kokkos::kokkos has no KokkosCore_config.h in its include directories "
                      "(${folders})")
endfunction()

# Sets VERSION and DEVICES to the version and the sorted devices of the target Kokkos::kokkos.
function(polyad_kokkos_facts VERSION DEVICES)
  polyad_kokkos_header(header)
  file(STRINGS ${header} lines REGEX "^#define KOKKOS_(VERSION|ENABLE_[A-Z]+)")
  set(devices "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^#define KOKKOS_VERSION ([0-9]+)")
      math(EXPR major "${CMAKE_MATCH_1} / 10000")
      math(EXPR minor "${CMAKE_MATCH_1} / 100 % 100")
      math(EXPR patch "${CMAKE_MATCH_1} % 100")
      set(${VERSION} ${major}.${minor}.${patch} PARENT_SCOPE)
    elseif(line MATCHES "ENABLE_(SERIAL|OPENMP|THREADS|HPX|CUDA|HIP|SYCL|OPENMPTARGET|OPENACC)( |$)")
      list(APPEND devices ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(SORT devices)
  set(${DEVICES} "${devices}" PARENT_SCOPE)
endfunction()
