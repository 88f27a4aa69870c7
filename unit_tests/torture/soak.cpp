// SPDX-License-Identifier: BSD-3-Clause
// Load, build, factor and free in one process, again and again: its memory stays as it was. And workspaces,
// made and destroyed.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "polyad/polyad.hpp"
#include "support/format_list.hpp"
#include "torture/failing_memory.hpp"
#include "torture/noted_blocks.hpp"
#include "torture/torture.hpp"

namespace polyad::torture {
namespace {

using Space = Kokkos::DefaultExecutionSpace;

/// Resident memory in KiB, VmRSS of /proc/self/status.
std::uint64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib;
  }
  return 0;
}

/// The median of the samples from `begin` on, without `end`.
std::uint64_t median(std::vector<std::uint64_t> const& samples, std::size_t begin, std::size_t end) {
  std::vector<std::uint64_t> some(samples.begin() + static_cast<std::ptrdiff_t>(begin),
                                  samples.begin() + static_cast<std::ptrdiff_t>(end));
  auto const middle = some.begin() + static_cast<std::ptrdiff_t>(some.size() / 2);
  std::nth_element(some.begin(), middle, some.end());
  return *middle;
}

/// Bytes of a device that are free; 0 on a host, whose other processes take and give memory.
count_t free_on_device(Space const& space) {
  return is_device_space<Space> ? available_memory(space) : 0;
}

/// Whether the blocks of a round or workspace of that number are noted. It costs time, so on a host one in
/// seven shows where blocks came from. On a device all do, since blocks_of_kokkos() counts noted ones.
bool is_noted(std::uint64_t number) {
  return is_device_space<Space> || number % 7 == 0;
}

/// Everything once: each format, the drivers, the files.
void round(Space const& space, std::filesystem::path const& folder, std::vector<std::string> const& formats) {
  auto const coo = load_tensor(space, folder / "soak.pten");
  CpAlsOptions als;
  als.rank           = 8;
  als.max_iterations = 2;
  for (auto const& name : formats) {
    AnyFormatOptions options = format_options(als);
    options.format           = name;
    static_cast<void>(cp_als(space, any_format(space, coo, options), als).fit);
  }
  save(space, cp_als(space, coo, als).model, folder / "soak.npz");
  TuckerOptions hooi;
  hooi.ranks          = std::vector<count_t>(static_cast<std::size_t>(coo.order()), 3);
  hooi.max_iterations = 1;
  static_cast<void>(tucker(space, coo, hooi).fit);
  FastTuckerOptions training;
  training.rank       = 4;
  training.max_epochs = 1;
  training.shrinkage  = Shrinkage{};
  static_cast<void>(fast_tucker(space, coo, training).kept_epoch);
}

}  // namespace

