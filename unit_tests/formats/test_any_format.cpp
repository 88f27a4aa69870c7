// SPDX-License-Identifier: BSD-3-Clause
// AnyFormat: that it holds the contract whatever it chose, that it chooses what the cost model says within
// the memory that it is given, and what it refuses.
#include "polyad/formats/any_format.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "formats/choose_format.hpp"
#include "formats/expect_exact.hpp"
#include "formats/registry.hpp"
#include "io/temporary_folder.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/io/coo_file.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

template <class Scalar = double>
using Any = AnyFormat<Scalar, TestSpace>;

constexpr auto go_on = [](CpAlsIteration const&) { return true; };

HostTensor some_tensor() {
  Random random(5);
  return distinct(random_tensor(random, {70, 300, 90}, 60000, random_integer));
}

/// The same on every machine that runs the tests.
Ceilings test_machine() {
  return usual_ceilings(is_device_space<TestSpace>, 4, sizeof(double));
}

AnyFormatOptions options_for(count_t rank, Ceilings const& machine = test_machine()) {
  AnyFormatOptions options;
  options.rank          = rank;
  options.hooks.machine = [machine](double) { return machine; };
  return options;
}

template <class Scalar, class Index>
void expect_any(HostTensor const& tensor, std::size_t rank, RowLayout layout) {
  TestSpace const space;
  AnyFormatOptions options;
  options.rank = rank;
  auto const X = any_format(space, to_device<Scalar, Index>(space, tensor), options);
  CAPTURE(X.chosen(), X.chosen_because());
  CHECK(X.nnz() == tensor.nnz());
  CHECK(X.extents() == Extents(std::span<count_t const>(tensor.extents)));
  CHECK_FALSE(X.chosen_because().empty());
  REQUIRE_FALSE(X.candidates().empty());
  CHECK(X.candidates().front().name == X.chosen());
  expect_exact(X, tensor, rank, layout);
}

TEST_CASE("AnyFormat is one type for coordinates of 32 and 64 bits", "[any_format]") {
  TestSpace const space;
  auto const tensor = some_tensor();
  auto options      = options_for(5);
  options.format    = "coo-scratch";  // keeps the coordinates as they are
  std::vector<Any<>> const both{any_format(space, to_device<double, std::uint32_t>(space, tensor), options),
                                any_format(space, to_device<double, std::uint64_t>(space, tensor), options)};
  for (auto const& X : both) expect_exact(X, tensor, 5);
  CHECK(both[1].storage_bytes() - both[0].storage_bytes() ==
        tensor.nnz() * tensor.order() * sizeof(std::uint32_t));
  static_assert(!Format<Any<>>);  // its coordinates have no type
}

TEST_CASE("any_format takes every kind of tensor", "[any_format]") {
  std::size_t number = 0;
  for (Kind const kind : all_kinds)  // no nonzeros, one of them, one slice and one fiber among them
    for (std::size_t const order : {1, 2, 3, 5, 16}) {
      auto const tensor = distinct(small_tensor(kind, order, random_integer));
      // Rows that are not packed are copied for a device.
      RowLayout const layout = all_layouts[number / 2 % all_layouts.size()];
      expect_any<double, std::uint32_t>(tensor, some_rank(number), layout);
      expect_any<float, std::uint64_t>(tensor, some_rank(number), layout);
      ++number;
    }
  expect_any<float, std::uint32_t>(some_tensor(), 8, RowLayout::padded);
  expect_any<double, std::uint64_t>(some_tensor(), 8, RowLayout::padded);
}

TEST_CASE("any_format builds the format that is requested", "[any_format]") {
  TestSpace const space;
  auto const tensor = some_tensor();
  auto const coo    = to_device<double, std::uint32_t>(space, tensor);
  for_each_format<double, std::uint32_t, TestSpace>([&](auto identity) {
    using F         = typename decltype(identity)::type;
    auto options    = options_for(5);
    options.format  = F::name;
    auto const X    = any_format(space, coo, options);
    auto const self = F::build(space, coo, {});
    CAPTURE(F::name);
    CHECK(X.chosen() == F::name);
    CHECK(X.chosen_because().empty());
    CHECK(X.candidates().empty());
    CHECK(X.storage_bytes() == self.storage_bytes());
    CHECK(X.norm_squared() == self.norm_squared());
    CHECK(X.supports(Capability::streaming) == X.chosen().starts_with("streamed-"));
    expect_exact(X, tensor, 5);
  });
}

