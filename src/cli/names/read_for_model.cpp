// SPDX-License-Identifier: BSD-3-Clause
#include "cli/names/read_for_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "cli/run/ranks.hpp"
#include "cli/streams/messages.hpp"
#include "cli/tensors/entries.hpp"
#include "cli/tensors/read_input.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/core/printable.hpp"
#include "polyad/io/match_rows.hpp"

namespace polyad::cli {

namespace {

/// Lines of N indices read as N - 1 indices and a value: the value is the last index.
io::CoordinateList with_last_index(io::CoordinateList&& list, int base, std::string const& file) {
  io::CoordinateList places;
  places.extents    = list.extents;
  auto& indices     = places.indices.emplace<io::UninitializedVector<std::uint64_t>>();
  std::uint64_t top = 0;
  for (std::uint64_t p = 0; p < list.nnz(); ++p) {
    for (int n = 0; n < list.order(); ++n) indices.push_back(index_of(list, p, n));
    double const number = list.values[p] - base;
    if (!(number >= 0 && number < 0x1p53) || number != std::floor(number))
      refuse_file(file, "entry {} ends with {}, which is not an index", p + 1, list.values[p]);
    indices.push_back(static_cast<std::uint64_t>(number));
    top = std::max(top, indices.back() + 1);
    places.values.push_back(0);
  }
  places.extents.push_back(top);
  list = {};
  return places;
}

bool all_have_names(io::Labels const& labels) {
  return !labels.empty() &&
         std::none_of(labels.begin(), labels.end(), [](auto const& mode) { return mode.name.empty(); });
}

}  // namespace

EntriesForModel read_for_model(TensorInput input, int base, io::RowNames const& names,
                               std::vector<std::uint64_t> const& extents, CommonOptions const& common,
                               bool may_lack_values) {
  input.index_base_of_text = base;
  Report report;
  auto file = read_input_file(input, common, report);
  return match_to_model(std::move(file), std::move(*report.input), base, names, extents, may_lack_values);
}

EntriesForModel read_part_for_model(TensorInput input, int base, io::RowNames const& names,
                                    std::vector<std::uint64_t> const& extents, CommonOptions const& common) {
  if (ranks().size == 1) return read_for_model(std::move(input), base, names, extents, common);
  input.index_base_of_text = base;
  Report report;
  auto file            = read_file_on_ranks(input, common, report);
  auto const order     = file.tensor.extents.size();
  bool const has_names = !names.labels.empty() || !file.labels.empty();
  if (sums_of_ranks(has_names ? 1 : 0).all > 0) {
    file.tensor = gather_on_rank_0(std::move(file.tensor));
    if (ranks().rank > 0) {
      EntriesForModel none;
      none.facts = std::move(*report.input);
      none.names = names;
      none.file.tensor.extents.assign(order, 0);
      return none;
    }
  }
  return match_to_model(std::move(file), std::move(*report.input), base, names, extents);
}

EntriesForModel match_to_model(io::TensorFile&& file, InputReport&& facts, int base,
                               io::RowNames const& names, std::vector<std::uint64_t> const& extents,
                               bool may_lack_values) {
  EntriesForModel result;
  result.file            = std::move(file);
  result.facts           = std::move(facts);
  std::string const path = result.facts.path.name;
  auto& tensor           = result.file.tensor;
  result.lacks_values    = may_lack_values && tensor.extents.size() + 1 == extents.size();
  if (result.lacks_values) {
    tensor = with_last_index(std::move(tensor), result.file.report.index_base, path);
    if (!result.file.labels.empty()) result.file.labels.emplace_back();
  }
  result.facts.dims = tensor.extents;
  if (tensor.extents.size() != extents.size())
    refuse_file(path, "has {} modes, but the model has {}", tensor.order(), extents.size());
  auto known         = names;
  known.index_base   = base;
  auto const unknown = io::match_rows(result.file, known, extents, path);
  for (auto const& mode : unknown) result.unknown += mode.rows();
  result.names = io::with_new_rows(std::move(known), unknown);
  // A table without a column of values counts each line as 1.
  if (result.facts.table && result.facts.table->value.empty()) result.lacks_values = may_lack_values;
  return result;
}

void warn_of_unknown_labels(EntriesForModel const& entries, std::vector<std::uint64_t> const& extents) {
  if (entries.unknown == 0) return;
  std::string text;
  std::uint64_t shown = 0;
  for (std::size_t n = 0; n < entries.names.labels.size(); ++n) {
    auto const& mode = entries.names.labels[n];
    for (std::uint64_t row = extents[n]; row < mode.rows() && shown < 3; ++row, ++shown)
      text += fmt::format("{}'{}'{}", shown > 0 ? ", " : "", printable(mode.label(row)),
                          mode.name.empty() ? "" : fmt::format(" ({})", printable(mode.name)));
  }
  say("polyad: {} {} in {} {} unknown to the model{}{}\n", entries.unknown,
      entries.unknown == 1 ? "name" : "names", entries.facts.path, entries.unknown == 1 ? "is" : "are",
      shown > 0 ? ", such as " : "", text);
}

void expect_extents(std::filesystem::path const& model, std::vector<std::uint64_t> const& of_model,
                    std::vector<std::uint64_t> const& of_tensor) {
  if (of_model != of_tensor)
    refuse_file(model, "holds a model of {}, but the tensor is {}", fmt::join(of_model, " x "),
                fmt::join(of_tensor, " x "));
}

io::RowNames with_own_rows(io::TensorFile const& file, io::RowNames names,
                           std::vector<std::uint64_t>& extents, int own_mode) {
  std::size_t const mode = own_mode;
  if (names.labels.empty() && file.labels.empty()) {
    extents[mode] = file.tensor.extents[mode];
    return names;
  }
  for (std::size_t n = 0; names.labels.size() < extents.size(); ++n)
    names.labels.push_back({.name = file.labels[n].name});
  std::size_t from = mode;
  if (all_have_names(names.labels) && all_have_names(file.labels))
    if (auto const found = io::find_mode(file.labels, names.labels[mode].name)) from = *found;
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
