// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/map_of_ranks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cli/report/host_facts.hpp"
#include "cli/run/ranks.hpp"
#include "polyad/core/device.hpp"

namespace polyad::cli {

std::vector<std::string> map_of_ranks() {
  DeviceFacts const device = probe_device();
  std::string own          = "rank " + std::to_string(ranks().rank) + "  " + host_name();
  if (auto const devices = static_cast<int>(device.addresses.size()); devices > 0)
    own += ", device " + std::to_string(ranks().local_rank % devices) + " (" + device.name + ")";

  // The texts of all ranks have the same number of words, padded with zeros.
  std::vector<std::uint64_t> words(32, 0);
  own.resize(std::min(own.size(), words.size() * sizeof(std::uint64_t) - 1));
  std::memcpy(words.data(), own.data(), own.size());
  std::vector<std::string> lines;
  for (auto const& text : of_all_ranks(words)) lines.emplace_back(reinterpret_cast<char const*>(text.data()));
  return lines;
}

}  // namespace polyad::cli
