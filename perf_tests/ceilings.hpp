// SPDX-License-Identifier: BSD-3-Clause
// The ceilings of this machine, measured in the same run as everything else: copy, triad, a gather of random
// rows, an atomic add of rows (formats/row_traffic.hpp).
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <map>
#include <tuple>

#include "formats/row_traffic.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "timing.hpp"

namespace polyad::perf {

using namespace detail;  // benchmarks look inside

/// z = x + 3 y, two numbers at a time.
struct Triad {
  using Two = Pack<double, 2>;
  Kokkos::View<Two const*> x, y;
  Kokkos::View<Two*> z;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    Two const a = x(i);
    Two const b = y(i);
    z(i)        = {{a.element[0] + 3.0 * b.element[0], a.element[1] + 3.0 * b.element[1]}};
  }
};

/// Measures once and remembers.
template <class Space>
class Ceilings {
public:
  explicit Ceilings(Space const& space, int samples, bool dry_run)
      : m_space(space),
        m_samples(samples),
        m_accesses(size(dry_run, 26, 21)),
        m_stream_length(size(dry_run, 26, 24)) {}

  /// y = x by Kokkos::deep_copy, and the bytes read and written.
  Samples copy(double& bytes) const {
    Kokkos::View<Pack<double, 2>*> const x("polyad::perf_x", m_stream_length),
        y("polyad::perf_y", m_stream_length);
    bytes = static_cast<double>(m_stream_length) * 32;
    return measure(m_space, m_samples, [&] { Kokkos::deep_copy(m_space, y, x); });
  }
  Samples triad(double& bytes) const {
    Kokkos::View<Pack<double, 2>*> const x("polyad::perf_x", m_stream_length),
        y("polyad::perf_y", m_stream_length), z("polyad::perf_z", m_stream_length);
    bytes = static_cast<double>(m_stream_length) * 48;
    return measure(m_space, m_samples, [&] {
      Kokkos::parallel_for(
          "polyad::perf_triad",
          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, m_stream_length),
          Triad{x, y, z});
    });
  }

  /// Bytes per second, reads plus writes; measured once.
  double copy_rate() {
    double bytes = 0;
    if (m_copy_rate == 0) m_copy_rate = 1 / copy(bytes).median() * bytes;
    return m_copy_rate;
  }
  double triad_rate() {
    double bytes = 0;
    if (m_triad_rate == 0) m_triad_rate = 1 / triad(bytes).median() * bytes;
    return m_triad_rate;
  }

  [[nodiscard]] count_t accesses() const { return m_accesses; }

  /// Gathers `accesses()` random rows of R columns from a table.
  template <class Scalar>
  Samples gather(count_t table_rows, int rank) const {
    auto const table =
        make_factor_matrix<Scalar>(m_space, "polyad::perf_table", table_rows, static_cast<count_t>(rank));
    auto const rows = random_rows(table_rows, table_rows);
    auto const sums = make_factor_matrix<Scalar>(m_space, "polyad::perf_sums", ceil_div(m_accesses, 16),
                                                 static_cast<count_t>(rank));
    return measure(m_space, m_samples, [&] {
      for_each_column_block(rank, [&](auto block, ColumnBlocks blocks) {
        gather_rows<block()>(m_space, rows.data(), m_accesses, table, sums.data(), blocks);
      });
    });
  }

  /// Adds to `accesses()` random ones of `distinct` rows.
  template <class Scalar>
  Samples atomic_add(count_t table_rows, int rank, count_t distinct) const {
    auto const table =
        make_factor_matrix<Scalar>(m_space, "polyad::perf_table", table_rows, static_cast<count_t>(rank));
    auto const rows = random_rows(table_rows, distinct);
    return measure(m_space, m_samples, [&] {
      for_each_column_block(rank, [&](auto block, ColumnBlocks blocks) {
        add_rows<block()>(m_space, rows.data(), m_accesses, table, blocks);
      });
    });
  }

  /// Seconds for one gathered row of R columns out of a table of that many rows.
  template <class Scalar>
  double gather_seconds(count_t table_rows, int rank) {
    auto const [entry, is_new] =
        m_gather.try_emplace({table_rows, rank, static_cast<int>(sizeof(Scalar))}, 0.0);
    if (is_new) entry->second = gather<Scalar>(table_rows, rank).median() / static_cast<double>(m_accesses);
    return entry->second;
  }

private:
  static count_t size(bool dry_run, int device_log, int host_log) {
    return dry_run ? 1000 : count_t(1) << (is_device_space<Space> ? device_log : host_log);
  }

  [[nodiscard]] Kokkos::View<std::uint32_t*, Space> random_rows(count_t table_rows, count_t distinct) const {
    Kokkos::View<std::uint32_t*, Space> const rows("polyad::perf_rows", m_accesses);
    choose_rows(m_space, rows, table_rows, distinct);
    return rows;
  }

  Space m_space;
  int m_samples;
  count_t m_accesses;
  count_t m_stream_length;
  double m_copy_rate  = 0;
  double m_triad_rate = 0;
  std::map<std::tuple<count_t, int, int>, double> m_gather;
};

}  // namespace polyad::perf
