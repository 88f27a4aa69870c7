// SPDX-License-Identifier: BSD-3-Clause
#include "tensors.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

#include "polyad/io/tensor_file.hpp"
#include "polyad/tensor/sum_duplicates.hpp"
#include "ratings.hpp"

namespace polyad::perf {
namespace {

/// gentns' binary files: "GTNS0001", N, N extents, P, then N arrays of P u32 indices from 0, then P floats.
bool is_gentns(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[8] = {};
  return file.read(magic, 8) && std::memcmp(magic, "GTNS0001", 8) == 0;
}

template <class Number>
std::vector<Number> read_array(std::ifstream& file, std::string const& path, count_t length) {
  std::vector<Number> numbers(length);
  if (!file.read(reinterpret_cast<char*>(numbers.data()),
                 static_cast<std::streamsize>(length * sizeof(Number))))
    throw InputError(path, 0, 0, "is shorter than its header says");
  return numbers;
}

Tensor<double> read_gentns(Space const& space, std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(8);
  count_t const order = read_array<std::uint64_t>(file, path, 1)[0];
  if (order < 1 || order > max_order)
    throw InputError(path, 0, 0, "holds a tensor of " + std::to_string(order) + " modes");
  auto const extents   = read_array<std::uint64_t>(file, path, order);
  count_t const nnz    = read_array<std::uint64_t>(file, path, 1)[0];
  count_t const header = 8 * (order + 3);
  if (std::filesystem::file_size(path) != header + nnz * 4 * (order + 1))
    throw InputError(path, 0, 0, "has a size that does not fit its header");
  std::vector<std::uint32_t> indices(nnz * order);
  for (count_t n = 0; n < order; ++n) {
    auto const column = read_array<std::uint32_t>(file, path, nnz);
    for (count_t p = 0; p < nnz; ++p) indices[p * order + n] = column[p];
  }
  auto const floats = read_array<float>(file, path, nnz);
  std::vector<double> const values(floats.begin(), floats.end());
  return upload<double, std::uint32_t>(space, Extents(std::span<count_t const>(extents)),
                                       std::span<std::uint32_t const>(indices),
                                       std::span<double const>(values));
}

Tensor<double> read_text(Space const& space, std::string const& path) {
  auto const list = io::read_tensor(path).tensor;
  if (list.wide())
    throw InputError(path, 0, 0, "has a mode of more than 2^32 rows; the benchmarks use 32-bit indices");
  auto const& indices = std::get<0>(list.indices);
  auto const uploaded = upload<double, std::uint32_t>(space, Extents(std::span<count_t const>(list.extents)),
                                                      std::span<std::uint32_t const>(indices),
                                                      std::span<double const>(list.values));
  return sum_duplicates(space, uploaded).tensor;
}

/// Moves the first nonzeros into row 0 of mode 0, and the first of these into one fiber.
struct Crowd {
  Tensor<double>::indices_type indices;
  count_t in_fiber;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    auto const last = indices.extent(1) - 1;
    indices(p, 0)   = 0;
    if (p >= in_fiber) return;
    for (count_t n = 1; n < last; ++n) indices(p, n) = 0;
    indices(p, last) = static_cast<std::uint32_t>(p);
  }
};

/// \throws UsageError when the last mode is shorter than the fiber
Tensor<double> crowd(Space const& space, Tensor<double> const& tensor, double share) {
  auto const in_slice = static_cast<count_t>(share * static_cast<double>(tensor.nnz()));
  auto const in_fiber = in_slice / 5;
  POLYAD_EXPECTS(in_fiber <= tensor.extents()[tensor.order() - 1], "a fiber of ", in_fiber, " nonzeros");
  Kokkos::parallel_for("polyad::crowd",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, in_slice),
                       Crowd{tensor.indices(), in_fiber});
  return sum_duplicates(space, tensor).tensor;
}

/// 20 million nonzeros anywhere.
Preset evenly(std::string const& name, std::size_t order, count_t extent) {
  return {name, std::vector<count_t>(order, extent), 20000000, std::vector<double>(order), 1, -1};
}

/// A number from least to most with a uniformly distributed logarithm.
double log_uniform(double u, double least, double most) {
  return least * std::pow(most / least, u);
}

constexpr std::string_view random_prefix = "random:";

