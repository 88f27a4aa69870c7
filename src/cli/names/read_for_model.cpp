// SPDX-License-Identifier: BSD-3-Clause
#include "cli/names/read_for_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "cli/run/ranks.hpp"
#include "cli/streams/messages.hpp"
#include "cli/streams/refuse.hpp"
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

}  // namespace

EntriesForModel read_for_model(TensorInput input, int base, io::RowNames const& names,
                               std::vector<std::uint64_t> const& extents, CommonOptions const& common,
                               bool may_lack_values) {
  input.index_base_of_text = base;
  Report report;
  auto file = read_input_file(input, common, report);
  return match_to_model(std::move(file), std::move(*report.input), base, names, extents, may_lack_values);
}

EntriesForModel read_part_for_model(std::filesystem::path const& path, int base, io::RowNames const& names,
                                    std::vector<std::uint64_t> const& extents, CommonOptions const& common) {
  if (ranks().size == 1) return read_for_model({.path = path}, base, names, extents, common);
  Report report;
  auto file            = read_file_on_ranks({.path = path, .index_base_of_text = base}, common, report);
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

}  // namespace polyad::cli
