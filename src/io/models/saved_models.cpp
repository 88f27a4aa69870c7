// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/saved_models.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/archive/npz_arrays.hpp"
#include "io/archive/npz_names.hpp"
#include "io/archive/zip.hpp"
#include "io/lists/single_precision.hpp"
#include "io/memory/element_blocks.hpp"
#include "io/models/fast_tucker_blocks.hpp"
#include "io/models/ktensor_blocks.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/input_file.hpp"
#include "polyad/tensor/compact.hpp"
#include "tensor/read_rows.hpp"

namespace polyad {
namespace {

/// The elements of a matrix of `space`, which it shares. Each block waits for `space`.
template <class Scalar, class Space>
[[nodiscard]] io::ElementBlocks element_blocks(Space const& space,
                                               FactorMatrix<Scalar, Space> const& matrix) {
  return {matrix.extent(0), matrix.extent(1), detail::reader_of_rows<Scalar>(space, matrix),
          sizeof(Scalar) == sizeof(float)};
}

/// Converts between an unfolding along the last mode, R_{N-1} x the others, and R_0 x ... x R_{N-1}, where
/// the last index is the fastest.
std::vector<double> transposed(std::vector<double> const& elements, std::size_t rows, std::size_t columns) {
  std::vector<double> result(elements.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) result[c * rows + r] = elements[r * columns + c];
  return result;
}

/// \throws UsageError when an element would become infinite or zero as Scalar
template <class Scalar>
void expect_fits_scalar(std::vector<double> const& elements) {
  if constexpr (sizeof(Scalar) < sizeof(double)) {
    auto const found = std::find_if_not(elements.begin(), elements.end(), io::fits_float);
    POLYAD_EXPECTS(found == elements.end(), "the model holds ", *found,
                   ", which does not fit a float: take double precision (f64)");
  }
}

template <class Scalar, class Space>
FactorMatrix<Scalar, Space> to_matrix(Space const& space, std::string const& label, count_t rows,
                                      count_t columns, std::vector<double> const& elements) {
  expect_fits_scalar<Scalar>(elements);
  auto const matrix = make_factor_matrix<Scalar>(space, label, rows, columns);
  from_host<Scalar>(space, elements, matrix);
  return matrix;
}

void expect_npz(std::filesystem::path const& path, char const* what) {
  POLYAD_EXPECTS(path.extension() == ".npz" || io::own_descriptor(path), path.string(), ": ", what,
                 " is written as .npz");
}

/// I_n, the rows of the tensor, of which a model may store only some.
template <class Scalar, class Space>
std::uint64_t extent_of(Ktensor<Scalar, Space> const& model, int n) {
  return model.rows.empty() ? model.factors[n].extent(0) : model.rows[n].extent();
}

template <class Scalar>
constexpr bool is_single = sizeof(Scalar) == sizeof(float);

}  // namespace

namespace io {

template <class Scalar, class Space>
HostKtensor to_host_model(Space const& space, Ktensor<Scalar, Space> const& model) {
  HostKtensor host;
  host.weights = model.weights;
  for (int n = 0; n < model.factors.order(); ++n) {
    host.extents.push_back(extent_of(model, n));
    host.factors.push_back(to_host<Scalar>(space, model.factors[n]));
  }
  host.rows        = model.rows;
  host.constraints = model.constraints;
  return host;
}

template <class Scalar, class Space>
HostFastTucker to_host_model(Space const& space, FastTuckerModel<Scalar, Space> const& model) {
  HostFastTucker host = without_factors(space, model);
  for (int n = 0; n < model.order(); ++n) host.factors.push_back(to_host<Scalar>(space, model.A(n)));
  return host;
}

template <class Scalar, class Space>
HostFastTucker without_factors(Space const& space, FastTuckerModel<Scalar, Space> const& model) {
  HostFastTucker host;
  host.rank    = model.rank();
  host.mean    = model.mean;
  host.lowest  = model.range.lowest;
  host.highest = model.range.highest;
  for (int n = 0; n < model.order(); ++n) {
    host.extents.push_back(model.extents()[n]);
    host.columns.push_back(model.columns(n));
    host.cores.push_back(to_host<Scalar>(space, model.B(n)));
    if (!model.has_biases()) continue;
    auto const bias = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), model.bias(n));
    host.biases.emplace_back(bias.data(), bias.data() + bias.size());
  }
  host.time_mode = model.time_mode;
  for (int n = 0; n < model.order() && model.time_mode >= 0; ++n) {
    host.bins.push_back(model.drift(n).extent(1));
    host.drifts.push_back(host.bins.back() > 0 ? to_host<Scalar>(space, model.drift(n))
                                               : std::vector<double>());
  }
  return host;
}

