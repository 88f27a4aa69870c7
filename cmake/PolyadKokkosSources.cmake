# SPDX-License-Identifier: BSD-3-Clause
# polyad_kokkos_sources(FILE...): marks sources that include Kokkos, directly or through Polyad, for the
# compiler that the project's backend needs: nvcc with the cuda backend, the C++ compiler otherwise. Call it
# in the folder that adds the target. Installed with Polyad, for its users' sources.
function(polyad_kokkos_sources)
  get_property(backend GLOBAL PROPERTY POLYAD_BACKEND)
  if(backend STREQUAL cuda)
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CUDA)
  endif()
endfunction()
