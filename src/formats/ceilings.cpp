// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/ceilings.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "formats/choose_format.hpp"
#include "formats/row_traffic.hpp"
#include "polyad/kernel/tiny_vec_simd.hpp"

namespace polyad {

using namespace detail;
namespace {

constexpr int columns = full_block;

/// The shortest of a few repetitions, in seconds, after a first one to warm up.
template <class Space, class Work>
double fastest(Space const& space, Work const& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    space.fence("polyad::measure_ceilings");
    Kokkos::Timer const clock;
    work();
    space.fence("polyad::measure_ceilings");
    if (i > 0) least = std::min(least, clock.seconds());
  }
  return std::max(least, 1e-9);
}

/// A table whose random rows are read, or added to.
template <class Scalar, class Space>
class RowProbe {
public:
  RowProbe(Space const& space, count_t table_rows, count_t accesses)
      : m_space(space),
        m_accesses(accesses),
        m_table(make_factor_matrix<Scalar>(space, "polyad::ceiling_table", table_rows, columns)),
        m_sums(make_factor_matrix<Scalar>(space, "polyad::ceiling_sums", ceil_div(accesses, 16), columns)),
        m_rows(uninitialized(space, "polyad::ceiling_rows"), accesses) {
    Kokkos::deep_copy(space, m_table, Scalar(1));
  }

  [[nodiscard]] double megabytes() const { return megabytes(m_table.extent(0)); }
  [[nodiscard]] static double megabytes(count_t rows) { return static_cast<double>(rows * row_bytes) * 1e-6; }
  [[nodiscard]] static count_t rows_of(double megabytes) {
    return std::max<count_t>(1, static_cast<count_t>(megabytes * 1e6) / row_bytes);
  }

  /// Bytes per second read from random rows among the table's first `rows`.
  [[nodiscard]] double gather_rate(count_t rows) const {
    choose_rows(m_space, m_rows, rows, rows);
    return rate(m_accesses, fastest(m_space, [&] {
                  gather_rows<columns>(m_space, m_rows.data(), m_accesses, m_table, m_sums.data(), blocks);
                }));
  }
  /// Bytes per second added to `distinct` of the table's first `rows` rows.
  [[nodiscard]] double add_rate(count_t rows, count_t distinct, count_t accesses) const {
    choose_rows(m_space, m_rows, rows, distinct);
    return rate(accesses, fastest(m_space, [&] {
                  add_rows<columns>(m_space, m_rows.data(), accesses, m_table, blocks);
                }));
  }

private:
  static constexpr count_t row_bytes = columns * sizeof(Scalar);
  static constexpr ColumnBlocks blocks{0, 1, columns};

  [[nodiscard]] static double rate(count_t accesses, double seconds) {
    return static_cast<double>(accesses * row_bytes) / seconds;
  }

  Space m_space;
  count_t m_accesses;
  FactorMatrix<Scalar, Space> m_table, m_sums;
  Kokkos::View<std::uint32_t*, Space> m_rows;
};

}  // namespace

Ceilings usual_ceilings(bool is_device, int concurrency, int scalar_bytes) {
  bool const is_float = scalar_bytes == 4;
  Ceilings ceilings;
  ceilings.is_device   = is_device;
  ceilings.concurrency = concurrency;
  ceilings.simd_bytes  = simd_bytes;
  ceilings.launch_s    = nominal_launch_s;
  if (is_device) {  // perf_tests/results/nvidia-h200.json.xz
    ceilings.copy      = 4.2e12;
    ceilings.from_host = 5.5e10;
    ceilings.gather = {{0.1, 2.1e13}, {1, 1.1e13}, {8, 9.3e12}, {34, 8.5e12}, {134, 4.8e12}, {537, 4.1e12}};
    ceilings.atomic_add      = {{8, is_float ? 3.8e12 : 2.5e12}, {134, 1.5e12}, {4295, 1.2e12}};
    ceilings.atomic_add_rows = {
        {2, 1.1e11}, {32, is_float ? 8.4e11 : 4.4e11}, {1024, is_float ? 2.4e12 : 1.9e12}};
    return ceilings;
  }
  double const threads = std::max(concurrency, 1);  // cost-model/amd-epyc-2threads-all-formats
  double const add     = is_float ? 0.7e9 : 1.45e9;
  ceilings.copy        = 2.6e10 * std::sqrt(threads);
  ceilings.from_host   = ceilings.copy / 2;
  for (auto const [megabytes, floats, doubles] : {std::array{0.1, 6.5e10, 7.8e10},
                                                  {1, 5.5e10, 6.5e10},
                                                  {8, 4.3e10, 5e10},
                                                  {34, 1.3e10, 1.45e10},
                                                  {134, 8e9, 1.1e10}})
    ceilings.gather.push_back({megabytes, (is_float ? floats : doubles) * threads});
  ceilings.atomic_add      = {{8, 0.87 * add * threads}, {134, 0.7 * add * threads}};
  ceilings.atomic_add_rows = {{2, 0.64 * add}, {32, 1.2 * add * std::sqrt(threads)}, {1024, add * threads}};
  return ceilings;
}

