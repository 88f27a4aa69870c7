// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tensors/read_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/io/clean_list.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

/// \throws InputError when a nonzero stands where an earlier one does
void expect_no_duplicates(TensorInput const& input, io::TensorFile const& file) {
  auto const pair = io::first_duplicate(file.tensor);
  if (!pair) return;
  // Nonzeros that were dropped, or added below a diagonal, leave no line to be named.
  bool const lines   = !input.drop_zeros || file.report.zeros == 0;
  auto const earlier = lines ? io::line_of_nonzero(input.path, pair->earlier) : std::nullopt;
  auto const later   = lines ? io::line_of_nonzero(input.path, pair->later) : std::nullopt;
  if (earlier && later)
    throw InputError(input.path.string(), *later, 1, fmt::format("repeats the indices of line {}", *earlier));
  throw InputError(
      input.path.string(), 0, 0,
      fmt::format("nonzero {} repeats the indices of nonzero {}", pair->later + 1, pair->earlier + 1));
}

io::ReadOptions read_options(TensorInput const& input, CommonOptions const& common) {
  return {.index_base       = input.index_base,
          .allow_non_finite = input.allow_non_finite,
          .drop_zeros       = input.drop_zeros,
          .threads          = common.threads};
}

/// Reports what was read and settles the duplicates.
io::CoordinateList settled(TensorInput const& input, CommonOptions const& common, io::TensorFile file,
                           Report& report) {
  stop_if_interrupted("reading the tensor");
  InputReport facts;
  facts.path    = input.path.string();
  facts.dialect = io::to_string(file.report.dialect);
  facts.base    = file.report.index_base;
  facts.dims    = file.tensor.extents;
  facts.read_s  = file.report.seconds;
  if (common.verbose)
    fmt::print(
        stderr, "read {} ({}, {}, base {}): {} lines, {:.1f} MB in {}, {:.0f} MB/s; {} zeros\n", facts.path,
        facts.dialect, io::to_string(file.report.compression), facts.base, file.report.lines,
        static_cast<double>(std::max(file.report.text_bytes, file.report.file_bytes)) / 1e6,
        duration_text(facts.read_s),
        static_cast<double>(std::max(file.report.text_bytes, file.report.file_bytes)) / 1e6 / facts.read_s,
        file.report.zeros);
  if (input.duplicates == "error") expect_no_duplicates(input, file);
  if (input.duplicates == "sum") facts.duplicates = io::merge_duplicates(file.tensor, io::Duplicates::sum);
  if (input.duplicates == "last") facts.duplicates = io::merge_duplicates(file.tensor, io::Duplicates::last);
  facts.nnz    = file.tensor.nnz();
  report.input = facts;
  return std::move(file.tensor);
}

}  // namespace

io::CoordinateList read_input(TensorInput const& input, CommonOptions const& common, Report& report) {
  return settled(input, common, io::read_tensor(input.path, read_options(input, common)), report);
}

io::CoordinateList read_input(RankGroup const& ranks, TensorInput const& input, CommonOptions const& common,
                              Report& report) {
  bool const alone = input.duplicates == "error" || input.duplicates == "last";
  // Whoever reads alone needs the whole list, and the others its extents.
  if (alone) {
    io::CoordinateList list;
    if (ranks.rank() == 0) list = read_input(input, common, report);
    std::uint64_t order = list.extents.size();
    ranks.broadcast(&order, 1, 0);
    list.extents.resize(order);
    ranks.broadcast(list.extents.data(), order, 0);
    return list;
  }
  io::FilePart part;
  part.part  = ranks.rank();
  part.parts = ranks.size();
  part.share = [&](std::vector<std::uint64_t> const& own) {
    std::vector<std::uint64_t> all(own.size() * static_cast<std::size_t>(ranks.size()), 0);
    auto const at = [&](int k) { return all.begin() + std::ptrdiff_t(own.size()) * k; };
    std::copy(own.begin(), own.end(), at(ranks.rank()));
    ranks.all_reduce(all.data(), all.size());
    std::vector<std::vector<std::uint64_t>> parts;
    for (int k = 0; k < ranks.size(); ++k) parts.emplace_back(at(k), at(k + 1));
    return parts;
  };
  CommonOptions own = common;
  own.verbose       = common.verbose && ranks.rank() == 0;
  if (own.threads == 0)
    own.threads =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / cli::ranks().local_size);
  return settled(input, own, io::read_tensor_part(input.path, read_options(input, own), part), report);
}

io::CoordinateList read_input(std::filesystem::path const& path, int index_base, CommonOptions const& common,
                              Report& report) {
  return read_input(TensorInput{.path = path, .index_base = index_base}, common, report);
}

std::string dims_text(std::vector<std::uint64_t> const& dims) {
  return fmt::format("{}", fmt::join(dims, " x "));
}

std::string tensor_text(InputReport const& input) {
  std::string text = fmt::format("{}, {} nonzeros", dims_text(input.dims), input.nnz);
  if (input.duplicates > 0)
    text +=
        fmt::format(" ({} {} summed)", input.duplicates, input.duplicates == 1 ? "duplicate" : "duplicates");
  return text;
}

}  // namespace polyad::cli
