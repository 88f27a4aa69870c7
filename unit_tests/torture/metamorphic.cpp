// SPDX-License-Identifier: BSD-3-Clause
// Metamorphic tests: random tensors, changed in ways whose effect on the MTTKRP is known. No oracle computes
// these products; only a bound is computed with them, the sum of the terms' magnitudes.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "polyad/polyad.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/format_list.hpp"
#include "torture/torture.hpp"

namespace polyad::torture {
namespace {

using namespace testing;
using Space    = Kokkos::DefaultExecutionSpace;
using Products = std::vector<std::vector<double>>;  // V of each mode, row-major
using Factors  = std::vector<std::vector<double>>;

/// V of all modes.
template <class Scalar>
Products products_of(Space const& space, HostTensor const& tensor, Factors const& factors, count_t R,
                     std::string const& name) {
  std::vector<std::uint32_t> const indices(tensor.indices.begin(), tensor.indices.end());
  auto const coo = upload<Scalar, std::uint32_t>(space, Extents(std::span<count_t const>(tensor.extents)),
                                                 std::span<std::uint32_t const>(indices),
                                                 std::span<double const>(tensor.values));
  AnyFormatOptions options;
  options.format     = name;
  options.rank       = R;
  options.duplicates = Duplicates::keep;  // an MTTKRP adds them
  auto const X       = any_format(space, coo, options);
  FactorMatrices<Scalar, Space> const A(space, coo.extents(), R);
  for (int n = 0; n < coo.order(); ++n) from_host<Scalar>(space, factors[static_cast<std::size_t>(n)], A[n]);
  auto workspace = X.make_workspace(space, R);
  Products products;
  for (int n = 0; n < coo.order(); ++n) {
    auto const V = make_factor_matrix<Scalar>(space, "polyad::torture", coo.extents()[n], R);
    mttkrp(space, X, A, n, workspace, V);
    space.fence("polyad::torture");
    products.push_back(to_host<Scalar>(space, V));
  }
  return products;
}

/// The sums of the magnitudes of what is added up.
Products bounds_of(HostTensor const& tensor, Factors const& factors, count_t R) {
  Products bounds;
  for (std::size_t n = 0; n < tensor.order(); ++n) {
    std::vector<double> bound(tensor.extents[n] * R, 0.0);
    for (std::size_t p = 0; p < tensor.nnz(); ++p)
      for (count_t r = 0; r < R; ++r) {
        double term = std::abs(tensor.values[p]);
        for (std::size_t m = 0; m < tensor.order(); ++m)
          if (m != n) term *= std::abs(factors[m][tensor.index(p, m) * R + r]);
        bound[tensor.index(p, n) * R + r] += term;
      }
    bounds.push_back(std::move(bound));
  }
  return bounds;
}

class Metamorphic {
public:
  explicit Metamorphic(Wanted const& wanted) : m_seed(wanted.seed) {}

  /// The tensor of that number.
  void one(std::uint64_t number) {
    m_random.seed(m_seed * 1'000'003 + number);
    m_number = number;
    m_format = m_formats[number % m_formats.size()];
    if (random_below(m_random, 2) == 0)
      relations<double>();
    else
      relations<float>();
    ++m_tensors;
  }
  [[nodiscard]] int findings() const { return m_findings; }
  [[nodiscard]] std::uint64_t relations() const { return m_relations; }
  [[nodiscard]] std::uint64_t tensors() const { return m_tensors; }
  [[nodiscard]] std::size_t formats() const { return m_formats.size(); }

private:
  HostTensor random_case() {
    auto const order = static_cast<std::size_t>(2 + random_below(m_random, 4));
    if (random_below(m_random, 4) == 0)
      return small_tensor(all_kinds[random_below(m_random, all_kinds.size())], order);
    std::vector<std::uint64_t> extents;
    for (std::size_t n = 0; n < order; ++n) extents.push_back(1 + random_below(m_random, 30));
    return random_tensor(m_random, extents, random_below(m_random, 300));
  }

