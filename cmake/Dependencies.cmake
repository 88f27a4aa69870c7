# SPDX-License-Identifier: BSD-3-Clause
# Finds all that Polyad builds on. Kokkos and Kokkos Kernels are those of the project that Polyad is added to, if it has
# them. Otherwise they come from Kokkos_ROOT (or Kokkos_DIR) if the user gives one, else from the system if it has
# the backend that is built, else from scripts/setup's cache.
include(KokkosLocation)
include(PolyadKokkosFacts)

if(NOT POLYAD_BACKEND MATCHES "^(serial|openmp|cuda)$")
  message(FATAL_ERROR "POLYAD_BACKEND is '${POLYAD_BACKEND}'; it can be serial, openmp or cuda")
endif()

# What scripts/setup calls this build's Kokkos.
set(POLYAD_KOKKOS_VARIANT ${POLYAD_BACKEND})
if(POLYAD_CUDA_CHECK_ONLY)
  set(POLYAD_KOKKOS_VARIANT cuda-check)
endif()
if(POLYAD_SANITIZE)
  if(POLYAD_BACKEND STREQUAL cuda)
    message(FATAL_ERROR "POLYAD_SANITIZE works with POLYAD_BACKEND=serial and openmp only, not ${POLYAD_BACKEND}")
  endif()
  if(POLYAD_SANITIZE MATCHES "^(thread|integer)$" AND NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    message(FATAL_ERROR "POLYAD_SANITIZE=${POLYAD_SANITIZE} is clang's: set CMAKE_CXX_COMPILER to one")
  endif()
  if(POLYAD_SANITIZE STREQUAL thread)
    if(NOT POLYAD_BACKEND STREQUAL openmp)
      message(FATAL_ERROR "POLYAD_SANITIZE=thread works with POLYAD_BACKEND=openmp only, not ${POLYAD_BACKEND}")
    endif()
    set(POLYAD_KOKKOS_VARIANT thread-sanitizer)
  elseif(NOT POLYAD_SANITIZE STREQUAL integer)
    set(POLYAD_KOKKOS_VARIANT ${POLYAD_BACKEND}-debug)
  endif()
endif()

# -DKokkos_ARCH_AMPERE80=ON picks the architecture as it does in Kokkos itself.
set(polyad_setup_arguments ${POLYAD_KOKKOS_VARIANT})
get_cmake_property(polyad_variables CACHE_VARIABLES)
foreach(variable IN LISTS polyad_variables)
  if(variable MATCHES "^Kokkos_ARCH_([A-Z0-9_]+)$" AND ${variable})
    list(APPEND polyad_setup_arguments --arch ${CMAKE_MATCH_1})
  endif()
endforeach()

if(NOT TARGET Kokkos::kokkos
   AND NOT Kokkos_ROOT
   AND NOT Kokkos_DIR
   AND NOT DEFINED ENV{Kokkos_ROOT})
  set(polyad_kokkos_dir "")
  if(POLYAD_KOKKOS_VARIANT MATCHES "^${POLYAD_BACKEND}(-check)?$")
    polyad_find_system_kokkos(polyad_kokkos_dir ${POLYAD_BACKEND})
  endif()
  if(polyad_kokkos_dir)
    set(Kokkos_DIR ${polyad_kokkos_dir} CACHE PATH "The folder of KokkosConfig.cmake")
  else()
    execute_process(
      COMMAND ${CMAKE_COMMAND} -E env CXX=${CMAKE_CXX_COMPILER} ${PROJECT_SOURCE_DIR}/scripts/setup
              --print-prefix ${polyad_setup_arguments}
      OUTPUT_VARIABLE polyad_kokkos_prefix
      OUTPUT_STRIP_TRAILING_WHITESPACE
      RESULT_VARIABLE polyad_setup_status)
    if(NOT polyad_setup_status EQUAL 0 OR NOT EXISTS ${polyad_kokkos_prefix}/complete)
      list(JOIN polyad_setup_arguments " " polyad_setup_arguments)
      message(FATAL_ERROR "No Kokkos 4.7 ... 5.x with Kokkos Kernels for the ${POLYAD_BACKEND} backend was found. "
                          "Run\n  scripts/setup ${polyad_setup_arguments}\n"
                          "which builds one into a cache, or give your own with -DKokkos_ROOT=PREFIX.")
    endif()
    set(Kokkos_ROOT ${polyad_kokkos_prefix})
  endif()
endif()

if(POLYAD_BACKEND STREQUAL cuda)
  include(CudaCompiler)
endif()

# Kokkos sets this with a warning if it has no value.
set(CMAKE_CXX_EXTENSIONS OFF)
set(polyad_kokkos_in_tree FALSE)
if(TARGET Kokkos::kokkos)
  get_target_property(polyad_imported Kokkos::kokkos IMPORTED)
  if(NOT polyad_imported)
    set(polyad_kokkos_in_tree TRUE)
  endif()
else()
  find_package(Kokkos 4.7...<6 REQUIRED CONFIG)
endif()
if(Kokkos_DIR AND NOT KokkosKernels_ROOT AND NOT KokkosKernels_DIR)
  cmake_path(GET Kokkos_DIR PARENT_PATH polyad_packages)
  if(EXISTS ${polyad_packages}/KokkosKernels/KokkosKernelsConfig.cmake)
    set(KokkosKernels_DIR ${polyad_packages}/KokkosKernels CACHE PATH "The folder of KokkosKernelsConfig.cmake")
  endif()
endif()
# The cuda backend calls Kokkos Kernels. A host's library has no symbol of it, only tests and benchmarks compare with it.
set(POLYAD_NEEDS_KOKKOS_KERNELS OFF)
if(POLYAD_BACKEND STREQUAL cuda)
  set(POLYAD_NEEDS_KOKKOS_KERNELS ON)
endif()
if(NOT TARGET Kokkos::kokkoskernels
   AND (POLYAD_NEEDS_KOKKOS_KERNELS
        OR POLYAD_ENABLE_TESTS
        OR POLYAD_ENABLE_PERF_TESTS))
  if(polyad_kokkos_in_tree)
    message(FATAL_ERROR "Kokkos is part of this project's source tree, but Kokkos Kernels is not. "
                        "Add it with add_subdirectory or FetchContent between Kokkos and Polyad.")
  endif()
  # No version: Kokkos Kernels 4.4.0 out of a release archive installs an empty one.
  find_package(KokkosKernels REQUIRED CONFIG)
endif()

polyad_kokkos_facts(POLYAD_KOKKOS_VERSION POLYAD_KOKKOS_DEVICES)
set(polyad_kokkos "The Kokkos in ${Kokkos_DIR}")
if(polyad_kokkos_in_tree)
  set(polyad_kokkos "The Kokkos in this project's source tree")
endif()
list(JOIN POLYAD_KOKKOS_DEVICES ", " polyad_devices)
if(POLYAD_KOKKOS_VERSION VERSION_LESS 4.7 OR POLYAD_KOKKOS_VERSION VERSION_GREATER_EQUAL 6)
  message(FATAL_ERROR "${polyad_kokkos} is ${POLYAD_KOKKOS_VERSION}; Polyad needs Kokkos 4.7 ... 5.x.")
endif()
polyad_kokkos_kind(polyad_kind ${POLYAD_KOKKOS_DEVICES})
if(NOT polyad_kind STREQUAL POLYAD_BACKEND)
  message(FATAL_ERROR "${polyad_kokkos} has the devices ${polyad_devices}: its default execution space "
                      "is not of the kind that POLYAD_BACKEND=${POLYAD_BACKEND} asks for.")
endif()
if(POLYAD_KOKKOS_VARIANT MATCHES "-debug$" AND NOT Kokkos_ENABLE_DEBUG_BOUNDS_CHECK)
  message(WARNING "${polyad_kokkos} was built without Kokkos_ENABLE_DEBUG_BOUNDS_CHECK")
endif()
if(POLYAD_BACKEND STREQUAL cuda)
  if(polyad_kokkos_in_tree)
    get_directory_property(Kokkos_COMPILE_LANGUAGE DIRECTORY ${Kokkos_SOURCE_DIR} DEFINITION KOKKOS_COMPILE_LANGUAGE)
    get_directory_property(Kokkos_CUDA_ARCHITECTURES DIRECTORY ${Kokkos_SOURCE_DIR} DEFINITION CMAKE_CUDA_ARCHITECTURES)
  endif()
  if(NOT Kokkos_COMPILE_LANGUAGE STREQUAL CUDA)
    message(FATAL_ERROR "${polyad_kokkos} was built for nvcc_wrapper. Polyad needs one that was built with "
                        "-DKokkos_ENABLE_COMPILE_AS_CMAKE_LANGUAGE=ON, as scripts/setup cuda does.")
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${Kokkos_CUDA_ARCHITECTURES})
  if(POLYAD_CUDA_CHECK_ONLY)
    list(TRANSFORM CMAKE_CUDA_ARCHITECTURES REPLACE "^([0-9]+)$" "\\1-virtual")
  endif()
