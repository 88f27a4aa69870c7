# SPDX-License-Identifier: BSD-3-Clause
# find_package(NCCL): NCCL_FOUND, NCCL_PREFIX and the target NCCL::NCCL. Looks in NCCL_ROOT, in the system, and in the
# Python wheels nvidia-nccl-cu12 and nvidia-nccl-cu13, whose library has no name without a version.
set(nccl_wheel "")
find_program(nccl_python NAMES python3 NO_CACHE)
if(nccl_python)
  execute_process(
    COMMAND ${nccl_python} -c "import nvidia.nccl; print(list(nvidia.nccl.__path__)[0])"
    OUTPUT_VARIABLE nccl_wheel
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${nccl_wheel} ENV NCCL_HOME PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${nccl_wheel} ENV NCCL_HOME PATH_SUFFIXES lib lib64)
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR)
if(NCCL_FOUND)
  cmake_path(GET NCCL_INCLUDE_DIR PARENT_PATH NCCL_PREFIX)
  if(NOT TARGET NCCL::NCCL)
    add_library(NCCL::NCCL UNKNOWN IMPORTED)
    set_target_properties(NCCL::NCCL PROPERTIES IMPORTED_LOCATION ${NCCL_LIBRARY}
                                                INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
  endif()
endif()