TEST_CASE("any_format reads a format's options", "[any_format]") {
  TestSpace const space;
  auto const tensor = some_tensor();
  auto const coo    = to_device<double, std::uint32_t>(space, tensor);
  auto const made   = [&](std::string const& text) {
    auto options   = options_for(5);
    options.format = text;
    auto X         = any_format(space, coo, options);
    CAPTURE(text);
    CHECK(X.chosen() == split_format_text(text).name);
    expect_exact(X, tensor, 5);
    return X;
  };
  using Permuted = CooPermuted<double, std::uint32_t, TestSpace>;
  auto const one = made("sorted:permutations");
  CHECK(one.storage_bytes() == Permuted::build(space, coo).storage_bytes());
  CHECK_FALSE(one.chosen_because().empty());
  CHECK(made("sorted:copies,block_rows=0").storage_bytes() > one.storage_bytes());
  // A flag a partition: shorter ones are more.
  CHECK(made("f-coo:threadlen=8").storage_bytes() >
        made("f-coo:threadlen=64,team_threads=128").storage_bytes());
  CHECK(made("csf:root=1,fiber_threshold=2").storage_bytes() > made("csf:root=1").storage_bytes());
  static_cast<void>(made("blco:max_block=1000,index_bits=128"));
  static_cast<void>(made("b-csf:leaves,fiber_threshold=3"));
}

TEST_CASE("any_format: who asks for one mode gets one copy", "[formats][any_format]") {
  TestSpace const space;
  auto const coo = to_device<double, std::uint32_t>(space, some_tensor());
  auto options   = options_for(4);
  options.needs  = {Capability::residual_sweep, Capability::row_least_squares};
  auto named     = options;
  named.format   = "sorted:copies,deterministic";
  auto const all = any_format(space, coo, named);
  FactorMatrices<double, TestSpace> const C(space, coo.extents(), 4);
  fill_random(space, C, 3);
  auto const B          = make_factor_matrix<double>(space, "polyad::B", 4, 4);
  auto const transposed = make_factor_matrix<double>(space, "polyad::transposed", 4, 4);
  for (auto const& matrix : {B, transposed})
    from_host<double>(space, {2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 5}, matrix);
  for (int n = 0; n < 3; ++n) {
    options.only_mode = n;
    auto const one    = any_format(space, coo, options);
    CHECK(one.chosen() == "sorted");
    CHECK(one.candidates().empty());
    CHECK(one.storage_bytes() < all.storage_bytes() / 2);
    CHECK(one.nnz() == all.nnz());
    CHECK(one.norm_squared() == all.norm_squared());
    auto const rows_of = [&](auto const& X) {
      auto const A = make_factor_matrix<double>(space, "polyad::A", coo.extents()[n], 4);
      RowProblem<double, TestSpace> const problem{B, transposed, 0.5, false};
      least_squares_rows(space, X, C, n, problem, X.make_row_workspace(space), A);
      return flat(A);
    };
    CHECK(rows_of(one) == rows_of(all));  // the same bits
    auto const residuals_of = [&](auto const& X) {
      auto const G   = make_factor_matrix<double>(space, "polyad::G", coo.extents()[n], 4);
      auto workspace = make_residual_workspace(space, X, 4);
      residual_mttkrp(space, X, C, n, workspace, G);
      return flat(G);
    };
    auto const ours = residuals_of(one), others = residuals_of(all);
    double worst = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) worst = std::max(worst, std::abs(ours[i] - others[i]));
    CHECK(worst <= 1e-8);
  }
}

TEST_CASE("any_format: SpTTMc of one mode has one copy of f-coo", "[formats][any_format]") {
  TestSpace const space;
  auto const coo = to_device<double, std::uint32_t>(space, some_tensor());
  auto options   = options_for(4);
  options.needs  = {Capability::ttmc};
  auto const all = any_format(space, coo, options);
  FactorMatrices<double, TestSpace> const factors(space, coo.extents(), 4);
  fill_random(space, factors, 3);
  std::vector<FactorMatrix<double, TestSpace>> U;
  for (int n = 0; n < 3; ++n) U.push_back(factors[n]);
  for (int n = 0; n < 3; ++n) {
    options.only_mode = n;
    auto const one    = any_format(space, coo, options);
    CHECK(one.chosen() == "f-coo");
    CHECK(one.storage_bytes() < all.storage_bytes() / 2);
    CHECK(one.norm_squared() == all.norm_squared());
    auto const product_of = [&](auto const& X) {
      auto const Y = make_spttmc_output(space, coo.extents(), U, n);
      spttmc(space, X, U, n, Y);
      return flat(Y);
    };
    auto const ours = product_of(one), others = product_of(all);
    double worst = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) worst = std::max(worst, std::abs(ours[i] - others[i]));
    CHECK(worst <= 1e-12);
    int const other = (n + 1) % 3;
    auto const Y    = make_spttmc_output(space, coo.extents(), U, other);
    CHECK_THROWS_AS(spttmc(space, one, U, other, Y), UsageError);
  }
}

