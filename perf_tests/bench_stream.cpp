// SPDX-License-Identifier: BSD-3-Clause
// stream: the MTTKRP of a tensor in host memory, compared with the copy of its nonzeros and with the same
// work in memory; and CP-ALS within a given number of bytes of the device.
#include <optional>

#include "formats/blco/storage/streamed_blco.hpp"
#include "models.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "registration.hpp"

namespace polyad::perf {
namespace {

template <class Scalar>
using Streamed = StreamedBlco<Scalar, std::uint32_t, Space>;
template <class Scalar>
using InMemory = Blco<Scalar, std::uint32_t, Space>;

/// Sends all nonzeros once, without computing.
template <class Scalar>
void send_all(Streamed<Scalar> const& X, StreamedBlcoWorkspace<Scalar, Space> const& work) {
  for (count_t s = 0; s * work.section < X.nnz(); ++s)
    X.send(work.buffers[s % work.buffers.size()], s * work.section,
           std::min(X.nnz(), (s + 1) * work.section));
}

/// Only the copy of all nonzeros.
template <class Scalar>
Samples time_copy(Session& session, Streamed<Scalar> const& X,
                  StreamedBlcoWorkspace<Scalar, Space> const& work, int samples) {
  return measure(session.space, samples, [&] {
    send_all(X, work);
    for (auto const& buffer : work.buffers) buffer.instance.fence("polyad::perf");
  });
}

/// The share of the nonzeros that a pass sends: all but those that the buffers hold from the previous pass.
template <class Scalar>
double sent_share(Streamed<Scalar> const& X, StreamedBlcoWorkspace<Scalar, Space> const& work) {
  count_t const held = std::min(X.nnz(), work.section * work.buffers.size());
  return static_cast<double>(X.nnz() - held) / static_cast<double>(X.nnz());
}

template <class Scalar>
std::string stream_name_of(std::string const& group, TensorChoice const& choice, int rank) {
  return group + "<" + Streamed<Scalar>::name + "," + Space::name() + "," + scalar_name<Scalar> + ">/" +
         choice.label() + "/R:" + std::to_string(rank);
}

/// All modes, with buffers for `share` of the nonzeros.
template <class Scalar>
void add_share(Session& session, TensorChoice const& choice, int rank, double share) {
  char buffers[48];
  std::snprintf(buffers, sizeof buffers, "/buffers:%g%%", share * 100);
  add(session, stream_name_of<Scalar>("stream", choice, rank) + buffers,
      [&session, choice, rank, share](benchmark::State& state) {
        auto const coo = tensor_of<Scalar>(session.space, choice.name, choice.scale);
        auto const R   = static_cast<count_t>(rank);
        auto X         = Streamed<Scalar>::build(session.space, coo);
        StreamedBlcoOptions options;
        options.buffer_bytes = static_cast<count_t>(share * static_cast<double>(X.nnz() * X.nonzero_bytes()));
        X.set_buffers(options.buffer_bytes, options.instances);
        auto const Y = InMemory<Scalar>::build(session.space, coo);
        FactorMatrices<Scalar, Space> const factors(session.space, X.extents(), R);
        fill_random(session.space, factors, 0);
        std::vector<FactorMatrix<Scalar, Space>> outputs;
        for (int n = 0; n < coo.order(); ++n)
          outputs.push_back(
              make_factor_matrix<Scalar>(session.space, "polyad::perf_output", X.extents()[n], R));
        auto work           = X.make_workspace(session.space, R);
        auto work_in_memory = Y.make_workspace(session.space, R);
        auto const all      = [&](auto const& format, auto& workspace) {
          for (int n = 0; n < coo.order(); ++n)
            mttkrp(session.space, format, factors, n, workspace, outputs[static_cast<std::size_t>(n)]);
        };
        auto const copying = time_copy(session, X, work, session.options.samples);
        for (auto& buffer : work.buffers) buffer.section = buffer.nothing;
        auto const streamed = measure(session.space, session.options.samples, [&] { all(X, work); });
        for (int n = 0; n < coo.order(); ++n) {
          auto const text =
              session.sampled(choice.name, choice.scale, n)
                  .template violation<Scalar>(session.space, outputs[static_cast<std::size_t>(n)], 0);
          if (!text.empty()) throw NumericalError("mode " + std::to_string(n) + " is wrong: " + text);
        }
        auto const in_memory =
            measure(session.space, session.options.samples, [&] { all(Y, work_in_memory); });
        report(state, streamed);
        double const bytes                  = static_cast<double>(X.nnz() * X.nonzero_bytes());
        double const sent                   = bytes * sent_share(X, work);
        double const passes                 = coo.order();
        double const floor                  = passes * sent / bytes * copying.median();
        state.counters["copy_GB_per_s"]     = bytes / copying.median() * 1e-9;
        state.counters["nonzeros_GB_per_s"] = passes * bytes / streamed.median() * 1e-9;
        state.counters["sent_GB"]           = passes * sent * 1e-9;
        state.counters["of_copy_rate"]      = floor / streamed.median();
        state.counters["in_memory_ms"]      = in_memory.median() * 1e3;
      });
}

/// The tensor built in host memory, CP-ALS within the account's limit.
template <class Scalar>
void add_out_of_memory(Session& session, TensorChoice const& choice, int rank) {
  add(session,
      stream_name_of<Scalar>("out_of_memory", choice, rank) +
          "/device_memory:" + std::to_string(session.options.device_memory),
      [&session, choice, rank](benchmark::State& state) {
        using HostSpace = typename Streamed<Scalar>::host_space;
        auto const coo  = [&] {
          DeviceMemoryAccount::HostArrays const on_host;
          return download<HostSpace>(session.space,
                                     tensor_of<Scalar>(session.space, choice.name, choice.scale));
        }();
        // The peak is measured from here on: the generator's copy is not part of the run.
        DeviceMemoryAccount const account(session.options.device_memory);
        auto const X = Streamed<Scalar>::build(session.space, coo);
        for (auto const& [stage, seconds] : X.build_seconds())
          state.counters["build_" + stage + "_s"] = seconds;
        CpAlsOptions options;
        options.rank           = static_cast<count_t>(rank);
        options.max_iterations = std::max(2, session.options.samples);
        options.tolerance      = 0;
        Samples samples;
        auto const result = cp_als(session.space, X, options, [&](CpAlsIteration const& iteration) {
          if (iteration.iteration > 1) samples.seconds.push_back(iteration.seconds);
          return true;
        });
        std::sort(samples.seconds.begin(), samples.seconds.end());
        report(state, samples);
        auto const work                 = X.make_workspace(session.space, options.rank);
        auto const copying              = time_copy(session, X, work, 3);
        double const bytes              = static_cast<double>(X.nnz() * X.nonzero_bytes());
        state.counters["fit"]           = result.fit;
        state.counters["nnz"]           = static_cast<double>(X.nnz());
        state.counters["host_GB"]       = static_cast<double>(X.storage_bytes()) * 1e-9;
        state.counters["copy_GB_per_s"] = bytes / copying.median() * 1e-9;
        state.counters["floor_ms"]      = coo.order() * sent_share(X, work) * copying.median() * 1e3;
        state.counters["floor_all_ms"]  = coo.order() * copying.median() * 1e3;
        state.counters["peak_bytes"]    = static_cast<double>(account.peak());
        if (account.peak() > session.options.device_memory) throw MemoryError("the run", account.peak());
      });
}

template <class Scalar>
void register_stream_of(Session& session, TensorChoice const& choice) {
  for (int const rank : session.options.ranks) {
    for (double const share : session.options.stream) add_share<Scalar>(session, choice, rank, share);
    if (session.options.device_memory > 0) add_out_of_memory<Scalar>(session, choice, rank);
  }
}

}  // namespace

void register_stream(Session& session, TensorChoice const& choice) {
  for (auto const& scalar : session.options.scalars)
    scalar == "f32" ? register_stream_of<float>(session, choice)
                    : register_stream_of<double>(session, choice);
}

}  // namespace polyad::perf
