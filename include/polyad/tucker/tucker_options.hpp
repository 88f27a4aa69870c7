// SPDX-License-Identifier: BSD-3-Clause
// TuckerOptions: what tucker takes (tucker/tucker.hpp), and the table of these options. Free of Kokkos.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <vector>

#include "polyad/core/option_row.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad {

/// For the search for leading singular vectors by a randomised range finder (Halko, Martinsson & Tropp, SIAM
/// Review 53(2), 2011, algorithms 4.4 and 5.1).
struct LeadingVectorsOptions {
  std::uint64_t oversampling = 8;  // Halko et al. recommend 5 to 10
  int max_iterations         = 100;
  double tolerance           = 1e-12;  // stop when the captured squares grow by less, relatively
};

struct TuckerOptions {
  /// R_0, ..., R_{N-1}, each 1 ... I_n and at most the product of the others.
  std::vector<std::uint64_t> ranks = {};
  int max_iterations               = 50;    // 0: the fit of the start with its best core
  double tolerance                 = 1e-6;  // as CpAlsOptions::tolerance
  double time_limit_s              = std::numeric_limits<double>::infinity();
  std::uint64_t seed               = 0;  // for the random start
  LeadingVectorsOptions vectors    = {};
  std::vector<StoredRows> rows     = {};  // as CpAlsOptions::rows
  /// As in CpAlsOptions. The run continues with the same bits, since the factors determine the next
  /// iteration.
  std::filesystem::path checkpoint = {};
  int checkpoint_every             = 10;
  std::filesystem::path resume     = {};
};

/// The table of these options (core/option_row.hpp).
template <detail::OptionsOrConst<TuckerOptions> Options, class Visitor>
void for_each_option(Options& options, Visitor&& visit) {
  visit(OptionRow("ranks", "", "The ranks of the modes")
            .declared_by_python(
                "the tool declares --ranks, which it requires; Python takes one number for all modes, too"),
        options.ranks);
  for_each_limit(options, visit);
  visit(OptionRow("vectors", "", "The search for the leading singular vectors")
            .declared_by_python("in C++ only: its defaults find the vectors to rounding"),
        options.vectors);
  visit(OptionRow("rows", "", "The original rows of a renumbered tensor")
            .declared_by_python("the tool and Python renumber the tensor themselves"),
        options.rows);
  for_each_checkpoint_option(options, visit, "Iterations between checkpoints");
}

}  // namespace polyad
