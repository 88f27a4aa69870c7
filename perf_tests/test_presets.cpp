// SPDX-License-Identifier: BSD-3-Clause
// Checks that the presets have the properties of the tensors that they are named after. It compares nonzeros,
// heaviest slice and number of fibers of every mode with those of the reference generator gentns (seed 1).
// The presets repeat its mode sizes, skews and runs. The random numbers differ, so the figures may differ by
// a tenth.
//
//   polyad_test_presets          scaled down: seconds on two cores
//   polyad_test_presets --full   the presets as the benchmarks use them: for a device, or a patient host
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

#include "ratings.hpp"
#include "tensors.hpp"

namespace polyad::perf {
namespace {

struct ModeFigures {
  count_t rows;
  count_t heaviest;  // nonzeros of the heaviest slice; 0: not compared
  count_t fibers;    // distinct tuples of the other indices
};

struct Reference {
  char const* preset;
  double scale;
  count_t nnz;
  std::vector<ModeFigures> modes;
};

// Printed by gentns --preset NAME --scale X --stats; skewed10m's are expected values, with q draws of c cells
// at c (1 - exp(-q / c)) distinct ones.
std::vector<Reference> const scaled_down{
    {"uniform10m", 0.2, 2000000, {{30000, 102, 1998964}, {40000, 82, 1998680}, {50000, 68, 1998403}}},
    {"uber",
     1,
     3294605,
     {{183, 18267, 2821469}, {24, 200711, 3197058}, {1140, 66083, 2284211}, {1717, 55542, 2041395}}},
    {"vast", 0.2, 3972759, {{165427, 4975, 22748}, {11374, 121889, 330400}, {2, 2137031, 3837000}}},
    {"nell2", 0.2, 5965198, {{12092, 121439, 5213627}, {9184, 95046, 5146951}, {28818, 25764, 90720}}},
    {"delicious",
     0.2,
     5995713,
     {{532924, 9595, 5995713}, {17262471, 597, 5995657}, {2480308, 49105, 2000000}, {1443, 13277, 5995713}}},
    {"skewed10m", 0.2, 2000000, {{3000, 1000333, 1999990}, {40000, 200045, 1793341}, {2000000, 0, 1035845}}},
};

std::vector<Reference> const full{
    {"uniform10m", 1, 10000000, {{30000, 412, 9974879}, {40000, 314, 9966488}, {50000, 263, 9958777}}},
    {"uber",
     1,
     3294605,
     {{183, 18267, 2821469}, {24, 200711, 3197058}, {1140, 66083, 2284211}, {1717, 55542, 2041395}}},
    {"vast", 1, 19832017, {{165427, 14160, 22748}, {11374, 288808, 330854}, {2, 10625463, 18493693}}},
    {"nell2", 1, 29703381, {{12092, 587206, 21499104}, {9184, 467686, 21317765}, {28818, 124495, 429437}}},
    {"delicious",
     1,
     29984506,
     {{532924, 49234, 29984491},
      {17262471, 2957, 29983219},
      {2480308, 245355, 10000000},
      {1443, 66463, 29984506}}},
    {"skewed10m", 1, 10000000, {{3000, 5001667, 9999400}, {40000, 1000225, 6862600}, {2000000, 0, 4937600}}},
};

/// The indices on the host, one array per mode.
std::vector<std::vector<std::uint32_t>> columns_of(Tensor<double> const& tensor) {
  auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), tensor.indices());
  std::vector<std::vector<std::uint32_t>> columns(static_cast<std::size_t>(tensor.order()));
  for (std::size_t n = 0; n < columns.size(); ++n) {
    columns[n].resize(tensor.nnz());
    for (count_t p = 0; p < tensor.nnz(); ++p) columns[n][p] = indices(p, n);
  }
  return columns;
}

count_t heaviest_slice(std::vector<std::uint32_t> const& column, count_t rows) {
  std::vector<count_t> nonzeros(rows);
  for (auto const row : column) ++nonzeros.at(row);
  return *std::max_element(nonzeros.begin(), nonzeros.end());
}

/// Counts 64-bit hashes: among 30 million tuples, two agree by chance once in 40 thousand runs.
count_t fibers_along(std::vector<std::vector<std::uint32_t>> const& columns, std::size_t mode) {
  std::vector<std::uint64_t> tuples(columns[mode].size());
  for (std::size_t n = 0; n < columns.size(); ++n)
    if (n != mode)
      for (std::size_t p = 0; p < tuples.size(); ++p)
        tuples[p] = counter_bits(tuples[p], n, columns[n][p], 0);
  std::sort(tuples.begin(), tuples.end());
  return static_cast<count_t>(std::unique(tuples.begin(), tuples.end()) - tuples.begin());
}

