// SPDX-License-Identifier: BSD-3-Clause
// streamed-blco: a BLCO tensor in host memory, for tensors larger than the device (BLCO, section 4.2). The
// nonzeros are sent in stretches to a few buffers on the device while the kernel of blco works on those that
// are there (mttkrp_streamed_blco.hpp); factors, V and the headers of the blocks stay on the device. Since
// every nonzero finds its block by the map (blco_blocks.hpp), a stretch may begin and end anywhere.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "polyad/core/device_memory.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/phase_timer.hpp"
#include "polyad/core/space_instances.hpp"
#include "polyad/formats/blco/blco.hpp"
#include "polyad/formats/blco/blco_host_order.hpp"

namespace polyad {

struct StreamedBlcoOptions {
  BlcoOptions blco;
  int instances = 4;  // of the execution space, which send and compute in turn: 2 to 8
  count_t buffer_bytes =
      0;  // on the device, for all nonzeros under way; 0: what is free when a workspace is made
};

/// Where the nonzeros of one instance are sent to, and which stretch is there.
template <class Scalar, class Space>
struct StreamBuffer {
  static constexpr count_t nothing = ~count_t(0);
  Space instance;
  Kokkos::View<std::uint64_t*, typename Space::device_type> linear;
  Kokkos::View<Scalar*, typename Space::device_type> values;
  count_t stretch = nothing;
};

template <class Scalar, class Space>
struct StreamedBlcoWorkspace {
  FactorMatrix<Scalar, Space> copies;  // of V (blco_resolution.hpp)
  std::vector<StreamBuffer<Scalar, Space>> buffers;
  count_t stretch  = 0;      // nonzeros in a buffer
  bool is_backward = false;  // the next pass begins with the last stretch, which the buffers still hold
};

template <class Scalar, class Index, class Space>
class StreamedBlco {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = StreamedBlcoOptions;
  using workspace_type = StreamedBlcoWorkspace<Scalar, Space>;
  /// Where a tensor lives that does not fit the device.
  using host_space = std::conditional_t<is_device_space<Space>, Kokkos::DefaultHostExecutionSpace, Space>;

  static constexpr char const* name = "streamed-blco";
  /// Whose runs cannot share the device: each takes the memory that is left.
  static constexpr bool runs_alone = true;

  /// From a tensor on the device, which sorts it; or from one in host memory, without using the device for
  /// more than the headers: that needs, beside the tensor and the result, half a megabyte a thread. Linear in
  /// the nonzeros (n log n within parts of 32,768). Waits for `space`.
  /// \throws UsageError when an option is out of range, or when Index cannot number the nonzeros on the
  ///         device; MemoryError before allocating
  template <class From>
  static StreamedBlco build(Space const& space, CooTensor<Scalar, Index, From> const& coo,
                            options_type const& options = {}) {
    expect_instances(options.instances);
    expect_tile_options(options.blco);
    StreamedBlco format;
    format.m_extents = coo.extents();
    format.m_options = options;
    if constexpr (is_device_space<From>)
      format.copy_from_device(space, coo);
    else
      format.build_on_host(space, coo);
    return format;
  }

  [[nodiscard]] Extents const& extents() const { return m_extents; }
  [[nodiscard]] count_t nnz() const { return m_values.extent(0); }
  [[nodiscard]] double norm_squared() const { return m_norm_squared; }
  /// Host memory and the headers, without the buffers.
  [[nodiscard]] count_t storage_bytes() const { return nnz() * nonzero_bytes() + m_headers.storage_bytes(); }
  /// Bytes that a nonzero takes in host memory and on its way.
  [[nodiscard]] count_t nonzero_bytes() const {
    return static_cast<count_t>(m_encoding.words()) * sizeof(std::uint64_t) + sizeof(Scalar);
  }

  /// The buffers and the copies of V of the mode that needs most of them.
  /// \throws MemoryError when less is free than 256 nonzeros in each buffer take
  [[nodiscard]] workspace_type make_workspace(Space const& space, count_t rank) const;

