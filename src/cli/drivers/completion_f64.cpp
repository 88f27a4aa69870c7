// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/completion_impl.hpp"

namespace polyad::cli {

template CompletedModel complete_as<double, std::uint32_t>(TrainOptions const&, CompletionSets&&, Report&,
                                                           OnEpoch const&, OnSearch const&,
                                                           std::optional<FastTuckerState>&);
template CompletedModel complete_as<double, std::uint64_t>(TrainOptions const&, CompletionSets&&, Report&,
                                                           OnEpoch const&, OnSearch const&,
                                                           std::optional<FastTuckerState>&);
template std::vector<double> predict_as<std::uint32_t>(io::HostFastTucker const&, io::CoordinateList&&);
template std::vector<double> predict_as<std::uint64_t>(io::HostFastTucker const&, io::CoordinateList&&);

}  // namespace polyad::cli
