// SPDX-License-Identifier: BSD-3-Clause
#include "formats/cost_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "polyad/core/row_alignment.hpp"
#include "polyad/kernel/device_chunks.hpp"
#include "polyad/kernel/wide_blocks.hpp"

namespace polyad::detail {
namespace {

/// Linear between the points in logarithms, flat beyond them.
double interpolate(Ceilings::Curve const& curve, double x) {
  if (curve.empty()) return 1;
  if (x <= curve.front()[0]) return curve.front()[1];
  for (std::size_t k = 1; k < curve.size(); ++k) {
    if (x > curve[k][0]) continue;
    auto const [x0, y0] = curve[k - 1];
    auto const [x1, y1] = curve[k];
    return y0 * std::pow(y1 / y0, std::log(x / x0) / std::log(x1 / x0));
  }
  return curve.back()[1];
}

/// Calls f(rows up to here, nonzeros of the bin) from the fullest rows of a mode to those of one nonzero.
template <class F>
void for_each_bin(ModeSurvey const& mode, F const& f) {
  double rows = 0;
  for (std::size_t b = ModeSurvey::bins; b > 0; --b) {
    if (mode.nonzeros[b - 1] == 0) continue;
    rows += static_cast<double>(mode.rows[b - 1]);
    f(rows, static_cast<double>(mode.nonzeros[b - 1]));
  }
}

template <class Terms>
double weighted(Terms const& terms, Terms const& weights) {
  double sum = 0;
  for (auto const& term : Terms::all) sum += terms.*term.value * weights.*term.value;
  return sum;
}

constexpr double megabyte = 1e6;
/// The last point of the measured curve. Additions to more distinct rows do not wait for each other.
constexpr double few_rows   = 1024;
constexpr double cache_line = 128;  // on a device
/// How much longer a device takes to write rows with gaps (zero_matrix): about four times at R = 5 and 25.
constexpr double time_of_gaps = 4;

/// The rows of all factors.
double total_rows(TensorSurvey const& tensor) {
  double rows = 0;
  for (auto const& mode : tensor.modes) rows += static_cast<double>(mode.extent);
  return rows;
}

/// At most 2^62, more than any machine has, so that sums of such numbers fit 64 bits.
std::uint64_t to_bytes(double bytes) {
  constexpr std::uint64_t most = std::uint64_t(1) << 62;
  return bytes < static_cast<double>(most) ? static_cast<std::uint64_t>(bytes) : most;
}

// Fitted by scripts/fit_cost_model.py.
constexpr ByMachine<DenseTerms> dense_weights{
    .device_f32 = {.mode = 3.45, .rows = 1.54, .cubes = 1.55, .products = 12.8},
    .device_f64 = {.mode = 3.45, .rows = 1.08, .cubes = 1.55, .products = 7.8},
    .host_f32   = {.mode = 0.557, .rows = 2.38, .cubes = 2, .products = 6.52},
    .host_f64   = {.mode = 0.611, .rows = 2.69, .cubes = 3, .products = 2.72}};

}  // namespace

namespace costs {

std::uint64_t no_bytes(CostInput const&) {
  return 0;
}

double passes(CostInput const& input) {
  if (input.machine.is_device) return std::ceil(static_cast<double>(input.rank) / 32);
  auto const blocks = wide_blocks(input.machine.simd_bytes, input.scalar_bytes);
  return blocks.passes(static_cast<int>(input.rank));
}

double row_bytes(CostInput const& input) {
  return static_cast<double>(input.rank) * input.scalar_bytes;
}

double copy_seconds(CostInput const& input, double bytes) {
  return bytes / std::max(input.machine.copy, 1.0);
}

double gather_rate(Ceilings const& machine, double bytes) {
  return interpolate(machine.gather, bytes / megabyte);
}

double gather_seconds(CostInput const& input, int mode, double bytes) {
  double seconds = 0;
  for_each_bin(input.tensor.modes[mode], [&](double rows, double nonzeros) {
    seconds += nonzeros * bytes / gather_rate(input.machine, rows * row_bytes(input));
  });
  return seconds;
}

std::vector<int> ordered_modes(CostInput const& input, int first) {
  auto const& modes = input.tensor.modes;
  std::vector<int> ordered;
  for (int n = 0; n < input.tensor.order(); ++n)
    if (n != first) ordered.push_back(n);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](int a, int b) { return modes[a].extent < modes[b].extent; });
  ordered.insert(ordered.begin(), first);
  return ordered;
}

namespace {

/// A row of so many bytes for each nonzero, from the smallest table.
double near_rows(CostInput const& input, double bytes) {
  return static_cast<double>(input.tensor.nnz) * bytes / gather_rate(input.machine, 0);
}

}  // namespace

