// SPDX-License-Identifier: BSD-3-Clause
// project_rows() and mttkrp_product(), over both scalars and both coordinate types.
#include <utility>
#include <vector>

#include "cli/drivers/products.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "polyad/cp/project.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/ktensor.hpp"

namespace polyad::cli {

namespace {

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
