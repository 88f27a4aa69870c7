// SPDX-License-Identifier: BSD-3-Clause
// White box: the CSF family. Trees, bins and groups of a tensor small enough to draw. Fibers at the threshold
// of the split. Bytes by the paper's formulas. The device's batches on any backend. Thresholds, levels and
// roots of every kind against the oracle. What is refused.
//
// The tensor of the drawings, order 3, mode 0 at the root, values 1 to 8:
//
//   slice 0            slice 2                  slice 4
//   fiber 2            fiber 0     fiber 3      fiber 1                fiber 2
//   5 (1)              1 (2)       4 (3)        0 (4)  2 (5)  3 (6)    4 (7)  5 (8)
//   COO                CSL                      B-CSF
#include <Kokkos_Core.hpp>
#include <array>
#include <string>
#include <vector>

#include "formats/csf/build/build_bins.hpp"
#include "formats/csf/build/build_tree.hpp"
#include "formats/csf/kernels/mttkrp_tree.hpp"
#include "formats/csf/storage/csf.hpp"
#include "formats/csf/storage/hb_csf.hpp"
#include "formats/expect_exact.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/kokkos_events.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

using Numbers = std::vector<double>;

HostTensor drawn_tensor() {
  return {"drawn",
          {5, 4, 6},
          {4, 1, 2, 0, 2, 5, 4, 2, 5, 2, 3, 4, 4, 1, 0, 2, 0, 1, 4, 2, 4, 4, 1, 3},
          {5, 1, 8, 3, 4, 2, 7, 6}};
}

template <class Scalar, class Index>
CsfTree<Scalar, Index, TestSpace> tree_of(HostTensor const& tensor, int root, std::int64_t fiber_threshold) {
  TestSpace const space;
  auto const coo = to_device<Scalar, Index>(space, tensor);
  return make_csf_tree(space, coo, level_modes(coo.extents(), root), fiber_threshold);
}

// ---- trees

TEST_CASE("csf: the tree of the drawing", "[formats]") {
  auto const tree = tree_of<float, std::uint32_t>(drawn_tensor(), 0, no_split);
  CHECK(tree.order == 3);
  CHECK(tree.pointer_levels == 2);
  CHECK(flat(tree.indices[0]) == Numbers{0, 2, 4});
  CHECK(flat(tree.pointers[0]) == Numbers{0, 1, 3, 5});
  CHECK(flat(tree.indices[1]) == Numbers{2, 0, 3, 1, 2});
  CHECK(flat(tree.pointers[1]) == Numbers{0, 1, 2, 3, 6, 8});
  CHECK(flat(tree.indices[2]) == Numbers{5, 1, 4, 0, 2, 3, 4, 5});
  CHECK(flat(tree.values) == Numbers{1, 2, 3, 4, 5, 6, 7, 8});
  // S = 3, F = 5, M = 8: 4 (2S + 2F + M) bytes, and an end for each of two levels.
  CHECK(tree.index_bytes() == 4 * (2 * 3 + 2 * 5 + 8 + 2));
}

TEST_CASE("csf: fibers of the drawing split at two nonzeros", "[formats]") {
  auto const tree = tree_of<double, std::uint64_t>(drawn_tensor(), 0, 2);
  CHECK(flat(tree.indices[0]) == Numbers{0, 2, 4});
  CHECK(flat(tree.pointers[0]) == Numbers{0, 1, 3, 6});
  CHECK(flat(tree.indices[1]) == Numbers{2, 0, 3, 1, 1, 2});  // 0 2 | 3 | 4 5
  CHECK(flat(tree.pointers[1]) == Numbers{0, 1, 2, 3, 5, 6, 8});
  CHECK(flat(tree.indices[2]) == Numbers{5, 1, 4, 0, 2, 3, 4, 5});
  CHECK(tree.index_bytes() == 8 * (2 * 3 + 2 * 6 + 8 + 2));
}

