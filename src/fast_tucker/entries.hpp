// SPDX-License-Identifier: BSD-3-Clause
// TrainingSet: a training set on the device, or in host memory. A set in host memory may be larger than the
// device, which takes it in stretches. A pass over it sends the next stretch while kernels work on the
// current one.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "core/space_instances.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "run/row_distribution.hpp"

namespace polyad::detail {

using PinnedSpace = Kokkos::SharedHostPinnedSpace;  // a device copies from it while the host continues

/// A tensor in host memory. `tensor` gives host code access to its arrays.
template <class Scalar, class Index, class Space>
struct PinnedTensor {
  using Tensor  = CooTensor<Scalar, Index, HostOf<Space>>;
  using Indices = Kokkos::View<Index**, Kokkos::LayoutRight, PinnedSpace>;
  using Values  = Kokkos::View<Scalar*, PinnedSpace>;

  PinnedTensor() = default;
  PinnedTensor(Extents const& extents, Indices pinned_indices, Values pinned_values)
      : indices(std::move(pinned_indices)),
        values(std::move(pinned_values)),
        tensor(extents,
               typename Tensor::indices_type(indices.data(), indices.extent(0),
                                             static_cast<std::size_t>(extents.order())),
               typename Tensor::values_type(values.data(), values.extent(0))) {}

  Indices indices;  // P x N
  Values values;    // P
  Tensor tensor;
};

/// P values in host memory. \throws MemoryError
template <class Scalar, class Space>
Kokkos::View<Scalar*, PinnedSpace> make_pinned_values(count_t nnz) {
  DeviceMemoryAccount::HostArrays const on_host;
  expect_fits(HostOf<Space>(), "the values in host memory", nnz, sizeof(Scalar));
  return Kokkos::View<Scalar*, PinnedSpace>(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "polyad::pinned_values"), nnz);
}

/// \throws MemoryError
template <class Scalar, class Index, class Space>
PinnedTensor<Scalar, Index, Space> make_pinned_tensor(Extents const& extents, count_t nnz) {
  DeviceMemoryAccount::HostArrays const on_host;
  auto const order = static_cast<count_t>(extents.order());
  expect_fits(HostOf<Space>(), "the entries in host memory", nnz, sizeof(Scalar) + order * sizeof(Index));
  typename PinnedTensor<Scalar, Index, Space>::Indices const indices(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "polyad::pinned_indices"), nnz, order);
  return {extents, indices, make_pinned_values<Scalar, Space>(nnz)};
}

/// Two device buffers for stretches of entries: one is filled while kernels work on the other.
template <class Scalar, class Index, class Space>
struct EntryBuffers {
  using Tensor = CooTensor<Scalar, Index, Space>;
  struct Buffer {
    Space instance;
    typename Tensor::indices_type indices;
    typename Tensor::values_type values;
  };
  /// The length of a stretch is a multiple of this. The chunks of error sums divide it, so that the sums are
  /// the same wherever the entries are.
  static constexpr count_t step = 1024;

  std::array<Buffer, 2> buffers;
  count_t length = 0;  // entries in a buffer

  /// For tensors of that order with at most `nnz` entries. Uses an eighth of the free memory, since the model
  /// and the format need the rest, but at most 64 MiB, which are enough to hide the copies.
  /// \throws MemoryError
  EntryBuffers(Space const& space, int order, count_t nnz) {
    constexpr count_t most = count_t(64) << 20;  // bytes
    count_t const bytes    = sizeof(Scalar) + static_cast<count_t>(order) * sizeof(Index);
    count_t const wanted   = std::min(available_memory(space) / 8, most) / (2 * bytes) / step * step;
    length = std::clamp<count_t>(wanted, step, std::max<count_t>(ceil_div(nnz, step), 1) * step);
    expect_fits(space, "the stretches of entries on their way", 2 * length, bytes);
    auto const instances = make_instances(space, 2);
    for (std::size_t b = 0; b < 2; ++b) {
      buffers[b].instance = instances[b];
      buffers[b].indices  = typename Tensor::indices_type(uninitialized(space, "polyad::entry_indices"),
                                                          length, static_cast<count_t>(order));
      buffers[b].values = typename Tensor::values_type(uninitialized(space, "polyad::entry_values"), length);
    }
    space.fence("polyad::entry_buffers");
  }
};

template <class Scalar, class Index, class Space>
class TrainingSet {
public:
  using Tensor  = CooTensor<Scalar, Index, Space>;
  using Pinned  = PinnedTensor<Scalar, Index, Space>;
  using Buffers = EntryBuffers<Scalar, Index, Space>;

  TrainingSet() = default;
  explicit TrainingSet(Tensor tensor) : m_tensor(std::move(tensor)) {}
  TrainingSet(Pinned pinned, std::shared_ptr<Buffers> buffers)
      : m_pinned(std::move(pinned)), m_buffers(std::move(buffers)) {}

