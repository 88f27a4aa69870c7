// SPDX-License-Identifier: BSD-3-Clause
// Common code of the readers of binary files. They allocate a list of known size, and several threads fill
// stretches of it and check indices and values. If there are several faults, the first one in the file is
// reported.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "io/streams/file_bytes.hpp"
#include "io/text/stretch.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

/// A list with memory for nnz nonzeros, whose elements are not set. \throws MemoryError if they do not fit
[[nodiscard]] CoordinateList make_list(std::vector<std::uint64_t> const& extents, std::uint64_t nnz,
                                       ReadMemory& memory);

/// Nonzeros first ... first + count - 1 of a list. In the file, `skipped` other nonzeros precede the list.
struct BinaryBlock {
  std::uint64_t first, count;
  std::uint64_t skipped = 0;
};

/// The fault of the earliest block.
class FirstFault {
public:
  void set(std::uint64_t block, std::string reason);
  [[nodiscard]] bool is_before(std::uint64_t block);
  /// If the file is read in parts, each part throws the first part's fault.
  /// \throws InputError
  void throw_if_any(std::string const& file, FileRange const& stretch = {});

private:
  std::mutex m_mutex;
  std::uint64_t m_block = std::numeric_limits<std::uint64_t>::max();
  std::string m_reason;
};

[[nodiscard]] std::string index_out_of_range(CoordinateList const& list, std::uint64_t nonzero,
                                             std::uint64_t mode, std::uint64_t index);
[[nodiscard]] std::string value_not_finite(std::uint64_t nonzero, double value);
[[nodiscard]] std::string value_not_exact(std::uint64_t nonzero, std::string const& value);

/// Whether a double holds a stored number exactly, as it does all numbers but large integers.
template <class Stored>
[[nodiscard]] bool is_exact(Stored stored) noexcept {
  if constexpr (std::is_integral_v<Stored> && sizeof(Stored) == 8) {
    auto const value     = static_cast<double>(stored);
    constexpr double end = std::is_signed_v<Stored> ? 0x1p63 : 0x1p64;
    return value < end && static_cast<Stored>(value) == stored;
  } else {
    return true;
  }
}

/// Copies count x N indices, row-major, counted from 0. Returns the fault of the first index that is out of
/// range, or nothing.
template <class Stored>
std::string copy_indices(BinaryBlock const& block, char const* bytes, CoordinateList& list) {
  std::uint64_t const order = list.extents.size(), count = block.count * order;
  // The last index of each mode, repeated, so that many nonzeros are compared element by element.
  constexpr std::uint64_t rows = 16;
  std::vector<Stored> last(rows * order);
  for (std::uint64_t k = 0; k < last.size(); ++k)
    last[k] = static_cast<Stored>(
        std::min<std::uint64_t>(list.extents[k % order] - 1, std::numeric_limits<Stored>::max()));
  return std::visit(
      [&](auto& indices) -> std::string {
        using Index      = typename std::remove_cvref_t<decltype(indices)>::value_type;
        Index* const out = indices.data() + block.first * order;
        Stored beyond    = 0;
        for (std::uint64_t k = 0; k < count; k += last.size()) {
          std::uint64_t const some = std::min<std::uint64_t>(last.size(), count - k);
          for (std::uint64_t j = 0; j < some; ++j) {
            Stored const index = element_at<Stored>(bytes, k + j);
            beyond |= static_cast<Stored>(index > last[j] ? 1 : 0);
            out[k + j] = static_cast<Index>(index);
          }
        }
        if (beyond == 0) return "";
        std::uint64_t k = 0;
        while (element_at<Stored>(bytes, k) < list.extents[k % order]) ++k;
        return index_out_of_range(list, block.skipped + block.first + k / order, k % order,
                                  element_at<Stored>(bytes, k));
      },
      list.indices);
}

/// Copies count values. Returns the fault of the first value that is an integer which no double equals, or is
/// not finite, unless such values are allowed.
template <class Stored>
std::string copy_values(BinaryBlock const& block, char const* bytes, ReadOptions const& options,
                        CoordinateList& list) {
  double* const out = list.values.data() + block.first;
  bool all_finite   = true;
  for (std::uint64_t p = 0; p < block.count; ++p) {
    Stored const stored = element_at<Stored>(bytes, p);
    out[p]              = static_cast<double>(stored);
    all_finite &= std::abs(out[p]) <= std::numeric_limits<double>::max();
    if (!is_exact(stored)) return value_not_exact(block.skipped + block.first + p, std::to_string(stored));
  }
  if (options.allow_non_finite || all_finite) return "";
  std::uint64_t p = 0;
  while (std::isfinite(out[p])) ++p;
  return value_not_finite(block.skipped + block.first + p, out[p]);
}

/// Settles zeros and fills the report, once the list is full.
void finish_binary(RawInput const& input, ReadOptions const& options,
                   std::chrono::steady_clock::time_point start, TensorFile& result,
                   FileRange const& stretch = {});

}  // namespace polyad::io
