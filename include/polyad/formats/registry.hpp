// SPDX-License-Identifier: BSD-3-Clause
// The one list of storage formats. Adding a format means adding its header and its line here.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "polyad/core/expects.hpp"
#include "polyad/formats/blco/alto.hpp"
#include "polyad/formats/blco/blco.hpp"
#include "polyad/formats/blco/streamed_blco.hpp"
#include "polyad/formats/coo/coo_permuted.hpp"
#include "polyad/formats/coo/coo_scratch.hpp"
#include "polyad/formats/coo/coo_tiny_vec.hpp"
#include "polyad/formats/coo/sorted.hpp"
#include "polyad/formats/csf/b_csf.hpp"
#include "polyad/formats/csf/csf.hpp"
#include "polyad/formats/csf/hb_csf.hpp"
#include "polyad/formats/fcoo/fcoo.hpp"
#include "polyad/formats/format.hpp"

namespace polyad {

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
               Alto<Scalar, Index, Space>>;  // ALTO's order, one copy for all modes

namespace detail {

template <class... Formats, class F>
void for_each_format(FormatList<Formats...>, F&& f) {
  static_assert((Format<Formats> && ...));
  (f(std::type_identity<Formats>{}), ...);
}

}  // namespace detail

/// Calls f(std::type_identity<Format>) for every format.
template <class Scalar, class Index, class Space, class F>
void for_each_format(F&& f) {
  detail::for_each_format(all_formats<Scalar, Index, Space>{}, f);
}

/// The names of all formats, separated by ", ".
inline std::string format_names() {
  std::string names;
  for_each_format<double, std::uint32_t, Kokkos::DefaultExecutionSpace>(
      [&](auto format) { names += (names.empty() ? "" : ", ") + std::string(decltype(format)::type::name); });
  return names;
}

/// Calls f(std::type_identity<Format>) for the format of that name.
/// \throws UsageError listing the known names
template <class Scalar, class Index, class Space, class F>
void with_format(std::string_view name, F&& f) {
  bool found = false;
  for_each_format<Scalar, Index, Space>([&](auto format) {
    if (name != decltype(format)::type::name) return;
    found = true;
    f(format);
  });
  POLYAD_EXPECTS(found, "unknown format '", name, "'; known are ", format_names());
}

}  // namespace polyad
