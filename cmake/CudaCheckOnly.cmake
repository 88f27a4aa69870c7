# SPDX-License-Identifier: BSD-3-Clause
# Lets nvcc compile what a device runs, down to PTX, and parse the rest of each source. This takes a third of the time of a
# whole build. Nothing is linked, so a source without Kokkos is not compiled at all: a host's build does that, except for
# unit_tests/cli/failing_device.cpp. CMakeLists.txt includes this, and so does Kokkos' own if scripts/setup builds cuda-check.
set(CMAKE_CUDA_COMPILE_OBJECT
    "<CMAKE_CUDA_COMPILER> -forward-unknown-to-host-compiler -ccbin=${CMAKE_CXX_COMPILER} <DEFINES> <INCLUDES> <FLAGS> \
-x cu -ptx <SOURCE> -o <OBJECT>")
set(CMAKE_CXX_COMPILE_OBJECT "<CMAKE_COMMAND> -E touch <OBJECT>")
set(CMAKE_CXX_LINK_EXECUTABLE "<CMAKE_COMMAND> -E touch <TARGET>")
set(CMAKE_CXX_CREATE_SHARED_MODULE "<CMAKE_COMMAND> -E touch <TARGET>")
