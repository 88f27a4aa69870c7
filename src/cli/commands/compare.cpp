// SPDX-License-Identifier: BSD-3-Clause
// polyad compare: two models, a model and a tensor, or two tensors.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/clean_list.hpp"
#include "polyad/io/input_file.hpp"
#include "polyad/io/match_rows.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

namespace {

constexpr double default_score = 0.99;

struct Operand {
  std::filesystem::path path;
  io::InputFile file;
};

int verdict(bool same) {
  return same ? 0 : static_cast<int>(ExitCode::differences_found);
}

void expect_same_extents(CompareOptions const& options, std::vector<std::uint64_t> const& a,
                         std::vector<std::uint64_t> const& b) {
  if (a != b) refuse_file(options.b, "is {}, but {} is {}", dims_text(b), options.a.string(), dims_text(a));
}

int compare_models(CompareOptions const& options, Operand& first, Operand& second, Report& report) {
  auto const a = first.file.read_model(), b = second.file.read_model();
  expect_same_extents(options, a.extents, b.extents);
  expect_same_rows(a.names.labels, options.a.string(), b.names.labels, options.b.string());
  io::MatchScore const match = io::match_score(a, b);
  double const least         = options.at_least.value_or(default_score);
  show("models           {}, ranks {} and {}\n", dims_text(a.extents), a.rank(), b.rank());
  show("factor match     {:.9f}\n", match.score);
  show("with weights     {:.9f}\n", match.weighted);
  report.result = FactsReport{
      {{"factor_match_score", match.score}, {"weighted_score", match.weighted}, {"at_least", least}}, {}};
  return verdict(match.score >= least);
}

/// The tensor, with its rows in the order of the model's.
io::CoordinateList read_tensor_of(CompareOptions const& options, Operand& of_tensor, Operand const& of_model,
                                  io::RowNames const& names, std::vector<std::uint64_t> const& extents,
                                  Report& report) {
  int const base = options.index_base >= 0 ? options.index_base : names.index_base;
  auto file      = read_input_file(of_tensor.file,
                                   {.path = of_tensor.path, .index_base_of_text = base, .duplicates = "sum"},
                                   options.common, report);
  if (file.tensor.extents.size() != extents.size()) return std::move(file.tensor);  // is refused below
  auto known       = names;
  known.index_base = base >= 0 ? base : file.report.index_base;
  static_cast<void>(match_stored(file, known, extents, -1, of_tensor.path.string(), of_model.path.string()));
  return std::move(file.tensor);
}

int compare_fit(CompareOptions const& options, Operand& of_model, Operand& of_tensor, Report& report) {
  bool const is_tucker = of_model.file.kind() == io::InputFile::Kind::tucker_model;
  auto const cp        = is_tucker ? io::HostKtensor() : of_model.file.read_model();
  auto const tucker    = is_tucker ? of_model.file.read_tucker() : io::HostTucker();
  auto const& extents  = is_tucker ? tucker.extents : cp.extents;
  auto const& names    = is_tucker ? tucker.names : cp.names;
  auto const tensor    = read_tensor_of(options, of_tensor, of_model, names, extents, report);
  expect_extents(of_model.path, extents, tensor.extents);
  double const fit = is_tucker ? io::fit_of_model(tensor, tucker) : io::fit_of_model(tensor, cp);
  show("tensor   {}: {}\n", FileName(of_tensor.path), tensor_text(*report.input));
  show("model    {}\nfit      {:.9f}\n",
       is_tucker ? "Tucker with a core of " + dims_text(tucker.ranks)
                 : fmt::format("CP of rank {}", cp.rank()),
       fit);
  report.result = FactsReport{{{"fit", fit}}, {}};
  return verdict(!options.at_least || fit >= *options.at_least);
}

/// Nonzeros in the order of their indices; those at one place in the list's order.
std::vector<std::uint64_t> sorted_positions(io::CoordinateList const& list) {
  std::vector<std::uint64_t> positions(list.nnz());
  std::iota(positions.begin(), positions.end(), std::uint64_t{0});
  std::visit(
      [&](auto const& indices) {
        auto const row = [&](std::uint64_t p) { return indices.data() + p * list.extents.size(); };
        std::ptrdiff_t const order = list.extents.size();
        std::stable_sort(positions.begin(), positions.end(), [&](std::uint64_t p, std::uint64_t q) {
          return std::lexicographical_compare(row(p), row(p) + order, row(q), row(q) + order);
        });
      },
      list.indices);
  return positions;
}

/// Compares place p of a with place q of b: -1, 0 or 1 for before, equal or behind. The lists have the same
/// extents.
int place_order(io::CoordinateList const& a, std::uint64_t p, io::CoordinateList const& b, std::uint64_t q) {
  return std::visit(
      [&](auto const& x, auto const& y) {
        std::uint64_t const order = a.extents.size();
        for (std::uint64_t n = 0; n < order; ++n) {
          std::uint64_t const i = x[p * order + n], j = y[q * order + n];
          if (i != j) return i < j ? -1 : 1;
        }
        return 0;
      },
      a.indices, b.indices);
}

/// What two tensors have at the same places.
struct ValueDifferences {
  std::uint64_t different = 0;
  std::uint64_t nan       = 0;  // those that are NaN in one tensor and a number in the other
  double largest          = 0;  // among the others; 0 if only the signs of zeros differ

