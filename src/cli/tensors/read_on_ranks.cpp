// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tensors/read_on_ranks.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <variant>

#include "cli/run/communicator.hpp"
#include "cli/run/ranks.hpp"
#include "cli/tensors/entries.hpp"

namespace polyad::cli {

namespace {

/// Gives the other ranks the facts of the file, which only the first one has read.
void share_facts(Report& report) {
  if (ranks().rank > 0) report.input.emplace();
  auto& facts      = *report.input;
  auto const yes   = [](bool is) { return std::uint64_t{is ? 1U : 0U}; };
  auto const first = of_all_ranks({static_cast<std::uint64_t>(facts.base), yes(facts.knows_base),
                                   yes(facts.is_text), yes(facts.table.has_value())})
                         .front();
  if (ranks().rank == 0) return;
  facts.base       = static_cast<int>(first[0]);
  facts.knows_base = first[1] != 0;
  facts.is_text    = first[2] != 0;
  if (first[3] != 0) facts.table.emplace();
}

}  // namespace

io::TensorFile read_file_on_ranks(TensorInput const& input, CommonOptions const& common, Report& report) {
  if (input.duplicates == "keep")
    return read_input_file(input, common, report, {ranks().rank, ranks().size, of_all_ranks});
  io::TensorFile file;
  if (ranks().rank == 0) file = read_input_file(input, common, report);
  share_facts(report);
  auto& extents       = file.tensor.extents;
  auto const all      = ranks_on_host();
  std::uint64_t order = extents.size();
  all.broadcast(&order, 1, 0);
  extents.resize(order);
  all.broadcast(extents.data(), order, 0);
  if (ranks().rank > 0) report.input->dims = extents;
  return file;
}

namespace {

/// Whether each row of a mode occurs in any part. All ranks call it.
std::vector<bool> rows_on_any_rank(io::CoordinateList const& part, std::size_t n) {
  std::size_t const order = part.order();
  std::vector<bool> occurs(part.extents[n]);
  std::visit(
      [&](auto const& indices) {
        for (std::size_t e = n; e < indices.size(); e += order) occurs[indices[e]] = true;
      },
      part.indices);
  if (ranks().size == 1) return occurs;
  auto const all = ranks_on_host();
  // Blocks of rows: the ranks add up numbers, not bits.
  constexpr std::size_t block = std::size_t(1) << 20;
  for (std::size_t first = 0; first < occurs.size(); first += block) {
    std::vector<std::uint32_t> ranks_with(std::min(block, occurs.size() - first));
    for (std::size_t i = 0; i < ranks_with.size(); ++i) ranks_with[i] = occurs[first + i] ? 1 : 0;
    all.all_reduce(ranks_with.data(), ranks_with.size());
    for (std::size_t i = 0; i < ranks_with.size(); ++i) occurs[first + i] = ranks_with[i] > 0;
  }
  return occurs;
}

}  // namespace

std::vector<std::uint64_t> empty_slices_on_ranks(io::CoordinateList const& part) {
  std::vector<std::uint64_t> empty;
  for (std::size_t n = 0; n < part.extents.size(); ++n) {
    auto const occurs = rows_on_any_rank(part, n);
    empty.push_back(std::count(occurs.begin(), occurs.end(), false));
  }
  return empty;
}

std::vector<std::vector<std::uint8_t>> observed_rows(io::CoordinateList const& part) {
  std::vector<std::vector<std::uint8_t>> observed(part.extents.size());
  bool some_are_empty = false;
  for (std::size_t n = 0; n < observed.size(); ++n) {
    auto const occurs = rows_on_any_rank(part, n);
    if (std::find(occurs.begin(), occurs.end(), false) == occurs.end()) continue;
    observed[n].assign(occurs.begin(), occurs.end());
    some_are_empty = true;
  }
  if (!some_are_empty) observed.clear();
  return observed;
}

bool needs_wide_index_on_ranks(io::CoordinateList const& part) {
  constexpr std::uint64_t narrow = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t largest          = sums_of_ranks(part.nnz()).all;
  for (auto const extent : part.extents) largest = std::max(largest, extent);
  return largest > narrow;
}

namespace {

/// The entries that all ranks send to this one, in the order of ranks. \param to  how many go to each rank
/// \param next  where in the order of receivers each entry goes
io::CoordinateList exchanged(io::CoordinateList const& list, std::vector<count_t> const& to,
                             std::vector<count_t> const& next) {
  auto const all            = ranks_on_host();
  std::uint64_t const order = list.order();
  auto const from           = all.counts_from(to);
  io::CoordinateList whole;
  whole.extents = list.extents;
  whole.values.resize(std::accumulate(from.begin(), from.end(), count_t(0)));
  std::vector<double> values(list.nnz());
  for (std::size_t p = 0; p < values.size(); ++p) values[next[p]] = list.values[p];
  all.all_to_all(values.data(), to, whole.values.data(), from);
  auto const times_order = [&](std::vector<count_t> counts) {
    for (auto& count : counts) count *= order;
    return counts;
  };
  // Parts may hold their indices in either type.
  std::vector<std::uint64_t> own(list.nnz() * order);
  std::visit(
      [&](auto const& indices) {
        for (std::size_t p = 0; p < next.size(); ++p)
          for (std::uint64_t n = 0; n < order; ++n) own[next[p] * order + n] = indices[p * order + n];
      },
      list.indices);
  auto& indices = whole.indices.emplace<1>(whole.values.size() * order);
  all.all_to_all(own.data(), times_order(to), indices.data(), times_order(from));
  settle_index_type(whole);
  return whole;
}

}  // namespace

io::CoordinateList gather_on_rank_0(io::CoordinateList&& list) {
  if (ranks().size == 1) return std::move(list);
  std::vector<count_t> to(ranks().size, 0), next(list.nnz());
  to[0] = list.nnz();
  std::iota(next.begin(), next.end(), count_t(0));
  return exchanged(list, to, next);
}

io::CoordinateList whole_rows(io::CoordinateList const& part, int mode) {
  std::uint64_t const size = ranks().size;
  std::vector<count_t> to(size, 0), next(part.nnz()), places(size, 0);
  for (std::uint64_t p = 0; p < part.nnz(); ++p) ++to[index_of(part, p, mode) % size];
  std::exclusive_scan(to.begin(), to.end(), places.begin(), count_t(0));
  for (std::uint64_t p = 0; p < part.nnz(); ++p) next[p] = places[index_of(part, p, mode) % size]++;
  return exchanged(part, to, next);
}

}  // namespace polyad::cli
