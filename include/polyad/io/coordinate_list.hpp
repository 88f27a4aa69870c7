// SPDX-License-Identifier: BSD-3-Clause
// A sparse tensor as in a file: a list of coordinates and values in host memory, in the file's order, with
// duplicates. The readers return it and polyad::upload takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace polyad::io {

/// Arrays of at least this size use huge pages: two pages, so that rounding up adds little.
inline constexpr std::size_t huge_bytes = std::size_t{4} << 20;
/// \throws std::bad_alloc
[[nodiscard]] void* allocate_huge(std::size_t bytes);
void free_huge(void* memory) noexcept;

/// The allocator of UninitializedVector.
template <class T>
class DefaultInitAllocator : public std::allocator<T> {
public:
  template <class U>
  struct rebind {
    using other = DefaultInitAllocator<U>;
  };

  DefaultInitAllocator() = default;
  template <class U>
  explicit DefaultInitAllocator(DefaultInitAllocator<U> const&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    if (count < huge_bytes / sizeof(T)) return std::allocator<T>::allocate(count);
    if (count > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(allocate_huge(count * sizeof(T)));
  }
  void deallocate(T* elements, std::size_t count) noexcept {
    if (count < huge_bytes / sizeof(T)) return std::allocator<T>::deallocate(elements, count);
    free_huge(elements);
  }

  template <class U>
  void construct(U* element) {
    ::new (static_cast<void*>(element)) U;
  }
  template <class U, class... Arguments>
  void construct(U* element, Arguments&&... arguments) {
    ::new (static_cast<void*>(element)) U(std::forward<Arguments>(arguments)...);
  }
};

/// A std::vector whose resize() leaves new elements of arithmetic types unset. The readers size their arrays
/// first and fill them from several threads. Initialising them would touch all memory twice. Large arrays use
/// huge pages if the system has them: faults of 4 KiB pages took a third of a fast reader's time.
template <class T>
using UninitializedVector = std::vector<T, DefaultInitAllocator<T>>;

struct CoordinateList {
  /// I_0, ..., I_{N-1}
  std::vector<std::uint64_t> extents;
  /// nnz x N, row-major, counted from 0; 32-bit whenever every extent fits 32 bits.
  std::variant<UninitializedVector<std::uint32_t>, UninitializedVector<std::uint64_t>> indices;
  UninitializedVector<double> values;

  [[nodiscard]] int order() const noexcept { return static_cast<int>(extents.size()); }
  [[nodiscard]] std::uint64_t nnz() const noexcept { return values.size(); }
  [[nodiscard]] bool wide() const noexcept { return indices.index() == 1; }

  /// Bytes of the arrays.
  [[nodiscard]] std::uint64_t bytes() const {
    return std::visit(
        [&](auto const& list) {
          using Index = typename std::remove_cvref_t<decltype(list)>::value_type;
          return list.size() * sizeof(Index) + values.size() * sizeof(double);
        },
        indices);
  }
};

}  // namespace polyad::io