int soak(Wanted const& wanted) {
  using Clock        = std::chrono::steady_clock;
  auto const start   = Clock::now();
  auto const elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Space const space;
  auto const formats = test::list_of_formats();
  {
    auto const coo = uniform_tensor<double, std::uint32_t>(space, Extents{200, 150, 100}, 60000, wanted.seed);
    auto const host = download<Kokkos::DefaultHostExecutionSpace>(space, coo);
    io::CoordinateList list;
    auto& indices = list.indices.emplace<0>();
    list.extents  = {200, 150, 100};
    for (count_t p = 0; p < coo.nnz(); ++p) {
      for (int n = 0; n < 3; ++n) indices.push_back(host.indices()(p, n));
      list.values.push_back(host.values()(p));
    }
    io::write_tensor(wanted.folder / "soak.pten", list);
  }
  int findings = 0;
  // The heap of the C library reaches its size in the first tenth of the time. Single rounds differ by a
  // fifth, by the moments in which threads allocate. So medians are compared: the second tenth's, the last's.
  std::vector<std::uint64_t> resident;  // KiB after each round
  std::size_t warm_up = 0;
  std::int64_t blocks = 0;
  count_t device      = 0;  // free bytes
  double told         = 0;
  while (elapsed() < 0.9 * wanted.seconds || resident.size() < warm_up + 10) {
    note_blocks(warm_up > 0 && is_noted(resident.size()));
    round(space, wanted.folder, formats);
    note_blocks(false);
    resident.push_back(resident_kib());
    if (warm_up == 0 && resident.size() >= 5 && elapsed() > 0.1 * wanted.seconds) {
      warm_up = resident.size();
      blocks  = live_blocks();
      device  = free_on_device(space);
    }
    if (elapsed() > told + 300) {
      told = elapsed();
      std::fprintf(stderr, "soak: %zu rounds in %.0f s, now %llu KiB and %lld blocks\n", resident.size(),
                   told, static_cast<unsigned long long>(resident.back()),
                   static_cast<long long>(live_blocks()));
    }
  }
  std::size_t const rounds = resident.size(), tenth = std::max<std::size_t>(5, (rounds - warm_up) / 9);
  std::uint64_t const first = median(resident, warm_up, warm_up + tenth);
  std::uint64_t const last  = median(resident, rounds - tenth, rounds);
  auto const grown          = static_cast<double>(last) / static_cast<double>(first) - 1;
  auto const of_kokkos      = blocks_of_kokkos();
  auto const left_over      = live_blocks() - blocks - of_kokkos;
  if (count_t const now = free_on_device(space); now < device) {
    ++findings;
    std::fprintf(stderr, "FINDING soak: %llu bytes of the device are gone, to this process or another\n",
                 static_cast<unsigned long long>(device - now));
  }
  // A short run sees the heap settle: its size differs by 6 MiB from process to process, and changes by
  // 3 MiB within the few rounds of a busy machine. A leak of a block in each round shows in the blocks.
  constexpr std::uint64_t settling_kib = 8 << 10;
  bool const grows = wanted.seconds > 600 ? grown > 0.01 : grown > 0.1 && last > first + settling_kib;
  if (left_over != 0 || grows) {
    ++findings;
    std::fprintf(stderr, "FINDING soak: %lld blocks left, memory from %llu to %llu KiB in %llu rounds\n",
                 static_cast<long long>(left_over), static_cast<unsigned long long>(first),
                 static_cast<unsigned long long>(last), static_cast<unsigned long long>(rounds));
    print_noted_blocks();
  }
  forget_noted_blocks();
  // Workspaces.
  auto const coo          = uniform_tensor<double, std::uint32_t>(space, Extents{20, 15, 10}, 400, 1);
  std::uint64_t made      = 0;
  std::int64_t const held = live_blocks();
  note_blocks(true);
  std::vector<AnyFormat<double, Space>> all;
  for (auto const& name : formats) {
    AnyFormatOptions options;
    options.format = name;
    all.push_back(any_format(space, coo, options));
  }
  for (; made < 100000 && (elapsed() < wanted.seconds || made < 1000); ++made) {
    note_blocks(made < 1000 || is_noted(made));
    static_cast<void>(all[made % all.size()].make_workspace(space, 1 + made % 33));
  }
  note_blocks(false);
  all.clear();
  space.fence("polyad::torture");
  // One is the vector's own.
  if (auto const left = live_blocks() - held - blocks_of_kokkos(); left > 1) {
    ++findings;
    std::fprintf(stderr, "FINDING soak: %lld blocks are left of %llu workspaces\n",
                 static_cast<long long>(left), static_cast<unsigned long long>(made));
    print_noted_blocks();
  }
  std::printf(
      "soak: %llu rounds in %.0f s, %llu KiB at first, %llu KiB at last (%+.2f %%), %llu workspaces, %lld "
      "blocks of Kokkos, %d findings\n",
      static_cast<unsigned long long>(rounds), elapsed(), static_cast<unsigned long long>(first),
      static_cast<unsigned long long>(last), 100 * grown, static_cast<unsigned long long>(made),
      static_cast<long long>(of_kokkos), findings);
  return findings;
}

}  // namespace polyad::torture
