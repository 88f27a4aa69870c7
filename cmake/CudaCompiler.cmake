# SPDX-License-Identifier: BSD-3-Clause
# Enables CUDA with the nvcc that there is, where the user names none. Before find_package: Kokkos' configuration
# looks for the CUDA toolkit. The architecture that a CMake of its own would choose is replaced by Kokkos' own later.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(polyad_nvcc nvcc PATHS /usr/local/cuda/bin NO_CACHE)
  if(polyad_nvcc)
    set(CMAKE_CUDA_COMPILER ${polyad_nvcc} CACHE FILEPATH "CUDA compiler")
  endif()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90)
endif()
if(NOT DEFINED CMAKE_CUDA_HOST_COMPILER AND NOT DEFINED ENV{CUDAHOSTCXX})
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
endif()
enable_language(CUDA)
