// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/mttkrp_product.hpp"

#include <utility>

#include "cli/tensors/device_tensor.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::cli {

std::vector<double> mttkrp_product(io::CoordinateList&& tensor, io::HostKtensor const& model, int mode,
                                   Report& report) {
  Space const space;
  io::keep_stored(tensor, model.rows, mode);
  return with_index_type(tensor, [&](auto index) {
    using Index    = typename decltype(index)::type;
    auto const coo = to_device<double, Index>(space, std::move(tensor), *report.input);
    // A single product rarely justifies a sorted copy.
    auto const X  = AnyFormat<double, Space>::build(space, coo,
                                                    {.rank       = model.rank(),
                                                     .iterations = 1.0 / coo.order(),
                                                     .may_stream = false,
                                                     .duplicates = Duplicates::keep});
    report.format = FormatFacts{.chosen = X.chosen(), .storage_bytes = X.storage_bytes()};
    auto work     = X.make_workspace(space, model.rank());
    FactorMatrices<double, Space> const factors(space, X.extents(), model.rank());
    for (int n = 0; n < X.extents().order(); ++n)
      if (n != mode) from_host<double>(space, model.factors[n], factors[n]);
    auto const V =
        make_output_matrix<double>(space, "polyad::mttkrp_output", X.extents()[mode], model.rank());
    mttkrp(space, X, factors, mode, work, V);
    return to_host<double>(space, V);
  });
}

}  // namespace polyad::cli
