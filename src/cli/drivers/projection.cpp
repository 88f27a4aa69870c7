// SPDX-License-Identifier: BSD-3-Clause
// project_rows(), over both scalars and both coordinate types.
#include <utility>

#include "cli/drivers/products.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "polyad/cp/project.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/tensor/ktensor.hpp"

namespace polyad::cli {

namespace {

template <class Scalar, class Index>
ProjectedRows project_as(io::CoordinateList&& tensor, io::HostKtensor const& model, int mode,
                         Report& report) {
  Space const space;
  auto const coo = to_device<Scalar, Index>(space, std::move(tensor), *report.input);
  // A single product rarely justifies a sorted copy.
  auto const X  = AnyFormat<Scalar, Space>::build(space, coo,
                                                  {.rank       = model.rank(),
                                                   .iterations = 1.0 / coo.order(),
                                                   .may_stream = false,
                                                   .duplicates = Duplicates::keep});
  report.format = FormatFacts{.chosen = X.chosen(), .storage_bytes = X.storage_bytes()};
  Ktensor<Scalar, Space> const on_device{
      model.weights, FactorMatrices<Scalar, Space>(space, X.extents(), model.rank()), {}, model.constraints};
  for (int n = 0; n < X.extents().order(); ++n)
    if (n != mode) from_host<Scalar>(space, model.factors[n], on_device.factors[n]);
  auto const found = project(space, on_device, X, mode);
  return {to_host<Scalar>(space, found.rows), found.fit, found.objective};
}

}  // namespace

ProjectedRows project_rows(io::CoordinateList&& tensor, io::HostKtensor const& model, int mode,
                           std::string const& precision, Report& report) {
  io::keep_stored(tensor, model.rows, mode);
  return with_index_type(tensor, [&](auto index) {
    using Index = typename decltype(index)::type;
    if (precision == "f32") return project_as<float, Index>(std::move(tensor), model, mode, report);
    return project_as<double, Index>(std::move(tensor), model, mode, report);
  });
}

}  // namespace polyad::cli
