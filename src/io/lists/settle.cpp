// SPDX-License-Identifier: BSD-3-Clause
#include "io/lists/settle.hpp"

#include <algorithm>

#include "polyad/core/error.hpp"
#include "polyad/io/clean_list.hpp"

namespace polyad::io {

void mirror(CoordinateList& matrix, double sign, ReadMemory& memory) {
  std::uint64_t const listed = matrix.nnz();
  std::visit(
      [&](auto& indices) {
        std::uint64_t off_diagonal = 0;
        for (std::uint64_t p = 0; p < listed; ++p)
          off_diagonal += indices[2 * p] != indices[2 * p + 1] ? 1 : 0;
        // Both the old arrays and the new ones are in memory for a while.
        std::uint64_t const whole = (2 * sizeof(indices[0]) + sizeof(double)) * (listed + off_diagonal);
        std::uint64_t const bytes = matrix.bytes();
        memory.take("a matrix of " + std::to_string(listed + off_diagonal) + " entries", whole);
        indices.resize(2 * (listed + off_diagonal));
        matrix.values.resize(listed + off_diagonal);
        std::uint64_t next = listed;
        for (std::uint64_t p = 0; p < listed; ++p) {
          if (indices[2 * p] == indices[2 * p + 1]) continue;
          indices[2 * next]     = indices[2 * p + 1];
          indices[2 * next + 1] = indices[2 * p];
          matrix.values[next++] = sign * matrix.values[p];
        }
        memory.give(bytes);
      },
      matrix.indices);
}

std::uint64_t drop_or_count_zeros(CoordinateList& list, bool drop, std::string const& file,
                                  FileRange const& stretch) {
  std::uint64_t zeros = 0, nnz = 0;
  for (Words const& part :
       stretch.of_all({static_cast<std::uint64_t>(std::count(list.values.begin(), list.values.end(), 0.0)),
                       list.nnz()})) {
    zeros += part[0];
    nnz += part[1];
  }
  if (zeros == 0 || !drop) return zeros;
  if (zeros == nnz) throw InputError(file, 0, 0, "holds no nonzeros but explicit zeros");
  drop_values(list, [](double value) { return value == 0; });
  return zeros;
}

}  // namespace polyad::io
