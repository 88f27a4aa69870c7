# SPDX-License-Identifier: BSD-3-Clause
# Flags for Polyad's own code. Nothing here reaches a user: what users need is on the interface of the target
# polyad, in src/CMakeLists.txt.
include(CheckCXXCompilerFlag)

# GCC and Clang prefer 256-bit registers even where -march allows 512: TinyVec's loops, written for the
# register width that Kokkos SIMD reports, then lose half of the machine. Asked for where Kokkos was built
# for AVX-512 only.
set(POLYAD_WIDE_VECTORS_FLAG "")
if(NOT POLYAD_BACKEND STREQUAL cuda)
  check_cxx_compiler_flag(-mprefer-vector-width=512 POLYAD_HAVE_PREFER_VECTOR_WIDTH)
  if(POLYAD_HAVE_PREFER_VECTOR_WIDTH)
    polyad_kokkos_header(polyad_header)
    file(STRINGS ${polyad_header} polyad_wide REGEX "^#define KOKKOS_ARCH_AVX512XEON")
    if(polyad_wide)
      set(POLYAD_WIDE_VECTORS_FLAG -mprefer-vector-width=512)
    endif()
  endif()
endif()

# GCC 12 wrongly warns of overlapping copies inside "text" + std::string (its bug 105651).
set(POLYAD_FALSE_WARNINGS "")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(POLYAD_FALSE_WARNINGS -Wno-restrict)
endif()
# clang's -Wconversion asks for casts of every index; g++'s does not. clang 19 says that std::stable_sort of
# libstdc++ 12 calls a function which libstdc++ deprecates; g++ looks for deprecated functions anyway.
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  set(POLYAD_FALSE_WARNINGS -Wno-sign-conversion -Wno-deprecated-declarations)
endif()

# nvcc's -O is for the host's part alone, and overrules what -Xcompiler says of a target or a source. On a GPU the
# host's part launches kernels and moves data: -O3 would double what g++ takes of a build, for nothing. Sources that
# compute on the host ask for -O3 themselves.
set(POLYAD_CUDA_HOST_OPTIMISATION "")
if(CMAKE_CUDA_FLAGS_RELEASE MATCHES "-O[1-3]")
  string(REGEX REPLACE "-O[1-3]" "" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
  set(POLYAD_CUDA_HOST_OPTIMISATION "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CUDA>>:-Xcompiler=-O1>")
endif()

# polyad_precompile_kokkos(TARGET SOURCE...): reads Kokkos once for all sources of a target but these, which do
# not include it. On hosts only: CMake precompiles nothing for nvcc.
function(polyad_precompile_kokkos TARGET)
  if(NOT POLYAD_BACKEND STREQUAL cuda)
    target_precompile_headers(${TARGET} PRIVATE <Kokkos_Core.hpp>)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# Warnings, sanitizers and the width of vectors, for one of Polyad's own targets.
function(polyad_compile_options TARGET)
  set_target_properties(${TARGET} PROPERTIES CXX_EXTENSIONS OFF CUDA_EXTENSIONS OFF)
  target_compile_options(
    ${TARGET}
    PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;${POLYAD_FALSE_WARNINGS};${POLYAD_WIDE_VECTORS_FLAG}>
            # The host pass of nvcc compiles generated code. -Wconversion and -Wparentheses see what nobody wrote.
            $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-parentheses>
            $<$<COMPILE_LANGUAGE:CUDA>:$<$<BOOL:${POLYAD_FALSE_WARNINGS}>:-Xcompiler=${POLYAD_FALSE_WARNINGS}>>
            # For joined sources (JoinedSources.cmake): nvcc's host pass does not see their pragma.
            $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-subobject-linkage>
            ${POLYAD_CUDA_HOST_OPTIMISATION})
  if(POLYAD_WERROR)
    target_compile_options(
      ${TARGET} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>
                        $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Werror>)
  endif()
  if(POLYAD_CUDA_CHECK_ONLY)
    target_compile_options(${TARGET} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcicc=-O0>)
  endif()
  if(POLYAD_SANITIZE STREQUAL thread)
    target_compile_options(${TARGET} PRIVATE -fsanitize=thread)
    target_link_options(${TARGET} PUBLIC -fsanitize=thread)
  elseif(POLYAD_SANITIZE STREQUAL integer)
    # Defined, but seldom meant: unsigned numbers that wrap, and conversions that change the number.
    target_compile_options(
      ${TARGET} PRIVATE -fsanitize=integer,signed-integer-overflow,shift
                        -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/integer_sanitizer.txt)
    target_link_options(${TARGET} PUBLIC -fsanitize=integer,signed-integer-overflow,shift)
  elseif(POLYAD_SANITIZE)
    # What AddressSanitizer sees as well: null pointers, bounds of objects, pointers that overflow. What no host
    # minds and a device stops at: alignment. All of them together are half of the compile time.
    target_compile_options(
      ${TARGET} PRIVATE -fsanitize=address,undefined
                        -fno-sanitize=null,vptr,object-size,pointer-overflow,alignment
                        -fno-sanitize-recover=undefined -fno-omit-frame-pointer
                        # Long functions call their checks: the longest compile in a third of the time.
                        $<$<CXX_COMPILER_ID:GNU>:SHELL:--param asan-instrumentation-with-call-threshold=500>)
    target_link_options(${TARGET} PUBLIC -fsanitize=address,undefined)
  endif()
endfunction()