TEST_CASE("csf: levels below the root by size, or as asked for", "[formats]") {
  Extents const extents{7, 3, 9, 3};
  auto const modes_of = [&](int root, std::vector<int> const& inner) {
    auto const modes = level_modes(extents, root, inner);
    return std::vector<int>(modes.data(), modes.data() + 4);
  };
  CHECK(modes_of(0, {}) == std::vector<int>{0, 1, 3, 2});
  CHECK(modes_of(2, {}) == std::vector<int>{2, 1, 3, 0});
  CHECK(modes_of(3, {2, 3, 1, 0}) == std::vector<int>{3, 2, 1, 0});
}

TEST_CASE("csf: trees of order 4, 2 and 1", "[formats]") {
  // Order 4, levels 0 1 2 3:  0: (0: (0: 1 2) (1: 0)) (1: (1: 0))   1: (1: (1: 0))
  HostTensor const four{
      "four", {2, 2, 2, 3}, {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 0}, {1, 2, 3, 4, 5}};
  auto const tree = tree_of<float, std::uint32_t>(four, 0, no_split);
  CHECK(tree.pointer_levels == 3);
  CHECK(flat(tree.indices[0]) == Numbers{0, 1});
  CHECK(flat(tree.pointers[0]) == Numbers{0, 2, 3});
  CHECK(flat(tree.indices[1]) == Numbers{0, 1, 1});
  CHECK(flat(tree.pointers[1]) == Numbers{0, 2, 3, 4});
  CHECK(flat(tree.indices[2]) == Numbers{0, 1, 1, 1});
  CHECK(flat(tree.pointers[2]) == Numbers{0, 2, 3, 4, 5});
  CHECK(flat(tree.indices[3]) == Numbers{1, 2, 0, 0, 0});

  HostTensor const two{"two", {3, 4}, {2, 1, 0, 3, 2, 0}, {3, 1, 2}};
  auto const flat_tree = tree_of<float, std::uint32_t>(two, 0, 1);  // no fibers to split
  CHECK(flat_tree.pointer_levels == 1);
  CHECK(flat(flat_tree.indices[0]) == Numbers{0, 2});
  CHECK(flat(flat_tree.pointers[0]) == Numbers{0, 1, 3});
  CHECK(flat(flat_tree.indices[1]) == Numbers{3, 0, 1});

  HostTensor const one{"one", {5}, {4, 1, 4}, {2, 1, 3}};
  auto const list = tree_of<float, std::uint32_t>(one, 0, no_split);
  CHECK(flat(list.indices[0]) == Numbers{1, 4});
  CHECK(flat(list.pointers[0]) == Numbers{0, 1, 3});
  CHECK(flat(list.values) == Numbers{1, 2, 3});
}

TEST_CASE("csf: the tree of an empty tensor has ends alone", "[formats]") {
  auto const tree = tree_of<float, std::uint32_t>({"empty", {3, 3, 3}, {}, {}}, 0, 128);
  CHECK(tree.nnz() == 0);
  CHECK(flat(tree.pointers[0]) == Numbers{0});
  CHECK(flat(tree.pointers[1]) == Numbers{0});
  CHECK(tree.index_bytes() == 4 * 2);
}

/// A tensor of two slices: fiber k of slice 0 has lengths[k] nonzeros, slice 1 has one.
HostTensor tensor_of_fibers(std::vector<std::size_t> const& lengths) {
  Random random(lengths.size());
  HostTensor tensor{"fibers", {2, lengths.size() + 1, 1}, {}, {}};
  for (std::size_t k = 0; k < lengths.size(); ++k)
    for (std::size_t i = 0; i < lengths[k]; ++i) {
      tensor.indices.insert(tensor.indices.end(), {0, k, i});
      tensor.extents[2] = std::max<std::uint64_t>(tensor.extents[2], i + 1);
      tensor.values.push_back(random_integer(random));
    }
  tensor.indices.insert(tensor.indices.end(), {1, 0, 0});
  tensor.values.push_back(3);
  return reordered(tensor, random_order(random, tensor.nnz()));
}