/// `random:SEED`: a random shape. It has 3 to 6 modes of 10 to 3 x 10^7 rows, skews up to 1.2,
/// runs of 1 to 300 along a random mode, and 10^5 to 10^7 nonzeros in at most a quarter of the cells.
Preset random_preset(std::string const& name) {
  std::string const text  = name.substr(random_prefix.size());
  std::uint64_t seed      = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  POLYAD_EXPECTS(error == std::errc() && end == text.data() + text.size(), "'", name,
                 "': a seed, a whole number, comes after random:");
  std::uint64_t drawn = 0;
  auto const next     = [&] { return counter_uniform(seed, 0x5eed, drawn++, 0); };
  Preset preset;
  preset.name      = name;
  auto const order = 3 + static_cast<std::size_t>(next() * 4);
  double cells     = 1;
  for (std::size_t n = 0; n < order; ++n) {
    preset.extents.push_back(static_cast<count_t>(log_uniform(next(), 10, 3e7)));
    preset.skew.push_back(1.2 * next());
    cells *= static_cast<double>(preset.extents.back());
  }
  preset.nnz       = static_cast<count_t>(std::min(log_uniform(next(), 1e5, 1e7), cells / 4));
  preset.fiber_run = static_cast<count_t>(log_uniform(next(), 1, 300));
  preset.run_mode  = static_cast<int>(next() * static_cast<double>(order));
  return preset;
}

}  // namespace

std::vector<Preset> const& presets() {
  // Skews: fitted to the published deviation of nonzeros per slice if one is known (nell2, delicious,
  // darpa). The presets fr_m and darpa have the shapes and the statistics of Nisa et al.'s tensors of these
  // names (Tables II and III). Almost all slices and fibers of fr_m have one nonzero; darpa's deviate by
  // 25,000 and, along mode 2, by 1,300.
  static std::vector<Preset> const all{
      {"tiny", {300, 200, 100}, 20000, {0.5, 0, 0.8}, 4, 2},
      {"uniform10m", {30000, 40000, 50000}, 10000000, {0, 0, 0}, 1, -1},
      {"uber", {183, 24, 1140, 1717}, 3300000, {0, 0.2, 0.6, 0.6}, 1, -1},
      {"vast", {165427, 11374, 2}, 20000000, {0.6, 0.9, 0.3}, 1, -1},
      {"nell2", {12092, 9184, 28818}, 30000000, {0.75, 0.7, 0.6}, 64, 2},
      {"delicious", {532924, 17262471, 2480308, 1443}, 30000000, {0.6, 0.5, 0.8, 0.2}, 3, 2},
      {"brainq", {60, 70000, 9}, 11000000, {0, 0, 0}, 1, -1},  // three of ten cells (Liu et al., F-COO)
      {"fr_m", {23000000, 23000000, 166}, 30000000, {0.7, 0.7, 0.5}, 1, -1},
      {"darpa", {22000, 22000, 24000000}, 28000000, {0.95, 0.95, 0}, 1024, 2},
      // The same, except that one slice holds half the nonzeros, and one fiber in it a million. It shows the
      // gain of splitting.
      {"even10m", {3000, 40000, 2000000}, 10000000, {0, 0, 0}, 1, -1},
      {"skewed10m", {3000, 40000, 2000000}, 10000000, {0, 0, 0}, 1, -1, 0.5},
      // FastTucker's (Li et al.): ratings of Netflix' shape, orders 3 to 10 of size 10,000, and with --scale
      // 1,2,3,4,5 densities from 2 to 10 % of size 1,000.
      {"netflix30m", {480189, 17770, 2182}, 30000000, {}, 1, -1, 0, true},
      evenly("order3", 3, 10000),
      evenly("order4", 4, 10000),
      evenly("order5", 5, 10000),
      evenly("order6", 6, 10000),
      evenly("order7", 7, 10000),
      evenly("order8", 8, 10000),
      evenly("order9", 9, 10000),
      evenly("order10", 10, 10000),
      evenly("cube1000", 3, 1000),
  };
  return all;
}

std::optional<Preset> find_preset(std::string const& name) {
  if (name.starts_with(random_prefix)) return random_preset(name);
  for (auto const& preset : presets())
    if (preset.name == name) return preset;
  return std::nullopt;
}

Tensor<double> generate(Space const& space, Preset const& preset, double scale) {
  PowerLawOptions options;
  std::copy(preset.skew.begin(), preset.skew.end(), options.skew.begin());
  options.fiber_run = preset.fiber_run;
  options.run_mode  = preset.run_mode;
  options.seed      = 1;
  auto const nnz    = static_cast<count_t>(scale * static_cast<double>(preset.nnz));
  if (preset.ratings)
    return make_ratings(space, Extents(std::span<count_t const>(preset.extents)), nnz, 0, options.seed).train;
  auto const tensor = power_law_tensor<double, std::uint32_t>(
      space, Extents(std::span<count_t const>(preset.extents)), nnz, options);
  return preset.crowded > 0 ? crowd(space, tensor, preset.crowded) : tensor;
}

Tensor<double> const& tensor(Space const& space, std::string const& name, double scale) {
  static std::string last_name;
  static double last_scale = 0;
  static std::optional<Tensor<double>> last;
  if (!last) Kokkos::push_finalize_hook([] { last.reset(); });
  if (!last || last_name != name || last_scale != scale) {
    last.reset();
    if (auto const preset = find_preset(name))
      last = generate(space, *preset, scale);
    else
      last = is_gentns(name) ? read_gentns(space, name) : read_text(space, name);
    last_name  = name;
    last_scale = scale;
  }
  return *last;
}

}  // namespace polyad::perf
