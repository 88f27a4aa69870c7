// SPDX-License-Identifier: BSD-3-Clause
// polyad info: the facts about this build, and whether it can run here.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/report/host_facts.hpp"
#include "cli/run/ranks.hpp"
#include "polyad/core/device.hpp"
#include "polyad/formats/capability.hpp"
#include "polyad/io/tensor_file.hpp"
#include "polyad/version.hpp"

namespace polyad::cli {

namespace {

std::string compressions() {
  std::string names;
  for (auto const kind : {io::Compression::gzip, io::Compression::xz, io::Compression::zstd})
    if (io::can_unpack(kind)) names += (names.empty() ? "" : ", ") + std::string(io::to_string(kind));
  return names.empty() ? "none" : names;
}

/// "rank 2  node7, device 0 (NVIDIA H200)" for each rank. All ranks call it together; it needs a Session.
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

}  // namespace

int run(InfoOptions const& options, Report& report) {
  DeviceFacts const device = probe_device();
  report.result            = InfoReport{kokkos_version(), device.compiled_for, device.found, device.usable()};
  show("polyad        {} ({})\n", POLYAD_VERSION, git_hash());
  show("Kokkos        {}\n", kokkos_version());
  show("backend       {}\n", device.backend);
  show("formats       {}\n", format_names());
  show("reads         plain text, {}\n", compressions());
  show("MPI           {}\n", mpi_text());
  if (device.accelerator) show("NCCL          {}\n", has_nccl() ? "yes" : "none");
  if (ranks().size > 1)
    show("ranks         {}, {} of them on this machine\n", ranks().size, ranks().local_size);
  show("host          {}, {}\n", host_name(), processor_name());
  if (device.accelerator) {
    show("compiled for  {}\n", device.compiled_for);
    show("found         {}\n", device.name.empty()
                                   ? "no device"
                                   : fmt::format("{}, {}, {:.1f} GB", device.name, device.found,
                                                 static_cast<double>(device.memory_bytes) / 1e9));
  }
  show("usable        {}\n", device.usable() ? "yes" : "no");
  static_cast<void>(flush_results());  // a device that fails may end the process
  expect_usable_device();

  Session const session(options.common, report);
  show("concurrency   {}\n", report.backend->concurrency);
  if (ranks().size > 1)
    for (auto const& line : map_of_ranks()) show("              {}\n", line);
  show("\nKokkos says:\n");
  std::ostringstream configuration;
  session.print_configuration(configuration);
  show_text(configuration.str());
  return 0;
}

}  // namespace polyad::cli