class Comparison {
public:
  void figure(char const* what, count_t ours, count_t theirs, double tolerance) {
    auto const difference = static_cast<double>(ours) / static_cast<double>(theirs) - 1;
    bool const wrong      = !(std::abs(difference) <= tolerance);
    m_wrong += wrong;
    std::printf("  %-18s %10llu, reference %10llu, %+6.2f %%%s\n", what,
                static_cast<unsigned long long>(ours), static_cast<unsigned long long>(theirs),
                100 * difference, wrong ? "  WRONG" : "");
  }
  [[nodiscard]] int wrong() const { return m_wrong; }

private:
  int m_wrong = 0;
};

int run(std::vector<Reference> const& references) {
  constexpr double a_tenth = 0.1;
  // One stops up to a hundredth short of the requested number, the other up to half a hundredth beyond it.
  constexpr double two_hundredths = 0.02;
  Space const space;
  Comparison comparison;
  for (auto const& reference : references) {
    auto const preset  = find_preset(reference.preset);
    auto const tensor  = generate(space, preset.value(), reference.scale);
    auto const columns = columns_of(tensor);
    std::printf("%s*%g\n", reference.preset, reference.scale);
    comparison.figure("nonzeros", tensor.nnz(), reference.nnz, two_hundredths);
    comparison.figure("modes", columns.size(), reference.modes.size(), 0);
    for (std::size_t n = 0; n < std::min(columns.size(), reference.modes.size()); ++n) {
      auto const& theirs = reference.modes[n];
      auto const rows    = tensor.extents()[static_cast<int>(n)];
      std::printf(" mode %zu\n", n);
      comparison.figure("rows", rows, theirs.rows, 0);
      if (theirs.heaviest > 0)
        comparison.figure("heaviest slice", heaviest_slice(columns[n], rows), theirs.heaviest, a_tenth);
      comparison.figure("fibers", fibers_along(columns, n), theirs.fibers, a_tenth);
    }
  }
  std::printf("%d figures wrong\n", comparison.wrong());
  return comparison.wrong() == 0 ? 0 : 1;
}

/// Ratings are whole stars for distinct users and items, and their distribution is the one that was planted.
int check_ratings() {
  Space const space;
  auto const extents = Extents(std::span<count_t const>(find_preset("netflix30m").value().extents));
  auto const ratings = make_ratings(space, extents, 200000, 100000, 1);
  int wrong          = 0;
  auto const expect  = [&](char const* what, double is, double least, double most) {
    bool const outside = !(is >= least && is <= most);
    wrong += outside;
    std::printf("  %-34s %10.4f, in %g ... %g%s\n", what, is, least, most, outside ? "  WRONG" : "");
  };
  std::printf("ratings\n");
  std::vector<std::uint64_t> pairs;
  double sum = 0, squares = 0, odd = 0;
  for (auto const* set : {&ratings.train, &ratings.test}) {
    auto const columns = columns_of(*set);
    auto const values  = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), set->values());
    for (count_t p = 0; p < set->nnz(); ++p) {
      pairs.push_back(columns[0][p] * extents[1] + columns[1][p]);
      sum += values(p);
      squares += values(p) * values(p);
      odd += values(p) >= 1 && values(p) <= 5 && values(p) == std::floor(values(p)) ? 0 : 1;
      odd += columns[0][p] < extents[0] && columns[1][p] < extents[1] && columns[2][p] < extents[2] ? 0 : 1;
    }
  }
  auto const count = static_cast<double>(pairs.size());
  std::sort(pairs.begin(), pairs.end());
  auto const distinct = static_cast<double>(std::unique(pairs.begin(), pairs.end()) - pairs.begin());
  expect("entries to learn from", static_cast<double>(ratings.train.nnz()), 200000, 200000);
  expect("entries held out", static_cast<double>(ratings.test.nnz()), 100000, 100000);
  expect("entries outside stars or extents", odd, 0, 0);
  expect("items that a user rated twice", count - distinct, 0, 0);
  // Effects of deviations 0.42, 0.5, 0.09, an interaction of 0.56 and noise of 0.75 make 1.14; stars end at 1
  // and 5. The effects of a few popular items move the mean.
  expect("mean", sum / count, 3.3, 3.8);
  expect("deviation", std::sqrt(squares / count - sum / count * (sum / count)), 0.95, 1.2);
  return wrong;
}

}  // namespace
}  // namespace polyad::perf

int main(int argc, char** argv) {
  bool const whole = argc == 2 && std::strcmp(argv[1], "--full") == 0;
  if (argc > 1 && !whole) {
    std::fprintf(stderr, "usage: %s [--full]\n", argv[0]);
    return 2;
  }
  Kokkos::ScopeGuard const kokkos;
  int const wrong = polyad::perf::check_ratings();
  return polyad::perf::run(whole ? polyad::perf::full : polyad::perf::scaled_down) != 0 || wrong > 0 ? 1 : 0;
}
