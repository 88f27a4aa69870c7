# SPDX-License-Identifier: BSD-3-Clause
# Compiles through ccache (ccache_launcher), where it is installed and nobody names another launcher. In a build with
# POLYAD_CUDA_CHECK_ONLY, skip_passed.py does the same for nvcc.
option(POLYAD_CCACHE "Compile through ccache, if it is installed" ON)
if(POLYAD_CCACHE)
  find_program(POLYAD_CCACHE_PROGRAM ccache)
  mark_as_advanced(POLYAD_CCACHE_PROGRAM)
  set(polyad_launcher "")
  if(POLYAD_CCACHE_PROGRAM)
    set(polyad_launcher ${CMAKE_CURRENT_LIST_DIR}/ccache_launcher)
  endif()
  set(polyad_cuda_launcher "${polyad_launcher}")
  if(POLYAD_CUDA_CHECK_ONLY)  # which compiles nothing but CUDA
    set(polyad_launcher "")
    set(polyad_cuda_launcher ${CMAKE_CURRENT_LIST_DIR}/skip_passed.py)
  endif()
  if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${polyad_launcher})
  endif()
  if(NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${polyad_cuda_launcher})
  endif()
endif()
