// SPDX-License-Identifier: BSD-3-Clause
// ceilings: copy, triad, gather and atomic add of rows.
#include "registration.hpp"

namespace polyad::perf {
namespace {

/// `measured(bytes)` runs the stream and returns the number of bytes that it moves.
template <class Measured>
void add_stream(Session& session, char const* name, Measured measured) {
  add(session, std::string("ceilings<") + Space::name() + ">/" + name, [measured](benchmark::State& state) {
    double bytes          = 0;
    Samples const samples = measured(bytes);
    report(state, samples);
    state.counters["GB_per_s"] = bytes / samples.median() * 1e-9;
  });
}

void report_rows(Session& session, benchmark::State& state, Samples const& samples, double row_bytes) {
  report(state, samples);
  state.counters["GB_per_s"] =
      row_bytes * static_cast<double>(session.ceilings.accesses()) / samples.median() * 1e-9;
}

template <class Scalar>
void bench_add_rows(Session& session) {
  std::string const prefix = std::string("ceilings<") + Space::name() + "," + scalar_name<Scalar> + ">/";
  constexpr int rank       = 32;
  constexpr double bytes   = rank * sizeof(Scalar);
  auto const rows_of       = [](double megabytes) { return static_cast<count_t>(megabytes * 1e6 / bytes); };
  char name[64];
  for (double const megabytes : {0.1, 1.0, 8.0, 34.0, 134.0, 537.0, 4295.0}) {
    if (megabytes > 8 && session.options.dry_run) continue;
    if (megabytes > 1000 && !is_device_space<Space>) continue;
    std::snprintf(name, sizeof name, "gather/row:%gB/table:%gMB", bytes, megabytes);
    add(session, prefix + name, [&session, rows = rows_of(megabytes)](benchmark::State& state) {
      report_rows(session, state, session.ceilings.gather<Scalar>(rows, rank), bytes);
    });
  }
  for (double const megabytes : {8.0, 134.0, 4295.0}) {
    if (megabytes > 8 && session.options.dry_run) continue;
    if (megabytes > 1000 && !is_device_space<Space>) continue;
    std::snprintf(name, sizeof name, "atomic_add/row:%gB/table:%gMB", bytes, megabytes);
    add(session, prefix + name, [&session, rows = rows_of(megabytes)](benchmark::State& state) {
      report_rows(session, state, session.ceilings.atomic_add<Scalar>(rows, rank, rows), bytes);
    });
  }
  for (count_t const hot : {1024, 32, 2}) {
    std::snprintf(name, sizeof name, "atomic_add/row:%gB/rows:%d", bytes, static_cast<int>(hot));
    add(session, prefix + name, [&session, rows = rows_of(8), hot](benchmark::State& state) {
      report_rows(session, state, session.ceilings.atomic_add<Scalar>(rows, rank, hot), bytes);
    });
  }
}

}  // namespace

void register_ceilings(Session& session) {
  add_stream(session, "copy", [&session](double& bytes) { return session.ceilings.copy(bytes); });
  add_stream(session, "triad", [&session](double& bytes) { return session.ceilings.triad(bytes); });
  for (auto const& scalar : session.options.scalars)
    scalar == "f32" ? bench_add_rows<float>(session) : bench_add_rows<double>(session);
}

}  // namespace polyad::perf