TEST_CASE("any_format gives what is needed", "[any_format]") {
  TestSpace const space;
  auto const coo  = to_device<double, std::uint32_t>(space, some_tensor());
  auto options    = options_for(5);
  auto const with = [&](std::vector<Capability> needs) {
    options.needs = needs;
    auto X        = any_format(space, coo, options);
    for (auto const need : needs) CHECK(X.supports(need));
    return X;
  };
  CHECK_FALSE(with({Capability::residual_sweep, Capability::row_least_squares}).candidates().empty());
  CHECK(with({Capability::sgd}).candidates().empty());
  CHECK_FALSE(with({Capability::sgd}).supports(Capability::residual_sweep));
  CHECK(with({Capability::ttmc}).supports(Capability::ttmc));
  options.format = "b-csf";
  CHECK(with({Capability::residual_sweep}).supports(Capability::residual_sweep));
  CHECK_FALSE(with({}).supports(Capability::sgd));
  CHECK(message_of([&] { with({Capability::ttmc}); }) == "the format b-csf has no SpTTMc");
  auto const X = with({});
  CHECK_THROWS_AS(X.make_row_workspace(space), UsageError);
}

TEST_CASE("One format is tuned: its shapes", "[any_format]") {
  TestSpace const space;
  auto const coo     = to_device<double, std::uint32_t>(space, some_tensor());
  auto options       = options_for(4);
  options.format     = "f-coo";
  auto const found   = tune_formats(space, coo, options);
  auto const& shapes = found.shapes;
  REQUIRE(found.candidates.size() == 1);
  CHECK(found.best == "f-coo");
  REQUIRE(shapes.size() >= 4);
  CHECK(std::ranges::is_sorted(shapes, {}, &FormatShape::seconds));
  options.format = shapes.front().format;
  CHECK(any_format(space, coo, options).chosen() == "f-coo");
  options.format = "sorted";
  CHECK(tune_formats(space, coo, options).shapes.empty());
  options.format = "no-such";
  CHECK_THROWS_AS(tune_formats(space, coo, options), UsageError);
}

TEST_CASE("Formats are estimated, and tuned", "[any_format]") {
  TestSpace const space;
  auto const coo       = to_device<float, std::uint32_t>(space, some_tensor());
  auto options         = options_for(4);
  auto const estimated = estimate_formats(space, coo, options);
  REQUIRE_FALSE(estimated.candidates.empty());
  CHECK(estimated.best == estimated.candidates.front().name);
  CHECK_FALSE(estimated.because.empty());
  for (auto const& candidate : estimated.candidates) CHECK_FALSE(candidate.measured);
  CHECK(estimated.best == any_format(space, coo, options).chosen());

  auto const tuned = tune_formats(space, coo, options);
  CHECK(tuned.candidates.size() == estimated.candidates.size());
  for (auto const& candidate : tuned.candidates)
    if (candidate.fits && !candidate.streams) {
      REQUIRE(candidate.measured);
      CHECK(candidate.measured->mode_s.size() == static_cast<std::size_t>(coo.order()));
    }
  CHECK(tuned.best == tuned.candidates.front().name);

  options.memory_bytes = 1;
  auto const none      = estimate_formats(space, coo, options);
  CHECK(none.best.empty());
  CHECK(none.because.find("needs the least") != std::string::npos);
  CHECK_THROWS_AS(tune_formats(space, coo, options), MemoryError);
  CHECK_THROWS_AS((estimate_formats<float, std::uint32_t>(space, AnyFormatOptions{})), UsageError);
}

