// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <limits>
#include <span>

#include "polyad/core/device.hpp"
#include "polyad/formats/ceilings.hpp"
#include "polyad/tensor/compact.hpp"
#include "polyad/tensor/generate.hpp"
#include "polyad/tensor/sum_duplicates.hpp"
#include "views.hpp"

namespace polyad::python {

Backend backend() {
  DeviceFacts const facts = probe_device();
  std::string const name  = facts.backend == "Serial"   ? "serial"
                            : facts.backend == "OpenMP" ? "openmp"
                            : facts.backend == "Cuda"   ? "cuda"
                                                        : facts.backend;
  return {name, facts.accelerator, facts.problem};
}

bool is_started() {
  return Kokkos::is_initialized();
}

bool takes_device_arrays() {
  return is_device_space<Space>;
}

void start(int threads, int device) {
  if (Kokkos::is_initialized()) return;
  expect_usable_device();
  Kokkos::InitializationSettings settings;
  if (threads > 0) settings.set_num_threads(threads);
  if (device >= 0 && is_device_space<Space>) settings.set_device_id(device);
  settings.set_disable_warnings(true);
#ifdef _OPENMP
  // Kokkos passes its own number of threads to each loop, and also sets that of the whole process, which is
  // not ours to change.
  int const of_process = omp_get_max_threads();
  Kokkos::initialize(settings);
  omp_set_num_threads(of_process);
#else
  Kokkos::initialize(settings);
#endif
}

void finish() {
  if (Kokkos::is_initialized()) Kokkos::finalize();
}

int device_in_use() {
  return is_device_space<Space> ? Kokkos::device_id() : -1;
}

int concurrency() {
  return Space().concurrency();
}

std::string openmp_runtime() {
#ifdef _OPENMP
  Dl_info where{};
  if (dladdr(reinterpret_cast<void*>(&omp_get_max_threads), &where) != 0 && where.dli_fname != nullptr)
    return where.dli_fname;
#endif
  return {};
}

Array in_host_memory(Array const& array) {
  if (!array.on_device) return array;
  std::size_t const element = array.type == Type::f32 || array.type == Type::u32 ? 4 : 8;
  std::size_t const bytes   = span_of(array) * element;
  // Doubles, so that every type is aligned.
  auto const copy = std::make_shared<std::vector<double>>((bytes + 7) / 8);
  using Bytes     = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  Kokkos::deep_copy(
      Kokkos::View<char*, Kokkos::HostSpace, Bytes>(reinterpret_cast<char*>(copy->data()), bytes),
      Kokkos::View<char const*, typename Space::memory_space, Bytes>(static_cast<char const*>(array.data),
                                                                     bytes));
  Array result     = array;
  result.data      = copy->data();
  result.owner     = copy;
  result.on_device = false;
  return result;
}

namespace {

template <class Scalar, class Index>
TensorPtr wrap_as(Extents const& extents, Array const& indices, Array const& values) {
  using Coo = CooTensor<Scalar, Index, Space>;
  struct Owners {
    std::shared_ptr<void> indices, values;
  };
  return std::make_shared<TensorOf<Scalar, Index>>(
      Coo(extents, indices_view<Index>(indices), vector_view<Scalar>(values)),
      std::make_shared<Owners>(Owners{indices.owner, values.owner}), values.on_device);
}

/// The smallest position of a nonzero that is out of range or not finite.
template <class Coo, bool Places>
struct FirstFault {
  typename Coo::indices_type indices;
  typename Coo::values_type values;
  Extents extents;
  KOKKOS_FUNCTION void operator()(count_t p, count_t& first) const {
    bool fault = false;
    if constexpr (Places) {
      for (int n = 0; n < extents.order(); ++n)
        if (indices(p, n) >= extents[n]) fault = true;
    } else {
      // Neither NaN nor infinite: the difference from itself is zero.
      fault = !(values(p) - values(p) == typename Coo::scalar_type(0));
    }
    if (fault && p < first) first = p;
  }
};

template <bool Places, class Coo>
std::optional<std::uint64_t> first_fault(Coo const& coo) {
  count_t first = std::numeric_limits<count_t>::max();
  Kokkos::parallel_reduce(
      "polyad::first_fault", Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(Space(), 0, coo.nnz()),
      FirstFault<Coo, Places>{coo.indices(), coo.values(), coo.extents()}, Kokkos::Min<count_t>(first));
  if (first == std::numeric_limits<count_t>::max()) return {};
  return first;
}

}  // namespace

TensorPtr wrap(std::vector<std::uint64_t> const& sizes, Array const& indices, Array const& values) {
  Extents const extents{std::span<count_t const>(sizes)};
  auto const order = static_cast<std::size_t>(extents.order());
  POLYAD_EXPECTS(indices.shape.size() == 2 && indices.shape[1] == order, "coordinates are nonzeros x ",
                 order);
  POLYAD_EXPECTS(values.shape.size() == 1 && values.shape[0] == indices.shape[0], indices.shape[0],
                 " coordinates but ", values.shape.empty() ? 0 : values.shape[0], " values");
  POLYAD_EXPECTS(indices.shape[0] <= 1 || (indices.strides[0] == static_cast<std::int64_t>(order) &&
                                           (order == 1 || indices.strides[1] == 1)),
                 "coordinates are row-major, without gaps");
  POLYAD_EXPECTS(indices.on_device == values.on_device,
                 "coordinates and values are in different memory: one is a GPU's, the other the host's");
  bool const narrow = indices.type == Type::u32;
  if (values.type == Type::f32)
    return narrow ? wrap_as<float, std::uint32_t>(extents, indices, values)
                  : wrap_as<float, std::uint64_t>(extents, indices, values);
  return narrow ? wrap_as<double, std::uint32_t>(extents, indices, values)
                : wrap_as<double, std::uint64_t>(extents, indices, values);
}

Faults find_faults(Tensor const& tensor) {
  return visit<TensorOf>(
      tensor, [](auto const& of) { return Faults{first_fault<true>(of.coo), first_fault<false>(of.coo)}; });
}

Summed sum_duplicates(TensorPtr const& tensor) {
  return visit<TensorOf>(*tensor, [&](auto const& of) -> Summed {
    using Of          = std::remove_cvref_t<decltype(of)>;
    auto const summed = polyad::sum_duplicates(Space(), of.coo);
    if (summed.duplicates == 0) return {tensor, 0};
    return {std::make_shared<Of>(summed.tensor, nullptr, of.stays), summed.duplicates};
  });
}

namespace {

AnyFormatOptions any_format_options(FormatOptions const& options) {
  AnyFormatOptions wanted;
  wanted.rank       = options.rank;
  wanted.iterations = options.iterations;
  if (options.need == Need::ttmc) wanted.needs = {Capability::ttmc};
  return with(wanted, options);
}

}  // namespace

FormatPtr build_format(TensorPtr const& tensor, FormatOptions const& options) {
  auto const wanted = any_format_options(options);
  return visit<TensorOf>(*tensor, [&](auto const& of) { return build(of, wanted); });
}

FormatComparison compare_formats(TensorPtr const& tensor, FormatOptions const& options, bool measure) {
  return visit<TensorOf>(*tensor, [&](auto const& of) {
    using Scalar = typename std::remove_cvref_t<decltype(of.coo)>::scalar_type;
    auto wanted  = any_format_options(options);
    // A user who requests this needs this machine's numbers, however short the run.
    wanted.hooks.machine = [](double) { return measure_ceilings<Scalar>(Space()); };
    auto const coo       = compact(Space(), of.coo).tensor;  // as cp_als does
    auto found = measure ? tune_formats(Space(), coo, wanted) : estimate_formats(Space(), coo, wanted);
    FormatComparison result{
        std::move(found.candidates), std::move(found.best), std::move(found.because), {}, found.free_bytes};
    for (auto const& shape : found.shapes) result.shapes.emplace_back(shape.format, shape.seconds);
    return result;
  });
}

namespace {

template <class Scalar>
TensorPtr power_law_as(Extents const& extents, count_t nnz, PowerLawOptions const& law, bool narrow) {
  if (narrow)
    return std::make_shared<TensorOf<Scalar, std::uint32_t>>(
        power_law_tensor<Scalar, std::uint32_t>(Space(), extents, nnz, law), nullptr, false);
  return std::make_shared<TensorOf<Scalar, std::uint64_t>>(
      power_law_tensor<Scalar, std::uint64_t>(Space(), extents, nnz, law), nullptr, false);
}

bool fits_32_bits(Extents const& extents) {
  for (int n = 0; n < extents.order(); ++n)
    if (extents[n] > std::numeric_limits<std::uint32_t>::max()) return false;
  return true;
}

template <class Scalar, class Index>
Planted planted_as(Extents const& extents, count_t rank, count_t block, std::uint64_t seed) {
  auto const made = planted_tensor<Scalar, Index>(Space(), extents, rank, block, seed);
  Space().fence("polyad::python");
  return {std::make_shared<TensorOf<Scalar, Index>>(made.tensor, nullptr, false), made.model.weights,
          to_arrays(made.model.factors, false)};
}

}  // namespace

TensorPtr power_law(std::vector<std::uint64_t> const& sizes, std::uint64_t nnz,
                    std::vector<double> const& skew, std::uint64_t fiber_run, int run_mode,
                    std::uint64_t seed, Type scalar) {
  Extents const extents{std::span<count_t const>(sizes)};
  POLYAD_EXPECTS(skew.size() == sizes.size(), skew.size(), " skews for a tensor of order ", sizes.size());
  PowerLawOptions law;
  for (std::size_t n = 0; n < skew.size(); ++n) law.skew[n] = skew[n];
  law.fiber_run = fiber_run;
  law.run_mode  = run_mode;
  law.seed      = seed;
  return scalar == Type::f32 ? power_law_as<float>(extents, nnz, law, fits_32_bits(extents))
                             : power_law_as<double>(extents, nnz, law, fits_32_bits(extents));
}

Planted planted(std::vector<std::uint64_t> const& sizes, std::uint64_t rank, std::uint64_t block,
                std::uint64_t seed, Type scalar) {
  Extents const extents{std::span<count_t const>(sizes)};
  if (fits_32_bits(extents))
    return scalar == Type::f32 ? planted_as<float, std::uint32_t>(extents, rank, block, seed)
                               : planted_as<double, std::uint32_t>(extents, rank, block, seed);
  return scalar == Type::f32 ? planted_as<float, std::uint64_t>(extents, rank, block, seed)
                             : planted_as<double, std::uint64_t>(extents, rank, block, seed);
}

}  // namespace polyad::python
