// SPDX-License-Identifier: BSD-3-Clause
// What all groups of benchmarks share: the machine's ceilings, the tensor at hand, and failure that is seen.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "ceilings.hpp"
#include "options.hpp"
#include "sampled_check.hpp"
#include "tensors.hpp"

namespace polyad::perf {

/// One object that takes long to make, kept until a benchmark needs another one.
class Kept {
public:
  template <class T, class Make>
  std::shared_ptr<T const> get(std::string const& name, Make const& make) {
    if (m_name != name) {
      m_name.clear();
      m_object.reset();  // first, so that memory holds one of them
      m_object = std::make_shared<T const>(make());
      m_name   = name;
    }
    return std::static_pointer_cast<T const>(m_object);
  }

private:
  std::string m_name;
  std::shared_ptr<void const> m_object;
};

/// Lives from registration to the last benchmark.
struct Session {
  explicit Session(PerfOptions const& given)
      : options(given), ceilings(space, given.dry_run ? 1 : 5, given.dry_run) {}

  PerfOptions options;
  Space space;
  Ceilings<Space> ceilings;
  int failures = 0;
  Kept format, operands;  // the latest benchmark's; the next one often needs the same

  /// The sampled rows of a mode of the tensor at hand.
  SampledRows const& sampled(std::string const& name, double scale, int mode) {
    std::string const key = name + '*' + std::to_string(scale);
    if (key != m_sampled_tensor) m_sampled.clear();
    m_sampled_tensor = key;
    auto& entry      = m_sampled[mode];
    if (!entry) entry = std::make_unique<SampledRows>(space, tensor(space, name, scale), mode);
    return *entry;
  }

private:
  std::string m_sampled_tensor;
  std::map<int, std::unique_ptr<SampledRows>> m_sampled;
};

/// The tensor of one row of benchmarks.
struct TensorChoice {
  std::string name;
  double scale;

  /// The name as in benchmark names: without folders, and followed by the scale.
  [[nodiscard]] std::string label() const {
    std::string text = name.substr(name.find_last_of('/') + 1);
    if (scale != 1) {
      char number[32];
      std::snprintf(number, sizeof number, "*%g", scale);
      text += number;
    }
    return text;
  }
};

template <class Scalar>
constexpr char const* scalar_name = sizeof(Scalar) == 4 ? "f32" : "f64";

/// Registers a benchmark that runs once, is timed by hand, and turns an exception into a failure.
template <class Body>
void add(Session& session, std::string const& name, Body body) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [&session, body](benchmark::State& state) {
                                 for (auto _ : state) {
                                   try {
                                     body(state);
                                   } catch (std::exception const& error) {
                                     ++session.failures;
                                     state.SkipWithError(error.what());
                                     break;
                                   }
                                 }
                               })
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

// One function a group.
void register_ceilings(Session& session);
void register_dense(Session& session);
void register_formats(Session& session, TensorChoice const& choice);
void register_fcoo(Session& session, TensorChoice const& choice, Extents const& extents,
                   std::string const& scalar);
void register_fast_tucker(Session& session, TensorChoice const& choice);
void register_stream(Session& session, TensorChoice const& choice);
void register_strategies(Session& session, TensorChoice const& choice);

}  // namespace polyad::perf