template <class Scalar, class Space>
Ktensor<Scalar, Space> to_model(Space const& space, HostKtensor const& host) {
  expect_consistent(host);
  for (auto const& factor : host.factors) expect_fits_scalar<Scalar>(factor);
  Extents const extents{std::span<count_t const>(host.extents)};
  Ktensor<Scalar, Space> model{
      host.weights, {space, compact_extents(extents, host.rows), host.rank()}, host.rows, host.constraints};
  for (int n = 0; n < host.order(); ++n) from_host<Scalar>(space, host.factors[n], model.factors[n]);
  return model;
}

template <class Scalar, class Space>
FastTuckerModel<Scalar, Space> to_model(Space const& space, HostFastTucker const& host) {
  expect_consistent(host);
  for (auto const* arrays : {&host.factors, &host.cores, &host.biases, &host.drifts})
    for (auto const& elements : *arrays) expect_fits_scalar<Scalar>(elements);
  FastTuckerModel<Scalar, Space> model(space, Extents(std::span<count_t const>(host.extents)), host.columns,
                                       host.rank, !host.biases.empty());
  model.mean      = host.mean;
  model.range     = {host.lowest, host.highest};
  model.time_mode = host.time_mode;
  for (int n = 0; n < model.order(); ++n) {
    std::size_t const m = n;
    from_host<Scalar>(space, host.factors[m], model.A(n));
    from_host<Scalar>(space, host.cores[m], model.B(n));
    if (host.time_mode >= 0 && host.bins[m] > 0) {
      model.drift(n) = make_factor_matrix<Scalar>(space, "polyad::drift", host.extents[m], host.bins[m]);
      from_host<Scalar>(space, host.drifts[m], model.drift(n));
    }
    if (host.biases.empty()) continue;
    auto const bias = Kokkos::create_mirror_view(model.bias(n));
    std::transform(host.biases[m].begin(), host.biases[m].end(), bias.data(),
                   [](double b) { return static_cast<Scalar>(b); });
    Kokkos::deep_copy(space, model.bias(n), bias);
    space.fence("polyad::to_model");
  }
  return model;
}

RowNames read_row_names(std::filesystem::path const& path) {
  InputFile file(path);
  switch (file.kind()) {
    case InputFile::Kind::fast_tucker_model:
      return file.read_fast_tucker().names;
    case InputFile::Kind::tucker_model:
      return file.read_tucker().names;
    default:
      return file.read_model().names;
  }
}

}  // namespace io

template <class Scalar, class Space>
void save(Space const& space, Ktensor<Scalar, Space> const& model, std::filesystem::path const& path,
          io::RowNames const& names) {
  io::KtensorBlocks blocks{model.weights, {}, {}, model.rows, names, model.constraints};
  for (int n = 0; n < model.factors.order(); ++n) {
    blocks.extents.push_back(extent_of(model, n));
    blocks.factors.push_back(element_blocks<Scalar>(space, model.factors[n]));
  }
  io::expect_names_fit(names, blocks.extents);
  io::write_model_blocks(path, blocks, is_single<Scalar>);
}

template <class Scalar, class Space>
Ktensor<Scalar, Space> load_ktensor(Space const& space, std::filesystem::path const& path) {
  return io::to_model<Scalar>(space, io::read_model(path));
}

template <class Scalar, class Space>
FastTuckerModel<Scalar, Space> load_fast_tucker(Space const& space, std::filesystem::path const& path) {
  return io::to_model<Scalar>(space, io::read_fast_tucker(path));
}

template <class Scalar, class Space>
void save(Space const& space, FastTuckerModel<Scalar, Space> const& model, std::filesystem::path const& path,
          io::RowNames const& names, std::vector<std::vector<std::uint8_t>> const& observed,
          std::optional<RowFit> const& fit) {
  std::vector<io::ElementBlocks> factors;
  for (int n = 0; n < model.order(); ++n) factors.push_back(element_blocks<Scalar>(space, model.A(n)));
  auto host     = io::without_factors(space, model);
  host.names    = names;
  host.observed = observed;
  host.fit      = fit;
  io::expect_names_fit(names, host.extents);
  io::write_fast_tucker(path, host, factors, is_single<Scalar>);
}

