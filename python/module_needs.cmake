# SPDX-License-Identifier: BSD-3-Clause
# Writes what a module needs from other packages into files next to it, each with its own ending:
#   .omp     the functions of the OpenMP runtime that it calls (polyad/_openmp.py)
#   .nvidia  the libraries that NVIDIA's wheels bring (polyad/_nvidia.py)
# cmake -D NM=nm -D READELF=readelf -D MODULE=file -D NEEDS=folder/name -P module_needs.cmake
execute_process(COMMAND ${NM} -D --undefined-only ${MODULE} OUTPUT_VARIABLE undefined COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " (GOMP|omp)_[a-z0-9_]+" functions "${undefined}")
list(TRANSFORM functions STRIP)
execute_process(COMMAND ${READELF} -d ${MODULE} OUTPUT_VARIABLE entries COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "lib(cublas|cusolver|cusparse|cudart)[A-Za-z]*\\.so[.0-9]*" libraries "${entries}")

list(JOIN functions "\n" functions)
file(WRITE ${NEEDS}.omp "${functions}\n")
list(JOIN libraries "\n" libraries)
file(WRITE ${NEEDS}.nvidia "${libraries}\n")
