// SPDX-License-Identifier: BSD-3-Clause
// streamed-blco: a BLCO tensor in host memory, for tensors larger than the device (BLCO, section 4.2). The
// nonzeros are sent in sections to a few buffers on the device. Meanwhile the kernel of blco works on the
// sections that have arrived (mttkrp_streamed_blco.hpp). Factors, V and the headers of the blocks stay on the
// device. Every nonzero finds its block by the map (blco_blocks.hpp), so a section may begin and end
// anywhere.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "core/phase_timer.hpp"
#include "formats/blco/storage/blco.hpp"
#include "formats/blco/storage/blco_blocks.hpp"
#include "formats/blco/storage/blco_encoding.hpp"
#include "formats/blco/storage/blco_resolution.hpp"
#include "formats/stored_tensor.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "tensor/linearize.hpp"

namespace polyad::detail {

struct StreamedBlcoOptions {
  BlcoOptions blco;
  int instances = 4;  // execution space instances that send and compute in turn: 2 to 8

  /// Device memory for all nonzeros under way, in bytes. 0: the memory that is free at make_workspace.
  count_t buffer_bytes = 0;

  void read(OptionText& text) {
    blco.read(text);
    text.read("instances", instances);
    text.read("buffer_bytes", buffer_bytes);
  }
  void serve(FormatRequest const& request) {
    if (buffer_bytes == 0) buffer_bytes = request.buffer_bytes;
  }
};

/// The buffer of one instance for the nonzeros, and the section that is in it.
template <class Scalar, class Space>
struct StreamBuffer {
  static constexpr count_t nothing = ~count_t(0);
  Space instance;
  Kokkos::View<std::uint64_t*, typename Space::device_type> linear;
  Kokkos::View<Scalar*, typename Space::device_type> values;
  count_t section = nothing;
};

template <class Scalar, class Space>
struct StreamedBlcoWorkspace {
  WorkspaceOwner made_for;
  FactorMatrix<Scalar, Space> copies;  // copies of V (blco_resolution.hpp)
  std::vector<StreamBuffer<Scalar, Space>> buffers;
  count_t section  = 0;      // nonzeros in a buffer
  bool is_backward = false;  // the next pass begins with the last section, which the buffers still hold
};

template <class Scalar, class Index, class Space>
class StreamedBlco : public StoredTensor {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = StreamedBlcoOptions;
  using workspace_type = StreamedBlcoWorkspace<Scalar, Space>;
  /// The host's space. It holds a tensor that does not fit the device.
  using host_space = HostOf<Space>;

  static constexpr char const* name = "streamed-blco";
  static constexpr bool streams     = true;

  /// Builds from a tensor on the device, which sorts it, or from one in host memory. The latter uses the
  /// device only for the headers; in addition to the tensor and the result it needs half a megabyte per
  /// thread. Linear in the nonzeros (n log n within parts of 32,768). Waits for `space`.
  /// \throws UsageError when an option is out of range, or when Index cannot number the nonzeros on the
  ///         device; MemoryError before allocating
  template <class From>
  static StreamedBlco build(Space const& space, CooTensor<Scalar, Index, From> const& coo,
                            options_type const& options = {}) {
    expect_options(options);
    StreamedBlco format;
    format.m_options = options;
    if constexpr (std::is_same_v<From, host_space>)
      format.build_on_host(space, coo);
    else
      format.copy_from_device(space, coo);
    return format;
  }

  /// How many nonzeros have the coordinates of an earlier one.
  [[nodiscard]] count_t duplicates() const { return m_duplicates; }
  /// Host memory and the headers, without the buffers.
  [[nodiscard]] count_t storage_bytes() const { return nnz() * nonzero_bytes() + m_headers.storage_bytes(); }
  /// Bytes of a nonzero in host memory and in a buffer.
  [[nodiscard]] count_t nonzero_bytes() const {
    return m_encoding.words() * sizeof(std::uint64_t) + sizeof(Scalar);
  }

  /// The buffers, and the copies of V for the mode that needs most of them.
  /// \throws MemoryError when less is free than 256 nonzeros in each buffer take
  [[nodiscard]] workspace_type make_workspace(Space const& space, count_t rank) const;

  [[nodiscard]] options_type const& options() const { return m_options; }
  /// Sets the buffers of workspaces made from now on, as in StreamedBlcoOptions. \throws UsageError
  void set_buffers(count_t buffer_bytes, int instances) {
    expect_instances(instances);
    m_options.buffer_bytes = buffer_bytes;
    m_options.instances    = instances;
  }
  [[nodiscard]] BlcoEncoding const& encoding() const { return m_encoding; }
  /// P x words, and the P values, in host memory.
  [[nodiscard]] auto const& linear() const { return m_linear; }
  [[nodiscard]] auto const& values() const { return m_values; }
  [[nodiscard]] auto const& headers() const { return m_headers; }
  /// Seconds of the host's build by stage: allocate, sort, headers, encode, duplicates. Empty when the
  /// device has built.
  [[nodiscard]] std::map<std::string, double> const& build_seconds() const { return m_build_timer.seconds(); }
  [[nodiscard]] BlcoResolution resolve(Space const& space, int mode) const;
  /// Enqueues the copy of nonzeros begin ... end - 1 to a buffer.
  void send(StreamBuffer<Scalar, Space> const& buffer, count_t begin, count_t end) const {
    count_t const words = m_encoding.words();
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
  using Pinned = Kokkos::SharedHostPinnedSpace;  // a device copies from it while the host continues

  static void expect_instances(int instances) {
    POLYAD_EXPECTS(instances >= 2 && instances <= 8, instances,
                   " instances that send and compute in turn; 2 to 8 make sense");
  }
  static void expect_options(options_type const& options);
  void allocate(count_t nnz);
  void copy_from_device(Space const& space, CooTensor<Scalar, Index, Space> const& coo);
  void build_on_host(Space const& space, CooTensor<Scalar, Index, host_space> const& coo);
  template <int Words>
  void sort_and_encode(host_space const& host, CooTensor<Scalar, Index, host_space> const& coo,
                       LinearLayout const& layout,
                       BlcoHeaders<Index, typename host_space::device_type>& headers);

  options_type m_options;
  count_t m_duplicates = 0;
  PhaseTimer m_build_timer{true};
  BlcoEncoding m_encoding;
  Kokkos::View<std::uint64_t*, Pinned> m_linear;  // P x words
  Kokkos::View<Scalar*, Pinned> m_values;         // P
  BlcoHeaders<Index, typename Space::device_type> m_headers;
};

#define POLYAD_STREAMED_BLCO(Scalar, Index) template class StreamedBlco<Scalar, Index, CompiledSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_STREAMED_BLCO);

/// The contract's mttkrp (formats/format.hpp): V (I_mode x R) is overwritten. Does not wait. The workspace
/// remembers which nonzeros its buffers hold.
/// \throws UsageError when shapes do not match, or the workspace was made for another format or rank
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, StreamedBlco<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode,
            StreamedBlcoWorkspace<Scalar, Space>& work, FactorMatrix<Scalar, Space> const& V);

/// The nonzeros (formats/format.hpp).
template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, StreamedBlco<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block);

}  // namespace polyad::detail
