// SPDX-License-Identifier: BSD-3-Clause
// TinyVec in every form that the backend has: each operation, each width, rows cut off at every column.
// Numbers are small integers, so results are exact. What is read holds NaN past column R, and a canary
// surrounds what is written.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

enum Output {
  copied,
  multiplied,
  added,
  scaled_added,
  product_added,
  filled,
  cut_copied,
  atomically_added,
  dotted,
  outputs
};

template <class Scalar, int Block, RowForm Form>
struct Operations {
  using Row    = TinyVec<TestSpace, Scalar, Block, Form>;
  using Matrix = Kokkos::View<Scalar**, Kokkos::LayoutRight, TestSpace::device_type>;
  Matrix input;   // three rows
  Matrix output;  // a row for each Output
  Matrix roomy;   // three rows, for store_with_padding
  int first;
  int rank;

  /// Row i of `roomy` += the rows 0 and 1 of the input: the first read by masks, the other with its padding.
  template <int Most>
  KOKKOS_FUNCTION void add_to_roomy(int i, Columns const& columns) const {
    if (columns.count < Block - Most) return;
    typename Row::template CutBy<Most> const cut(columns);
    Row sum    = Row::with_padding(&roomy(i, 0), cut);
    Row padded = Row::with_padding(&input(1, 0), cut);
    padded.zero_padding(cut);
    sum += Row(&input(0, 0), cut);
    sum += padded;
    sum.store_with_padding(&roomy(i, 0), cut);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
      Columns const columns = Row::columns(first, rank, lane);
      if (columns.count <= 0) return;
      Row const a(&input(0, 0), columns);
      Row const b(&input(1, 0), columns);
      Row const c(&input(2, 0), columns);
      Row row = a;
      row.store(&output(copied, 0), columns);
      row *= b;
      row.store(&output(multiplied, 0), columns);
      row += c;
      row.store(&output(added, 0), columns);
      row.multiply_add(Scalar(3), a);
      row.store(&output(scaled_added, 0), columns);
      row.multiply_add(a, c);
      row.store(&output(product_added, 0), columns);
      Row(Scalar(7)).store(&output(filled, 0), columns);
      a.atomic_add_to(&output(atomically_added, 0), columns);
      b.atomic_add_to(&output(atomically_added, 0), columns);
      Kokkos::atomic_add(&output(dotted, first), a.dot(b, columns));
      if constexpr (Form == RowForm::simd) {
        if (columns.count >= Block - most_cut_columns(Block))
          a.store(&output(cut_copied, 0), typename Row::CutColumns(columns));
        add_to_roomy<most_cut_columns(Block)>(0, columns);
        add_to_roomy<3>(1, columns);
        add_to_roomy<0>(2, columns);  // WholeColumns
      }
    });
  }
};

constexpr std::size_t guard = 8;  // columns of canary after the row's padding

/// One block that starts at column `first` of rows of `rank` columns.
template <class Scalar, int Block, RowForm Form>
std::string wrong_entry(int first, int rank) {
  using Kernel       = Operations<Scalar, Block, Form>;
  auto const columns = static_cast<std::size_t>(rank);
  auto const width   = (columns + 3) / 4 * 4 + guard + Block;  // a whole block may be read
  TestSpace const space;
  Kernel const kernel{typename Kernel::Matrix("input", 3, width),
                      typename Kernel::Matrix("output", outputs, width),
                      typename Kernel::Matrix("roomy", 3, width), first, rank};
  auto const input  = Kokkos::create_mirror_view(kernel.input);
  auto const output = Kokkos::create_mirror_view(kernel.output);
  auto const roomy  = Kokkos::create_mirror_view(kernel.roomy);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < width; ++j) roomy(i, j) = static_cast<Scalar>(j % 7);
  Kokkos::deep_copy(kernel.roomy, roomy);
  for (std::size_t j = 0; j < width; ++j) {
    for (std::size_t i = 0; i < 3; ++i)
      input(i, j) = j < columns ? static_cast<Scalar>((7 * j + 5 * i) % 11) - Scalar(4)
                                : std::numeric_limits<Scalar>::quiet_NaN();
    for (std::size_t o = 0; o < outputs; ++o) output(o, j) = static_cast<Scalar>(canary);
  }
  Kokkos::deep_copy(kernel.input, input);
  Kokkos::deep_copy(kernel.output, output);
  Kokkos::parallel_for("polyad::test", team_policy(space, LaunchShape{1, 1, Kernel::Row::lanes}), kernel);
  space.fence("polyad::test");
  Kokkos::deep_copy(output, kernel.output);
  Kokkos::deep_copy(roomy, kernel.roomy);
  auto const begin = static_cast<std::size_t>(first), end = std::min(begin + Block, columns);
  auto dot = static_cast<Scalar>(canary);
  for (std::size_t j = begin; j < end; ++j) dot += input(0, j) * input(1, j);
  // Too few columns are never CutColumns. All other numbers stay.
  auto const is_cut_by = [&](int most) {
    return Form == RowForm::simd && end >= begin + std::size_t(std::max(0, Block - most));
  };
  bool const is_cut = is_cut_by(most_cut_columns(Block));
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < width; ++j) {
      bool const is_added = (i == 0 ? is_cut : is_cut_by(i == 1 ? 3 : 0)) && j >= begin && j < end;
      Scalar const added  = is_added ? input(0, j) + input(1, j) : Scalar(0);
      if (!(roomy(i, j) == static_cast<Scalar>(j % 7) + added))
        return "with padding, column " + std::to_string(j) + ": " + std::to_string(roomy(i, j));
    }
  for (std::size_t j = 0; j < width; ++j) {
    Scalar const a = input(0, j), b = input(1, j), c = input(2, j);
    Scalar expected[outputs];
    for (Scalar& number : expected) number = static_cast<Scalar>(canary);
    if (j == begin) expected[dotted] = dot;
    if (j >= begin && j < end) {
      expected[copied]        = a;
      expected[multiplied]    = a * b;
      expected[added]         = a * b + c;
      expected[scaled_added]  = a * b + c + 3 * a;
      expected[product_added] = a * b + c + 3 * a + a * c;
      expected[filled]        = 7;
      if (is_cut) expected[cut_copied] = a;
      expected[atomically_added] += a + b;
    }
    for (std::size_t o = 0; o < outputs; ++o)
      if (!(output(o, j) == expected[o]))
        return "output " + std::to_string(o) + ", column " + std::to_string(j) + ": " +
               std::to_string(output(o, j)) + " instead of " + std::to_string(expected[o]);
  }
  return {};
}