template <class Scalar, class Space>
Ceilings measure_ceilings(Space const& space) {
  constexpr bool on_device = is_device_space<Space>;
  Ceilings ceilings;
  ceilings.is_device   = on_device;
  ceilings.concurrency = space.concurrency();
  ceilings.simd_bytes  = simd_bytes;
  ceilings.launch_s    = nominal_launch_s;

  count_t const room = available_memory(space) / 4;
  // On hosts, as many accesses as take several milliseconds at one gigabyte per second and thread.
  count_t const accesses = on_device ? count_t(1) << 22 : count_t(1) << 17;
  double const most      = std::min(on_device ? 1074.0 : 134.0, static_cast<double>(room) * 1e-6 / 2);
  expect_fits(space, "the tables of the machine's measurement", 4, 1'000'000);
  RowProbe<Scalar, Space> const probe(space, RowProbe<Scalar, Space>::rows_of(std::max(most, 1.0)), accesses);
  using Probe = RowProbe<Scalar, Space>;
  for (double const megabytes : {0.1, 1.0, 8.0, 34.0, 134.0, 537.0, 1074.0})
    if (megabytes <= std::max(most, 1.0))
      ceilings.gather.push_back({megabytes, probe.gather_rate(Probe::rows_of(megabytes))});
  for (double const megabytes : {8.0, 134.0, 1074.0})
    if (megabytes <= std::max(most, 8.0) && megabytes <= probe.megabytes() * 1.01)
      ceilings.atomic_add.push_back(
          {megabytes, probe.add_rate(Probe::rows_of(megabytes), Probe::rows_of(megabytes), accesses / 4)});
  for (count_t const distinct : {2, 32, 1024}) {
    count_t const rows = std::min(Probe::rows_of(8), Probe::rows_of(probe.megabytes()));
    ceilings.atomic_add_rows.push_back(
        {static_cast<double>(distinct), probe.add_rate(rows, distinct, accesses / 16)});
  }
  if (ceilings.atomic_add.empty()) ceilings.atomic_add.push_back({8.0, ceilings.atomic_add_rows.back()[1]});

  // Longer than any cache, as far as memory allows.
  count_t const length = std::min<count_t>(room / 2, on_device ? 256'000'000 : 64'000'000) / sizeof(double);
  using Stream         = Kokkos::View<double*, typename Space::device_type>;
  Stream const x(Kokkos::view_alloc(space, "polyad::ceiling_x"), length),
      y(Kokkos::view_alloc(space, "polyad::ceiling_y"), length);
  ceilings.copy = static_cast<double>(2 * length * sizeof(double)) /
                  fastest(space, [&] { Kokkos::deep_copy(space, y, x); });

  auto const on_host =
      Kokkos::create_mirror_view(Kokkos::WithoutInitializing, Kokkos::SharedHostPinnedSpace(), x);
  ceilings.from_host = on_device ? static_cast<double>(length * sizeof(double)) /
                                       fastest(space, [&] { Kokkos::deep_copy(space, x, on_host); })
                                 : ceilings.copy / 2;
  return ceilings;
}

template <class Space>
Ceilings detail::usual_ceilings_of(int concurrency, int scalar_bytes) {
  return usual_ceilings(is_device_space<Space>, concurrency, scalar_bytes);
}

template Ceilings detail::usual_ceilings_of<Kokkos::DefaultExecutionSpace>(int, int);
template Ceilings measure_ceilings<float>(Kokkos::DefaultExecutionSpace const&);
template Ceilings measure_ceilings<double>(Kokkos::DefaultExecutionSpace const&);

}  // namespace polyad
