// SPDX-License-Identifier: BSD-3-Clause
#include "factor_impl.hpp"

namespace polyad::cli {

template io::HostKtensor factor_as<double, std::uint64_t>(CpdOptions const&, io::CoordinateList&&,
                                                          std::optional<io::HostKtensor>, Report&,
                                                          OnIteration const&, Checkpoints const&);

}  // namespace polyad::cli
