// SPDX-License-Identifier: BSD-3-Clause
// invert_blocks: the inverse of a matrix at every edge of its blocks, and what a pivot that is too small
// does.
// The bound of an inverse's error is that of Cholesky's (Higham, "Accuracy and Stability of Numerical
// Algorithms", 2002, section 14.3), with a constant to spare.
#include "dense/update/block_inverse.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

/// H^-1, and the flag.
struct Inverted {
  std::vector<double> inverse;  // R x R
  double flag;
};

/// Stores an entry and the one that mirrors it.
struct StoreEntry {
  double* to;
  int rank;
  KOKKOS_FUNCTION void operator()(int i, int j, double entry) const {
    to[i * rank + j] = to[j * rank + i] = entry;
  }
};

Inverted invert(std::vector<double> const& H, std::size_t rank, double tolerance) {
  TestSpace const space;
  std::vector<double> host(BlockedMatrix::memory(rank), nan_value);
  auto const in_host     = BlockedMatrix::in(host.data(), rank);
  std::size_t const size = BlockedMatrix::padded(rank);
  // What lies above the diagonal is read inside its blocks only.
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < (i / BlockedMatrix::block + 1) * BlockedMatrix::block; ++j)
      host[i * size + j] = i < rank && j < rank ? H[i * rank + j] : (i == j ? 1 : 0);
  *in_host.flag      = 0;
  auto const memory  = to_device(host);
  auto const inverse = to_device(std::vector<double>(rank * rank, nan_value));
  invert_blocks(space, BlockedMatrix::in(memory.data(), rank), rank, tolerance,
                StoreEntry{inverse.data(), static_cast<int>(rank)});
  space.fence("polyad::test");
  return {flat(inverse), flat(memory)[static_cast<std::size_t>(in_host.flag - host.data())]};
}

/// A'A of a random matrix of 2 R + 3 rows, scaled to ones on its diagonal.
std::vector<double> correlations(std::size_t rank) {
  Random random(rank);
  auto const A = random_matrix(random, 2 * rank + 3, rank);
  auto const G = oracle_product_of_transposed(A, A);
  std::vector<double> H(rank * rank);
  for (std::size_t i = 0; i < rank; ++i)
    for (std::size_t j = 0; j < rank; ++j)
      H[i * rank + j] = static_cast<double>(
          i == j ? 1 : G.value[i * rank + j] / std::sqrt(G.value[i * rank + i] * G.value[j * rank + j]));
  return H;
}

TEST_CASE("block inverse: H times its inverse, every edge of the blocks", "[dense]") {
  for (std::size_t const rank : {1, 2, 31, 32, 33, 63, 64, 65, 97, 160, 200}) {
    auto const H      = correlations(rank);
    auto const result = invert(H, rank, 1e-12);
    CAPTURE(rank);
    CHECK(result.flag == 0);
    double largest = 0;
    double norm    = 0;  // norm of the inverse; H's is at most R
    for (std::size_t i = 0; i < rank; ++i)
      for (std::size_t j = 0; j < rank; ++j) {
        long double sum = i == j ? -1 : 0;
        for (std::size_t k = 0; k < rank; ++k)
          sum += static_cast<long double>(H[i * rank + k]) * result.inverse[k * rank + j];
        largest = std::max(largest, static_cast<double>(std::abs(sum)));
        norm    = std::max(norm, std::abs(result.inverse[i * rank + j]));
      }
    CHECK(largest <= 0x1p-52 * static_cast<double>(rank) * norm * 4);
  }
}

TEST_CASE("block inverse: a pivot that is not above the tolerance is noted, in every block", "[dense]") {
  std::size_t const rank = 100;
  for (std::size_t const column : {1, 31, 32, 50, 95, 96, 99}) {
    auto H = correlations(rank);
    // The column before it, again.
    for (std::size_t i = 0; i < rank; ++i)
      H[i * rank + column] = H[column * rank + i] = H[i * rank + column - 1];
    H[column * rank + column] = H[(column - 1) * rank + column] = H[column * rank + column - 1] = 1;
    CAPTURE(column);
    auto const result = invert(H, rank, 8e-14);
    CHECK(result.flag == 1);
    CHECK(std::all_of(result.inverse.begin(), result.inverse.end(), [](double x) { return std::isnan(x); }));
  }
  std::vector<double> H = correlations(rank);
  H[40 * rank + 40]     = nan_value;
  CHECK(invert(H, rank, 8e-14).flag == 1);
}

}  // namespace
}  // namespace polyad::test