  template <class Scalar>
  void relations() {
    HostTensor const X        = random_case();
    std::size_t const N       = X.order();
    constexpr count_t ranks[] = {1, 2, 5, 8, 17};
    count_t const R           = ranks[random_below(m_random, 5)];
    Factors A;
    for (auto const extent : X.extents) {
      A.emplace_back();
      for (count_t k = 0; k < extent * R; ++k) A.back().push_back(random_number(m_random));
    }
    auto const run = [&](HostTensor const& tensor, Factors const& factors) {
      return products_of<Scalar>(m_space, tensor, factors, R, m_format);
    };
    Products const V     = run(X, A);
    Products const bound = bounds_of(X, A, R);
    // Two results, each of N + nnz roundings at most.
    double const tolerance =
        2 * static_cast<double>(N + 2 * X.nnz() + 8) * std::numeric_limits<Scalar>::epsilon();
    auto const expect = [&](char const* relation, auto const& other, auto const& of) {
      ++m_relations;
      for (std::size_t n = 0; n < N; ++n)
        for (std::size_t k = 0; k < V[n].size(); ++k) {
          double const a = V[n][k], b = of(other, n, k);
          if (!(std::abs(a - b) <= tolerance * bound[n][k])) return finding(relation, n, k, a, b);
        }
    };
    auto const same = [](Products const& other, std::size_t n, std::size_t k) { return other[n][k]; };

    // Another order of the nonzeros.
    std::vector<std::size_t> places(X.nnz());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::shuffle(places.begin(), places.end(), m_random);
    expect("nonzeros in another order", run(reordered(X, places), A), same);

    // Another order of the modes.
    std::vector<std::size_t> modes(N);
    std::iota(modes.begin(), modes.end(), std::size_t{0});
    std::shuffle(modes.begin(), modes.end(), m_random);
    HostTensor turned = X;
    Factors B(N);
    for (std::size_t n = 0; n < N; ++n) {
      turned.extents[n] = X.extents[modes[n]];
      B[n]              = A[modes[n]];
      for (std::size_t p = 0; p < X.nnz(); ++p) turned.indices[p * N + n] = X.index(p, modes[n]);
    }
    std::vector<std::size_t> place(N);
    for (std::size_t n = 0; n < N; ++n) place[modes[n]] = n;
    expect("modes in another order", run(turned, B),
           [&](Products const& other, std::size_t n, std::size_t k) { return other[place[n]][k]; });

    // Rows of one mode with other numbers.
    auto const renamed_mode = static_cast<std::size_t>(random_below(m_random, N));
    std::vector<std::uint64_t> names(X.extents[renamed_mode]);
    std::iota(names.begin(), names.end(), std::uint64_t{0});
    std::shuffle(names.begin(), names.end(), m_random);
    HostTensor renamed = X;
    for (std::size_t p = 0; p < X.nnz(); ++p)
      renamed.indices[p * N + renamed_mode] = names[X.index(p, renamed_mode)];
    B = A;
    for (std::size_t i = 0; i < names.size(); ++i)
      std::copy_n(A[renamed_mode].begin() + static_cast<std::ptrdiff_t>(i * R), R,
                  B[renamed_mode].begin() + static_cast<std::ptrdiff_t>(names[i] * R));
    expect("rows with other numbers", run(renamed, B),
           [&](Products const& other, std::size_t n, std::size_t k) {
             return n == renamed_mode ? other[n][names[k / R] * R + k % R] : other[n][k];
           });

    // Values and one factor times a number.
    HostTensor scaled = X;
    for (double& x : scaled.values) x *= -4;
    expect("values times -4", run(scaled, A),
           [](Products const& other, std::size_t n, std::size_t k) { return other[n][k] / -4; });
    B = A;
    for (double& a : B[renamed_mode]) a *= 8;
    expect("a factor times 8", run(X, B), [&](Products const& other, std::size_t n, std::size_t k) {
      return n == renamed_mode ? other[n][k] : other[n][k] / 8;
    });

    // Each nonzero in two parts, the second ones behind, and zeros at random places.
    HostTensor split = X;
    for (std::size_t p = 0; p < X.nnz(); ++p) {
      split.values[p] = X.values[p] * 0.25;
      split.values.push_back(X.values[p] * 0.75);
      for (std::size_t n = 0; n < N; ++n) split.indices.push_back(X.index(p, n));
    }
    expect("nonzeros in two parts", run(split, A), same);
    HostTensor padded = X;
    for (std::uint64_t z = random_below(m_random, 50); z > 0; --z) {
      padded.values.push_back(0);
      for (auto const extent : X.extents) padded.indices.push_back(random_below(m_random, extent));
    }
    expect("zeros appended", run(padded, A), same);
  }

  void finding(char const* relation, std::size_t mode, std::size_t at, double a, double b) {
    ++m_findings;
    std::fprintf(
        stderr,
        "FINDING metamorphic: %s, %s: mode %zu, element %zu: %.17g and %.17g (seed %llu, tensor %llu)\n",
        m_format.c_str(), relation, mode, at, a, b, static_cast<unsigned long long>(m_seed),
        static_cast<unsigned long long>(m_number));
  }

  Space m_space;
  std::uint64_t m_seed, m_number = 0;
  Random m_random;
  std::vector<std::string> m_formats = test::list_of_formats();
  std::string m_format;
  int m_findings            = 0;
  std::uint64_t m_relations = 0, m_tensors = 0;
};

}  // namespace

int metamorphic(Wanted const& wanted) {
  using Clock      = std::chrono::steady_clock;
  auto const start = Clock::now();
  Metamorphic tests(wanted);
  for (std::uint64_t number = 0; tests.findings() < 20; ++number) {
    if (std::chrono::duration<double>(Clock::now() - start).count() > wanted.seconds) break;
    tests.one(number);
  }
  std::printf("metamorphic: %llu tensors, %llu relations, %zu formats, %d findings\n",
              static_cast<unsigned long long>(tests.tensors()),
              static_cast<unsigned long long>(tests.relations()), tests.formats(), tests.findings());
  return tests.findings();
}

}  // namespace polyad::torture
