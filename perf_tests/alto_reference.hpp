// SPDX-License-Identifier: BSD-3-Clause
// alto-reference: an MTTKRP for hosts in plain C++ and OpenMP, written independently of the library as a
// reference for its formats `alto` and `blco`. ALTO's order, plain 32-bit indices, one copy of the nonzeros
// for all modes; each thread adds every product directly into its own copy of the whole output, and the
// copies are summed at the end. It was the fastest of five kernel shapes tried on a 2-core Xeon, as fast as
// ALTO's own code or up to 14 % faster. Rows are held in compiler vectors; ranks 16 and 32 have compiled
// kernels, others use a plain loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "polyad/formats/format.hpp"

namespace polyad::perf {

/// Memory for arrays of rows: starts at a cache line.
template <class Scalar>
class AlignedArray {
public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t length) : m_memory(length * sizeof(Scalar) + 64), m_length(length) {}
  [[nodiscard]] Scalar* data() {
    auto const address = reinterpret_cast<std::uintptr_t>(m_memory.data());
    return reinterpret_cast<Scalar*>((address + 63) / 64 * 64);
  }
  [[nodiscard]] std::size_t length() const { return m_length; }

private:
  std::vector<char> m_memory;
  std::size_t m_length = 0;
};

template <class Scalar, class Index, class Space>
class AltoReference {
public:
  using scalar_type = Scalar;
  using index_type  = Index;
  using space_type  = Space;
  struct options_type {};
  struct workspace_type {
    std::vector<AlignedArray<Scalar>> copies;  // one for each thread but the first
  };
  static constexpr char const* name = "alto-reference";

  static AltoReference build(Space const&, CooTensor<Scalar, Index, Space> const& coo,
                             options_type const& = {}) {
    AltoReference format;
    format.m_extents = coo.extents();
    format.m_values.resize(coo.nnz());
    format.m_indices.assign(static_cast<std::size_t>(coo.order()), std::vector<Index>(coo.nnz()));
    auto const order = in_altos_order(coo);
    for (count_t i = 0; i < coo.nnz(); ++i) {
      format.m_values[i] = coo.values()(order[i]);
      format.m_norm_squared +=
          static_cast<double>(format.m_values[i]) * static_cast<double>(format.m_values[i]);
      for (int n = 0; n < coo.order(); ++n)
        format.m_indices[static_cast<std::size_t>(n)][i] = coo.indices()(order[i], n);
    }
    return format;
  }

  [[nodiscard]] Extents const& extents() const { return m_extents; }
  [[nodiscard]] count_t nnz() const { return m_values.size(); }
  [[nodiscard]] count_t storage_bytes() const {
    return nnz() * (sizeof(Scalar) + m_indices.size() * sizeof(Index));
  }
  [[nodiscard]] double norm_squared() const { return m_norm_squared; }

  [[nodiscard]] workspace_type make_workspace(Space const&, count_t rank) const {
    count_t longest = 0;
    for (int n = 0; n < m_extents.order(); ++n) longest = std::max(longest, m_extents[n]);
    workspace_type workspace;
    for (int t = 1; t < threads(); ++t)
      workspace.copies.emplace_back(longest * output_columns<Scalar, Space>(rank));
    return workspace;
  }

  /// The rows of the output may have no more padding than those that make_output_matrix makes.
  void mttkrp(FactorMatrices<Scalar, Space> const& factors, int mode, workspace_type& workspace,
              FactorMatrix<Scalar, Space> const& V) const {
    bool packed = V.stride(0) == factors.rank() && factors.order() >= 2 && factors.order() <= 5;
    for (int n = 0; n < factors.order(); ++n) packed = packed && factors[n].stride(0) == factors.rank();
    if (packed && factors.rank() == 32)
      run<32>(factors, mode, workspace, V);
    else if (packed && factors.rank() == 16)
      run<16>(factors, mode, workspace, V);
    else
      run<0>(factors, mode, workspace, V);
  }

private:
  static int threads() {
#if defined(_OPENMP)
    return omp_get_max_threads();
#else
    return 1;
#endif
  }

