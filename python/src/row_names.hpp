// SPDX-License-Identifier: BSD-3-Clause
// What rows are called, between Python and the files: the pair (index base, modes). The base is 0, 1 or -1 if
// it is not known. `modes` is None, or has for each mode (name, bytes, ends, whether the labels are text):
// the labels' bytes in UTF-8, one after the other, and where each of them ends; both None if the rows have no
// labels.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "polyad/core/error.hpp"
#include "polyad/io/labels.hpp"

namespace polyad::python {

/// \throws UsageError for ends that do not increase up to the bytes
inline io::RowNames row_names_from(nanobind::tuple const& given) {
  namespace nb = nanobind;
  using Ends   = nb::ndarray<std::uint64_t const, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  io::RowNames names;
  names.index_base = nb::cast<int>(given[0]);
  if (given[1].is_none()) return names;
  for (auto const& mode : nb::cast<std::vector<nb::tuple>>(given[1])) {
    auto& labels   = names.labels.emplace_back();
    labels.name    = nb::cast<std::string>(mode[0]);
    labels.is_text = nb::cast<bool>(mode[3]);
    if (mode[1].is_none()) continue;
    auto const bytes = nb::cast<nb::bytes>(mode[1]);
    auto const ends  = nb::cast<Ends>(mode[2]);
    labels.bytes.assign(bytes.c_str(), bytes.size());
    labels.ends.assign(ends.data(), ends.data() + ends.size());
    if (!std::is_sorted(labels.ends.begin(), labels.ends.end()) ||
        (labels.ends.empty() ? 0 : labels.ends.back()) != labels.bytes.size())
      throw UsageError("the ends of labels do not fit their bytes");
  }
  return names;
}

inline nanobind::tuple row_names_to_python(io::RowNames const& names) {
  namespace nb = nanobind;
  if (names.labels.empty()) return nb::make_tuple(names.index_base, nb::none());
  nb::list modes;
  for (auto const& labels : names.labels) {
    if (!labels.has_rows()) {
      modes.append(nb::make_tuple(labels.name, nb::none(), nb::none(), labels.is_text));
      continue;
    }
    // As bytes of 64-bit numbers, which numpy reads without a copy.
    nb::bytes const ends(reinterpret_cast<char const*>(labels.ends.data()),
                         labels.ends.size() * sizeof(std::uint64_t));
    modes.append(nb::make_tuple(labels.name, nb::bytes(labels.bytes.data(), labels.bytes.size()), ends,
                                labels.is_text));
  }
  return nb::make_tuple(names.index_base, modes);
}

}  // namespace polyad::python
