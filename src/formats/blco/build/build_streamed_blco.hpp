// SPDX-License-Identifier: BSD-3-Clause
// Building StreamedBlco on the device or on the host, and the buffers that a run needs.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "core/space_instances.hpp"
#include "formats/blco/build/blco_host_order.hpp"
#include "formats/blco/build/build_blco.hpp"
#include "formats/blco/build/build_blocks.hpp"
#include "formats/blco/build/resolve_blco.hpp"
#include "formats/blco/storage/streamed_blco.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "tensor/linearize.hpp"

namespace polyad::detail {

/// Reads the positions of the nonzeros, a permutation, from the slots that hold them.
template <int Words>
struct SlotPositions {
  LinearIndex<Words> const* slots;
  KOKKOS_FUNCTION std::uint64_t operator()(count_t i) const { return slots[i].word[0]; }
};

/// The encoding of a tensor that is not sorted yet, so that its keys cannot be counted. The number of keys is
/// bounded by the stripped bits. The encoding has 64 bits if the headers of that many keys take no more
/// memory than a second word, and 128 otherwise.
template <class Headers>
BlcoEncoding host_encoding(LinearLayout const& layout, count_t nnz, int index_bits) {
  if (index_bits > 0) return BlcoEncoding(layout, index_bits);
  int const stripped = std::max(0, layout.bits() - BlcoEncoding::word_bits);
  count_t const keys = stripped < 63 ? std::min(nnz, count_t(1) << stripped) : nnz;
  bool const narrow =
      stripped == 0 || keys * Headers::header_bytes(layout.order()) <= nnz * sizeof(std::uint64_t);
  return BlcoEncoding(layout, narrow ? BlcoEncoding::word_bits : BlcoEncoding::max_bits);
}

template <class Scalar, class Index, class Space>
void StreamedBlco<Scalar, Index, Space>::expect_options(options_type const& options) {
  expect_instances(options.instances);
  expect_tile_options(options.blco);
}

template <class Scalar, class Index, class Space>
void StreamedBlco<Scalar, Index, Space>::allocate(count_t nnz) {
  DeviceMemoryAccount::HostArrays const on_host;
  count_t const words = m_encoding.words();
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
  describe(space, coo);
  m_duplicates = count_repeated(space, blocks.nonzeros());
  m_encoding   = blocks.encoding;
  m_headers    = blocks.headers;
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
  m_build_timer(host, "duplicates", [&] {
    m_duplicates = detail::count_repeated(
        host,
        BlcoNonzeros<Scalar, Index>{m_linear.data(), m_values.data(), headers.begins.data(),
                                    headers.uppers.data(), headers.block_map.data(), nnz(), m_encoding});
  });
}

template <class Scalar, class Index, class Space>
void StreamedBlco<Scalar, Index, Space>::build_on_host(Space const& space,
                                                       CooTensor<Scalar, Index, host_space> const& coo) {
  using HostHeaders = BlcoHeaders<Index, typename host_space::device_type>;
  host_space const host;
  detail::expect_blco_options(m_options.blco.max_block, m_options.blco.index_bits);
  LinearLayout const layout(coo.extents());
  describe(host, coo);
  m_encoding = detail::host_encoding<HostHeaders>(layout, coo.nnz(), m_options.blco.index_bits);
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
    to = std::remove_cvref_t<decltype(to)>(uninitialized(space, "polyad::blco_headers"), from.extent(0));
    Kokkos::deep_copy(space, to, from);
  };
  to_device(headers.begins, m_headers.begins);
  to_device(headers.uppers, m_headers.uppers);
  to_device(headers.block_map, m_headers.block_map);
  space.fence("polyad::streamed_blco");
}

template <class Scalar, class Index, class Space>
BlcoResolution StreamedBlco<Scalar, Index, Space>::resolve(Space const& space, int mode) const {
  return BlcoResolution(space, m_options.blco.resolution, m_extents[mode], sizeof(Scalar), nnz(),
                        BlcoChunks<Space>(), mode);
}

template <class Scalar, class Index, class Space>
auto StreamedBlco<Scalar, Index, Space>::make_workspace(Space const& space, count_t rank) const
    -> workspace_type {
  workspace_type work;
  work.made_for = {m_identity, rank};
  count_t rows  = 0;
  for (int n = 0; n < m_extents.order() && nnz() > 0; ++n)
    rows = std::max(rows, resolve(space, n).copied_rows);
  work.copies = make_copies_of_output<Scalar>(space, rows, rank);
  if (nnz() == 0) return work;

  auto const instances = make_instances(space, m_options.instances);  // Kokkos allocates memory for each
  count_t const count  = m_options.instances;
  // A thirty-second of the free memory is left to Kokkos and to later allocations of a run.
  count_t const available = available_memory(space);
  count_t bytes           = available - available / 32;
  if (m_options.buffer_bytes > 0) bytes = std::min(bytes, m_options.buffer_bytes);
  // Whole steps of the block map, and no more than the nonzeros need.
  count_t const steps = std::min(bytes / (count * nonzero_bytes()) / block_map_step,
                                 ceil_div(ceil_div(nnz(), count), block_map_step));
  if (steps == 0)
    throw MemoryError("the stream of nonzeros", count * block_map_step * nonzero_bytes(),
                      "only " + std::to_string(bytes) + " bytes are left for them");
  work.section        = steps * block_map_step;
  count_t const words = m_encoding.words();
  for (auto const& instance : instances) {
    StreamBuffer<Scalar, Space> buffer{instance, {}, {}, StreamBuffer<Scalar, Space>::nothing};
    buffer.linear =
        decltype(buffer.linear)(uninitialized(space, "polyad::stream_linear"), work.section * words);
    buffer.values = decltype(buffer.values)(uninitialized(space, "polyad::stream_values"), work.section);
    work.buffers.push_back(buffer);
  }
  space.fence("polyad::streamed_blco");
  return work;
}

}  // namespace polyad::detail