TEST_CASE("any_format ends in the fit of the format inside", "[any_format]") {
  TestSpace const space;
  auto const coo = to_device<double, std::uint32_t>(space, some_tensor());
  CpAlsOptions als;
  als.rank           = 4;
  als.max_iterations = 5;
  als.tolerance      = 0;

  auto options          = options_for(4);
  options.deterministic = true;  // so that not a bit differs
  auto const X          = any_format(space, coo, options);
  CHECK(X.chosen() == "sorted");
  CHECK(X.chosen_because() == "it sums in a fixed order");
  using Direct = Sorted<double, std::uint32_t, TestSpace>;
  auto const self =
      Direct::build(space, coo, {.storage = SortedOptions::Storage::copies, .deterministic = true});
  auto const want = cp_als(space, self, als, go_on);
  auto const got  = cp_als(space, X, als, go_on);
  REQUIRE(got.history.size() == want.history.size());
  for (std::size_t k = 0; k < want.history.size(); ++k) CHECK(got.history[k].fit == want.history[k].fit);
  CHECK(got.model.weights == want.model.weights);

  for (std::string const name : {"auto", "coo-permuted", "streamed-blco"}) {
    options          = options_for(4);
    options.format   = name;
    auto const other = any_format(space, coo, options);
    double const fit = cp_als(space, other, als, go_on).fit;
    double const rounding =
        1e-9;  // 2e-11 for a fit of so many nonzeros (test_cp_als); iterations make it grow
    CAPTURE(other.chosen());
    CHECK(std::abs(fit - want.fit) < rounding);
  }
}

TEST_CASE("any_format falls back by memory", "[any_format]") {
  TestSpace const space;
  auto const tensor = some_tensor();
  auto const coo    = to_device<double, std::uint32_t>(space, tensor);
  // A long run, and additions that are slow: what needs the least memory is then not the fastest.
  auto machine = test_machine();
  for (auto* const curve : {&machine.atomic_add, &machine.atomic_add_rows})
    for (auto& point : *curve) point[1] /= 100;
  auto options       = options_for(8, machine);
  options.iterations = 1e4;
  // With a limit, as on a device, what is streamed is in other memory.
  options.memory_bytes = count_t(1) << 40;
  auto const all       = any_format(space, coo, options).candidates();
  REQUIRE(std::all_of(all.begin(), all.end(), [](auto const& c) { return c.fits; }));

  std::set<count_t> needs;
  for (auto const& candidate : all) needs.insert(candidate.need_bytes);
  std::set<std::string> chosen;
  for (count_t const budget : needs) {
    options.memory_bytes = budget;
    auto const X         = any_format(space, coo, options);
    // The fastest in memory that fits. Streamed if there is none or, on a device, it is clearly faster.
    FormatCandidate const *want = nullptr, *streamed = nullptr;
    for (auto const& candidate : X.candidates()) {
      bool const known = candidate.predicted.has_value();
      if (candidate.name == "streamed-blco") streamed = &candidate;
      if (candidate.need_bytes > budget || candidate.streams || !known) continue;
      if (!want || candidate.total_s < want->total_s) want = &candidate;
    }
    REQUIRE(streamed);
    if (want && streamed->on_device && 1.25 * streamed->total_s < want->total_s) want = nullptr;
    CAPTURE(budget, X.chosen(), X.chosen_because());
    CHECK(X.chosen() == (want ? want->name : "streamed-blco"));
    if (X.chosen() != all.front().name)
      CHECK(X.chosen_because().rfind(all.front().name + ", the fastest, needs ", 0) == 0);
    CHECK(X.supports(Capability::streaming) == !want);
    chosen.insert(X.chosen());
    expect_exact(X, tensor, 8);
  }
  CAPTURE(chosen.size(), all.front().name);
  CHECK(chosen.size() >= 3);
  CHECK(chosen.contains("streamed-blco"));

  options.memory_bytes = *needs.begin() - 1;
  bool refused         = false;
  try {
    static_cast<void>(any_format(space, coo, options));
  } catch (MemoryError const& error) {
    refused = true;
    CHECK(error.bytes() == *needs.begin());
  }
  CHECK(refused);
  options.may_stream   = false;
  options.memory_bytes = *needs.begin();
  CHECK_THROWS_AS(any_format(space, coo, options), MemoryError);
}

TEST_CASE("a device streams what is clearly faster than all that fits", "[formats]") {
  ChoiceInput const wish{.iterations = 3, .bytes = 1000};
  bool on_device       = true;
  auto const candidate = [&](char const* name, bool streams, double seconds) {
    FormatCandidate c;
    c.name       = name;
    c.need_bytes = 10;
    c.fits       = true;
    c.streams    = streams;
    c.on_device  = on_device;
    c.predicted  = FormatTimes{.build_s = seconds, .mode_s = {seconds}, .iteration_s = seconds};
    c.total_s    = seconds;
    return c;
  };
  FormatCandidate too_large = candidate("large", false, 0.5);
  too_large.fits            = false;
  bool measured             = false;
  auto const chosen         = [&](double streamed_s) {
    std::vector<FormatCandidate> list{candidate("slow", false, 4), too_large,
                                      candidate("streamed", true, streamed_s), candidate("fits", false, 2)};
    if (measured) list[3].measured = FormatTimes{.build_s = 0.5, .mode_s = {0.5}, .iteration_s = 0.5};
    auto const choice = choose(list, wish);
    auto const name   = list[choice.candidate].name;
    sort_candidates(list, wish);
    CHECK(list.front().name == name);
    CHECK(list.back().name == "large");
    return name + " because " + choice.because;
  };
  CHECK(chosen(1) ==
        "streamed because large, the fastest, needs 10 B but only 1000 B are free; fits, the fastest that "
        "fits, takes 2 s and this one 1 s (predicted)");
  CHECK(chosen(1.7).rfind("fits because", 0) == 0);
  measured = true;
  CHECK(chosen(1).rfind("fits because", 0) == 0);
  measured  = false;
  on_device = false;
  CHECK(chosen(1).rfind("fits because", 0) == 0);
}