  [[nodiscard]] options_type const& options() const { return m_options; }
  /// What workspaces made from now on get; as in StreamedBlcoOptions. \throws UsageError
  void set_buffers(count_t buffer_bytes, int instances) {
    expect_instances(instances);
    m_options.buffer_bytes = buffer_bytes;
    m_options.instances    = instances;
  }
  [[nodiscard]] BlcoEncoding const& encoding() const { return m_encoding; }
  /// P x words, and P, in host memory.
  [[nodiscard]] auto const& linear() const { return m_linear; }
  [[nodiscard]] auto const& values() const { return m_values; }
  [[nodiscard]] auto const& headers() const { return m_headers; }
  /// Seconds of the host's build by stage: allocate, sort, headers, encode. Empty when the device has built.
  [[nodiscard]] std::map<std::string, double> const& build_seconds() const { return m_build_timer.seconds(); }
  [[nodiscard]] BlcoResolution resolve(Space const& space, int mode) const {
    return BlcoResolution(space, m_options.blco.resolution, m_extents[mode], sizeof(Scalar), nnz(),
                          BlcoParts(), mode);
  }
  /// Enqueues the copy of nonzeros begin ... end - 1 to a buffer.
  void send(StreamBuffer<Scalar, Space> const& buffer, count_t begin, count_t end) const {
    auto const words = static_cast<count_t>(m_encoding.words());
    Kokkos::deep_copy(buffer.instance,
                      Kokkos::subview(buffer.linear, Kokkos::make_pair(count_t(0), (end - begin) * words)),
                      Kokkos::subview(m_linear, Kokkos::make_pair(begin * words, end * words)));
    Kokkos::deep_copy(buffer.instance,
                      Kokkos::subview(buffer.values, Kokkos::make_pair(count_t(0), end - begin)),
                      Kokkos::subview(m_values, Kokkos::make_pair(begin, end)));
  }
  /// Nonzeros begin ... end - 1 as a kernel sees them in a buffer.
  [[nodiscard]] BlcoNonzeros<Scalar, Index> nonzeros(StreamBuffer<Scalar, Space> const& buffer, count_t begin,
                                                     count_t end) const {
    return {buffer.linear.data(),
            buffer.values.data(),
            m_headers.begins.data(),
            m_headers.uppers.data(),
            m_headers.block_map.data(),
            end - begin,
            m_encoding,
            begin};
  }

private:
  using Pinned = Kokkos::SharedHostPinnedSpace;  // a device copies from it while the host goes on

  static void expect_instances(int instances) {
    POLYAD_EXPECTS(instances >= 2 && instances <= 8, instances,
                   " instances that send and compute in turn; 2 to 8 make sense");
  }
  void allocate(count_t nnz);
  void copy_from_device(Space const& space, CooTensor<Scalar, Index, Space> const& coo);
  void build_on_host(Space const& space, CooTensor<Scalar, Index, host_space> const& coo);
  template <int Words>
  void sort_and_encode(host_space const& host, CooTensor<Scalar, Index, host_space> const& coo,
                       LinearLayout const& layout,
                       BlcoHeaders<Index, typename host_space::device_type>& headers);

  Extents m_extents;
  options_type m_options;
  double m_norm_squared = 0;
  PhaseTimer m_build_timer{true};
  BlcoEncoding m_encoding;
  Kokkos::View<std::uint64_t*, Pinned> m_linear;  // P x words
  Kokkos::View<Scalar*, Pinned> m_values;         // P
  BlcoHeaders<Index, typename Space::device_type> m_headers;
};

namespace detail {

/// The positions in the slots, as a permutation.
template <int Words>
struct SlotPositions {
  LinearIndex<Words> const* slots;
  KOKKOS_FUNCTION std::uint64_t operator()(count_t i) const { return slots[i].word[0]; }
};

/// The encoding of a tensor that is not yet sorted, so that its keys cannot be counted: 64 bits where even as
/// many keys as the stripped bits allow have smaller headers than a second word, else 128.
template <class Headers>
BlcoEncoding host_encoding(LinearLayout const& layout, count_t nnz, int index_bits) {
  if (index_bits > 0) return BlcoEncoding(layout, index_bits);
  int const stripped = std::max(0, layout.bits() - BlcoEncoding::word_bits);
  count_t const keys = stripped < 63 ? std::min(nnz, count_t(1) << stripped) : nnz;
  bool const narrow =
      stripped == 0 || keys * Headers::header_bytes(layout.order()) <= nnz * sizeof(std::uint64_t);
  return BlcoEncoding(layout, narrow ? BlcoEncoding::word_bits : BlcoEncoding::max_bits);
}

}  // namespace detail

template <class Scalar, class Index, class Space>
void StreamedBlco<Scalar, Index, Space>::allocate(count_t nnz) {
  DeviceMemoryAccount::HostArrays const on_host;
  auto const words = static_cast<count_t>(m_encoding.words());
  expect_fits(host_space(), "the linear indices and values in host memory", nnz, nonzero_bytes());
  m_linear = Kokkos::View<std::uint64_t*, Pinned>(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "polyad::streamed_linear"), nnz * words);
  m_values = Kokkos::View<Scalar*, Pinned>(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "polyad::streamed_values"), nnz);
}

template <class Scalar, class Index, class Space>
void StreamedBlco<Scalar, Index, Space>::copy_from_device(Space const& space,
                                                          CooTensor<Scalar, Index, Space> const& coo) {
  auto const blocks = make_blco_blocks(space, coo, m_options.blco.max_block, m_options.blco.index_bits);
  m_norm_squared    = polyad::norm_squared(space, coo);
  m_encoding        = blocks.encoding;
  m_headers         = blocks.headers;
  allocate(blocks.nnz());
  Kokkos::deep_copy(space, m_linear, blocks.linear);
  Kokkos::deep_copy(space, m_values, blocks.values);
  space.fence("polyad::streamed_blco");
}

