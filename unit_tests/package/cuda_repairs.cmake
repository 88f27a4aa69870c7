# SPDX-License-Identifier: BSD-3-Clause
# The two repairs that a kernel needs with Kokkos before 5 and CUDA 12.9 or newer (src/CMakeLists.txt) are on
# the interface of the exported target, whatever the backend of this build is:
#   cmake -D TARGETS=<PolyadTargets.cmake> -P cuda_repairs.cmake
file(READ ${TARGETS} text)
string(REGEX MATCH "set_target_properties\\(Polyad::polyad PROPERTIES[^)]*\\)" properties "${text}")
foreach(repair IN ITEMS "INTERFACE_COMPILE_OPTIONS \"[^\"]*-include polyad/core/cuda13_compat[.]hpp"
                        "INTERFACE_COMPILE_DEFINITIONS \"[^\"]*MDSPAN_IMPL_USE_ATTRIBUTE_NO_UNIQUE_ADDRESS=0")
  if(NOT properties MATCHES "${repair}")
    message(FATAL_ERROR "${TARGETS}: the interface of Polyad::polyad lacks ${repair}; it is\n${properties}")
  endif()
endforeach()