TEST_CASE("any_format gives way to the next best when a build does not fit", "[any_format]") {
  ChoiceInput const wish{.iterations = 3, .bytes = 1000};
  auto const candidate = [](char const* name, double seconds) {
    FormatCandidate c;
    c.name       = name;
    c.need_bytes = 10;
    c.fits       = true;
    c.predicted  = FormatTimes{.build_s = seconds, .mode_s = {seconds}, .iteration_s = seconds};
    c.total_s    = seconds;
    return c;
  };
  std::vector<FormatCandidate> const list{candidate("first", 1), candidate("second", 2),
                                          candidate("third", 3)};
  std::vector<std::string> tried;
  auto const take = [&](FormatCandidate const& best, std::string const& because) {
    tried.push_back(best.name);
    if (tried.size() < 3) throw MemoryError("a sort", 7);
    return because;
  };
  CHECK(with_best_candidate(list, wish, take, [] { return true; }) ==
        "first, the fastest, did not fit when it was built");
  CHECK(tried == std::vector<std::string>{"first", "second", "third"});
  tried.clear();
  CHECK_THROWS_AS(with_best_candidate(list, wish, take, [] { return false; }), MemoryError);
  CHECK(tried.size() == 1);
}

TEST_CASE("any_format refuses what has no meaning", "[any_format]") {
  TestSpace const space;
  auto const coo = to_device<double, std::uint32_t>(space, some_tensor());
  auto options   = options_for(8);
  options.format = "unheard-of";
  CHECK(message_of([&] {
          static_cast<void>(any_format(space, coo, options));
        }).find("unknown format 'unheard-of'") != std::string::npos);
  for (std::string const text :
       {"sorted:copy", "sorted:copies,permutations", "sorted:copies=1", "f-coo:threadlen",
        "f-coo:threadlen=x", "f-coo:threadlen=16,threadlen=8", "f-coo:threadlen=16,",
        "f-coo:threadlen=99999999999", "auto:copies", "csf:root=3", "coo-scratch:copies"}) {
    options.format = text;
    CAPTURE(text);
    CHECK_THROWS_AS(any_format(space, coo, options), UsageError);
  }
  options.format       = "csf";
  options.memory_bytes = 1000;
  CHECK_THROWS_AS(any_format(space, coo, options), MemoryError);
  options.memory_bytes.reset();
  options.deterministic = true;
  CHECK_THROWS_AS(any_format(space, coo, options), UsageError);
  CHECK_THROWS_AS(any_format(space, coo, options_for(0)), UsageError);

  auto const X = any_format(space, coo, options_for(8));
  Random random(1);
  auto const factors =
      to_device<double>(space, random_factors(random, some_tensor().extents, 8), RowLayout::padded);
  WatchedMatrix<double> const V(space, RowLayout::padded, 70, 8);
  AnyWorkspace none;
  CHECK_THROWS_AS(mttkrp(space, X, factors, 0, none, V.matrix()), UsageError);
  auto workspace = X.make_workspace(space, 8);
  CHECK_THROWS_AS(mttkrp(space, X, factors, 3, workspace, V.matrix()), UsageError);
}

TEST_CASE("Three lines from a file to a model", "[any_format]") {
  TemporaryFolder const folder;
  auto const path =
      folder.write("three.tns", "1 1 1 2\n2 3 2 4\n2 3 2 4\n");  // the last two are one nonzero of 8
  TestSpace const space;
  auto const tensor = load_tensor(space, path);
  auto const X      = any_format(space, tensor, {.rank = 2});
  auto const result = cp_als(space, X, {.rank = 2, .max_iterations = 200, .tolerance = 0}, go_on);
  CHECK(X.nnz() == 2);
  CHECK(X.norm_squared() == 68);
  CHECK(result.fit > 0.999);
}

}  // namespace
}  // namespace polyad::test