TEST_CASE("csf: fibers of exactly 127, 128, 129 and 256, and one of all nonzeros", "[formats]") {
  auto const tensor = tensor_of_fibers({127, 128, 129, 256, 257});
  auto const tree   = tree_of<float, std::uint32_t>(tensor, 0, 128);
  CHECK(flat(tree.pointers[1]) == Numbers{0, 127, 255, 383, 384, 512, 640, 768, 896, 897, 898});
  CHECK(flat(tree.indices[1]) == Numbers{0, 1, 2, 2, 3, 3, 4, 4, 4, 0});
  CHECK(flat(tree.pointers[0]) == Numbers{0, 9, 10});
  CHECK(flat(tree_of<float, std::uint32_t>(tensor, 0, no_split).pointers[1]) ==
        Numbers{0, 127, 255, 384, 640, 897, 898});

  HostTensor fiber{"one fiber", {3, 2, 1000}, {}, {}};
  for (std::size_t i = 0; i < 1000; ++i) {
    fiber.indices.insert(fiber.indices.end(), {2, 1, i});
    fiber.values.push_back(1);
  }
  CHECK(flat(tree_of<float, std::uint32_t>(fiber, 0, 300).pointers[1]) == Numbers{0, 300, 600, 900, 1000});
  CHECK(tree_of<float, std::uint32_t>(fiber, 2, 300).fibers() == 1000);  // rooted at the long mode
}

// ---- bins

struct Division {
  Numbers begins, slices, fibers, starts_slice;
};

Division divide(HostTensor const& tensor, count_t bin, bool split_fibers, bool split_slices) {
  auto const tree = tree_of<float, std::uint32_t>(tensor, 0, no_split);
  auto const bins = make_csf_bins(TestSpace(), tree, bin, split_fibers, split_slices);
  return {flat(bins.begins), flat(bins.nodes[0]), flat(bins.nodes[1]), flat(bins.starts_slice)};
}

TEST_CASE("csf: bins of the drawing", "[formats]") {
  auto const both = divide(drawn_tensor(), 4, true, true);
  CHECK(both.begins == Numbers{0, 4, 8});  // the second begins inside fiber 3
  CHECK(both.slices == Numbers{0, 2});
  CHECK(both.fibers == Numbers{0, 3});
  CHECK(both.starts_slice == Numbers{1, 0, 1});

  auto const whole_fibers = divide(drawn_tensor(), 4, false, true);
  CHECK(whole_fibers.begins == Numbers{0, 6, 8});
  CHECK(whole_fibers.slices == Numbers{0, 2});
  CHECK(whole_fibers.fibers == Numbers{0, 4});
  CHECK(whole_fibers.starts_slice == Numbers{1, 0, 1});

  auto const whole_slices = divide(drawn_tensor(), 2, true, false);
  CHECK(whole_slices.begins ==
        Numbers{0, 3, 8, 8, 8});  // 2 moves to 3, 4 and 6 to the end: two bins are empty
  CHECK(whole_slices.slices[0] == 0);
  CHECK(whole_slices.slices[1] == 2);
  CHECK(whole_slices.starts_slice == Numbers{1, 1, 1, 1, 1});
}

TEST_CASE("csf: rows are cleared where no worker stores them", "[formats]") {
  TestSpace const space;
  auto const coo     = to_device<float, std::uint32_t>(space, drawn_tensor());
  auto const cleared = [&](std::int64_t slice_threshold) {
    BCsfOptions options;
    options.slice_threshold = slice_threshold;
    return flat(BCsf<float, std::uint32_t, TestSpace>::build(space, coo, options).cleared(0));
  };
  CHECK(cleared(4) == Numbers{1, 3, 4});     // row 4 is shared by both bins
  CHECK(cleared(2) == Numbers{1, 2, 3, 4});  // 0 . | 2 . | . ., slices 2 and 4 are cut
  CHECK(cleared(3) == Numbers{1, 3, 4});     // a bin's border at a slice's end cuts nothing
  CHECK(cleared(no_split) == Numbers{1, 3});
  CHECK(cleared(1000) == Numbers{1, 3});
}

// ---- groups