double near_seconds(CostInput const& input) {
  return near_rows(input, row_bytes(input));
}

double far_seconds(CostInput const& input, int mode) {
  return std::max(0.0, gather_seconds(input, mode, row_bytes(input)) - near_seconds(input));
}

double atomic_seconds(CostInput const& input, int mode) {
  double seconds = 0;
  for_each_bin(input.tensor.modes[mode], [&](double rows, double nonzeros) {
    seconds += nonzeros * row_bytes(input) /
               interpolate(input.machine.atomic_add, rows * row_bytes(input) / megabyte);
  });
  return seconds;
}

namespace {

/// Bytes that an atomic row counts for when additions wait for each other. Floats are added in packs, and
/// wait for whole cache lines even if a row has few columns. Doubles are added one by one.
double crowded_bytes(CostInput const& input) {
  return input.scalar_bytes == 4 ? std::ceil(row_bytes(input) / cache_line) * cache_line : row_bytes(input);
}

/// The rate of additions to a few rows. It was measured with rows of 32 columns. Other rows occupy more or
/// less memory. For doubles the number of rows is therefore scaled by their width. For floats it is scaled by
/// the root of the width, and only if rows are wider (fitted).
double crowded_rate(CostInput const& input, double rows) {
  double const width  = static_cast<double>(input.rank) / 32;
  double const spread = input.scalar_bytes == 4 ? std::max(1.0, std::sqrt(width)) : width;
  return interpolate(input.machine.atomic_add_rows, rows * spread);
}

}  // namespace

double hot_seconds(CostInput const& input, int mode) {
  double seconds = 0, nonzeros_so_far = 0;
  auto const nnz = static_cast<double>(input.tensor.nnz);
  for_each_bin(input.tensor.modes[mode], [&](double rows, double nonzeros) {
    // These rows receive only their share of the additions that are under way at the same time.
    nonzeros_so_far += nonzeros;
    double const crowd = rows * nnz / nonzeros_so_far;
    if (crowd >= few_rows) return;
    double const spread  = interpolate(input.machine.atomic_add, rows * row_bytes(input) / megabyte);
    double const crowded = std::min(crowded_rate(input, crowd), spread);
    seconds += nonzeros * (crowded_bytes(input) / crowded - row_bytes(input) / spread);
  });
  return seconds;
}

double ordered_seconds(CostInput const& input, int mode) {
  double seconds = 0, rows_so_far = 0;
  for_each_bin(input.tensor.modes[mode], [&](double rows, double nonzeros) {
    // About eight nonzeros per thread are under way. The longer the rows, the fewer of them these nonzeros
    // share.
    double const length = nonzeros / (rows - rows_so_far);
    rows_so_far         = rows;
    seconds += nonzeros * crowded_bytes(input) /
               crowded_rate(input, std::max(1.0, 8.0 * input.machine.concurrency / length));
  });
  return seconds;
}

namespace {

/// near_seconds, with the columns that threads walk over: on a device those of whole blocks
/// (kernel/rank_dispatch.hpp).
double block_seconds(CostInput const& input) {
  if (!input.machine.is_device) return near_seconds(input);
  auto const columns =
      input.rank > 32 ? 32 * passes(input) : std::max(4.0, static_cast<double>(std::bit_ceil(input.rank)));
  return near_rows(input, columns * input.scalar_bytes);
}

/// Whether a device's rows have gaps between them, since they start at multiples of 16 bytes.
bool has_gaps(CostInput const& input) {
  return input.machine.is_device && input.rank * static_cast<std::uint64_t>(input.scalar_bytes) % 16 != 0;
}

}  // namespace

ModeTerms walk(CostInput const& input, int mode, double nonzero_bytes) {
  auto const nnz = static_cast<double>(input.tensor.nnz);
  ModeTerms terms{};
  terms.launch = input.machine.launch_s;
  terms.stream = copy_seconds(input, passes(input) * nnz * nonzero_bytes);
  for (int m = 0; m < input.tensor.order(); ++m) {
    if (m == mode) continue;
    terms.near += block_seconds(input);
    terms.gather += far_seconds(input, m);
    terms.narrow += gather_seconds(input, m, 64 * passes(input));
  }
  auto const& out = input.tensor.modes[mode];
  terms.output    = copy_seconds(input, static_cast<double>(out.extent) * row_bytes(input));
  if (has_gaps(input)) terms.output *= time_of_gaps;
  return terms;
}

double gathered(ModeTerms const& terms) {
  return terms.near + terms.gather;
}