endif()
message(STATUS "Polyad: backend ${POLYAD_BACKEND}. ${polyad_kokkos} is ${POLYAD_KOKKOS_VERSION} (${polyad_devices}).")

find_package(Threads REQUIRED)
find_package(ZLIB)
find_package(LibLZMA)
find_package(Zstd)
# Header-only and for the library's own sources: what is installed does not need it.
find_path(POLYAD_ROBIN_MAP_INCLUDE_DIR tsl/robin_set.h)
if(NOT POLYAD_ROBIN_MAP_INCLUDE_DIR)
  message(FATAL_ERROR "The header tsl/robin_set.h was not found. Run scripts/setup, install robin-map-dev, or name the folder "
                      "of https://github.com/Tessil/robin-map with -DPOLYAD_ROBIN_MAP_INCLUDE_DIR=PATH/include.")
endif()
mark_as_advanced(POLYAD_ROBIN_MAP_INCLUDE_DIR)
include_directories(SYSTEM ${POLYAD_ROBIN_MAP_INCLUDE_DIR})

if(POLYAD_ENABLE_NCCL AND NOT (POLYAD_ENABLE_MPI AND POLYAD_BACKEND STREQUAL cuda))
  message(FATAL_ERROR "POLYAD_ENABLE_NCCL works with POLYAD_BACKEND=cuda and POLYAD_ENABLE_MPI=ON only")
endif()
if(POLYAD_ENABLE_MPI)
  find_package(MPI COMPONENTS CXX)
  if(NOT MPI_CXX_FOUND)
    message(FATAL_ERROR "POLYAD_ENABLE_MPI=ON, but no MPI was found. Run\n  scripts/setup --mpi\n"
                        "which installs Open MPI, or name yours with -DMPI_CXX_COMPILER=/path/mpicxx.")
  endif()
endif()
if(POLYAD_ENABLE_NCCL)
  find_package(NCCL)
  if(NOT NCCL_FOUND)
    message(FATAL_ERROR "POLYAD_ENABLE_NCCL=ON, but nccl.h and libnccl were not found. Install libnccl-dev or the "
                        "Python wheel nvidia-nccl-cu13, or name the folder of one with -DNCCL_ROOT=PREFIX.")
  endif()
endif()

if(POLYAD_ENABLE_TOOL)
  find_package(CLI11 REQUIRED CONFIG)
  find_package(nlohmann_json REQUIRED CONFIG)
  find_package(fmt REQUIRED CONFIG)
endif()
if(POLYAD_ENABLE_TESTS)
  find_package(Catch2 REQUIRED CONFIG)
endif()
