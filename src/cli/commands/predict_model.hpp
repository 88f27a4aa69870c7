// SPDX-License-Identifier: BSD-3-Clause
// polyad predict with a CP or a Tucker model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/labels.hpp"

namespace polyad::cli {

/// A model that has a value at each place of its extents.
struct ValuedModel {
  std::string text;  // a description of the model
  std::vector<std::uint64_t> extents, ranks;
  io::RowNames names;
  /// Its values at places inside the extents. Needs a Session.
  std::function<std::vector<double>(io::CoordinateList const&)> values;
};

/// Writes the model's values at options.places, and in tables the given values and the residuals too.
/// \returns the exit code
/// \throws InputError for a row that the model does not have; NumericalError when a value or a residual is
///         not a finite number
int predict_model(ValuedModel const& model, PredictOptions const& options, Report& report);

/// \throws UsageError when residuals are requested but the entries have no values
void expect_values(PredictOptions const& options, bool lacks_values);

/// Writes the residuals, if they are requested. \param list  has the places; its values are replaced
void write_residuals(PredictOptions const& options, io::CoordinateList& list, io::RowNames const& names,
                     std::vector<double> const& residuals, std::vector<FileName>& files);

/// The end of the summary. \param entries  their number
void show_predictions(std::size_t entries, CompletionReport&& result, Report& report);

}  // namespace polyad::cli
