// SPDX-License-Identifier: BSD-3-Clause
// polyad_perf: the speed of each kernel, as a time and as a share of this machine's ceilings.
#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>
#include <cstdio>
#include <exception>
#include <span>
#include <vector>

#include "bench_formats.hpp"
#include "context.hpp"
#include "registration.hpp"
#include "surveys.hpp"

namespace polyad::perf {
namespace {

Extents extents_of(Session& session, TensorChoice const& choice) {
  if (auto const preset = find_preset(choice.name)) return Extents(std::span<count_t const>(preset->extents));
  return tensor(session.space, choice.name, choice.scale).extents();
}

int run(PerfOptions const& options) {
  static_cast<void>(format_names());
  for (auto const& name : options.formats)
    if (is_device_space<Space> || name != AltoReference<double, std::uint32_t, Space>::name)
      with_format<double, std::uint32_t, Space>(name, [](auto) {});
  add_context();
  Session session(options);
  register_ceilings(session);
  if (options.dense) register_dense(session);
  for (auto const& name : options.tensors)
    for (double const scale : options.scales) {
      if (scale != 1 && !find_preset(name))
        throw UsageError("--scale is for presets; " + name + " is a file");
      TensorChoice const choice{name, scale};
      Extents const extents = extents_of(session, choice);
      for (auto const& scalar : options.scalars) {
        scalar == "f32" ? register_formats_of<float>(session, choice, extents.order())
                        : register_formats_of<double>(session, choice, extents.order());
        register_fcoo(session, choice, extents, scalar);
      }
      if (extents.order() >= 2) register_fast_tucker(session, choice);
      register_stream(session, choice);
      if (extents.order() >= 3) register_strategies(session, choice);
    }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::ClearRegisteredBenchmarks();
  if (session.failures > 0) std::fprintf(stderr, "polyad_perf: %d benchmarks failed\n", session.failures);
  return session.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace polyad::perf

int main(int argc, char** argv) {
  auto options = polyad::perf::parse_options(argc, argv);
  std::vector<char*> arguments{argv[0]};
  for (auto& other : options.others) arguments.push_back(other.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  Kokkos::ScopeGuard const kokkos;
  try {
    if (options.surveys.empty()) return polyad::perf::run(options);
    polyad::perf::write_surveys(options);
    return 0;
  } catch (polyad::Error const& error) {
    std::fprintf(stderr, "polyad_perf: %s\n", error.what());
    return static_cast<int>(error.exit_code());
  } catch (std::exception const& error) {
    std::fprintf(stderr, "polyad_perf: %s\n", error.what());
    return 1;
  }
}
