// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/products.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "cli/memory/loading_bytes.hpp"
#include "cli/memory/memory_of_ranks.hpp"
#include "cli/memory/plan_of_rank.hpp"
#include "cli/run/communicator.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "cli/tensors/compact_list.hpp"
#include "cli/tensors/compact_on_ranks.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/empty_slices.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/core/memory_plan.hpp"
#include "polyad/distributed/distribute.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/formats/semi_sparse.hpp"
#include "polyad/io/saved_models.hpp"
#include "polyad/tucker/tucker.hpp"

namespace polyad::cli {

namespace {

/// Calls f(tensor on the device) for the precision and the coordinates' type. f may release the tensor.
template <class F>
auto with_device_tensor(std::string const& precision, io::CoordinateList&& list, Report& report, F&& f) {
  return with_index_type(list, [&](auto index) {
    using Index        = typename decltype(index)::type;
    auto const as_type = [&](auto scalar) {
      Space const space;
      auto coo                   = to_device<decltype(scalar), Index>(space, std::move(list), *report.input);
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

/// A format with SpTTMc, reported.
template <class Scalar, class Index>
AnyFormat<Scalar, Space> build_format(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                      Report& report) {
  auto X = AnyFormat<Scalar, Space>::build(
      space, coo, {.needs = {Capability::ttmc}, .duplicates = Duplicates::keep});  // they were summed
  report.format = FormatReport{X.chosen(), X.storage_bytes(), X.build_seconds()};
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

polyad::TuckerOptions library_options(TuckerOptions const& options) {
  return options;
}

std::string core_text(TuckerOptions const& options) {
  std::string core;
  for (auto const rank : options.ranks) core += (core.empty() ? "" : " x ") + std::to_string(rank);
  return core;
}

/// Reports the memory that the run will need. \throws MemoryError if it is not free
void expect_decomposition_fits(TuckerOptions const& options, polyad::TuckerOptions const& of_library,
                               io::CoordinateList const& list, Report& report) {
  with_index_type(list, [&](auto index) {
    using Index        = typename decltype(index)::type;
    auto const as_type = [&](auto scalar) {
      using Scalar = decltype(scalar);
      Space const space;
      expect_host_holds(list, sizeof(Scalar));
      MemoryPlan plan;
      plan.pass("the tensor while it is loaded", loading_bytes(list, sizeof(Scalar), false));
      auto coordinates = plan.hold("the tensor's coordinates", coordinate_bytes(list, sizeof(Scalar)));
      plan_tucker<Scalar, Index>(plan, space, Extents(std::span<count_t const>(list.extents)), list.nnz(),
                                 of_library, options.init == "hosvd", std::move(coordinates));
      report.memory.expected_peak_bytes = plan.peak();
      plan.expect_fits(available_memory(space) + listed_bytes(list, false),
                       "a Tucker decomposition with a core of " + core_text(options));
    };
    options.precision == "f32" ? as_type(float()) : as_type(double());
  });
}

template <class Result>
TuckerReport to_report(Result const& result) {
  return {result.fit, result.fit_error, result.reason == StopReason::converged, to_string(result.reason), {}};
}

/// Reports the memory that the run of each rank will need.
/// \param indices  those of this rank's part, which has been converted
/// \throws MemoryError on all ranks if one of them has too little
template <class Scalar, class Index>
void expect_decomposition_fits_on_ranks(TuckerOptions const& options, Communicator<Space> const& world,
                                        Extents const& extents, std::span<Index const> indices,
                                        PartThatWasRead const& part, polyad::TuckerOptions const& of_library,
                                        Report& report) {
  auto const owned = owned_rows(world, extents, indices);
  MemoryPlan plan;
  auto const process = plan.hold("the process", report.process_bytes);
  auto const read    = plan_part(plan, part, sizeof(Index));
  count_t const held = plan.held() - report.process_bytes;
  plan_tucker<Scalar, Index>(plan, world.space(), extents, owned, of_library);
  expect_fits_all(plan.peak() - report.process_bytes, available_memory(world.space()) + held,
                  " with a core of " + core_text(options));
  report_expected_memory(report, world.data().name(), plan.peak());
}

template <class Scalar, class Index>
int decompose_as(TuckerOptions const& options, Communicator<Space> const& world, io::CoordinateList&& part,
                 std::vector<StoredRows> const& rows, Report& report,
                 std::function<bool(IterationReport const&)> const& on_iteration) {
  Extents const extents{std::span<count_t const>(part.extents)};
  auto const read       = part_that_was_read(part);
  auto const indices    = take_indices<Index>(part);
  auto const values     = std::exchange(part.values, {});
  auto asked            = library_options(options);
  asked.rows            = rows;
  auto format           = format_options(asked);
  format.hooks.progress = stop_if_interrupted;
  expect_decomposition_fits_on_ranks<Scalar>(options, world, extents, std::span<Index const>(indices), read,
                                             asked, report);
  auto const X      = distribute_rows<Scalar>(world, extents, std::span<Index const>(indices),
                                              std::span<double const>(values), format, asked.ranks);
  auto const result = tucker(world.space(), X, asked, [&](TuckerIteration const& it) {
    return on_iteration({it.iteration, it.fit, it.delta, it.seconds, {}});
  });
  report.input->nnz = X.nnz();
  report.input->duplicates += X.duplicates();
  auto const facts = X.format_facts();
  report.format    = FormatReport{facts.chosen, facts.storage_bytes, facts.build_s, {}, {}};
  report_imbalance(report, X.imbalance());
  report_peak_memory(report);
  report.result = to_report(result);
  if (world.rank() == 0 && !options.output.empty())
    save(world.space(), result.model, options.output, report.input->names());
  return result.reason == StopReason::interrupted ? signal_of_ranks() : 0;
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

void decompose(TuckerOptions const& options, io::CoordinateList&& tensor, Report& report,
               std::function<bool(IterationReport const&)> const& on_iteration) {
  auto const rows     = compact_list(tensor, *report.input);
  auto tucker_options = library_options(options);
  tucker_options.rows = rows;
  expect_decomposition_fits(options, tucker_options, tensor, report);
  with_device_tensor(options.precision, std::move(tensor), report, [&](Space const& space, auto& coo) {
    using Scalar = typename std::remove_cvref_t<decltype(coo)>::scalar_type;
    add_empty_slices(rows, *report.input);
    auto start = options.init == "hosvd" ? hosvd_tucker_start(space, coo, tucker_options)
                                         : random_tucker_start<Scalar>(space, coo.extents(), tucker_options);
    auto const X      = build_format(space, coo, report);
    coo               = {};
    auto const result = tucker(space, X, tucker_options, std::move(start), [&](TuckerIteration const& it) {
      return on_iteration({it.iteration, it.fit, it.delta, it.seconds, {}});
    });
    report.result     = to_report(result);
    if (!options.output.empty()) save(space, result.model, options.output, report.input->names());
  });
}

int decompose_on_ranks(TuckerOptions const& options, io::CoordinateList&& part, Report& report,
                       std::function<bool(IterationReport const&)> const& on_iteration) {
  auto const world           = make_communicator(false);
  auto const rows            = compact_list_on_ranks(world, part, *report.input);
  report.input->empty_slices = empty_slices_on_ranks(part);
  add_empty_slices(rows, *report.input);
  return with_index_type_on_ranks(part, [&](auto index) {
    using Index = typename decltype(index)::type;
    if (options.precision == "f32")
      return decompose_as<float, Index>(options, world, std::move(part), rows, report, on_iteration);
    return decompose_as<double, Index>(options, world, std::move(part), rows, report, on_iteration);
  });
}

}  // namespace polyad::cli
