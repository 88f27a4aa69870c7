// SPDX-License-Identifier: BSD-3-Clause
// A std::vector whose resize() leaves new elements of arithmetic types unset. The readers size their arrays
// first and fill them from several threads afterwards; clearing them before would touch all memory twice.
// Large ones lie on huge pages where the system has them: a third of a fast reader's time went into the
// faults of new pages of 4 KiB.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace polyad::io {

/// From where on arrays lie on huge pages: two of them, so that rounding up to whole pages adds little.
inline constexpr std::size_t huge_bytes = std::size_t{4} << 20;
/// \throws std::bad_alloc
[[nodiscard]] void* allocate_huge(std::size_t bytes);
void free_huge(void* memory) noexcept;

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

template <class T>
using UninitializedVector = std::vector<T, DefaultInitAllocator<T>>;

}  // namespace polyad::io