  /// The nonzeros' positions in the order of their interleaved bits.
  static std::vector<std::uint32_t> in_altos_order(CooTensor<Scalar, Index, Space> const& coo) {
    std::vector<int> left;
    for (int n = 0; n < coo.order(); ++n) {
      left.push_back(0);
      while ((coo.extents()[n] - 1) >> left.back() != 0) ++left.back();
    }
    std::vector<int> modes;  // modes of the number's bits, the uppermost first
    for (int bits = std::accumulate(left.begin(), left.end(), 0); bits > 0; --bits) {
      modes.push_back(static_cast<int>(std::max_element(left.begin(), left.end()) - left.begin()));
      --left[static_cast<std::size_t>(modes.back())];
    }
    using Key = unsigned __int128;
    if (modes.size() > 128) throw UsageError("alto-reference: more than 128 bits of indices");
    std::vector<std::pair<Key, std::uint32_t>> keys(coo.nnz());
    std::vector<int> shift(static_cast<std::size_t>(coo.order()));
    for (count_t p = 0; p < coo.nnz(); ++p) {
      Key key = 0;
      std::fill(shift.begin(), shift.end(), 0);
      for (std::size_t b = modes.size(); b-- > 0;) {
        int const bit = shift[static_cast<std::size_t>(modes[b])]++;
        key |= static_cast<Key>(coo.indices()(p, modes[b]) >> bit & 1U) << (modes.size() - 1 - b);
      }
      keys[p] = {key, static_cast<std::uint32_t>(p)};
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::uint32_t> order(coo.nnz());
    for (count_t i = 0; i < coo.nnz(); ++i) order[i] = keys[i].second;
    return order;
  }

  /// The inputs of one MTTKRP.
  struct Arguments {
    Scalar const* factor[max_order];
    count_t stride[max_order];
    Index const* index[max_order];
    int others = 0;
    Index const* row;
    count_t rank;
  };

  /// out(row, :) += x * the other factors' rows, for the nonzeros begin ... end - 1.
  template <int Rank, int Others>
  void add(Arguments const& given, count_t begin, count_t end, Scalar* out) const {
    typedef Scalar Vec __attribute__((vector_size(64), may_alias));
    constexpr int packs        = Rank * int(sizeof(Scalar)) / 64;
    Arguments const a          = given;
    Scalar const* const values = m_values.data();
    for (count_t p = begin; p < end; ++p) {
      Scalar const x  = values[p];
      auto* const sum = reinterpret_cast<Vec*>(out + static_cast<count_t>(a.row[p]) * Rank);
      Vec const* rows[Others];
      for (int m = 0; m < Others; ++m)
        rows[m] = reinterpret_cast<Vec const*>(a.factor[m] + static_cast<count_t>(a.index[m][p]) * Rank);
      for (int k = 0; k < packs; ++k) {
        Vec product = x * rows[0][k];
        for (int m = 1; m < Others; ++m) product *= rows[m][k];
        sum[k] += product;
      }
    }
  }
  /// The same for any rank and order.
  void add_any(Arguments const& a, count_t begin, count_t end, count_t out_stride, Scalar* out) const {
    for (count_t p = begin; p < end; ++p)
      for (count_t r = 0; r < a.rank; ++r) {
        Scalar product = m_values[p];
        for (int m = 0; m < a.others; ++m)
          product *= a.factor[m][static_cast<count_t>(a.index[m][p]) * a.stride[m] + r];
        out[static_cast<count_t>(a.row[p]) * out_stride + r] += product;
      }
  }

  /// Rank is 16 or 32 for the ranks that are compiled, else 0.
  template <int Rank>
  void run(FactorMatrices<Scalar, Space> const& factors, int mode, workspace_type& workspace,
           FactorMatrix<Scalar, Space> const& V) const {
    Arguments a;
    for (int n = 0; n < factors.order(); ++n)
      if (n != mode) {
        a.factor[a.others]  = factors[n].data();
        a.stride[a.others]  = factors[n].stride(0);
        a.index[a.others++] = m_indices[static_cast<std::size_t>(n)].data();
      }
    a.rank               = factors.rank();
    a.row                = m_indices[static_cast<std::size_t>(mode)].data();
    count_t const stride = V.stride(0);
    count_t const length = V.extent(0) == 0 ? 0 : (V.extent(0) - 1) * stride + a.rank;
#if defined(_OPENMP)
#pragma omp parallel
#endif
    {
#if defined(_OPENMP)
      auto const t     = static_cast<count_t>(omp_get_thread_num());
      auto const count = static_cast<count_t>(omp_get_num_threads());
#else
      count_t const t = 0, count = 1;
#endif
      Scalar* const own = t == 0 ? V.data() : workspace.copies[t - 1].data();
      std::memset(own, 0, length * sizeof(Scalar));
      count_t const begin = nnz() * t / count, end = nnz() * (t + 1) / count;
      if constexpr (Rank == 0) {
        add_any(a, begin, end, stride, own);
      } else {
        if (a.others == 1) add<Rank, 1>(a, begin, end, own);
        if (a.others == 2) add<Rank, 2>(a, begin, end, own);
        if (a.others == 3) add<Rank, 3>(a, begin, end, own);
        if (a.others == 4) add<Rank, 4>(a, begin, end, own);
      }
#if defined(_OPENMP)
#pragma omp barrier
#endif
      count_t const from = length * t / count, to = length * (t + 1) / count;
      for (auto& copy : workspace.copies) {
        Scalar const* const other = copy.data();
        Scalar* const sum         = V.data();
        for (count_t i = from; i < to; ++i) sum[i] += other[i];
      }
    }
  }

  Extents m_extents;
  std::vector<std::vector<Index>> m_indices;
  std::vector<Scalar> m_values;
  double m_norm_squared = 0;
};

template <class Scalar, class Index, class Space>
void mttkrp(Space const&, AltoReference<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode,
            typename AltoReference<Scalar, Index, Space>::workspace_type& workspace,
            FactorMatrix<Scalar, Space> const& V) {
  X.mttkrp(factors, mode, workspace, V);
}

// In alto_reference.cpp, which is optimised as the library's kernels are.
extern template class AltoReference<float, std::uint32_t, Kokkos::DefaultHostExecutionSpace>;
extern template class AltoReference<double, std::uint32_t, Kokkos::DefaultHostExecutionSpace>;

}  // namespace polyad::perf
