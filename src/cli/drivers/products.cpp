// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/drivers/drivers.hpp"
#include "cli/memory/memory_of_ranks.hpp"
#include "cli/run/communicator.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "cli/tensors/compact_list.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/empty_slices.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/core/memory_plan.hpp"
#include "polyad/cp/project.hpp"
#include "polyad/distributed/distribute.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/formats/semi_sparse.hpp"
#include "polyad/io/saved_models.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/ktensor.hpp"
#include "polyad/tucker/tucker.hpp"

namespace polyad::cli {

namespace {

/// The tensor on the device. Frees the list.
template <class Scalar, class Index>
CooTensor<Scalar, Index, Space> load(Space const& space, io::CoordinateList&& list, Report& report) {
  auto coo                   = to_device<Scalar, Index>(space, std::move(list), *report.input);
  report.input->empty_slices = count_empty_slices(space, coo);
  stop_if_interrupted("reading the tensor");
  return coo;
}

/// Calls f(space, tensor on the device) for the precision and the coordinates' type.
template <class F>
auto with_device_tensor(std::string const& precision, io::CoordinateList&& list, Report& report, F&& f) {
  return with_types(precision, needs_wide_index(list), [&](auto scalar, auto index) {
    Space const space;
    return f(space, load<decltype(scalar), decltype(index)>(space, std::move(list), report));
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

/// A format whose candidates are not reported: it was chosen for what it offers.
FormatFacts without_reasons(FormatFacts const& facts) {
  return {.chosen = facts.chosen, .storage_bytes = facts.storage_bytes, .build_s = facts.build_s};
}

/// A format with SpTTMc, reported.
template <class Scalar, class Index>
AnyFormat<Scalar, Space> build_format(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                      Report& report) {
  auto X = AnyFormat<Scalar, Space>::build(
      space, coo, {.needs = {Capability::ttmc}, .duplicates = Duplicates::keep});  // they were summed
  report.format = without_reasons(TensorByRank<Scalar, Space>(space, X).format_facts());
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

/// For messages.
std::string core_text(TuckerOptions const& options) {
  std::string core;
  for (auto const rank : options.ranks) core += (core.empty() ? "" : " x ") + std::to_string(rank);
  return " with a core of " + core;
}

/// The tensor of a decomposition, and the factors to start from; none for random ones on several ranks.
template <class Scalar>
struct Prepared {
  TensorByRank<Scalar, Space> tensor;
  TuckerStart<Scalar, Space> start = {};
};

/// On one rank, which has all of the list. Reports the memory that the run will need.
/// \throws MemoryError if it is not free
template <class Scalar>
Prepared<Scalar> prepare_whole(TuckerOptions const& options, io::CoordinateList&& list, Report& report) {
  expect_host_holds(list, sizeof(Scalar));
  return with_index_type(needs_wide_index(list), [&](auto index) -> Prepared<Scalar> {
    using Index = typename decltype(index)::type;
    Space const space;
    bool const is_hosvd = options.init == "hosvd";
    MemoryPlan plan;
    plan.pass("the tensor while it is loaded", loading_bytes(list, sizeof(Scalar), false));
    auto coordinates = plan.hold("the tensor's coordinates", coordinate_bytes(list, sizeof(Scalar)));
    plan_tucker<Scalar, Index>(plan, space, Extents(std::span<count_t const>(list.extents)), list.nnz(),
                               options, is_hosvd, std::move(coordinates));
    report_expected_memory(report, plan.peak());
    expect_fits_all(plan, available_memory(space) + listed_bytes(list, false), "a Tucker decomposition",
                    core_text(options));
    auto const coo = load<Scalar, Index>(space, std::move(list), report);
    auto start     = is_hosvd ? hosvd_tucker_start(space, coo, options)
                              : random_tucker_start<Scalar>(space, coo.extents(), options);
    return {{space, build_format(space, coo, report)}, std::move(start)};
  });
}

/// On several ranks, of which this one has a part. Reports the memory that the run of each rank will need.
/// \throws MemoryError on all ranks if one of them has too little
template <class Scalar>
Prepared<Scalar> prepare_part(Communicator<Space> const& world, TuckerOptions const& options,
                              io::CoordinateList&& part, Report& report) {
  report.input->empty_slices = empty_slices_on_ranks(part);
  return with_index_type(needs_wide_index_on_ranks(part), [&](auto index) -> Prepared<Scalar> {
    using Index = typename decltype(index)::type;
    Extents const extents{std::span<count_t const>(part.extents)};
    auto const read       = part_that_was_read(part);
    auto const taken      = take_indices<Index>(part);
    auto const values     = std::exchange(part.values, {});
    auto format           = format_options(options);
    format.hooks.progress = stop_if_interrupted;
    std::span<Index const> const indices(taken);
    auto const owned = owned_rows(world, extents, indices);
    MemoryPlan plan;
    auto const parts   = plan_part(plan, read, sizeof(Index));
    count_t const held = plan.held();
    plan_tucker<Scalar, Index>(plan, world.space(), extents, owned, options);
    expect_fits_all(plan, available_memory(world.space()) + held, "the run", core_text(options));
    report_expected_memory(report, plan.peak());
    auto const X = distribute_rows<Scalar>(world, extents, indices, std::span<double const>(values), format,
                                           options.ranks);
    report.input->nnz = X.nnz();
    report.input->duplicates += X.duplicates();
    report.format = without_reasons(X.format_facts());
    return {X};
  });
}

template <class Scalar, class Index>
AnyFormat<Scalar, Space> format_of_one_product(Space const& space, io::CoordinateList&& tensor,
                                               io::HostKtensor const& model, Report& report) {
  auto const coo = to_device<Scalar, Index>(space, std::move(tensor), *report.input);
  // A single product rarely justifies a sorted copy.
  auto const X  = AnyFormat<Scalar, Space>::build(space, coo,
                                                  {.rank       = model.rank(),
                                                   .iterations = 1.0 / coo.order(),
                                                   .may_stream = false,
                                                   .duplicates = Duplicates::keep});
  report.format = FormatFacts{.chosen = X.chosen(), .storage_bytes = X.storage_bytes()};
  return X;
}

/// The model's factors on the device. That of `mode` is not set.
template <class Scalar>
FactorMatrices<Scalar, Space> factors_but(Space const& space, Extents const& extents,
                                          io::HostKtensor const& model, int mode) {
  FactorMatrices<Scalar, Space> factors(space, extents, model.rank());
  for (int n = 0; n < extents.order(); ++n)
    if (n != mode) from_host<Scalar>(space, model.factors[n], factors[n]);
  return factors;
}

template <class Scalar, class Index>
ProjectedRows project_as(io::CoordinateList&& tensor, io::HostKtensor const& model, int mode,
                         Report& report) {
  Space const space;
  auto const X = format_of_one_product<Scalar, Index>(space, std::move(tensor), model, report);
  Ktensor<Scalar, Space> const on_device{
      model.weights, factors_but<Scalar>(space, X.extents(), model, mode), {}, model.constraints};
  auto const found = project(space, on_device, X, mode);
  return {to_host<Scalar>(space, found.rows), found.fit, found.objective};
}

}  // namespace

io::CoordinateList multiply(TtmOptions const& options, io::CoordinateList&& tensor,
                            io::HostArray const& matrix, Report& report) {
  return with_device_tensor(
      options.precision, std::move(tensor), report, [&](Space const& space, auto const& coo) {
        using Scalar = typename std::remove_cvref_t<decltype(coo)>::scalar_type;
        auto const Y = spttm(space, coo, to_device<Scalar>(space, matrix), options.mode);
        return to_list(space, to_coo(space, Y));
      });
}

io::HostArray multiply(TtmcOptions const& options, io::CoordinateList&& tensor,
                       std::map<int, io::HostArray> const& matrices, Report& report) {
  return with_device_tensor(
      options.precision, std::move(tensor), report, [&](Space const& space, auto const& coo) {
        using Scalar   = typename std::remove_cvref_t<decltype(coo)>::scalar_type;
        int const mode = options.mode;
        std::vector<FactorMatrix<Scalar, Space>> U(coo.order());
        for (auto const& [n, matrix] : matrices)
          if (n != mode && n < coo.order()) U[n] = to_device<Scalar>(space, matrix);
        auto const Y =
            make_spttmc_output(space, coo.extents(), U, mode);  // refused before anything is sorted
        auto const X = build_format(space, coo, report);
        spttmc(space, X, U, mode, Y);
        return to_array(space, Y);
      });
}

void decompose(TuckerOptions const& given, io::CoordinateList&& list, Report& report,
               OnIteration const& on_iteration) {
  auto const world      = make_communicator(false, report);
  TuckerOptions options = given;
  options.rows          = compact_list(list, *report.input);
  auto const callback   = [&](TuckerIteration const& it) {
    return on_iteration({it.iteration, it.fit, it.delta, it.seconds, {}});
  };
  auto const decompose_as = [&](auto scalar) {
    using Scalar  = decltype(scalar);
    auto prepared = world.size() == 1 ? prepare_whole<Scalar>(options, std::move(list), report)
                                      : prepare_part<Scalar>(world, options, std::move(list), report);
    add_empty_slices(options.rows, *report.input);
    auto const& X     = prepared.tensor;
    auto const& space = world.space();
    auto const result = prepared.start.empty()
                            ? tucker(space, X, options, callback)
                            : tucker(space, X.format(0), options, std::move(prepared.start), callback);
    report.result     = FitReport{result.fit, result.fit_error, result.reason, result.iterations};
    report_ranks(report, X.imbalance());
    if (world.rank() == 0 && !options.output.empty())
      save(space, result.model, options.output, report.input->names());
  };
  options.precision == "f32" ? decompose_as(float()) : decompose_as(double());
}

ProjectedRows project_rows(io::CoordinateList&& tensor, io::HostKtensor const& model, int mode,
                           std::string const& precision, Report& report) {
  io::keep_stored(tensor, model.rows, mode);
  return with_types(precision, needs_wide_index(tensor), [&](auto scalar, auto index) {
    return project_as<decltype(scalar), decltype(index)>(std::move(tensor), model, mode, report);
  });
}

std::vector<double> mttkrp_product(io::CoordinateList&& tensor, io::HostKtensor const& model, int mode,
                                   Report& report) {
  Space const space;
  io::keep_stored(tensor, model.rows, mode);
  return with_index_type(needs_wide_index(tensor), [&](auto index) {
    using Index   = typename decltype(index)::type;
    auto const X  = format_of_one_product<double, Index>(space, std::move(tensor), model, report);
    auto work     = X.make_workspace(space, model.rank());
    auto const on = factors_but<double>(space, X.extents(), model, mode);
    auto const V =
        make_output_matrix<double>(space, "polyad::mttkrp_output", X.extents()[mode], model.rank());
    mttkrp(space, X, on, mode, work, V);
    return to_host<double>(space, V);
  });
}

}  // namespace polyad::cli
