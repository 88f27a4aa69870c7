# SPDX-License-Identifier: BSD-3-Clause
# polyad_backend_tests(TARGET SOURCE...): the entries in ctest of a Catch2 executable, one for each folder of its
# sources and, with the openmp backend, each number of threads: unit.formats.csf.openmp-2 runs the test cases of
# formats/csf. Label = backend, so that `ctest -L cuda` picks the tests of a build. Hidden test cases stay out.

# Sets THREADS to the numbers of threads that the OpenMP tests run with: those in POLYAD_TEST_THREADS; by
# default 1 and all cores, and 4 and 7 if there are that many cores. Sets CORES to the number of cores that
# this process may use.
function(polyad_test_threads THREADS CORES)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=OMP_NUM_THREADS --unset=OMP_THREAD_LIMIT nproc
                  OUTPUT_VARIABLE cores OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT cores)
    cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  endif()
  set(threads ${POLYAD_TEST_THREADS})
  if(NOT threads)
    set(threads 1 4 7 ${cores})
    list(REMOVE_DUPLICATES threads)
    list(SORT threads COMPARE NATURAL)
    list(FIND threads ${cores} last)
    math(EXPR count "${last} + 1")
    list(SUBLIST threads 0 ${count} threads)
  endif()
  set(${THREADS} ${threads} PARENT_SCOPE)
  set(${CORES} ${cores} PARENT_SCOPE)
endfunction()

# One entry, once for each of the caller's `numbers` of threads, of which its `cores` run at a time. CONFIGURATION is empty, or ctest's configuration that the entry is for.
# ARGN goes to the executable.
function(polyad_backend_test NAME TARGET CONFIGURATION)
  set(only "")
  if(CONFIGURATION)
    set(only CONFIGURATIONS ${CONFIGURATION})
  endif()
  if(NOT POLYAD_BACKEND STREQUAL openmp)
    add_test(NAME ${NAME}.${POLYAD_BACKEND} COMMAND ${TARGET} ${ARGN} ${only})
    set_tests_properties(${NAME}.${POLYAD_BACKEND} PROPERTIES LABELS ${POLYAD_BACKEND} TIMEOUT 1500)
    if(POLYAD_BACKEND STREQUAL cuda)
      # One at a time: the device's memory is shared.
      set_tests_properties(${NAME}.cuda PROPERTIES RESOURCE_LOCK device)
    endif()
    return()
  endif()
  foreach(threads IN LISTS numbers)
    set(name ${NAME}.openmp-${threads})
    add_test(NAME ${name} COMMAND ${TARGET} ${ARGN} ${only})
    # Unbound, because several tests may run at the same time. A waiting thread of libgomp spins for a moment only, which
    # saves a quarter of the processor time. With more threads than cores, a spinning thread would keep the one that it
    # waits for from its core. These wait asleep, which takes five times as long.
    set(environment "OMP_NUM_THREADS=${threads};OMP_PROC_BIND=false")
    if(threads GREATER 1)
      list(APPEND environment GOMP_SPINCOUNT=1000)
    endif()
    if(threads GREATER cores)
      list(APPEND environment OMP_WAIT_POLICY=passive)
    endif()
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}" LABELS openmp PROCESSORS ${threads} TIMEOUT 1500)
  endforeach()
endfunction()

function(polyad_backend_tests TARGET)
  polyad_test_threads(numbers cores)
  # Catch2 gives each test case the name of its file as a tag. A folder without a test case would be a mistake, which
  # version 3 always reports. With sanitizers a file whose test cases are all [figures] has none that runs, so other
  # builds look for this mistake.
  set(options --filenames-as-tags)
  if(Catch2_VERSION VERSION_LESS 3 AND NOT POLYAD_SANITIZE)
    list(APPEND options --warn NoTests)
  endif()
  if(POLYAD_TEST_FILTER)
    polyad_backend_test(unit.filter ${TARGET} "" ${options} "${POLYAD_TEST_FILTER}")
    return()
  endif()
  # With sanitizers they take ten times as long. What [figures] asks is how good numbers are, and others run its code too.
  set(hidden "~[.]")
  if(POLYAD_SANITIZE)
    string(APPEND hidden "~[figures]")
  endif()
  set(folders "")
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET source STEM file)
    string(REPLACE "/" "." folder ${folder})
    list(APPEND folders ${folder})
    list(APPEND filters_${folder} "[#${file}]${hidden}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(JOIN filters_${folder} "," filter)
    polyad_backend_test(unit.${folder} ${TARGET} "" ${options} "${filter}")
  endforeach()
  # scripts/test --full: the hidden test cases that try whole products.
  polyad_backend_test(unit.full ${TARGET} Full ${options} "[full]")
  if(POLYAD_BACKEND STREQUAL cuda)
    # What a device cannot run: listed, and reported as skipped.
    add_test(NAME unit.host_only.cuda COMMAND ${TARGET} --list-tests "[host]")
    set_tests_properties(unit.host_only.cuda PROPERTIES LABELS cuda SKIP_REGULAR_EXPRESSION "matching test case")
  endif()
endfunction()