template <class Scalar, class Index, class Space>
template <int Words>
void StreamedBlco<Scalar, Index, Space>::sort_and_encode(
    host_space const& host, CooTensor<Scalar, Index, host_space> const& coo, LinearLayout const& layout,
    BlcoHeaders<Index, typename host_space::device_type>& headers) {
  using Indices     = typename CooTensor<Scalar, Index, host_space>::indices_type;
  using Ordered     = detail::OrderedIndices<Indices, detail::SlotPositions<Words>>;
  auto* const slots = reinterpret_cast<LinearIndex<Words>*>(m_linear.data());
  detail::SlotPositions<Words> const positions{slots};
  m_build_timer(host, "sort",
                [&] { detail::sort_positions<Words>(host, layout, coo.indices(), slots, nnz()); });
  m_build_timer(host, "headers", [&] {
    Ordered const ordered{coo.indices(), positions};
    count_t const keys = detail::count_keys(host, ordered, nnz(), m_encoding);
    headers =
        detail::make_blco_headers<Index>(host, ordered, nnz(), m_encoding, keys, m_options.blco.max_block);
  });
  m_build_timer(host, "encode", [&] {
    detail::encode_nonzeros(host, coo.indices(), coo.values().data(), positions, nnz(), m_encoding,
                            m_linear.data(), m_values.data());
  });
}

template <class Scalar, class Index, class Space>
void StreamedBlco<Scalar, Index, Space>::build_on_host(Space const& space,
                                                       CooTensor<Scalar, Index, host_space> const& coo) {
  using HostHeaders = BlcoHeaders<Index, typename host_space::device_type>;
  host_space const host;
  detail::expect_blco_options(m_options.blco.max_block, m_options.blco.index_bits);
  LinearLayout const layout(coo.extents());
  m_norm_squared = polyad::norm_squared(host, coo);
  m_encoding     = detail::host_encoding<HostHeaders>(layout, coo.nnz(), m_options.blco.index_bits);
  m_build_timer(host, "allocate", [&] { allocate(coo.nnz()); });
  if (nnz() == 0) return;
  HostHeaders headers;
  {
    DeviceMemoryAccount::HostArrays const on_host;
    if (m_encoding.words() == 1)
      sort_and_encode<1>(host, coo, layout, headers);
    else
      sort_and_encode<2>(host, coo, layout, headers);
  }
  expect_fits(space, "the headers of the blocks", headers.storage_bytes(), 1);
  auto const to_device = [&](auto const& from, auto& to) {
    to = std::remove_cvref_t<decltype(to)>(
        Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::blco_headers"), from.extent(0));
    Kokkos::deep_copy(space, to, from);
  };
  to_device(headers.begins, m_headers.begins);
  to_device(headers.uppers, m_headers.uppers);
  to_device(headers.block_map, m_headers.block_map);
  space.fence("polyad::streamed_blco");
}

template <class Scalar, class Index, class Space>
auto StreamedBlco<Scalar, Index, Space>::make_workspace(Space const& space, count_t rank) const
    -> workspace_type {
  workspace_type work;
  count_t rows = 0;
  for (int n = 0; n < m_extents.order() && nnz() > 0; ++n)
    rows = std::max(rows, resolve(space, n).copied_rows);
  work.copies = make_copies_of_output<Scalar>(space, rows, rank);
  if (nnz() == 0) return work;

  auto const instances =
      make_instances(space, m_options.instances);  // Kokkos gives each some memory of its own
  auto const count = static_cast<count_t>(m_options.instances);
  // A thirty-second of what is free is left to Kokkos and to the end of a run.
  count_t const available = available_memory(space);
  count_t bytes           = available - available / 32;
  if (m_options.buffer_bytes > 0) bytes = std::min(bytes, m_options.buffer_bytes);
  // Whole steps of the block map, and no more than the nonzeros need.
  count_t const steps = std::min(bytes / (count * nonzero_bytes()) / block_map_step,
                                 ceil_div(ceil_div(nnz(), count), block_map_step));
  if (steps == 0)
    throw MemoryError("the stream of nonzeros", count * block_map_step * nonzero_bytes(),
                      "only " + std::to_string(bytes) + " bytes are left for them");
  work.stretch     = steps * block_map_step;
  auto const words = static_cast<count_t>(m_encoding.words());
  for (auto const& instance : instances) {
    StreamBuffer<Scalar, Space> buffer{instance, {}, {}, StreamBuffer<Scalar, Space>::nothing};
    buffer.linear = decltype(buffer.linear)(
        Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::stream_linear"),
        work.stretch * words);
    buffer.values = decltype(buffer.values)(
        Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::stream_values"), work.stretch);
    work.buffers.push_back(buffer);
  }
  space.fence("polyad::streamed_blco");
  return work;
}

#define POLYAD_STREAMED_BLCO(Scalar, Index) \
  template class StreamedBlco<Scalar, Index, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_STREAMED_BLCO);

}  // namespace polyad

#include "polyad/formats/blco/mttkrp_streamed_blco.hpp"
