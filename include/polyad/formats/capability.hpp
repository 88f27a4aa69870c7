// SPDX-License-Identifier: BSD-3-Clause
// Which formats the library has, and what each can do. Free of Kokkos.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace polyad {

/// What a format can do. Every format has the MTTKRP; AnyFormat::supports says which others.
enum class Capability {
  mttkrp,             // Format
  residual_sweep,     // ResidualFormat: als and adam of fast_tucker
  row_least_squares,  // RowLeastSquaresFormat: als of fast_tucker
  sgd,                // SgdFormat: sgd of fast_tucker
  ttmc,               // TtmcFormat: Tucker
  fixed_order,        // options_type::deterministic: the same bits in every run
  streaming  // F::streams: the nonzeros stay in host memory; a run takes the device's memory that is left
};

/// "MTTKRP", "residual sweep" and the like.
[[nodiscard]] char const* to_string(Capability capability);

/// The names of the library's formats that have all of these capabilities, separated by ", ".
[[nodiscard]] std::string format_names(std::vector<Capability> const& needs = {});

/// Throws UsageError unless `text` is "auto" or a format of the library with options that it has:
/// "f-coo:threadlen=16".
void expect_format(std::string_view text);

/// Whether the format of that name has the capability, whatever options follow. \throws UsageError if unknown
[[nodiscard]] bool format_offers(std::string_view text, Capability capability);

}  // namespace polyad
