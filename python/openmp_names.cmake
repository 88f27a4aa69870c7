# SPDX-License-Identifier: BSD-3-Clause
# Writes the names of the OpenMP runtime's functions that a library calls, for polyad/_openmp.py:
#   cmake -D NM=nm -D LIBRARY=file -D NAMES=file -P openmp_names.cmake
execute_process(COMMAND ${NM} -D --undefined-only ${LIBRARY} OUTPUT_VARIABLE undefined COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " (GOMP|omp)_[a-z0-9_]+" names "${undefined}")
list(TRANSFORM names STRIP)
list(JOIN names "\n" text)
file(WRITE ${NAMES} "${text}\n")
