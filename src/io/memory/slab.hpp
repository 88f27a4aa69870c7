// SPDX-License-Identifier: BSD-3-Clause
// Memory for the numbers of parsed blocks. Each thread takes pieces of a large slab, and a slab is returned
// to the system when its last piece is freed. The C library would keep separately allocated blocks in its
// heap after they are freed. The peak of the reader would then be twice the tensor instead of once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/host_memory.hpp"
#include "io/memory/read_memory.hpp"

namespace polyad::io {

/// An array that keeps its slab alive.
template <class T>
struct Piece {
  std::shared_ptr<T[]> data;
  std::size_t size = 0;

  [[nodiscard]] T* begin() const noexcept { return data.get(); }
  [[nodiscard]] T* end() const noexcept { return data.get() + size; }
  [[nodiscard]] bool empty() const noexcept { return size == 0; }
};

/// For one thread.
class SlabAllocator {
public:
  /// \param memory  where the pieces count; must outlive this
  explicit SlabAllocator(ReadMemory& memory) : m_memory(memory) {}

  /// From 32 MiB on, glibc maps an allocation separately and unmaps it when it is freed (mallopt(3),
  /// M_MMAP_THRESHOLD). Pages that are never touched cost nothing. The first slabs are smaller, since most
  /// files are.
  static constexpr std::size_t slab_bytes  = std::size_t{33} << 20;
  static constexpr std::size_t first_bytes = std::size_t{64} << 10;

  /// Memory for `count` elements, which are not set. \throws MemoryError
  template <class T>
  [[nodiscard]] Piece<T> take(std::size_t count) {
    static_assert(alignof(T) <= sizeof(double));
    constexpr auto array    = "a piece of the tensor in host memory";
    std::size_t const bytes = bytes_of<T>(count);
    m_memory.count(array, bytes);
    m_counted += bytes;
    if (m_left < bytes || m_slab == nullptr) {
      m_left = std::max(bytes, m_slab_size);
      detail::expect_fits_host(array, m_left);
      m_slab_size = std::min(8 * m_slab_size, slab_bytes);
      m_slab      = std::make_shared_for_overwrite<char[]>(m_left);
      m_next      = m_slab.get();
    }
    Piece<T> piece{{m_slab, reinterpret_cast<T*>(m_next)}, count};
    m_next += bytes;
    m_left -= bytes;
    return piece;
  }

  /// Makes a piece smaller. Takes back the rest if no other piece was taken in the meantime.
  template <class T>
  void shrink(Piece<T>& piece, std::size_t count) {
    std::size_t const before = bytes_of<T>(piece.size), after = bytes_of<T>(count);
    if (reinterpret_cast<char const*>(piece.begin()) + before == m_next) {
      m_next -= before - after;
      m_left += before - after;
      m_memory.give(before - after);
      m_counted -= before - after;
    }
    piece.size = count;
    if (count == 0) piece.data.reset();
  }

  /// Bytes of all pieces, as they count.
  [[nodiscard]] std::uint64_t counted() const noexcept { return m_counted; }

private:
  template <class T>
  static std::size_t bytes_of(std::size_t count) {
    return (count * sizeof(T) + sizeof(double) - 1) / sizeof(double) * sizeof(double);
  }

  ReadMemory& m_memory;
  std::uint64_t m_counted = 0;
  std::shared_ptr<char[]> m_slab;
  char* m_next            = nullptr;
  std::size_t m_left      = 0;
  std::size_t m_slab_size = first_bytes;
};

}  // namespace polyad::io
