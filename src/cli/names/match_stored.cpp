// SPDX-License-Identifier: BSD-3-Clause
#include "cli/names/match_stored.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "cli/streams/refuse.hpp"
#include "polyad/core/printable.hpp"
#include "polyad/io/match_rows.hpp"

namespace polyad::cli {

namespace {

bool all_have_names(io::Labels const& labels) {
  return !labels.empty() &&
         std::none_of(labels.begin(), labels.end(), [](auto const& mode) { return mode.name.empty(); });
}

}  // namespace

void expect_extents(std::filesystem::path const& model, std::vector<std::uint64_t> const& of_model,
                    std::vector<std::uint64_t> const& of_tensor) {
  if (of_model != of_tensor)
    refuse_file(model, "holds a model of {}, but the tensor is {}", fmt::join(of_model, " x "),
                fmt::join(of_tensor, " x "));
}

io::RowNames with_own_rows(io::TensorFile const& file, io::RowNames names,
                           std::vector<std::uint64_t>& extents, int own_mode) {
  auto const mode = static_cast<std::size_t>(own_mode);
  if (names.labels.empty() && file.labels.empty()) {
    extents[mode] = file.tensor.extents[mode];
    return names;
  }
  for (std::size_t n = 0; names.labels.size() < extents.size(); ++n)
    names.labels.push_back({.name = file.labels[n].name});
  std::size_t from = mode;
  if (all_have_names(names.labels) && all_have_names(file.labels))
    if (auto const found = io::find_mode(file.labels, names.labels[mode].name))
      from = static_cast<std::size_t>(*found);
  std::string const name = names.labels[mode].name;
  names.labels[mode]     = file.labels.empty() ? io::ModeLabels() : file.labels[from];
  if (!name.empty()) names.labels[mode].name = name;
  extents[mode] = file.tensor.extents[from];
  return names;
}

io::RowNames match_stored(io::TensorFile& file, io::RowNames const& names, std::vector<std::uint64_t> extents,
                          int own_mode, std::string const& tensor, std::string const& model) {
  io::RowNames known   = names;
  auto const with_base = [&] {
    if (known.index_base < 0) known.index_base = file.report.index_base;
    return std::move(known);
  };
  if (known.labels.empty() && file.labels.empty()) return with_base();
  if (file.tensor.extents.size() != extents.size()) return with_base();  // is refused by the caller
  for (std::size_t n = 0; names.labels.empty() && n < extents.size(); ++n)
    known.labels.push_back({.name = file.labels[n].name});
  if (own_mode >= 0) known = with_own_rows(file, std::move(known), extents, own_mode);
  auto const unknown = io::match_rows(file, known, extents, tensor);
  for (std::size_t n = 0; n < unknown.size(); ++n)
    if (unknown[n].has_rows())
      refuse_file(tensor, "has {} rows of mode {}{} that {} does not have, such as '{}'", unknown[n].rows(),
                  n, unknown[n].name.empty() ? "" : " (" + printable(unknown[n].name) + ")", model,
                  printable(unknown[n].label(0)));
  return with_base();
}

}  // namespace polyad::cli
