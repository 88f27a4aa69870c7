// SPDX-License-Identifier: BSD-3-Clause
// The one list of storage formats. Adding a format means adding its header and its line here.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "formats/blco/storage/alto.hpp"
#include "formats/blco/storage/blco.hpp"
#include "formats/blco/storage/streamed_blco.hpp"
#include "formats/coo/storage/coo_permuted.hpp"
#include "formats/coo/storage/coo_scratch.hpp"
#include "formats/coo/storage/coo_tiny_vec.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "formats/coo/storage/streamed_sorted.hpp"
#include "formats/csf/storage/b_csf.hpp"
#include "formats/csf/storage/csf.hpp"
#include "formats/csf/storage/hb_csf.hpp"
#include "formats/fcoo/storage/fcoo.hpp"
#include "polyad/core/error.hpp"
#include "polyad/formats/format.hpp"

namespace polyad::detail {

template <class... Formats>
struct FormatList {};

/// All formats for one choice of scalar, coordinate type and execution space.
template <class Scalar, class Index, class Space>
using all_formats =
    FormatList<CooScratch<Scalar, Index, Space>,                         // GenTen's MTTKRP-A
               CooTinyVec<Scalar, Index, Space>,                         // GenTen's MTTKRP-B
               CooPermuted<Scalar, Index, Space>,                        // GenTen's MTTKRP-C
               Sorted<Scalar, Index, Space>, Csf<Scalar, Index, Space>,  // one tree for all modes
               BCsf<Scalar, Index, Space>,                               // Nisa et al.'s B-CSF
               HbCsf<Scalar, Index, Space>,                              // and HB-CSF
               FCoo<Scalar, Index, Space>,                               // Liu et al.'s F-COO
               Blco<Scalar, Index, Space>,                               // BLCO: one copy for all modes
               StreamedBlco<Scalar, Index, Space>,                       // the same in host memory
               StreamedSorted<Scalar, Index, Space>,                     // `sorted` in host memory
               Alto<Scalar, Index, Space>>;  // ALTO's order, one copy for all modes

/// Whether this build of the library has the format. If the CMake option POLYAD_FORMATS names some,
/// POLYAD_BUILT_FORMATS is their list, as in ",sorted,coo-permuted,"; otherwise it is not defined.
template <class F>
constexpr bool is_built() {
#ifdef POLYAD_BUILT_FORMATS
  constexpr std::string_view built = POLYAD_BUILT_FORMATS;
  for (std::size_t at = 0; at < built.size(); at = built.find(',', at + 1))
    if (built.substr(at + 1, built.find(',', at + 1) - at - 1) == F::name) return true;
  return false;
#else
  return true;
#endif
}

template <class F, class Call>
void call_if_built(Call const& f) {
  static_assert(Format<F>);
  if constexpr (is_built<F>()) f(std::type_identity<F>{});
}

template <class... Formats, class Call>
void for_each_format(FormatList<Formats...>, Call const& f) {
  (call_if_built<Formats>(f), ...);
}

/// Calls f(std::type_identity<Format>) for every format.
template <class Scalar, class Index, class Space, class Call>
void for_each_format(Call&& f) {
  detail::for_each_format(all_formats<Scalar, Index, Space>{}, f);
}

/// Calls f(std::type_identity<Format>) for the format of that name.
/// \throws UsageError listing the known names
template <class Scalar, class Index, class Space, class Call>
void with_format(std::string_view name, Call&& f) {
  bool found = false;
  std::string known;
  for_each_format<Scalar, Index, Space>([&](auto format) {
    using F = typename decltype(format)::type;
    known += (known.empty() ? "" : ", ") + std::string(F::name);
    if (name != F::name) return;
    found = true;
    f(format);
  });
  POLYAD_EXPECTS(found, "unknown format '", name, "'; known are ", known);
}

}  // namespace polyad::detail
