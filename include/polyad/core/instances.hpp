// SPDX-License-Identifier: BSD-3-Clause
// Explicit instantiations: the library is compiled for these scalars and coordinates, and for Kokkos' default
// execution space, and users' sources link to it. A header declares them `extern` with the same macro with
// which a source in src/ instantiates them.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

namespace polyad {

/// The execution space that the library is compiled for.
using CompiledSpace = Kokkos::DefaultExecutionSpace;

namespace detail {

/// A compile-time error message in place of a missing symbol at link time.
template <class Scalar, class Index, class Space>
constexpr bool expect_compiled() {
  static_assert(std::is_same_v<Scalar, float> || std::is_same_v<Scalar, double>,
                "Polyad is compiled for the scalars float and double");
  static_assert(std::is_same_v<Index, std::uint32_t> || std::is_same_v<Index, std::uint64_t>,
                "Polyad is compiled for coordinates of std::uint32_t and std::uint64_t");
  static_assert(std::is_same_v<Space, CompiledSpace>,
                "Polyad is compiled for Kokkos' default execution space alone; POLYAD_BACKEND chooses it");
  return true;
}

}  // namespace detail

}  // namespace polyad

/// `prefix declaration(Scalar)` for every scalar; prefix is `extern` or empty.
#define POLYAD_EACH_SCALAR(prefix, declaration) \
  prefix declaration(float);                    \
  prefix declaration(double)

/// `prefix declaration(Scalar, Index)` for every scalar and index type.
#define POLYAD_EACH_SCALAR_AND_INDEX(prefix, declaration) \
  prefix declaration(float, std::uint32_t);               \
  prefix declaration(float, std::uint64_t);               \
  prefix declaration(double, std::uint32_t);              \
  prefix declaration(double, std::uint64_t)

/// `declaration(Template, Scalar, Index)` for every scalar and index type.
#define POLYAD_EACH_OF(Template, declaration)   \
  declaration(Template, float, std::uint32_t);  \
  declaration(Template, float, std::uint64_t);  \
  declaration(Template, double, std::uint32_t); \
  declaration(Template, double, std::uint64_t)
