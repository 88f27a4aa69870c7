# SPDX-License-Identifier: BSD-3-Clause
# Builds and runs the project in outside/ against Polyad: HOW is installed, build_tree or add_subdirectory.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(SUBSTRING "${output}" 0 4000 output)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# A stale tree would hide a file that the package lost. The library of add_subdirectory may stay.
if(NOT HOW STREQUAL add_subdirectory)
  file(REMOVE_RECURSE ${WORK})
endif()

set(arguments -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_BUILD_TYPE=${BUILD_TYPE})
if(BACKEND STREQUAL cuda)
  list(APPEND arguments -D CMAKE_CUDA_COMPILER=${CUDACXX})
endif()
if(HOW STREQUAL installed)
  run(${CMAKE_COMMAND} --install ${POLYAD_BUILD} --prefix ${WORK}/prefix)
  list(APPEND arguments -D CMAKE_PREFIX_PATH=${WORK}/prefix)
elseif(HOW STREQUAL build_tree)
  list(APPEND arguments -D Polyad_ROOT=${POLYAD_BUILD})
else()
  # Nothing is measured here: -O0, and no -g, compiles fastest.
  list(APPEND arguments -D POLYAD_SOURCE=${POLYAD_SOURCE} -D POLYAD_BACKEND=${BACKEND} -D Kokkos_DIR=${KOKKOS_DIR} -D
       CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG=-O0)
endif()

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/outside -B ${WORK}/build -G ${GENERATOR} ${arguments})
run(${CMAKE_COMMAND} --build ${WORK}/build --parallel ${JOBS})
run(${WORK}/build/outside)
if(NOT output MATCHES "Polyad [0-9.]+: fit ")
  message(FATAL_ERROR "the program printed:\n${output}")
endif()
message(STATUS "${output}")
