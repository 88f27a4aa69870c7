// SPDX-License-Identifier: BSD-3-Clause
#include "surveys.hpp"

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "polyad/core/error.hpp"
#include "polyad/tensor/survey.hpp"
#include "tensors.hpp"

namespace polyad::perf {

namespace {

/// The bins of 2^b to 2^(b+1) - 1 nonzeros, up to the last one that has rows.
std::string list_of(std::span<std::uint64_t const> numbers) {
  std::size_t count = numbers.size();
  while (count > 0 && numbers[count - 1] == 0) --count;
  std::string text;
  for (auto const number : numbers.first(count)) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

std::string json_of(TensorSurvey const& survey) {
  std::ostringstream text;
  text << "{\"nnz\": " << survey.nnz << ", \"modes\": [";
  for (std::size_t n = 0; n < survey.modes.size(); ++n) {
    auto const& mode = survey.modes[n];
    text << (n > 0 ? ", " : "") << "{\"extent\": " << mode.extent << ", \"longest\": " << mode.longest
         << ", \"fibers\": " << static_cast<std::uint64_t>(mode.fibers)
         << ", \"along\": " << static_cast<std::uint64_t>(mode.fibers_along)
         << ", \"rows\": " << list_of(mode.rows) << ", \"nonzeros\": " << list_of(mode.nonzeros) << "}";
  }
  text << "]}";
  return text.str();
}

TensorSurvey survey_of(Tensor<double> const& tensor) {
  std::vector<std::uint64_t> extents;
  for (int n = 0; n < tensor.order(); ++n) extents.push_back(tensor.extents()[n]);
  auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), tensor.indices());
  return survey_tensor<std::uint32_t>(extents, {indices.data(), indices.size()});
}

}  // namespace

void write_surveys(PerfOptions const& options) {
  Space const space;
  std::ofstream file(options.surveys);
  char const* separator = "";
  file << "{\"what\": \"what survey_tensor finds\", \"tensors\": {";
  for (auto const& name : options.tensors)
    for (double const scale : options.scales) {
      std::ostringstream label;
      label << name;
      if (scale != 1) label << "*" << scale;
      file << separator << "\n\"" << label.str() << "\": " << json_of(survey_of(tensor(space, name, scale)));
      separator = ",";
    }
  file << "\n}}\n" << std::flush;
  if (!file) throw WriteError(options.surveys + ": the surveys cannot be written");
}

}  // namespace polyad::perf
