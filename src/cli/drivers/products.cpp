// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/products.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "cli/run/interrupt.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/empty_slices.hpp"
#include "polyad/formats/fcoo/fcoo.hpp"
#include "polyad/formats/fcoo/semi_sparse.hpp"
#include "polyad/tucker/hooi.hpp"

namespace polyad::cli {

namespace {

/// Calls f(tensor on the device) for the precision and the coordinates' type.
template <class F>
auto with_device_tensor(std::string const& precision, io::CoordinateList&& list, Report& report, F&& f) {
  return with_index_type(list, [&](auto index) {
    using Index        = typename decltype(index)::type;
    auto const as_type = [&](auto scalar) {
      Space const space;
      auto const coo             = to_device<decltype(scalar), Index>(space, std::move(list), *report.input);
      report.input->empty_slices = count_empty_slices(space, coo);
      stop_if_interrupted("reading the tensor");
      return f(space, coo);
    };
    return precision == "f32" ? as_type(float()) : as_type(double());
  });
}

template <class Scalar>
FactorMatrix<Scalar, Space> to_device(Space const& space, io::HostArray const& array) {
  auto const matrix = make_factor_matrix<Scalar>(space, "polyad::matrix", array.shape[0], array.shape[1]);
  from_host<Scalar>(space, array.elements, matrix);
  return matrix;
}

template <class Scalar>
io::HostArray to_array(Space const& space, FactorMatrix<Scalar, Space> const& matrix) {
  return {{matrix.extent(0), matrix.extent(1)}, to_host<Scalar>(space, matrix)};
}

/// The format, timed and reported.
template <class Scalar, class Index>
FCoo<Scalar, Index, Space> build_format(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                        Report& report) {
  using F = FCoo<Scalar, Index, Space>;
  Kokkos::Timer const clock;
  F X = F::build(space, coo, {});
  space.fence("polyad::build");
  report.format = FormatReport{F::name, X.storage_bytes(), clock.seconds()};
  stop_if_interrupted("building the format");
  return X;
}

/// The coordinates and values of a tensor on the host.
template <class Scalar, class Index>
io::CoordinateList to_list(Space const& space, CooTensor<Scalar, Index, Space> const& coo) {
  io::CoordinateList list;
  for (int n = 0; n < coo.order(); ++n) list.extents.push_back(coo.extents()[n]);
  auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), coo.indices());
  auto const values  = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), coo.values());
  space.fence("polyad::to_list");
  io::UninitializedVector<Index> copied(indices.size());
  std::copy_n(indices.data(), indices.size(), copied.data());
  list.indices = std::move(copied);
  list.values.resize(values.size());
  std::transform(values.data(), values.data() + values.size(), list.values.data(),
                 [](Scalar value) { return static_cast<double>(value); });
  return list;
}

/// G (R_0 x ... x R_{N-1}) of its unfolding along the last mode (R_{N-1} x the others).
io::HostArray fold_core(io::HostArray const& unfolded, std::vector<std::uint64_t> const& ranks) {
  std::uint64_t const last   = unfolded.shape[0];
  std::uint64_t const others = unfolded.shape[1];
  io::HostArray core{ranks, std::vector<double>(unfolded.elements.size())};
  for (std::uint64_t r = 0; r < last; ++r)
    for (std::uint64_t c = 0; c < others; ++c)
      core.elements[c * last + r] = unfolded.elements[r * others + c];
  return core;
}

}  // namespace

io::CoordinateList multiply(TtmOptions const& options, io::CoordinateList&& tensor,
                            io::HostArray const& matrix, Report& report) {
  return with_device_tensor(
      options.precision, std::move(tensor), report, [&](Space const& space, auto const& coo) {
        using Scalar = typename std::remove_cvref_t<decltype(coo)>::scalar_type;
        auto const Y = spttm(space, coo, to_device<Scalar>(space, matrix), options.mode - 1);
        return to_list(space, to_coo(space, Y));
      });
}

io::HostArray multiply(TtmcOptions const& options, io::CoordinateList&& tensor,
                       std::map<int, io::HostArray> const& matrices, Report& report) {
  return with_device_tensor(
      options.precision, std::move(tensor), report, [&](Space const& space, auto const& coo) {
        using Scalar   = typename std::remove_cvref_t<decltype(coo)>::scalar_type;
        int const mode = options.mode - 1;
        std::vector<FactorMatrix<Scalar, Space>> U(static_cast<std::size_t>(coo.order()));
        for (auto const& [n, matrix] : matrices)
          if (n != mode && n < coo.order()) U[static_cast<std::size_t>(n)] = to_device<Scalar>(space, matrix);
        auto const Y =
            make_spttmc_output(space, coo.extents(), U, mode);  // refused before anything is sorted
        auto const X = build_format(space, coo, report);
        spttmc(space, X, U, mode, Y);
        return to_array(space, Y);
      });
}

std::map<std::string, io::HostArray> decompose(
    TuckerOptions const& options, io::CoordinateList&& tensor, Report& report,
    std::function<bool(IterationReport const&)> const& on_iteration) {
  return with_device_tensor(
      options.precision, std::move(tensor), report, [&](Space const& space, auto const& coo) {
        using Scalar = typename std::remove_cvref_t<decltype(coo)>::scalar_type;
        polyad::TuckerOptions hooi;
        hooi.ranks          = options.ranks;
        hooi.max_iterations = options.max_iterations;
        hooi.tolerance      = options.tolerance;
        hooi.time_limit_s   = options.time_limit_s;
        hooi.seed           = options.seed;
        auto const start  = options.init == "hosvd" ? hosvd_tucker_start(space, coo, hooi)
                                                    : random_tucker_start<Scalar>(space, coo.extents(), hooi);
        auto const X      = build_format(space, coo, report);
        auto const result = tucker_hooi(space, X, hooi, start, [&](TuckerIteration const& it) {
          return on_iteration({it.iteration, it.fit, it.delta, it.seconds, {}});
        });
        report.result     = TuckerReport{result.fit, result.converged, result.reason, {}};
        std::map<std::string, io::HostArray> arrays;
        for (std::size_t n = 0; n < result.factors.size(); ++n)
          arrays["factor_" + std::to_string(n)] = to_array(space, result.factors[n]);
        arrays["core"] = fold_core(to_array(space, result.core), options.ranks);
        return arrays;
      });
}

}  // namespace polyad::cli
