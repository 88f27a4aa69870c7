// SPDX-License-Identifier: BSD-3-Clause
// Checks the result of a benchmarked MTTKRP on sampled rows and columns against the unit tests' oracle,
// within the derived bound. Outside the timing.
//
// The nonzeros of the sampled rows make up a small tensor of their own whose modes hold only the rows that
// occur; the factors are the random start's (core/counter_rng.hpp), so the host knows every entry.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "polyad/core/counter_rng.hpp"
#include "polyad/testing/oracle.hpp"
#include "tensors.hpp"

namespace polyad::perf {

/// Rows (table x R) of a matrix in the order of a list.
template <class Matrix, class Rows>
struct PickRows {
  Matrix matrix, picked;
  Rows rows;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    for (count_t r = 0; r < matrix.extent(1); ++r) picked(i, r) = matrix(rows(i), r);
  }
};

template <class Matrix>
std::vector<double> pick_rows(Space const& space, Matrix const& matrix, std::vector<count_t> const& which) {
  using Scalar = typename Matrix::non_const_value_type;
  Kokkos::View<count_t*, Space> const rows("polyad::perf_picked", which.size());
  Kokkos::deep_copy(rows, Kokkos::View<count_t const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                              which.data(), which.size()));
  Matrix const picked =
      make_factor_matrix<Scalar>(space, "polyad::perf_picked", which.size(), matrix.extent(1));
  Kokkos::parallel_for("polyad::perf_pick_rows",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, which.size()),
                       PickRows<Matrix, decltype(rows)>{matrix, picked, rows});
  return to_host<Scalar>(space, picked);
}

/// The sampled part of one tensor and mode; made once and used for every format, rank and scalar.
class SampledRows {
public:
  static constexpr std::size_t max_rows     = 300;
  static constexpr std::size_t max_nonzeros = 30000;  // more only where a single row has more

  SampledRows(Space const& space, Tensor<double> const& tensor, int mode) : m_mode(mode) {
    auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), tensor.indices());
    auto const values  = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), tensor.values());
    space.fence("polyad::perf");
    std::vector<std::uint32_t> lengths(tensor.extents()[mode]);
    for (count_t p = 0; p < tensor.nnz(); ++p) ++lengths[indices(p, mode)];

    // The first, the last and the longest row, and random ones while they are not too long together.
    std::vector<int> position(lengths.size(), -1);
    std::size_t nonzeros = 0;
    auto const take      = [&](count_t row) {
      if (position[row] >= 0 || (nonzeros > 0 && nonzeros + lengths[row] > max_nonzeros)) return;
      position[row] = static_cast<int>(m_rows.size());
      m_rows.push_back(row);
      nonzeros += lengths[row];
    };
    take(static_cast<count_t>(std::max_element(lengths.begin(), lengths.end()) - lengths.begin()));
    take(0);
    take(lengths.size() - 1);
    for (count_t i = 0; i < max_rows && m_rows.size() < max_rows; ++i)
      take(counter_bits(7, 0, i, 0) % lengths.size());

    m_tensor.extents.resize(static_cast<std::size_t>(tensor.order()));
    m_occurring.resize(m_tensor.extents.size());
    std::vector<std::unordered_map<std::uint32_t, std::uint64_t>> known(m_tensor.extents.size());
    for (count_t p = 0; p < tensor.nnz(); ++p) {
      int const row = position[indices(p, mode)];
      if (row < 0) continue;
      for (int n = 0; n < tensor.order(); ++n) {
        auto const m = static_cast<std::size_t>(n);
        if (n == mode) {
          m_tensor.indices.push_back(static_cast<std::uint64_t>(row));
        } else {
          auto const [entry, is_new] = known[m].try_emplace(indices(p, n), m_occurring[m].size());
          if (is_new) m_occurring[m].push_back(indices(p, n));
          m_tensor.indices.push_back(entry->second);
        }
      }
      m_tensor.values.push_back(values(p));
    }
    for (std::size_t m = 0; m < m_occurring.size(); ++m) m_tensor.extents[m] = m_occurring[m].size();
    m_tensor.extents[static_cast<std::size_t>(mode)] = m_rows.size();
  }

  /// Where V (of the factors that fill_random makes for `seed`) leaves the bound; empty when nowhere.
  template <class Scalar>
  [[nodiscard]] std::string violation(Space const& space, FactorMatrix<Scalar, Space> const& V,
                                      std::uint64_t seed) const {
    std::size_t const rank = V.extent(1);
    // Whole rows if they are cheap, else the first, the last and a few columns between.
    std::size_t const budget  = 4000000 / std::max<std::size_t>(1, m_tensor.nnz());
    std::size_t const columns = std::clamp<std::size_t>(budget, 2, 16);
    std::vector<std::size_t> sampled;
    for (std::size_t c = 0; c < std::min(columns, rank); ++c)
      sampled.push_back(rank <= columns ? c : c * (rank - 1) / (columns - 1));

    testing::HostFactors factors;
    for (std::size_t m = 0; m < m_occurring.size(); ++m) {
      testing::HostMatrix matrix(m_tensor.extents[m], sampled.size());
      for (std::size_t i = 0; i < m_occurring[m].size(); ++i)
        for (std::size_t c = 0; c < sampled.size(); ++c)
          matrix(i, c) = static_cast<double>(
              static_cast<Scalar>(counter_uniform(seed, m, m_occurring[m][i], sampled[c])));
      factors.push_back(std::move(matrix));
    }
    testing::HostTensor as_stored = m_tensor;
    for (double& value : as_stored.values) value = static_cast<double>(static_cast<Scalar>(value));
    auto const expected = testing::oracle_mttkrp(as_stored, factors, static_cast<std::size_t>(m_mode));
    auto const rows     = pick_rows(space, V, m_rows);
    std::vector<double> actual;
    for (std::size_t i = 0; i < m_rows.size(); ++i)
      for (auto const c : sampled) actual.push_back(rows[i * rank + c]);
    return testing::violation<Scalar>(expected, actual, m_occurring.size());
  }

private:
  int m_mode;
  std::vector<count_t> m_rows;
  std::vector<std::vector<std::uint64_t>> m_occurring;  // per mode: the original rows of the small tensor's
  testing::HostTensor m_tensor;
};

}  // namespace polyad::perf