template <class Scalar, int Block, RowForm Form>
void all_cuts() {
  for (int const first : {0, 32})
    for (int rank = first + 1; rank <= first + Block + 1; ++rank) {
      CAPTURE(sizeof(Scalar), Block, static_cast<int>(Form), first, rank);
      CHECK(wrong_entry<Scalar, Block, Form>(first, rank) == "");
    }
}

template <class Scalar, RowForm Form>
void all_blocks() {
  all_cuts<Scalar, 4, Form>();
  all_cuts<Scalar, 8, Form>();
  all_cuts<Scalar, 16, Form>();
  all_cuts<Scalar, 24, Form>();
  all_cuts<Scalar, 32, Form>();
}

template <class Scalar>
void all_forms() {
  if constexpr (is_device_space<TestSpace>) {
    all_blocks<Scalar, RowForm::packed>();
    all_blocks<Scalar, RowForm::strided>();
  } else {
    all_blocks<Scalar, RowForm::simd>();
    all_cuts<Scalar, 12, RowForm::simd>();
    all_cuts<Scalar, 20, RowForm::simd>();
    all_cuts<Scalar, 28, RowForm::simd>();
    all_cuts<Scalar, 40, RowForm::simd>();
    all_cuts<Scalar, 48, RowForm::simd>();
    all_cuts<Scalar, 56, RowForm::simd>();
    all_cuts<Scalar, 64, RowForm::simd>();
  }
}

TEST_CASE("TinyVec: every operation, width and cut, float", "[core]") {
  all_forms<float>();
}
TEST_CASE("TinyVec: every operation, width and cut, double", "[core]") {
  all_forms<double>();
}

/// The columns of all lanes of a block, each exactly once.
template <class Row>
void lanes_cover(int block) {
  for (int rank = 33; rank <= 32 + block; ++rank) {
    int sum = 0;
    for (int lane = 0; lane < Row::lanes; ++lane) {
      Columns const columns = Row::columns(32, rank, lane);
      CHECK(columns.count <= Row::width);
      if (columns.count > 0) sum += columns.count;
    }
    CHECK(sum == rank - 32);
  }
}

TEST_CASE("TinyVec: the lanes share a block's columns, in every form", "[core]") {
  lanes_cover<TinyVec<TestSpace, float, 32, RowForm::packed>>(32);
  lanes_cover<TinyVec<TestSpace, double, 16, RowForm::packed>>(16);
  lanes_cover<TinyVec<TestSpace, float, 32, RowForm::strided>>(32);
  lanes_cover<TinyVec<TestSpace, double, 4, RowForm::strided>>(4);
  lanes_cover<TinyVec<TestSpace, float, 16, RowForm::simd>>(16);
}

struct SeenForm {
  RowForm form;
};

TEST_CASE("row form: SIMD on a host; on a device packed rows, or strided ones where asked", "[core]") {
  SeenForm seen{};
  auto const see = [&](auto form) { seen.form = form(); };
  with_row_form<TestSpace>(true, see);
  CHECK(seen.form == (is_device_space<TestSpace> ? RowForm::packed : RowForm::simd));
  with_row_form<TestSpace>(false, see);
  CHECK(seen.form == (is_device_space<TestSpace> ? RowForm::strided : RowForm::simd));
}

}  // namespace
}  // namespace polyad::test