TEST_CASE("csf: groups of the drawing", "[formats]") {
  TestSpace const space;
  using Format       = HbCsf<float, std::uint32_t, TestSpace>;
  auto const X       = Format::build(space, to_device<float, std::uint32_t>(space, drawn_tensor()));
  auto const& groups = X.groups(0);

  CHECK(flat(groups.coo.indices[0]) == Numbers{0});
  CHECK(flat(groups.coo.indices[1]) == Numbers{2});
  CHECK(flat(groups.coo.indices[2]) == Numbers{5});
  CHECK(flat(groups.coo.values) == Numbers{1});
  CHECK(groups.coo.index_bytes() == 4 * 3);

  auto const& csl = groups.csl.tree;
  CHECK(flat(csl.indices[0]) == Numbers{2});
  CHECK(flat(csl.pointers[0]) == Numbers{0, 2});
  CHECK(flat(csl.indices[1]) == Numbers{0, 3});
  CHECK(flat(csl.indices[2]) == Numbers{1, 4});
  CHECK(flat(csl.values) == Numbers{2, 3});
  CHECK(csl.pointers[1].extent(0) == 0);
  CHECK(csl.index_bytes() == 4 * (2 * 1 + 2 * 2 + 1));

  auto const& b_csf = groups.b_csf.tree;
  CHECK(flat(b_csf.indices[0]) == Numbers{4});
  CHECK(flat(b_csf.pointers[0]) == Numbers{0, 2});
  CHECK(flat(b_csf.indices[1]) == Numbers{1, 2});
  CHECK(flat(b_csf.pointers[1]) == Numbers{0, 3, 5});
  CHECK(flat(b_csf.indices[2]) == Numbers{0, 2, 3, 4, 5});
  CHECK(flat(b_csf.values) == Numbers{4, 5, 6, 7, 8});
  CHECK(b_csf.index_bytes() == 4 * (2 * 1 + 2 * 2 + 5 + 2));

  CHECK(flat(groups.cleared) == Numbers{1, 3});
}

TEST_CASE("csf: slices of duplicates are not CSL, those of order 2 are", "[formats]") {
  TestSpace const space;
  using Format = HbCsf<float, std::uint32_t, TestSpace>;
  HostTensor const twice{"twice", {2, 2, 2}, {1, 1, 1, 1, 1, 1}, {1, 2}};
  auto const X       = Format::build(space, to_device<float, std::uint32_t>(space, twice));
  auto const& groups = X.groups(0);
  CHECK(groups.csl.tree.nnz() == 0);
  CHECK(flat(groups.b_csf.tree.pointers[1]) == Numbers{0, 2});

  HostTensor const two{"two", {3, 4}, {2, 1, 0, 3, 2, 0}, {3, 1, 2}};
  auto const Y       = Format::build(space, to_device<float, std::uint32_t>(space, two));
  auto const& of_two = Y.groups(0);
  CHECK(flat(of_two.coo.indices[0]) == Numbers{0});
  CHECK(flat(of_two.csl.tree.indices[0]) == Numbers{2});
  CHECK(of_two.b_csf.tree.nnz() == 0);
}

// ---- bytes

/// S, F and M of a tensor of order 3 and more, for a root; F by segments of at most `threshold`.
template <class Index>
std::size_t csf_words(HostTensor const& tensor, int root, std::int64_t threshold) {
  auto const modes  = level_modes(Extents(std::span<count_t const>(tensor.extents)), root);
  std::size_t words = tensor.nnz();
  for (std::size_t l = 0; l + 1 < tensor.order(); ++l) {
    std::map<std::vector<std::uint64_t>, std::size_t> nodes;
    for (std::size_t p = 0; p < tensor.nnz(); ++p) {
      std::vector<std::uint64_t> node;
      for (std::size_t m = 0; m <= l; ++m)
        node.push_back(tensor.index(p, static_cast<std::size_t>(modes[m])));
      ++nodes[node];
    }
    std::size_t count = nodes.size();
    if (l + 2 == tensor.order() && threshold != no_split) {
      count           = 0;
      auto const most = static_cast<std::size_t>(threshold);
      for (auto const& [node, length] : nodes) count += (length + most - 1) / most;
    }
    words += 2 * count + 1;
  }
  return words;
}

