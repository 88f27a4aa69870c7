// SPDX-License-Identifier: BSD-3-Clause
// The cost model on stdin and stdout, for scripts/fit_cost_model.py, which knows the stored measurements.
// Lines:
//
//   terms
//   copy THREADS                                  the usual copies of a host
//   machine NAME device THREADS LAUNCH_S COPY
//   machine NAME host THREADS LAUNCH_S            with the usual ceilings; with COPY and curves, as a device
//   curve MACHINE SCALAR_BYTES gather|atomic_add|atomic_add_rows X RATE X RATE ...
//   tensor NAME NNZ
//   mode TENSOR EXTENT LONGEST FIBERS FIBERS_ALONG ROWS NONZEROS ...    bin by bin, in the modes' order
//   case MACHINE TENSOR FORMAT SCALAR_BYTES RANK
//
// `terms` is answered by three lines, the names of the terms of a mode, of a build, of the dense part. `copy`
// is answered by bytes per second.
// A case is answered by one line: storage, build and run bytes, crowded seconds, seconds to load, to build,
// for an iteration, for each mode. Then the terms: of the build, of the dense part, of each mode.
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include "formats/cost_model.hpp"

namespace {

using namespace polyad;
using namespace polyad::detail;

struct Machine {
  bool is_device  = false;
  int concurrency = 1;
  double launch_s = 0;
  double copy     = 0;
  std::map<std::pair<int, std::string>, Ceilings::Curve> curves;

  [[nodiscard]] Ceilings ceilings(int scalar_bytes) const {
    if (!is_device && copy == 0) {
      Ceilings usual = usual_ceilings(false, concurrency, scalar_bytes);
      usual.launch_s = launch_s;
      return usual;
    }
    auto const curve = [&](char const* name) { return curves.at({scalar_bytes, name}); };
    return {.is_device       = is_device,
            .concurrency     = concurrency,
            .simd_bytes      = usual_ceilings(is_device, concurrency, scalar_bytes).simd_bytes,
            .launch_s        = launch_s,
            .copy            = copy,
            .gather          = curve("gather"),
            .atomic_add      = curve("atomic_add"),
            .atomic_add_rows = curve("atomic_add_rows"),
            .from_host       = copy};
  }
};

template <class Terms>
void print(Terms const& terms) {
  for (auto const& term : Terms::all) std::printf(" %.9g", terms.*term.value);
}

template <class Terms>
void print_names() {
  for (auto const& term : Terms::all) std::printf("%s ", std::string(term.name).c_str());
  std::printf("\n");
}

}  // namespace

int main() {
  std::map<std::string, Machine> machines;
  std::map<std::string, TensorSurvey> tensors;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what, name;
    words >> what >> name;
    if (what == "terms") {
      print_names<ModeTerms>();
      print_names<BuildTerms>();
      print_names<DenseTerms>();
    } else if (what == "copy") {
      std::printf("%.9g\n", usual_ceilings(false, std::stoi(name), sizeof(double)).copy);
    } else if (what == "machine") {
      auto& machine = machines[name];
      std::string kind;
      words >> kind >> machine.concurrency >> machine.launch_s >> machine.copy;
      machine.is_device = kind == "device";
    } else if (what == "curve") {
      int scalar_bytes = 0;
      std::string curve;
      words >> scalar_bytes >> curve;
      auto& points = machines.at(name).curves[{scalar_bytes, curve}];
      for (double x = 0, rate = 0; words >> x >> rate;) points.push_back({x, rate});
    } else if (what == "tensor") {
      words >> tensors[name].nnz;
    } else if (what == "mode") {
      ModeSurvey mode;
      words >> mode.extent >> mode.longest >> mode.fibers >> mode.fibers_along;
      for (std::size_t b = 0; b < ModeSurvey::bins && words >> mode.rows[b] >> mode.nonzeros[b];) ++b;
      tensors.at(name).modes.push_back(mode);
    } else if (what == "case") {
      std::string tensor, format;
      int scalar_bytes   = 0;
      std::uint64_t rank = 0;
      words >> tensor >> format >> scalar_bytes >> rank;
      auto const machine = machines.at(name).ceilings(scalar_bytes);
      CostInput const input{tensors.at(tensor), machine, rank, scalar_bytes, 4};
      auto const* const costs = find_format_costs(format);
      if (costs == nullptr) throw std::runtime_error("unknown format " + format);
      Cost const cost = predict(*costs, input);
      std::printf("%llu %llu %llu %.9g %.9g %.9g %.9g", static_cast<unsigned long long>(cost.storage_bytes),
                  static_cast<unsigned long long>(cost.build_bytes),
                  static_cast<unsigned long long>(cost.run_bytes), cost.crowded_s, cost.load_s, cost.build_s,
                  cost.iteration_s);
      for (double const seconds : cost.mode_s) std::printf(" %.9g", seconds);
      print(costs->build(input));
      print(dense_terms_of(input));
      for (int n = 0; n < input.tensor.order(); ++n) print(costs->mttkrp(input, n));
      std::printf("\n");
    } else if (!what.empty()) {
      throw std::runtime_error("unknown line " + line);
    }
  }
}