double border_rows(CostInput const& input, int mode) {
  if (!input.machine.is_device) return 2.0 / longest_device_chunk;
  auto const nnz                    = input.tensor.nnz;
  auto const chunk                  = device_chunk(nnz, 8, std::max(input.machine.concurrency, 1));
  auto const rows                   = input.tensor.modes[mode].used();
  constexpr double chunks_of_a_team = 8;
  bool const long_rows              = nnz / chunk >= chunks_of_a_long_row(input.scalar_bytes) * rows;
  return (long_rows ? 1 / chunks_of_a_team : 2) / static_cast<double>(chunk);
}

void add_atomics(ModeTerms& terms, CostInput const& input, int mode, double rows) {
  terms.atomics += rows * atomic_seconds(input, mode);
  terms.hot += rows * hot_seconds(input, mode);
}

BuildTerms sorted_build(CostInput const& input, std::uint64_t stored, int copies) {
  auto const nnz     = static_cast<double>(input.tensor.nnz);
  double const order = input.tensor.order();
  double digits      = 0;  // passes of a radix sort over words of 64 bits
  for (int bits = input.tensor.linear_bits(); bits > 0; bits -= 64)
    digits += std::ceil(std::min(bits, 64) / 8.0);
  double const rows = total_rows(input.tensor);
  BuildTerms terms{};
  double const arrays         = input.machine.is_device ? order : 1;
  terms.mode                  = copies * arrays * input.machine.launch_s;
  terms.stream                = copy_seconds(input, static_cast<double>(stored));
  terms.sort                  = copy_seconds(input, copies * digits * nnz * 2 * (8 + input.index_bytes));
  terms.scatter               = copies * nnz * (order * input.index_bytes + input.scalar_bytes + 32) /
                                gather_rate(input.machine, static_cast<double>(coordinate_bytes(input)));
  terms.rows                  = copy_seconds(input, rows * (1 + input.index_bytes));
  constexpr double kept_ready = 1 << 20;  // bytes: cudaMalloc puts several smaller arrays into one block
  if (input.machine.is_device && nnz * input.index_bytes >= kept_ready)
    terms.memory = copies * input.machine.launch_s;
  return terms;
}

std::uint64_t sort_bytes(CostInput const& input, int key_bytes) {
  return input.tensor.nnz * 2 * (key_bytes + input.index_bytes);
}

std::uint64_t build_in_turn(CostInput const& input, std::vector<std::uint64_t> const& copies,
                            std::uint64_t sort, std::uint64_t extra) {
  std::uint64_t const positions = input.tensor.nnz * input.index_bytes;
  std::uint64_t held = 0, most = 0;
  for (std::uint64_t const copy : copies) {
    most = std::max(most, held + sort);
    held += copy;
    most = std::max(most, held + positions + extra);
  }
  return most;
}

}  // namespace costs

double Cost::mttkrp_s() const {
  return std::accumulate(mode_s.begin(), mode_s.end(), 0.0);
}

std::vector<FormatCosts> const& all_format_costs() {
  static std::vector<FormatCosts> const all = [] {
    std::vector<FormatCosts> list;
    for (auto const& family : {coo_costs(), csf_costs(), fcoo_costs(), blco_costs()})
      list.insert(list.end(), family.begin(), family.end());
    return list;
  }();
  return all;
}

FormatCosts const* find_format_costs(std::string_view name) {
  for (auto const& format : all_format_costs())
    if (format.name == name) return &format;
  return nullptr;
}

std::uint64_t coordinate_bytes(CostInput const& input) {
  std::uint64_t const order = input.tensor.order();
  return input.tensor.nnz * (input.scalar_bytes + order * input.index_bytes);
}

std::uint64_t model_bytes(CostInput const& input) {
  double const rows = total_rows(input.tensor);
  double longest    = 0;
  for (auto const& mode : input.tensor.modes) longest = std::max(longest, static_cast<double>(mode.extent));
  auto const R = static_cast<double>(input.rank);
  // The same memory as in the check of a rank by the tool's factor(): the factors and an output of the
  // longest mode, which is freed before the end copies a factor. CP-ALS has an instance for its R x R
  // algebra.
  double const pack    = 16.0 / input.scalar_bytes;  // rows are packed (make_factor_matrix)
  double const columns = std::ceil(R / pack) * pack;
  double const line    = static_cast<double>(output_alignment) / input.scalar_bytes;
  double const wide = input.machine.is_device ? columns : std::ceil(R / line) * line;  // make_output_matrix
  return to_bytes((rows * columns + longest * wide) * input.scalar_bytes +
                  R * R * (input.tensor.order() + (input.rank > 128 ? 3 : 2)) * sizeof(double)) +
         (input.machine.is_device ? costs::device_instance_bytes : 0);
}