template <class Scalar, class Index>
void expect_bytes(HostTensor const& tensor, std::int64_t threshold) {
  TestSpace const space;
  auto const coo = to_device<Scalar, Index>(space, tensor);
  BCsfOptions options;
  options.fiber_threshold = threshold;
  std::size_t words       = 0;
  for (int n = 0; n < coo.order(); ++n) words += csf_words<Index>(tensor, n, threshold);
  auto const order = static_cast<std::size_t>(coo.order());
  CAPTURE(tensor.name, threshold, sizeof(Scalar), sizeof(Index));
  CHECK(BCsf<Scalar, Index, TestSpace>::build(space, coo, options).storage_bytes() ==
        words * sizeof(Index) + order * tensor.nnz() * sizeof(Scalar));
}

TEST_CASE("csf: bytes by the paper's formula", "[formats]") {
  for (std::size_t const order : {3, 4, 6})
    for (Kind const kind : all_kinds)
      for (std::int64_t const threshold : {std::int64_t(3), std::int64_t(128), no_split}) {
        auto const tensor = small_tensor(kind, order);
        expect_bytes<float, std::uint32_t>(tensor, threshold);
        expect_bytes<double, std::uint64_t>(tensor, threshold);
      }
}

// ---- walks

template <class Strategy, int Order>
void expect_exact_batches(HostTensor const& tensor, int mode, std::int64_t fiber_threshold, count_t bin) {
  constexpr int block = 8;
  using Index         = std::uint32_t;
  using Kernel        = detail::MttkrpTree<TinyVec<TestSpace, float, block>, Index, Order, Strategy, false>;
  constexpr int lanes = Kernel::Row::lanes;
  TestSpace const space;
  Random random(bin);
  std::size_t const rank  = 7;
  auto const host_factors = random_factors(random, tensor.extents, rank, random_integer);
  auto const factors      = to_device<float>(space, host_factors);
  auto const tree         = tree_of<float, Index>(tensor, mode, fiber_threshold);
  auto const bins         = make_csf_bins(space, tree, bin, fiber_threshold != no_split, true);
  auto const n            = static_cast<std::size_t>(mode);
  // Zero instead of the list of cleared rows, which belongs to a format.
  WatchedMatrix<float> const V(space, RowLayout::padded, tensor.extents[n], rank, 0);
  ChunkWalk const workers{bins.size(), 1, ColumnBlocks{0, 1, static_cast<int>(rank)}};
  int const team = is_device_space<TestSpace> ? 32 / lanes : 1;
  Kokkos::parallel_for("polyad::test", team_policy(space, workers.shape(team, lanes)),
                       Kernel{detail::TreeArrays<float, Index, Order>(tree),
                              detail::BinArrays<Index, Order>(bins),
                              OtherFactors<float, Order>(factors, tree.modes),
                              {tree.indices[0].data(), RowsAt<float>(V.matrix())},
                              workers});
  auto const expected = exact_mttkrp<float>(tensor, host_factors, n);
  CAPTURE(tensor.name, Strategy::batch, Strategy::sums_fibers, mode, fiber_threshold, bin);
  CHECK(violation<float>(expected, V.read(), tensor.order()) == "");
  CHECK(V.trespasses() == 0);
}

template <int Order>
void expect_exact_batches(HostTensor const& tensor, std::int64_t fiber_threshold, count_t bin) {
  for (int mode = 0; mode < static_cast<int>(tensor.order()); ++mode) {
    expect_exact_batches<detail::SumFibers<1>, Order>(tensor, mode, fiber_threshold, bin);
    expect_exact_batches<detail::MultiplyEach<1>, Order>(tensor, mode, fiber_threshold, bin);
    expect_exact_batches<detail::SumFibers<2>, Order>(tensor, mode, fiber_threshold, bin);
    expect_exact_batches<detail::MultiplyEach<2>, Order>(tensor, mode, fiber_threshold, bin);
    expect_exact_batches<detail::SumFibers<4>, Order>(tensor, mode, fiber_threshold, bin);
    expect_exact_batches<detail::MultiplyEach<4>, Order>(tensor, mode, fiber_threshold, bin);
  }
}