  [[nodiscard]] bool on_host() const { return m_buffers != nullptr; }
  [[nodiscard]] Extents const& extents() const {
    return on_host() ? m_pinned.tensor.extents() : m_tensor.extents();
  }
  [[nodiscard]] int order() const { return extents().order(); }
  [[nodiscard]] count_t nnz() const { return on_host() ? m_pinned.tensor.nnz() : m_tensor.nnz(); }
  /// The tensor, if the entries are on the device.
  [[nodiscard]] Tensor const& tensor() const { return m_tensor; }
  /// The tensor, if the entries are in host memory.
  [[nodiscard]] Pinned const& pinned() const { return m_pinned; }
  [[nodiscard]] std::shared_ptr<Buffers> const& buffers() const { return m_buffers; }

  /// Calls f(instance, stretch, first) for each stretch. A stretch is a tensor on the device with the entries
  /// from number `first` on; f's kernels on the instance may overwrite it. They run after the work that
  /// `space` holds now, and `space` waits for them. Does not wait.
  template <class F>
  void for_each_stretch(Space const& space, F const& f) const {
    if (!on_host()) return f(space, m_tensor, count_t(0));
    count_t const length = m_buffers->length, count = ceil_div(nnz(), length);
    if (count > 0) send(0);
    for (count_t s = 0; s < count; ++s) {
      if (s + 1 < count) send(s + 1);  // after the kernels of stretch s - 1, which has the same instance
      auto const& buffer = m_buffers->buffers[s % 2];
      // Only the first kernels wait for the model; their copies need not.
      if (s < 2) enqueue_after(buffer.instance, space);
      auto const entries = Kokkos::make_pair(count_t(0), std::min(length, nnz() - s * length));
      f(buffer.instance,
        Tensor(extents(), Kokkos::subview(buffer.indices, entries, Kokkos::ALL),
               Kokkos::subview(buffer.values, entries)),
        s * length);
    }
    for (auto const& buffer : m_buffers->buffers) enqueue_after(space, buffer.instance);
  }

private:
  /// Enqueues the copy of stretch s.
  void send(count_t s) const {
    auto const& buffer  = m_buffers->buffers[s % 2];
    count_t const first = s * m_buffers->length, count = std::min(m_buffers->length, nnz() - first);
    auto const order = static_cast<count_t>(extents().order());
    copy(buffer.instance, buffer.indices.data(), m_pinned.indices.data() + first * order, count * order);
    copy(buffer.instance, buffer.values.data(), m_pinned.values.data() + first, count);
  }
  template <class T>
  static void copy(Space const& instance, T* to, T const* from, count_t count) {
    Kokkos::deep_copy(instance, Kokkos::View<T*, typename Space::device_type>(to, count),
                      Kokkos::View<T const*, PinnedSpace>(from, count));
  }

  Tensor m_tensor;
  Pinned m_pinned;
  std::shared_ptr<Buffers> m_buffers;
};

/// Entries in host memory. If the device cannot copy from it asynchronously, they are first copied once to
/// memory that allows it.
/// \throws MemoryError
template <class Scalar, class Index, class Space>
TrainingSet<Scalar, Index, Space> entries_on_host(Space const& space,
                                                  CooTensor<Scalar, Index, HostOf<Space>> const& tensor) {
  using Buffers = EntryBuffers<Scalar, Index, Space>;
  PinnedTensor<Scalar, Index, Space> pinned;
  if constexpr (std::is_same_v<typename HostOf<Space>::memory_space, PinnedSpace>) {
    pinned = {tensor.extents(), tensor.indices(), tensor.values()};
  } else {
    pinned = make_pinned_tensor<Scalar, Index, Space>(tensor.extents(), tensor.nnz());
    Kokkos::deep_copy(space, pinned.indices, tensor.indices());
    Kokkos::deep_copy(space, pinned.values, tensor.values());
    space.fence("polyad::entries_on_host");
  }
  return {std::move(pinned), std::make_shared<Buffers>(space, tensor.order(), tensor.nnz())};
}

// The functions of fast_tucker.hpp and predict.hpp with these names, for entries wherever they are.

/// Epochs of the best candidate with all entries; they are few, since few entries were held out. As many
/// epochs with only the kept entries decide whether it is better than mean and biases.
inline constexpr int last_epochs = 6;

/// The times up to the last one that an entry of any rank has. \throws MemoryError
template <class Space, class Scalar, class Index>
count_t seen_times(Space const& space, TrainingSet<Scalar, Index, Space> const& X, int time_mode,
                   RowDistribution<Scalar, Space> const& rows);
/// \param rows  if there are several ranks, X is this rank's part, and all get the same biases
/// \param between  called before the update of each mode; its exception ends the fit
/// \param known_times  what seen_times returns; 0: counted if biases drift
template <class Space, class Scalar, class Index>
void fit_biases(Space const& space, TrainingSet<Scalar, Index, Space> const& X, BiasOptions const& options,
                FastTuckerModel<Scalar, Space>& model, RowDistribution<Scalar, Space> const& rows,
                std::function<void()> const& between = {}, count_t known_times = 0);
