// SPDX-License-Identifier: BSD-3-Clause
#include "cli/format_choice/machine.hpp"

#include <Kokkos_Core.hpp>

#include "cli/format_choice/ceilings_file.hpp"
#include "formats/choose_format.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/formats/ceilings.hpp"

namespace polyad::cli {

namespace {

using Space = Kokkos::DefaultExecutionSpace;

}  // namespace

Ceilings machine_ceilings(BackendReport const& backend, int scalar_bytes, double seconds) {
  auto const usual = detail::usual_ceilings_of<Space>(backend.concurrency, scalar_bytes);
  if (!usual.is_device) return usual;
  auto const path = ceilings_path(backend, scalar_bytes);
  if (auto const known = read_ceilings(path, backend, scalar_bytes)) return *known;
  if (seconds < detail::worth_measuring_s) return usual;
  try {
    auto const measured =
        scalar_bytes == 4 ? measure_ceilings<float>(Space()) : measure_ceilings<double>(Space());
    write_ceilings(path, backend, scalar_bytes, measured);
    return measured;
  } catch (MemoryError const&) {
    return usual;
  }
}

bool runs_on_device() {
  return is_device_space<Space>;
}

}  // namespace polyad::cli