TEST_CASE("csf: batches of each strategy end fibers and slices at every place", "[formats][strategies]") {
  Random random(3);
  // Fibers of 1 to 7 nonzeros, and of many; bins that begin at every place of a batch.
  std::vector<std::size_t> lengths;
  for (std::size_t k = 0; k < 60; ++k) lengths.push_back(1 + k % 7);
  auto const fibers    = tensor_of_fibers(lengths);
  auto const scattered = random_tensor(random, {40, 5, 9}, 400, random_integer);
  auto const order_4   = random_tensor(random, {9, 4, 3, 7}, 400, random_integer);
  auto const order_5   = random_tensor(random, {5, 4, 3, 3, 4}, 400, random_integer);
  for (std::int64_t const threshold : {std::int64_t(1), std::int64_t(3), std::int64_t(128), no_split})
    for (count_t const bin : {1, 3, 4, 16, 37, 1000}) {
      expect_exact_batches<3>(fibers, threshold, bin);
      expect_exact_batches<3>(scattered, threshold, bin);
      expect_exact_batches<4>(order_4, threshold, bin);
      expect_exact_batches<any_order>(order_5, threshold, bin);
    }
}

TEST_CASE("csf: every threshold gives the oracle's sums", "[formats]") {
  TestSpace const space;
  constexpr std::array<std::int64_t, 3> fiber_thresholds{1, 128, no_split};
  constexpr std::array<std::int64_t, 3> slice_thresholds{5, 64, no_split};
  std::size_t number = 0;  // counts the tensors
  for (std::size_t const order : {2, 3, 4, 5, 6, 10})
    for (Kind const kind : {Kind::empty, Kind::one_nonzero, Kind::one_long_slice, Kind::one_long_fiber,
                            Kind::duplicates, Kind::mode_of_size_1, Kind::runs_at_borders}) {
      ++number;
      auto const tensor = small_tensor(kind, order, random_integer);
      auto const coo    = to_device<double, std::uint32_t>(space, tensor);
      // Three of the nine pairs a tensor, so that each threshold meets every kind and every order.
      for (std::size_t f = 0; f < 3; ++f) {
        std::size_t const s = (f + number) % 3;
        BCsfOptions options;
        options.fiber_threshold = fiber_thresholds[f];
        options.slice_threshold = slice_thresholds[s];
        std::size_t const rank  = 1 + (number + 4 * f) % 9;
        RowLayout const layout  = kernel_layout<TestSpace>(number / 3 + f);
        CAPTURE(fiber_thresholds[f], slice_thresholds[s]);
        if ((number + f) % 2 == 0)
          expect_exact(BCsf<double, std::uint32_t, TestSpace>::build(space, coo, options), tensor, rank,
                       layout);
        else
          expect_exact(HbCsf<double, std::uint32_t, TestSpace>::build(space, coo, options), tensor, rank,
                       layout);
      }
    }
}

TEST_CASE("csf: fibers at the threshold give the oracle's sums", "[formats]") {
  TestSpace const space;
  for (std::size_t const length : {127, 128, 129, 255, 256, 257}) {
    auto const tensor = tensor_of_fibers({length, 1, length, 2});
    auto const coo    = to_device<float, std::uint32_t>(space, tensor);
    expect_exact(BCsf<float, std::uint32_t, TestSpace>::build(space, coo), tensor, 4);
    expect_exact(HbCsf<float, std::uint32_t, TestSpace>::build(space, coo), tensor, 5);
    expect_exact(Csf<float, std::uint32_t, TestSpace>::build(space, coo), tensor, 6);
  }
}

TEST_CASE("csf: any levels and any root", "[formats]") {
  TestSpace const space;
  Random random(5);
  auto const tensor = random_tensor(random, {13, 5, 9, 4}, 500, random_integer);
  auto const coo    = to_device<double, std::uint32_t>(space, tensor);
  for (std::vector<int> const& levels : {std::vector<int>{}, {0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}}) {
    BCsfOptions options;
    options.levels = levels;
    expect_exact(BCsf<double, std::uint32_t, TestSpace>::build(space, coo, options), tensor, 3);
    expect_exact(HbCsf<double, std::uint32_t, TestSpace>::build(space, coo, options), tensor, 3);
    for (int root = 0; root < 4; ++root) {
      CsfOptions one_tree;
      one_tree.root            = root;
      one_tree.levels          = levels;
      one_tree.fiber_threshold = 2;
      auto const X             = Csf<double, std::uint32_t, TestSpace>::build(space, coo, one_tree);
      CHECK(X.tree().modes[0] == root);
      expect_exact(X, tensor, 5);
    }
  }
}