  void add(double x, double y) {
    if (std::isnan(x) && std::isnan(y)) return;
    if (x == y && std::signbit(x) == std::signbit(y)) return;
    ++different;
    if (std::isnan(x) || std::isnan(y))
      ++nan;
    else
      largest = std::max(largest, std::abs(x - y));
  }

  [[nodiscard]] std::string text() const {
    std::string text = std::to_string(different);
    if (nan > 0) text += fmt::format(", {} of them NaN in one tensor only", nan);
    if (different > nan) text += fmt::format(", {}by at most {:.9g}", nan > 0 ? "the others " : "", largest);
    return text;
  }
};

/// Two texts that show different bases: one of them may just have no entry in its first row.
void expect_same_base(CompareOptions const& options, io::TensorFile const& a, io::TensorFile const& b) {
  auto const shows_base = [](io::TensorFile const& file) {
    auto const dialect = file.report.dialect;
    return dialect.shows_base_by_indices() || (!dialect.is_text() && file.report.knows_index_base);
  };
  if (options.index_base >= 0 || !shows_base(a) || !shows_base(b) ||
      a.report.index_base == b.report.index_base)
    return;
  refuse(
      "{} seems to count from {}, but {} from {}: say with --index-base what both count from, or "
      "convert one of them",
      options.a.string(), a.report.index_base, options.b.string(), b.report.index_base);
}

int compare_tensors(CompareOptions const& options, Operand& first, Operand& second, Report& report) {
  if (options.at_least) refuse("--at-least is for models: two tensors are the same, or they are not");
  auto const read = [&](Operand& operand) {
    return read_input_file(
        operand.file,
        {.path = operand.path, .index_base_of_text = options.index_base, .allow_non_finite = true},
        options.common, report);
  };
  auto file_a = read(first), file_b = read(second);
  report.input.reset();  // there are two
  expect_same_base(options, file_a, file_b);
  if (file_a.tensor.order() == file_b.tensor.order() && !(file_a.labels.empty() && file_b.labels.empty()))
    static_cast<void>(io::match_rows(file_b, {file_a.report.index_base, file_a.labels}, file_a.tensor.extents,
                                     second.path.string()));
  auto const &a = file_a.tensor, &b = file_b.tensor;
  bool const same_extents = a.extents == b.extents;
  std::uint64_t alone_a = 0, alone_b = 0;
  ValueDifferences values;
  show("tensors      {}, {} nonzeros; {}, {} nonzeros\n", dims_text(a.extents), a.nnz(), dims_text(b.extents),
       b.nnz());
  if (a.order() != b.order()) {
    show("orders       {} and {}\n", a.order(), b.order());
  } else {
    auto const of_a = sorted_positions(a), of_b = sorted_positions(b);
    std::uint64_t p = 0, q = 0;
    while (p < of_a.size() || q < of_b.size()) {
      int const order = p == of_a.size() ? 1 : q == of_b.size() ? -1 : place_order(a, of_a[p], b, of_b[q]);
      alone_a += order < 0 ? 1 : 0;
      alone_b += order > 0 ? 1 : 0;
      if (order == 0) values.add(a.values[of_a[p]], b.values[of_b[q]]);
      p += order <= 0 ? 1 : 0;
      q += order >= 0 ? 1 : 0;
    }
    show("in A alone   {}\nin B alone   {}\ndifferent    {}\n", alone_a, alone_b, values.text());
  }
  bool const same = same_extents && a.order() == b.order() && alone_a + alone_b + values.different == 0;
  show("the tensors are {}\n", same ? "the same" : "different");
  report.result = FactsReport{{{"same", same},
                               {"same_extents", same_extents},
                               {"in_a_alone", alone_a},
                               {"in_b_alone", alone_b},
                               {"different", values.different},
                               {"nan_in_one", values.nan},
                               {"largest_difference", values.largest}},
                              {}};
  return verdict(same);
}

}  // namespace

int run(CompareOptions const& options, Report& report) {
  using Kind = io::InputFile::Kind;
  Operand a{options.a, io::InputFile(options.a)}, b{options.b, io::InputFile(options.b)};
  Kind const kind_a = a.file.kind(), kind_b = b.file.kind();
  if (kind_a == Kind::fast_tucker_model || kind_b == Kind::fast_tucker_model)
    throw UsageError("compare takes models of cpd and tucker, and tensors: " +
                     (kind_a == Kind::fast_tucker_model ? options.a : options.b).string() +
                     " is a model of fast-tucker; predict measures its errors");
  bool const tucker_a = kind_a == Kind::tucker_model, tucker_b = kind_b == Kind::tucker_model;
  bool const model_a = tucker_a || kind_a == Kind::cp_model, model_b = tucker_b || kind_b == Kind::cp_model;
  if (model_a && model_b && (tucker_a || tucker_b))
    throw UsageError("compare takes two CP models, or a model and a tensor: " +
                     (tucker_a ? options.a : options.b).string() + " is a Tucker model");
  if (model_a && model_b) return compare_models(options, a, b, report);
  if (model_a) return compare_fit(options, a, b, report);
  if (model_b) return compare_fit(options, b, a, report);
  return compare_tensors(options, a, b, report);
}

}  // namespace polyad::cli