DenseTerms dense_terms_of(CostInput const& input) {
  double const rows   = total_rows(input.tensor);
  double const modes  = input.tensor.order();
  double const blocks = static_cast<double>(input.rank) / 32;
  double const copied = costs::copy_seconds(input, rows * costs::row_bytes(input));
  return {.mode     = modes * input.machine.launch_s,
          .rows     = copied,
          .cubes    = modes * blocks * blocks * blocks * input.machine.launch_s,
          .products = blocks * copied};
}

DensePart dense_part(CostInput const& input) {
  DenseTerms terms     = dense_terms_of(input);
  auto const& weights  = dense_weights.of(input);
  double const algebra = weights.cubes * terms.cubes / std::max(input.tensor.order(), 1);
  terms.cubes          = 0;
  return {
      .algebra_s = algebra, .overlaps_mttkrp = input.machine.is_device, .rest_s = weighted(terms, weights)};
}

bool loses_digits(FormatCosts const& format, bool is_device, int scalar_bytes, RowLengths const& rows) {
  auto const& terms           = format.terms_at_once;
  std::uint64_t const at_once = is_device ? terms.device : terms.host;
  if (scalar_bytes != 4 || at_once == 0) return false;
  double const average = is_device && terms.has_team_sums ? rows.average / static_cast<double>(at_once) : 0;
  return rows.longest / at_once > most_additions_of_a_row(average);
}

Cost predict(FormatCosts const& format, CostInput const& input) {
  auto const& weights = format.weights.of(input);
  Cost cost;
  cost.name          = format.name;
  cost.storage_bytes = format.storage_bytes(input);
  cost.build_bytes   = format.build_bytes(input);
  if (!format.on_host) cost.build_bytes += coordinate_bytes(input);
  cost.run_bytes =
      (format.on_host ? 0 : cost.storage_bytes) + format.workspace_bytes(input) + model_bytes(input);
  if (input.one_memory && format.on_host) {
    cost.build_bytes = coordinate_bytes(input) + cost.storage_bytes + costs::sort_bytes(input, 8);
    cost.run_bytes += cost.storage_bytes;
  }
  if (input.one_memory || !format.on_host) cost.loading_bytes = input.loading_bytes;
  cost.load_s  = weights.load_s;
  cost.build_s = weighted(format.build(input), weights.build);
  for (int n = 0; n < input.tensor.order(); ++n) {
    ModeTerms const terms = format.mttkrp(input, n);
    cost.mode_s.push_back(weighted(terms, weights.mttkrp));
    cost.crowded_s += terms.hot * weights.mttkrp.hot;
    cost.crowded_s += terms.ordered * weights.mttkrp.ordered;
  }
  cost.dense       = dense_part(input);
  cost.iteration_s = cost.dense.iteration_s(cost.mode_s);
  return cost;
}

void add_row_solves(Cost& cost, FormatCosts const& format, CostInput const& input) {
  if (input.machine.is_device) return;
  // As measured on an AMD EPYC with AVX-512, on nycflights13-delay at R = 4 to 64: 5 ns for each nonzero, the
  // products at the rate of the nearest cache, and a line from anywhere in the coordinates, whose latency is
  // not hidden as well as in an MTTKRP.
  constexpr double fixed_bytes = 320;
  constexpr double line_bytes  = 64;
  constexpr double exposed     = 3;
  auto const nnz               = static_cast<double>(input.tensor.nnz);
  double const pairs           = (static_cast<double>(input.rank) + 1) / 2 * costs::row_bytes(input);
  double const products        = nnz * (pairs + fixed_bytes) / costs::gather_rate(input.machine, 0);
  auto const coordinates       = static_cast<double>(coordinate_bytes(input));
  double const scattered       = exposed * nnz * line_bytes / costs::gather_rate(input.machine, coordinates);
  double const of_a_mode       = products + (format.is_permuted ? scattered : 0);
  for (double& seconds : cost.mode_s) {
    seconds += of_a_mode;
    cost.iteration_s += of_a_mode;
  }
}

}  // namespace polyad::detail

namespace polyad {

double DensePart::iteration_s(std::vector<double> const& mode_s) const {
  double seconds = rest_s;
  for (double const mttkrp_s : mode_s)
    seconds += overlaps_mttkrp ? std::max(mttkrp_s, algebra_s) : mttkrp_s + algebra_s;
  return seconds;
}

}  // namespace polyad
