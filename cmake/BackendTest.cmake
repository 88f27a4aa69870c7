# SPDX-License-Identifier: BSD-3-Clause
# polyad_backend_test(TARGET): a test executable's entries in ctest, one per thread count with the openmp
# backend and one otherwise. Label = backend, so that `ctest -L cuda` picks the tests of a build.
function(polyad_backend_test TARGET)
  set(specification "")
  if(POLYAD_TEST_FILTER)
    set(specification "${POLYAD_TEST_FILTER}")
  endif()
  if(POLYAD_BACKEND STREQUAL openmp)
    cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
    foreach(threads IN LISTS POLYAD_TEST_THREADS)
      set(name ${TARGET}.openmp-${threads})
      add_test(NAME ${name} COMMAND ${TARGET} ${specification})
      # Unbound: more threads than cores is meant, and several tests may run side by side. Where a thread that
      # spins would keep the one it waits for from its core, they wait asleep, which takes five times as long.
      set(environment "OMP_NUM_THREADS=${threads};OMP_PROC_BIND=false")
      if(threads GREATER cores)
        list(APPEND environment OMP_WAIT_POLICY=passive)
      endif()
      set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}" LABELS openmp PROCESSORS ${threads})
    endforeach()
  else()
    add_test(NAME ${TARGET}.${POLYAD_BACKEND} COMMAND ${TARGET} ${specification})
    set_tests_properties(${TARGET}.${POLYAD_BACKEND} PROPERTIES LABELS ${POLYAD_BACKEND})
    if(POLYAD_BACKEND STREQUAL cuda)
      # One at a time: the device's memory is shared.
      set_tests_properties(${TARGET}.cuda PROPERTIES RESOURCE_LOCK device)
    endif()
  endif()
endfunction()
