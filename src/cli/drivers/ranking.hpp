// SPDX-License-Identifier: BSD-3-Clause
// The part of `polyad recommend`, `polyad similar` and `polyad evaluate` that runs on the backend. Free of
// Kokkos, so that its callers can be.
#pragma once

#include <cstdint>
#include <vector>

#include "polyad/fast_tucker/evaluation.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/fast_tucker_file.hpp"

namespace polyad::cli {

/// The members of polyad::Rankings on the host.
struct RankedRows {
  std::vector<std::uint64_t> starts;
  std::vector<std::uint64_t> rows;
  std::vector<double> scores;
  std::uint64_t unknown = 0;  // queries with an index that the model does not have
};

/// Needs a Session. \param queries  as polyad::recommend takes them \param seen  may be empty
[[nodiscard]] RankedRows recommend_rows(io::HostFastTucker const& model, int mode,
                                        std::vector<std::uint64_t> const& queries, std::uint64_t count,
                                        io::CoordinateList&& seen);

/// Needs a Session.
[[nodiscard]] RankedRows similar_rows(io::HostFastTucker const& model, int mode,
                                      std::vector<std::uint64_t> const& rows, std::uint64_t count);

/// Needs a Session. On several ranks, each passes its part of both lists, and all get the same result.
/// \param options  without observed rows: the model has them \param seen  may be empty
[[nodiscard]] Evaluation evaluate_model(io::HostFastTucker const& model, EvaluationOptions options,
                                        io::CoordinateList&& test, io::CoordinateList&& seen);

}  // namespace polyad::cli
