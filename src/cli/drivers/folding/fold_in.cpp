// SPDX-License-Identifier: BSD-3-Clause
// fold_in_rows(), over both scalars and both coordinate types.
#include "cli/drivers/folding/fold_in.hpp"

#include <string>
#include <utility>

#include "cli/run/communicator.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/io/saved_models.hpp"

namespace polyad::cli {

namespace {

template <class Scalar, class Index>
io::HostFastTucker fold_in_as(io::HostFastTucker const& host, FoldInTask&& task,
                              FoldInOptions const& options) {
  auto const world   = make_communicator(false);
  auto const& space  = world.space();
  auto model         = io::to_model<Scalar>(space, host);
  auto const entries = upload_list<Scalar, Index>(space, std::move(task.entries));
  if (task.added)
    model = update_rows(world, model, entries, upload_list<Scalar, Index>(space, std::move(*task.added)),
                        options);
  else
    model = fold_in(world, model, entries, options);
  for (int sweep = 0; sweep < task.sweeps; ++sweep) {
    stop_if_interrupted("the sweeps over all rows");
    model = update_rows(world, model, entries, entries, options);
  }
  return io::to_host_model(space, model);
}

}  // namespace

io::HostFastTucker fold_in_rows(io::HostFastTucker const& model, FoldInTask&& task, FoldInOptions options) {
  options.observed     = model.observed;
  bool const wide_here = needs_wide_index(task.entries) || (task.added && needs_wide_index(*task.added));
  bool const is_wide   = sums_of_ranks(wide_here ? 1 : 0).all > 0;
  return with_types(std::string(task.precision), is_wide, [&](auto scalar, auto index) {
    return fold_in_as<decltype(scalar), decltype(index)>(model, std::move(task), options);
  });
}

}  // namespace polyad::cli
