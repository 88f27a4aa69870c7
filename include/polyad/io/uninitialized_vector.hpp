// SPDX-License-Identifier: BSD-3-Clause
// A std::vector whose resize() leaves new elements of arithmetic types unset. The readers size their arrays
// first and fill them from several threads afterwards; clearing them before would touch all memory twice.
#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace polyad::io {

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
