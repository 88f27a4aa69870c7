// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/completion_impl.hpp"

namespace polyad::cli {

template CompletedModel complete_as<double, std::uint32_t>(TrainOptions const&, CompletionTask&&, Report&);
template CompletedModel complete_as<double, std::uint64_t>(TrainOptions const&, CompletionTask&&, Report&);

}  // namespace polyad::cli
