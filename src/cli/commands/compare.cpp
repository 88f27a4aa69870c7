// SPDX-License-Identifier: BSD-3-Clause
// polyad compare: two models, a model and a tensor, or two tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/clean_list.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

constexpr double default_score = 0.99;

int verdict(bool same) {
  return same ? 0 : static_cast<int>(ExitCode::differences_found);
}

void expect_same_extents(CompareOptions const& options, std::vector<std::uint64_t> const& a,
                         std::vector<std::uint64_t> const& b) {
  if (a != b)
    throw InputError(options.b.string(), 0, 0,
                     fmt::format("is {}, but {} is {}", dims_text(b), options.a.string(), dims_text(a)));
}

int compare_models(CompareOptions const& options, Report& report) {
  auto const a = io::read_model(options.a), b = io::read_model(options.b);
  expect_same_extents(options, a.extents, b.extents);
  io::MatchScore const match = io::match_score(a, b);
  double const least         = options.at_least < 0 ? default_score : options.at_least;
  fmt::print("models           {}, ranks {} and {}\n", dims_text(a.extents), a.rank(), b.rank());
  fmt::print("factor match     {:.9f}\n", match.score);
  fmt::print("with weights     {:.9f}\n", match.weighted);
  report.result = FactsReport{
      {{"factor_match_score", match.score}, {"weighted_score", match.weighted}, {"at_least", least}}, {}};
  return verdict(match.score >= least);
}

int compare_fit(CompareOptions const& options, std::filesystem::path const& model_path,
                std::filesystem::path const& tensor_path, Report& report) {
  bool const is_tucker = io::is_tucker_file(model_path);
  auto const cp        = is_tucker ? io::HostKtensor() : io::read_model(model_path);
  auto const tucker    = is_tucker ? io::read_tucker(model_path) : io::HostTucker();
  auto const& extents  = is_tucker ? tucker.extents : cp.extents;
  auto const tensor =
      read_input(TensorInput{.path = tensor_path, .duplicates = "sum"}, options.common, report);
  if (extents != tensor.extents)
    throw InputError(model_path.string(), 0, 0,
                     fmt::format("holds a model of {}, but the tensor is {}", dims_text(extents),
                                 dims_text(tensor.extents)));
  double const fit = is_tucker ? io::fit_of_model(tensor, tucker) : io::fit_of_model(tensor, cp);
  fmt::print("tensor   {}: {}\n", tensor_path.string(), tensor_text(*report.input));
  fmt::print("model    {}\nfit      {:.9f}\n",
             is_tucker ? "Tucker with a core of " + dims_text(tucker.ranks)
                       : fmt::format("CP of rank {}", cp.rank()),
             fit);
  report.result = FactsReport{{{"fit", fit}}, {}};
  return verdict(options.at_least < 0 || fit >= options.at_least);
}

/// Nonzeros in the order of their indices; those at one place in the list's order.
std::vector<std::uint64_t> sorted_positions(io::CoordinateList const& list) {
  std::vector<std::uint64_t> positions(list.nnz());
  std::iota(positions.begin(), positions.end(), std::uint64_t{0});
  std::visit(
      [&](auto const& indices) {
        auto const row   = [&](std::uint64_t p) { return indices.data() + p * list.extents.size(); };
        auto const order = static_cast<std::ptrdiff_t>(list.extents.size());
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

int compare_tensors(CompareOptions const& options, Report& report) {
  auto const a = read_input(TensorInput{.path = options.a, .allow_non_finite = true}, options.common, report);
  auto const b = read_input(TensorInput{.path = options.b, .allow_non_finite = true}, options.common, report);
  report.input.reset();  // there are two
  bool const same_extents = a.extents == b.extents;
  std::uint64_t alone_a = 0, alone_b = 0, different = 0;
  double largest = 0;
  fmt::print("tensors      {}, {} nonzeros; {}, {} nonzeros\n", dims_text(a.extents), a.nnz(),
             dims_text(b.extents), b.nnz());
  if (a.order() != b.order()) {
    fmt::print("orders       {} and {}\n", a.order(), b.order());
  } else {
    auto const first = sorted_positions(a), second = sorted_positions(b);
    std::uint64_t p = 0, q = 0;
    while (p < first.size() || q < second.size()) {
      int const order = p == first.size()    ? 1
                        : q == second.size() ? -1
                                             : place_order(a, first[p], b, second[q]);
      alone_a += order < 0 ? 1 : 0;
      alone_b += order > 0 ? 1 : 0;
      if (order == 0) {
        double const x = a.values[first[p]], y = b.values[second[q]];
        bool const same = x == y ? std::signbit(x) == std::signbit(y) : std::isnan(x) && std::isnan(y);
        different += same ? 0 : 1;
        if (!same) largest = std::max(largest, std::abs(x - y));
      }
      p += order <= 0 ? 1 : 0;
      q += order >= 0 ? 1 : 0;
    }
    fmt::print("in A alone   {}\nin B alone   {}\ndifferent    {}{}\n", alone_a, alone_b, different,
               different > 0 ? fmt::format(", by at most {:.9g}", largest) : "");
  }
  bool const same = same_extents && a.order() == b.order() && alone_a + alone_b + different == 0;
  fmt::print("the tensors are {}\n", same ? "the same" : "different");
  report.result = FactsReport{{{"same", same},
                               {"same_extents", same_extents},
                               {"in_a_alone", alone_a},
                               {"in_b_alone", alone_b},
                               {"different", different},
                               {"largest_difference", largest}},
                              {}};
  return verdict(same);
}

}  // namespace

int run(CompareOptions const& options, Report& report) {
  bool const tucker_a = io::is_tucker_file(options.a), tucker_b = io::is_tucker_file(options.b);
  bool const model_a = tucker_a || io::is_model_file(options.a);
  bool const model_b = tucker_b || io::is_model_file(options.b);
  if (model_a && model_b && (tucker_a || tucker_b))
    throw UsageError("compare takes two CP models, or a model and a tensor: " +
                     (tucker_a ? options.a : options.b).string() + " is a Tucker model");
  if (model_a && model_b) return compare_models(options, report);
  if (model_a) return compare_fit(options, options.a, options.b, report);
  if (model_b) return compare_fit(options, options.b, options.a, report);
  return compare_tensors(options, report);
}

}  // namespace polyad::cli