template <class Scalar, class Space>
void save(Space const& space, TuckerModel<Scalar, Space> const& model, std::filesystem::path const& path,
          io::RowNames const& names) {
  expect_npz(path, "a Tucker model");
  std::vector<std::uint64_t> extents;
  for (std::size_t n = 0; n < model.factors.size(); ++n)
    extents.push_back(model.rows.empty() ? model.factors[n].extent(0) : model.rows[n].extent());
  io::expect_names_fit(names, extents);
  std::vector<std::uint64_t> ranks;
  for (auto const& U : model.factors) ranks.push_back(U.extent(1));
  auto const core =
      transposed(to_host<Scalar>(space, model.core), model.core.extent(0), model.core.extent(1));
  io::AtomicFile file(path);
  io::ZipWriter zip(file, false);
  io::add_array(zip, "core", ranks, core, is_single<Scalar>);
  for (std::size_t n = 0; n < model.factors.size(); ++n) {
    auto const& U = model.factors[n];
    io::add_array(zip, "factor_" + std::to_string(n), {U.extent(0), U.extent(1)},
                  element_blocks<Scalar>(space, U), is_single<Scalar>);
  }
  io::add_rows(zip, model.rows);
  io::add_names(zip, names);
  zip.finish();
  file.commit();
}

template <class Scalar, class Space>
TuckerModel<Scalar, Space> load_tucker(Space const& space, std::filesystem::path const& path) {
  io::InputFile file(path);
  auto const factors  = file.read_factors_npz();
  auto const core     = file.read_array_npz("core", factors.size());  // names a model of another kind
  auto const damaged  = [&](std::string const& what) { return InputError(path.string(), 0, 0, what); };
  std::size_t const N = factors.size();
  TuckerModel<Scalar, Space> model;
  for (auto const& [n, factor] : factors) {
    if (static_cast<std::size_t>(n) != model.factors.size())
      throw damaged("holds no array 'factor_" + std::to_string(model.factors.size()) + "'");
    std::string const name = "factor_" + std::to_string(n);
    if (factor.shape[1] != core.shape[model.factors.size()])
      throw damaged("'" + name + "' has " + std::to_string(factor.shape[1]) + " columns, but 'core' is " +
                    std::to_string(core.shape[model.factors.size()]) + " long in that mode");
    model.factors.push_back(
        to_matrix<Scalar>(space, "polyad::" + name, factor.shape[0], factor.shape[1], factor.elements));
  }
  count_t const last   = core.shape[N - 1];
  count_t const others = last == 0 ? 0 : core.elements.size() / last;
  model.core =
      to_matrix<Scalar>(space, "polyad::tucker_core", last, others, transposed(core.elements, others, last));
  std::vector<std::uint64_t> extents;
  for (auto const& U : model.factors) extents.push_back(U.extent(0));
  model.rows = file.read_rows_npz(extents);
  return model;
}

#define POLYAD_SAVED_MODELS(Scalar)                                                                        \
  template io::HostKtensor io::to_host_model(CompiledSpace const&, Ktensor<Scalar, CompiledSpace> const&); \
  template io::HostFastTucker io::to_host_model(CompiledSpace const&,                                      \
                                                FastTuckerModel<Scalar, CompiledSpace> const&);            \
  template io::HostFastTucker io::without_factors(CompiledSpace const&,                                    \
                                                  FastTuckerModel<Scalar, CompiledSpace> const&);          \
  template Ktensor<Scalar, CompiledSpace> io::to_model<Scalar>(CompiledSpace const&,                       \
                                                               io::HostKtensor const&);                    \
  template FastTuckerModel<Scalar, CompiledSpace> io::to_model<Scalar>(CompiledSpace const&,               \
                                                                       io::HostFastTucker const&);         \
  template void save(CompiledSpace const&, Ktensor<Scalar, CompiledSpace> const&,                          \
                     std::filesystem::path const&, io::RowNames const&);                                   \
  template void save(CompiledSpace const&, TuckerModel<Scalar, CompiledSpace> const&,                      \
                     std::filesystem::path const&, io::RowNames const&);                                   \
  template void save(CompiledSpace const&, FastTuckerModel<Scalar, CompiledSpace> const&,                  \
                     std::filesystem::path const&, io::RowNames const&,                                    \
                     std::vector<std::vector<std::uint8_t>> const&, std::optional<RowFit> const&);         \
  template Ktensor<Scalar, CompiledSpace> load_ktensor<Scalar>(CompiledSpace const&,                       \
                                                               std::filesystem::path const&);              \
  template TuckerModel<Scalar, CompiledSpace> load_tucker<Scalar>(CompiledSpace const&,                    \
                                                                  std::filesystem::path const&);           \
  template FastTuckerModel<Scalar, CompiledSpace> load_fast_tucker<Scalar>(CompiledSpace const&,           \
                                                                           std::filesystem::path const&)
POLYAD_EACH_SCALAR(, POLYAD_SAVED_MODELS);

}  // namespace polyad