// ---- what is refused

template <class F, class Coo>
void expect_refused(Coo const& coo, typename F::options_type const& options, std::string const& message) {
  TestSpace const space;
  CAPTURE(F::name);
  KokkosEvents const events;
  CHECK(message_of([&] { F::build(space, coo, options); }) == message);
  CHECK(events.lines(Event::Kind::allocation) == std::vector<std::string>{});
}

TEST_CASE("csf: options without meaning are refused before anything is allocated", "[formats]") {
  TestSpace const space;
  auto const coo = to_device<float, std::uint32_t>(space, drawn_tensor());
  using One      = Csf<float, std::uint32_t, TestSpace>;
  using Balanced = BCsf<float, std::uint32_t, TestSpace>;
  using Hybrid   = HbCsf<float, std::uint32_t, TestSpace>;
  for (std::int64_t const threshold : {0, -1}) {
    auto const text = " threshold must be positive, not " + std::to_string(threshold);
    CsfOptions one_tree;
    one_tree.fiber_threshold = threshold;
    expect_refused<One>(coo, one_tree, "the fiber" + text);
    BCsfOptions fiber, slice;
    fiber.fiber_threshold = threshold;
    slice.slice_threshold = threshold;
    expect_refused<Balanced>(coo, fiber, "the fiber" + text);
    expect_refused<Hybrid>(coo, fiber, "the fiber" + text);
    expect_refused<Balanced>(coo, slice, "the slice" + text);
    expect_refused<Hybrid>(coo, slice, "the slice" + text);
  }
  for (int const root : {-1, 3}) {
    CsfOptions options;
    options.root = root;
    expect_refused<One>(coo, options,
                        "mode " + std::to_string(root) + " of a tensor of order 3 (modes count from 0)");
  }
  for (std::vector<int> const& levels : {std::vector<int>{0, 1}, {0, 1, 1}, {1, 2, 3}, {0, 1, 2, 3}}) {
    std::string const text = "the order of the levels must name each of the 3 modes once";
    CsfOptions one_tree;
    BCsfOptions options;
    one_tree.levels = options.levels = levels;
    expect_refused<One>(coo, one_tree, text);
    expect_refused<Balanced>(coo, options, text);
    expect_refused<Hybrid>(coo, options, text);
  }
}

TEST_CASE("csf: more nonzeros than the index type counts are refused", "[formats]") {
  // Never read: the count is refused first.
  using Coo           = CooTensor<float, std::uint32_t, TestSpace>;
  count_t const nnz   = count_t(1) << 32;
  std::uint32_t index = 0;
  float value         = 0;
  Coo const coo(Extents{8, 8, 8}, Coo::indices_type(&index, nnz, 3), Coo::values_type(&value, nnz));
  std::string const text = "4294967296 nonzeros need 64-bit indices in this format";
  expect_refused<Csf<float, std::uint32_t, TestSpace>>(coo, {}, text);
  expect_refused<BCsf<float, std::uint32_t, TestSpace>>(coo, {}, text);
  expect_refused<HbCsf<float, std::uint32_t, TestSpace>>(coo, {}, text);
}

TEST_CASE("csf: a mode with more rows than memory has bytes is refused", "[formats]") {
  TestSpace const space;
  HostTensor const tensor{"long", {2, 3, std::uint64_t(1) << 45}, {1, 2, 7}, {1.0}};
  auto const coo = to_device<float, std::uint64_t>(space, tensor);
  CHECK_THROWS_AS((BCsf<float, std::uint64_t, TestSpace>::build(space, coo)), MemoryError);
  CHECK_THROWS_AS((HbCsf<float, std::uint64_t, TestSpace>::build(space, coo)), MemoryError);
  CsfOptions options;
  options.root = 2;
  CHECK_THROWS_AS((Csf<float, std::uint64_t, TestSpace>::build(space, coo, options)), MemoryError);
}

}  // namespace
}  // namespace polyad::test
