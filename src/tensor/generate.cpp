// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/tensor/generate.hpp"

#include <algorithm>
#include <numeric>

#include "core/portable_math.hpp"
#include "polyad/core/counter_rng.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/tensor/sum_duplicates.hpp"

namespace polyad {

using namespace detail;

namespace {

/// Row numbers 0 ... rows - 1. The k-th most frequent row has a share ~ (k + 1)^-skew, by inversion of the
/// continuous law on [1, rows + 1). The frequent rows are scattered over the mode.
class PowerLaw {
public:
  PowerLaw() = default;
  PowerLaw(count_t rows, double skew) : m_rows(rows), m_skew(skew), m_step(step_for(rows)) {
    double const log = portable_log2(static_cast<double>(rows) + 1);
    if (skew == 1) {
      m_scale = log;
    } else if (skew != 0) {
      m_scale = portable_exp2((1 - skew) * log) - 1;
      m_power = 1 / (1 - skew);
    }
  }

  KOKKOS_FUNCTION count_t operator()(double u) const {
    if (m_skew == 0) return below(u * static_cast<double>(m_rows));
    double const power = m_skew == 1 ? u * m_scale : m_power * portable_log2(Kokkos::fma(m_scale, u, 1.0));
    count_t const k    = below(portable_exp2(Kokkos::fma(power, 1.0, 0.0)) - 1);
    return static_cast<count_t>((k * m_step + m_rows / 3) % m_rows);
  }

private:
  [[nodiscard]] KOKKOS_FUNCTION count_t below(double x) const {
    auto const k = x > 0 ? static_cast<count_t>(x) : 0;
    return k < m_rows ? k : m_rows - 1;
  }
  /// A step near the golden section of the rows and prime to their number: k * step mod rows is a bijection.
  /// Kept below 2^31, so that the product fits for any mode of fewer than 2^33 rows.
  static count_t step_for(count_t rows) {
    auto step = static_cast<count_t>(static_cast<double>(rows) * 0.38196601125010515);
    step      = step > 0x7FFFFFFF ? 0x7FFFFFFF : step > 0 ? step : 1;
    while (std::gcd(step, rows) != 1) --step;
    return step;
  }

  count_t m_rows = 1;
  double m_skew  = 0;
  count_t m_step = 1;
  double m_scale = 0;
  double m_power = 0;
};

/// A scan over the groups: each writes its run of nonzeros after those of earlier groups.
template <class Tensor>
struct GenerateRuns {
  typename Tensor::indices_type indices;
  typename Tensor::values_type values;
  Kokkos::Array<PowerLaw, max_order> laws;
  int order;
  int run_mode;
  count_t fiber_run;
  std::uint64_t seed;

  /// Uniform in 1 ... 2 fiber_run - 1.
  [[nodiscard]] KOKKOS_FUNCTION count_t run_length(count_t group) const {
    return 1 + (fiber_run > 1 ? counter_bits(seed, max_order + 1, group, 0) % (2 * fiber_run - 1) : 0);
  }
  KOKKOS_FUNCTION void operator()(count_t group, count_t& position, bool final) const {
    count_t const length = run_length(group);
    for (count_t j = 0; final && j < length; ++j) {
      count_t const p = position + j;
      if (p >= values.extent(0)) break;
      for (int n = 0; n < order; ++n) {
        double const u = counter_uniform(seed, n, group, n == run_mode ? j : 0);
        indices(p, n)  = static_cast<typename Tensor::index_type>(laws[n](u));
      }
      values(p) = static_cast<typename Tensor::scalar_type>(1 - counter_uniform(seed, max_order, group, j));
    }
    position += length;
  }
};

template <class Scalar, class Space>
struct FillPlantedFactor {
  FactorMatrix<Scalar, Space> matrix;
  count_t block;
  std::uint64_t seed;
  std::uint64_t mode;

  /// The first row of component r.
  KOKKOS_FUNCTION static count_t first_row(count_t rows, count_t rank, count_t r) { return rows / rank * r; }

  KOKKOS_FUNCTION void operator()(count_t r) const {
    count_t const first = first_row(matrix.extent(0), matrix.extent(1), r);
    for (count_t i = first; i < first + block; ++i)
      matrix(i, r) = static_cast<Scalar>(0.5 + counter_uniform(seed, mode, i, r));
  }
};

template <class Tensor>
struct GeneratePlanted {
  using Space = typename Tensor::space_type;
  typename Tensor::indices_type indices;
  typename Tensor::values_type values;
  Kokkos::Array<FactorMatrix<typename Tensor::scalar_type, Space>, max_order> factors;
  Extents extents;
  count_t rank;
  count_t block;