/// fill_start for A^(n) that have only some of the rows.
/// \param first_rows  the first one of each mode; none: 0
template <class Scalar, class Space>
void fill_start_of_rows(Space const& space, FastTuckerModel<Scalar, Space> const& model, double deviation,
                        std::uint64_t seed, std::span<RowTarget const> targets,
                        std::span<count_t const> first_rows);
/// Waits for `space` if X is in host memory, and leaves the result there.
template <class Space, class Scalar, class Index>
TrainingSet<Scalar, Index, Space> without_biases(Space const& space,
                                                 TrainingSet<Scalar, Index, Space> const& X,
                                                 FastTuckerModel<Scalar, Space> const& model);
/// The errors of some entries, summed.
struct SummedErrors {
  double entries = 0, squares = 0, magnitudes = 0;
  /// With implicit feedback: the loss of these cells beyond what it would be if they had no entry.
  double implicit = 0;

  [[nodiscard]] PredictionErrors means() const {
    if (entries == 0) return {};
    return {static_cast<count_t>(entries), std::sqrt(squares / entries), magnitudes / entries};
  }
};
/// \param alpha  0, or of implicit feedback: then the target of a value above 0 is 1, and that of others 0
template <class Space, class Scalar, class Index>
SummedErrors summed_errors(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                           FactorMatrices<Scalar, Space> const& C, TrainingSet<Scalar, Index, Space> const& X,
                           ErrorSums<Space> const& sums, double alpha);
template <class Space, class Scalar, class Index>
SummedErrors summed_errors(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                           FactorMatrices<Scalar, Space> const& C, TrainingSet<Scalar, Index, Space> const& X,
                           ErrorSums<Space> const& sums) {
  return summed_errors(space, model, C, X, sums, 0.0);
}
template <class Scalar, class Index, class Space>
double value_scale(Space const& space, TrainingSet<Scalar, Index, Space> const& X,
                   FastTuckerOptions const& options, RunRanks const& ranks);
template <class Scalar, class Index, class Space>
TrainingSet<Scalar, Index, Space> scaled(Space const& space, TrainingSet<Scalar, Index, Space> const& X,
                                         double factor);
/// If a training set is larger, a search uses a sample of about this many entries. For 3.7 million ratings
/// like those of Netflix, a fifteenth chose a model of test RMSE 0.8040; all of them chose one of 0.8027.
inline constexpr count_t most_searched = 2000000;
/// The ranks that a search tries after 8, each while the model of the one before is in memory.
inline constexpr count_t searched_ranks[] = {16, 32};
/// The first rank chooses; the others get an empty choice.
template <class Scalar, class Index, class Space>
FastTuckerChoice<Scalar, Space> choose(Space const& space, TrainingSet<Scalar, Index, Space> const& train,
                                       FastTuckerOptions const& options, AnyFormatOptions const& format,
                                       NonzeroDistribution<Scalar, Index, Space> const& rows,
                                       count_t most                              = most_searched,
                                       FastTuckerSearchCallback const& on_search = {});

/// The caller's format options with the optimizer's needs. Duplicates are kept: each is an observation.
inline AnyFormatOptions asked_of(AnyFormatOptions format, FastTuckerOptions const& options) {
  auto const asked  = format_options(options);
  format.needs      = asked.needs;
  format.rank       = asked.rank;
  format.iterations = asked.iterations;
  format.duplicates = asked.duplicates;
  return format;
}

/// X without the model's mean and biases, in formats. If X is in host memory, it is a format that streams.
template <class Scalar, class Index, class Space>
TensorByRank<Scalar, Space> interactions(
    Space const& space, TrainingSet<Scalar, Index, Space> const& X,
    FastTuckerModel<Scalar, Space> const& model, AnyFormatOptions const& format,
    std::shared_ptr<NonzeroDistribution<Scalar, Index, Space>> const& rows) {
  using Format    = AnyFormat<Scalar, Space>;
  auto const rest = rows->together([&] { return without_biases(space, X, model); });
  auto formats    = X.on_host() ? std::vector<Format>{Format::stream(space, rest.pinned().tensor, format)}
                                : rows->by_rows(rest.tensor(), format);
  // Each entry is in one rank's rows of mode 0.
  double sums[] = {static_cast<double>(formats[0].nnz()), formats[0].norm_squared()};
  rows->sum_on_host(sums);
  return {
      {X.extents(), static_cast<count_t>(sums[0]), 0, sums[1], rows->imbalance()}, std::move(formats), rows};
}
/// The same on one rank.
template <class Scalar, class Index, class Space>
TensorByRank<Scalar, Space> interactions(Space const& space, TrainingSet<Scalar, Index, Space> const& X,
                                         FastTuckerModel<Scalar, Space> const& model,
                                         AnyFormatOptions const& format) {
  return interactions(space, X, model, format,
                      std::make_shared<NonzeroDistribution<Scalar, Index, Space>>(space, X.extents()));
}

}  // namespace polyad::detail
