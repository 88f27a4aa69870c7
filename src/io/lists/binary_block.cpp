// SPDX-License-Identifier: BSD-3-Clause
#include "io/lists/binary_block.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <stdexcept>

#include "io/lists/settle.hpp"
#include "io/text/decimal.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

CoordinateList make_list(std::vector<std::uint64_t> const& extents, std::uint64_t nnz, ReadMemory& memory) {
  CoordinateList list;
  list.extents                      = extents;
  bool const wide                   = std::any_of(extents.begin(), extents.end(), [](std::uint64_t extent) {
    return extent > std::numeric_limits<std::uint32_t>::max();
  });
  std::uint64_t const nonzero_bytes = extents.size() * (wide ? 8 : 4) + sizeof(double);
  std::string const what            = "a tensor of " + std::to_string(nnz) + " nonzeros";
  std::uint64_t bytes               = 0;
  if (__builtin_mul_overflow(nnz, nonzero_bytes, &bytes))
    throw MemoryError(what, std::numeric_limits<std::uint64_t>::max());
  memory.take(what, bytes);
  try {
    if (wide) list.indices.emplace<1>();
    std::visit([&](auto& indices) { indices.resize(nnz * extents.size()); }, list.indices);
    list.values.resize(nnz);
  } catch (std::bad_alloc const&) {
    throw MemoryError(what, bytes);
  } catch (std::length_error const&) {
    throw MemoryError(what, bytes);
  }
  return list;
}

void FirstFault::set(std::uint64_t block, std::string reason) {
  std::scoped_lock const lock(m_mutex);
  if (block >= m_block) return;
  m_block  = block;
  m_reason = std::move(reason);
}

bool FirstFault::is_before(std::uint64_t block) {
  std::scoped_lock const lock(m_mutex);
  return m_block < block;
}

void FirstFault::throw_if_any(std::string const& file, FileRange const& stretch) {
  std::optional<Fault> fault;
  {
    std::scoped_lock const lock(m_mutex);
    if (!m_reason.empty()) fault = Fault{0, 0, m_reason};
  }
  stretch.throw_first(file, fault);
}

std::string index_out_of_range(CoordinateList const& list, std::uint64_t nonzero, std::uint64_t mode,
                               std::uint64_t index) {
  return "index " + std::to_string(mode + 1) + " of nonzero " + std::to_string(nonzero + 1) + " is " +
         std::to_string(index) + ", beyond the extent " + std::to_string(list.extents[mode]) +
         " counted from 0";
}

std::string value_not_finite(std::uint64_t nonzero, double value) {
  return "the value of nonzero " + std::to_string(nonzero + 1) + " is not finite: " +
         (std::isnan(value) ? "nan"
          : value < 0       ? "-inf"
                            : "inf");
}

std::string value_not_exact(std::uint64_t nonzero, std::string const& value) {
  return "the value of nonzero " + std::to_string(nonzero + 1) + " " +
         std::string(to_string(DecimalFault::not_that_integer)) + ": " + value;
}

void finish_binary(RawInput const& input, ReadOptions const& options,
                   std::chrono::steady_clock::time_point start, TensorFile& result,
                   FileRange const& stretch) {
  result.report.zeros      = drop_or_count_zeros(result.tensor, options.drop_zeros, input.name(), stretch);
  result.report.file_bytes = input.size();
  result.report.seconds    = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace polyad::io