  KOKKOS_FUNCTION void operator()(count_t p) const {
    // Nonzero p belongs to component p mod R, which mixes the components. The quotient counts through the
    // component's block^N entries.
    count_t const r = p % rank;
    count_t entry   = p / rank;
    double value    = 1;
    for (int n = 0; n < extents.order(); ++n) {
      count_t const row =
          FillPlantedFactor<typename Tensor::scalar_type, Space>::first_row(extents[n], rank, r) +
          entry % block;
      indices(p, n) = static_cast<typename Tensor::index_type>(row);
      value *= factors[n](row, r);
      entry /= block;
    }
    values(p) = static_cast<typename Tensor::scalar_type>(value);
  }
};

}  // namespace

template <class Scalar, class Index, class Space>
CooTensor<Scalar, Index, Space> power_law_tensor(Space const& space, Extents const& extents, count_t nnz,
                                                 PowerLawOptions const& options) {
  using Tensor = CooTensor<Scalar, Index, Space>;
  int longest  = 0;
  for (int n = 0; n < extents.order(); ++n) {
    POLYAD_EXPECTS(nnz == 0 || extents[n] > 0, "mode ", n, " has no rows for ", nnz, " nonzeros");
    POLYAD_EXPECTS(options.skew[n] >= 0, "the skew of mode ", n, " is negative");
    if (extents[n] > extents[longest]) longest = n;
  }
  POLYAD_EXPECTS(options.fiber_run >= 1, "a run has at least one nonzero");
  GenerateRuns<Tensor> kernel{{}, {}, {}, extents.order(), longest, options.fiber_run, options.seed};
  if (options.run_mode >= 0) {
    expect_mode(options.run_mode, extents);
    kernel.run_mode = options.run_mode;
  }
  if (nnz == 0) return make_coo_tensor<Scalar, Index>(space, extents, 0);
  for (int n = 0; n < extents.order(); ++n) kernel.laws[n] = PowerLaw(extents[n], options.skew[n]);

  // Places that are drawn twice are lost, so the next draw takes more. After ten draws, the shape probably
  // has no room for more.
  count_t wanted = nnz;
  for (int draw = 1;; ++draw) {
    auto const drawn = make_coo_tensor<Scalar, Index>(space, extents, wanted);
    kernel.indices   = drawn.indices();
    kernel.values    = drawn.values();
    // Enough groups to fill all places even if their runs are short by chance.
    count_t const groups = ceil_div(wanted, options.fiber_run) +
                           (options.fiber_run > 1 ? wanted / options.fiber_run / 16 + 64 : 0);
    count_t filled       = 0;
    Kokkos::parallel_scan("polyad::generate_runs",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, groups), kernel,
                          filled);
    space.fence("polyad::power_law_tensor");
    POLYAD_EXPECTS(filled >= wanted, "the runs fill ", filled, " of ", wanted, " places");
    auto const distinct = sum_duplicates(space, drawn).tensor;
    if (draw == 10 || static_cast<double>(distinct.nnz()) >= 0.99 * static_cast<double>(nnz)) return distinct;
    // If most draws fall on few cells, more draws would only take memory.
    count_t const more = static_cast<count_t>(1.005 * static_cast<double>(wanted) * static_cast<double>(nnz) /
                                              static_cast<double>(distinct.nnz()));
    if (wanted >= 8 * nnz) return distinct;
    wanted = std::min(more, 8 * nnz);
  }
}

template <class Scalar, class Index, class Space>
PlantedTensor<Scalar, Index, Space> planted_tensor(Space const& space, Extents const& extents, count_t rank,
                                                   count_t block, std::uint64_t seed) {
  POLYAD_EXPECTS(rank >= 1 && block >= 1, "rank ", rank, " and block ", block, " must be at least 1");
  count_t nnz = rank;
  for (int n = 0; n < extents.order(); ++n) {
    POLYAD_EXPECTS(extents[n] / rank >= block, rank, " blocks of ", block, " rows do not fit mode ", n,
                   " of ", extents[n], " rows");
    nnz = checked_product("the planted tensor's nonzeros", nnz, block);
  }
  using Tensor = CooTensor<Scalar, Index, Space>;
  PlantedTensor<Scalar, Index, Space> planted{make_coo_tensor<Scalar, Index>(space, extents, nnz),
                                              {std::vector<double>(rank, 1.0), {space, extents, rank}}};
  GeneratePlanted<Tensor> kernel{planted.tensor.indices(), planted.tensor.values(), {}, extents, rank, block};
  for (int n = 0; n < extents.order(); ++n) {
    auto const& factor = planted.model.factors[n];
    kernel.factors[n]  = factor;
    Kokkos::parallel_for(
        "polyad::planted_factor", Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, rank),
        FillPlantedFactor<Scalar, Space>{factor, block, seed, static_cast<std::uint64_t>(n)});
  }
  Kokkos::parallel_for("polyad::planted_tensor",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, nnz), kernel);
  return planted;
}

#define POLYAD_POWER_LAW_TENSOR(Scalar, Index)                                                            \
  template CooTensor<Scalar, Index, CompiledSpace> power_law_tensor(CompiledSpace const&, Extents const&, \
                                                                    count_t, PowerLawOptions const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_POWER_LAW_TENSOR);
#define POLYAD_PLANTED_TENSOR(Scalar, Index)                                                                \
  template PlantedTensor<Scalar, Index, CompiledSpace> planted_tensor(CompiledSpace const&, Extents const&, \
                                                                      count_t, count_t, std::uint64_t)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_PLANTED_TENSOR);

}  // namespace polyad
