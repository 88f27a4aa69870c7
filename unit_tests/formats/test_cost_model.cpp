// SPDX-License-Identifier: BSD-3-Clause
// The survey of a tensor against counting, and what the cost model must hold whatever its weights are.
#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "formats/choose_format.hpp"
#include "formats/cost_model.hpp"
#include "support/catch.hpp"

namespace polyad {

using namespace detail;
namespace {

/// Coordinates of a tensor, row-major, without pattern.
std::vector<std::uint32_t> scattered(std::vector<std::uint64_t> const& extents, std::size_t nnz) {
  std::vector<std::uint32_t> indices;
  std::uint64_t state = 1;
  for (std::size_t p = 0; p < nnz; ++p)
    for (auto const extent : extents) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      indices.push_back(static_cast<std::uint32_t>((state >> 33) % extent));
    }
  return indices;
}

TensorSurvey survey(std::vector<std::uint64_t> const& extents, std::vector<std::uint32_t> const& indices,
                    int threads = 1) {
  return survey_tensor<std::uint32_t>(extents, indices, threads);
}

Ceilings some_machine(bool is_device) {
  Ceilings ceilings;
  ceilings.is_device       = is_device;
  ceilings.concurrency     = is_device ? 270336 : 4;
  ceilings.launch_s        = nominal_launch_s;
  ceilings.copy            = is_device ? 4e12 : 2e10;
  ceilings.from_host       = is_device ? 5e10 : 1e10;
  ceilings.gather          = {{0.1, 5 * ceilings.copy}, {100, ceilings.copy}};
  ceilings.atomic_add      = {{8, ceilings.copy / 2}, {134, ceilings.copy / 4}};
  ceilings.atomic_add_rows = {{2, ceilings.copy / 100}, {1024, ceilings.copy / 2}};
  return ceilings;
}

}  // namespace

TEST_CASE("A survey counts rows as they are", "[cost_model]") {
  std::vector<std::uint64_t> const extents{7, 300, 40};
  auto const indices = scattered(extents, 2000);
  for (int const threads : {1, 3}) {
    auto const found = survey(extents, indices, threads);
    REQUIRE(found.nnz == 2000);
    REQUIRE(found.order() == 3);
    for (std::size_t n = 0; n < 3; ++n) {
      std::map<std::uint32_t, std::uint64_t> rows;
      for (std::size_t p = 0; p < 2000; ++p) ++rows[indices[3 * p + n]];
      ModeSurvey want;
      for (auto const& [row, count] : rows) {
        auto const bin = static_cast<std::size_t>(std::log2(static_cast<double>(count)));
        ++want.rows[bin];
        want.nonzeros[bin] += count;
        want.longest = std::max(want.longest, count);
      }
      CHECK(found.modes[n].extent == extents[n]);
      CHECK(found.modes[n].rows == want.rows);
      CHECK(found.modes[n].nonzeros == want.nonzeros);
      CHECK(found.modes[n].longest == want.longest);
      CHECK(found.modes[n].used() == rows.size());
    }
    CHECK(found.linear_bits() == 3 + 9 + 6);
  }
}

TEST_CASE("A survey estimates fibers to a fiftieth", "[cost_model]") {
  // The leaf is the longest other mode, and of two such modes the last one.
  std::vector<std::uint64_t> const extents{50, 60, 900, 30};
  auto const indices = scattered(extents, 40000);
  auto const found   = survey(extents, indices);
  for (int root = 0; root < 4; ++root) {
    int const leaf = root == 2 ? 1 : 2;
    CHECK(leaf_of(found, root) == leaf);
    std::set<std::vector<std::uint32_t>> fibers;
    for (std::size_t p = 0; p < 40000; ++p) {
      std::vector<std::uint32_t> fiber(indices.begin() + static_cast<std::ptrdiff_t>(4 * p),
                                       indices.begin() + static_cast<std::ptrdiff_t>(4 * p + 4));
      fiber[static_cast<std::size_t>(leaf)] = 0;
      fibers.insert(fiber);
    }
    auto const want = static_cast<double>(fibers.size());
    CHECK(std::abs(found.modes[static_cast<std::size_t>(root)].fibers - want) < want / 50);
  }
  // And those along each mode.
  for (std::size_t mode = 0; mode < 4; ++mode) {
    std::set<std::vector<std::uint32_t>> fibers;
    for (std::size_t p = 0; p < 40000; ++p) {
      std::vector<std::uint32_t> fiber(indices.begin() + static_cast<std::ptrdiff_t>(4 * p),
                                       indices.begin() + static_cast<std::ptrdiff_t>(4 * p + 4));
      fiber[mode] = 0;
      fibers.insert(fiber);
    }
    auto const want = static_cast<double>(fibers.size());
    CHECK(std::abs(found.modes[mode].fibers_along - want) < want / 50);
  }
}

TEST_CASE("Fibers along a mode of a matrix are the rows of the other one", "[cost_model]") {
  auto const found = survey({4, 5}, {0, 0, 0, 4, 2, 4, 2, 1, 2, 2});
  CHECK(found.modes[0].fibers_along == 4);
  CHECK(found.modes[1].fibers_along == 2);
  CHECK(survey({7}, {1, 3, 5}).modes[0].fibers_along == 1);
}

#ifdef __GLIBC__
namespace {

/// While it lives, no thread's stack fits.
class NoStacks {
public:
  NoStacks() {
    ::pthread_getattr_default_np(&m_before);
    ::pthread_attr_t huge;
    ::pthread_attr_init(&huge);
    ::pthread_attr_setstacksize(&huge, std::size_t(1) << 50);
    ::pthread_setattr_default_np(&huge);
    ::pthread_attr_destroy(&huge);
  }
  ~NoStacks() {
    ::pthread_setattr_default_np(&m_before);
    ::pthread_attr_destroy(&m_before);
  }
  NoStacks(NoStacks const&)            = delete;
  NoStacks& operator=(NoStacks const&) = delete;

private:
  ::pthread_attr_t m_before;
};

}  // namespace

TEST_CASE("A survey takes the threads that it gets", "[cost_model]") {
  std::vector<std::uint64_t> const extents{7, 300, 40};
  auto const indices = scattered(extents, 2000);
  NoStacks const none;
  REQUIRE_THROWS_AS(std::thread([] {}), std::system_error);
  auto const found = survey(extents, indices, 4);
  for (std::size_t n = 0; n < 3; ++n)
    CHECK(found.modes[n].used() == survey(extents, indices).modes[n].used());
}
#endif

TEST_CASE("A survey takes modes that are longer than memory", "[cost_model]") {
  std::vector<std::uint64_t> const extents{std::uint64_t(1) << 60, 3};
  std::vector<std::uint64_t> const indices{0, 0, (std::uint64_t(1) << 60) - 1, 2, 12345678901234U, 2};
  auto const found = survey_tensor<std::uint64_t>(extents, indices, 2);
  CHECK(found.modes[0].used() == 3);
  CHECK(found.modes[1].used() == 2);
  CHECK(found.linear_bits() == 62);
  auto const empty = survey({5, 6}, {});
  CHECK(empty.nnz == 0);
  CHECK(empty.modes[0].used() == 0);
  CHECK(survey({}, {}).order() == 0);
}

TEST_CASE("Costs are numbers, and grow with the work", "[cost_model]") {
  struct Shape {
    std::string name;
    std::vector<std::uint64_t> extents;
    std::size_t nnz;
  };
  for (auto const& shape : {Shape{"one nonzero", {1, 1, 1}, 1}, Shape{"one slice", {1, 40, 50}, 500},
                            Shape{"one fiber", {1, 1, 900}, 300}, Shape{"order 2", {30, 40}, 100},
                            Shape{"order 5", {9, 8, 7, 6, 5}, 4000}, Shape{"empty", {4, 5, 6}, 0}})
    for (bool const is_device : {false, true})
      for (int const scalar_bytes : {4, 8}) {
        INFO(shape.name << (is_device ? ", device" : ", host"));
        auto const small   = survey(shape.extents, scattered(shape.extents, shape.nnz));
        auto const large   = survey(shape.extents, scattered(shape.extents, 10 * shape.nnz));
        auto const machine = some_machine(is_device);
        for (auto const& format : all_format_costs()) {
          INFO(format.name);
          auto const cost   = predict(format, {small, machine, 16, scalar_bytes, 4});
          auto const longer = predict(format, {large, machine, 16, scalar_bytes, 4});
          auto const wider  = predict(format, {small, machine, 128, scalar_bytes, 4});
          CHECK(cost.mode_s.size() == shape.extents.size());
          CHECK(std::isfinite(cost.total_s(10)));
          CHECK(cost.build_s >= 0);
          CHECK(longer.storage_bytes >= cost.storage_bytes);
          CHECK(longer.mttkrp_s() >= cost.mttkrp_s());
          CHECK(wider.mttkrp_s() >= cost.mttkrp_s());
          CHECK(wider.run_bytes > cost.run_bytes);
          CHECK(cost.need_bytes() >= cost.build_bytes);
          bool const has_weights = format.name != "streamed-sorted" && !(format.name == "alto" && is_device);
          if (shape.nnz > 0 && has_weights) CHECK(cost.is_known());
        }
      }
}

TEST_CASE("Every format has costs, under a name of its own", "[cost_model]") {
  std::set<std::string_view> names;
  for (auto const& format : all_format_costs()) names.insert(format.name);
  CHECK(names.size() == all_format_costs().size());
  for (auto const* name : {"coo-scratch", "coo-tiny-vec", "coo-permuted", "sorted", "csf", "b-csf", "hb-csf",
                           "f-coo", "blco", "streamed-blco", "streamed-sorted", "alto"})
    CHECK(find_format_costs(name) != nullptr);
  CHECK(find_format_costs("auto") == nullptr);
}

TEST_CASE("A device walks over whole blocks of columns, and writes rows with gaps slowly", "[cost_model]") {
  std::vector<std::uint64_t> const extents{300, 3000, 3000};
  auto const tensor  = survey(extents, scattered(extents, 50000));
  auto const machine = some_machine(true);
  auto const terms   = [&](std::uint64_t rank, int scalar_bytes) {
    return find_format_costs("sorted")->mttkrp({tensor, machine, rank, scalar_bytes, 4}, 1);
  };
  auto const near = [&](std::uint64_t rank) { return terms(rank, 8).near; };
  CHECK(near(5) == near(8));
  CHECK(near(9) == near(16));
  CHECK(near(17) == near(32));
  CHECK(near(33) == near(64));
  CHECK(near(65) == near(96));
  CHECK(near(8) == 2 * near(4));
  CHECK(near(64) == 2 * near(32));
  // A row is a multiple of 16 bytes long, or has a gap after it.
  auto const output_of_a_column = [&](std::uint64_t rank, int scalar_bytes) {
    return terms(rank, scalar_bytes).output / static_cast<double>(rank);
  };
  double const whole = output_of_a_column(4, 4);
  CHECK(output_of_a_column(24, 4) == Approx(whole));
  CHECK(output_of_a_column(25, 4) == Approx(4 * whole));
  CHECK(output_of_a_column(50, 8) == Approx(2 * whole));
  CHECK(output_of_a_column(25, 8) == Approx(8 * whole));
  // A host's blocks do not matter, and its rows have no gaps.
  auto const host       = some_machine(false);
  auto const host_terms = [&](std::uint64_t rank) {
    return find_format_costs("coo-scratch")->mttkrp({tensor, host, rank, 4, 4}, 1);
  };
  CHECK(host_terms(25).near == Approx(host_terms(5).near * 5));
  CHECK(host_terms(25).output == Approx(host_terms(5).output * 5));
}

TEST_CASE("A device's build takes a launch for each array of a copy", "[cost_model]") {
  std::vector<std::uint64_t> const extents{30, 40, 50, 60};
  auto const tensor   = survey(extents, scattered(extents, 5000));
  auto const launches = [&](char const* name, bool is_device) {
    auto const machine = some_machine(is_device);
    return find_format_costs(name)->build({tensor, machine, 16, 8, 4}).mode / machine.launch_s;
  };
  CHECK(launches("sorted", true) == Approx(16));
  CHECK(launches("blco", true) == Approx(4));
  CHECK(launches("coo-permuted", true) == Approx(4));  // a permutation is one array
  CHECK(launches("coo-tiny-vec", true) == Approx(1));
  CHECK(launches("sorted", false) == Approx(4));
  CHECK(launches("coo-permuted", false) == Approx(4));
}

TEST_CASE("A comparison counts most of a load, but not all of it", "[cost_model]") {
  Cost slow, fast;
  slow.load_s      = 0.006;
  slow.iteration_s = 0.00138;
  fast.load_s      = 0.010;
  fast.iteration_s = 0.001;
  // The one with the short load is faster the first time by a hundredth, and slower by a third afterwards.
  CHECK(slow.load_s + 10 * slow.iteration_s < fast.load_s + 10 * fast.iteration_s);
  CHECK(fast.total_s(10) < slow.total_s(10));
  // In a short run the load decides.
  CHECK(slow.total_s(5) < fast.total_s(5));
}

TEST_CASE("Streaming to a device costs the walk of blco where the tensor stays there", "[cost_model]") {
  auto const machine = some_machine(true);
  auto const tensor  = survey({300, 3000, 3000}, scattered({300, 3000, 3000}, 50000));
  auto const cost    = [&](char const* name, std::uint64_t free_bytes) {
    return predict(*find_format_costs(name), {tensor, machine, 16, 4, 4, free_bytes}).mttkrp_s();
  };
  double const in_memory = cost("blco", 0);
  CHECK(cost("streamed-blco", 50000 * 12) == in_memory);
  CHECK(cost("streamed-blco", 25000 * 12) > in_memory);
  CHECK(cost("streamed-blco", 0) > cost("streamed-blco", 25000 * 12));
}

TEST_CASE("A time limit counts in the plan", "[cost_model]") {
  std::vector<std::uint64_t> const extents{3000, 2000, 1000};
  auto const tensor = survey(extents, scattered(extents, 300000));
  for (bool const is_device : {false, true}) {
    CAPTURE(is_device);
    auto const machine = some_machine(is_device);
    CostInput const input{tensor, machine, 16, 8, 4};
    ChoiceInput wish;
    wish.iterations  = 1e6;
    wish.bytes       = std::uint64_t(1) << 40;
    wish.may_stream  = false;
    auto const whole = candidates(input, wish);
    auto const& best = whole.front();
    REQUIRE(best.predicted);
    REQUIRE(best.predicted->build_s > 0);  // it pays in a million iterations
    CHECK(within_limit(whole, wish).iterations == 1e6);
    CHECK(choose(whole, wish).because.find("time limit") == std::string::npos);

    double fastest = best.predicted->iteration_s, shortest_build = best.predicted->build_s;
    for (auto const& c : whole) {
      if (!c.predicted) continue;
      fastest        = std::min(fastest, c.predicted->iteration_s);
      shortest_build = std::min(shortest_build, c.predicted->load_s + c.predicted->build_s);
    }
    REQUIRE(shortest_build < best.predicted->load_s + best.predicted->build_s);
    wish.time_limit_s  = (shortest_build + best.predicted->load_s + best.predicted->build_s) / 2;
    auto const limited = candidates(input, wish);
    CHECK(limited.front().name != best.name);
    CHECK(limited.front().predicted->load_s + limited.front().predicted->build_s <= wish.time_limit_s);
    double const planned = within_limit(limited, wish).iterations;
    CHECK(planned < 1e6);
    CHECK((planned == 1 || std::abs(planned * fastest / wish.time_limit_s - 1) < 1e-12));
    CHECK(choose(limited, wish).because.find(" in the time limit including the build take ") !=
          std::string::npos);

    // A long limit changes nothing, and one of no time leaves one iteration.
    wish.time_limit_s = 2e6 * fastest;
    CHECK(candidates(input, wish).front().name == best.name);
    wish.time_limit_s = 0;
    CHECK(within_limit(whole, wish).iterations == 1);
  }
}

TEST_CASE("Least squares for rows cost more than an MTTKRP, in no order more still", "[cost_model]") {
  auto const tensor     = survey({300, 3000, 3000}, scattered({300, 3000, 3000}, 500000));
  auto const iterations = [&](char const* name, int rank, bool rows) {
    ChoiceInput wish{.residual = true, .rows = rows, .bytes = std::uint64_t(1) << 40};
    for (auto const& c : candidates({tensor, some_machine(false), std::uint64_t(rank), 4, 4}, wish))
      if (c.name == name) return c.predicted->iteration_s;
    return 0.0;
  };
  for (int const rank : {4, 16, 64}) {
    double const solves   = iterations("sorted", rank, true) - iterations("sorted", rank, false);
    double const permuted = iterations("coo-permuted", rank, true) - iterations("coo-permuted", rank, false);
    CHECK(solves > 0);
    CHECK(permuted > 1.02 * solves);
    CHECK(iterations("sorted", 2 * rank, true) - iterations("sorted", 2 * rank, false) > 1.2 * solves);
  }
}

namespace {

ModeTerms host_terms(char const* name, TensorSurvey const& tensor, int mode, int threads = 4) {
  auto machine        = some_machine(false);
  machine.concurrency = threads;
  return find_format_costs(name)->mttkrp({tensor, machine, 32, 4, 4}, mode);
}

}  // namespace

TEST_CASE("On a host, runs of nonzeros spare rows", "[cost_model]") {
  // Mode 0 is not the leaf of any tree: only the fibers along it tell of its runs. They make groups of alto.
  auto const without = survey({60, 3000, 90000}, scattered({60, 3000, 90000}, 200000));
  auto along_first = without, along_last = without;
  along_first.modes[0].fibers_along /= 40;
  along_last.modes[2].fibers_along /= 40;
  auto const rows_of_alto = [](TensorSurvey const& tensor) {
    double seconds = 0;
    for (int mode = 0; mode < 3; ++mode) seconds += host_terms("alto", tensor, mode).near;
    return seconds;
  };
  CHECK(rows_of_alto(along_first) < 0.8 * rows_of_alto(without));
  CHECK(host_terms("b-csf", along_first, 1).nodes == host_terms("b-csf", without, 1).nodes);
  CHECK(host_terms("b-csf", along_last, 1).nodes < 0.1 * host_terms("b-csf", without, 1).nodes);
  CHECK(host_terms("b-csf", along_last, 1).upper < 0.1 * host_terms("b-csf", without, 1).upper);
}

TEST_CASE("On a host, sorted reads the row of a long run once", "[cost_model]") {
  auto tensor                  = survey({60, 3000, 90000}, scattered({60, 3000, 90000}, 200000));
  auto const all_rows          = host_terms("sorted", tensor, 1);
  tensor.modes[2].fibers_along = 200000 / 3.9;  // the runs of equal indices in modes 0 and 1
  auto const shorter           = host_terms("sorted", tensor, 1);
  tensor.modes[2].fibers_along = 200000 / 4.1;
  auto const hoisted           = host_terms("sorted", tensor, 1);
  CHECK(shorter.near == all_rows.near);
  CHECK(hoisted.near == all_rows.near / 2);
  CHECK(all_rows.upper == 0);
  CHECK(hoisted.upper > 0);
  CHECK(hoisted.upper < 0.3 * hoisted.near);
  CHECK(hoisted.nodes > all_rows.nodes);
}

TEST_CASE("On a host, rows that end within a line are read before they are written", "[cost_model]") {
  auto const tensor  = survey({300, 300, 300}, scattered({300, 300, 300}, 5000));
  auto const machine = some_machine(false);
  auto const output  = [&](std::uint64_t rank) {
    return find_format_costs("sorted")->mttkrp({tensor, machine, rank, 8, 4}, 0).output;
  };
  CHECK(output(31) == 2 * output(32));
  CHECK(output(32) == 4 * output(8));
}

TEST_CASE("On a host, the rows of copies count where they are not locked", "[cost_model]") {
  auto const tensor = survey({300, 300, 90000}, scattered({300, 300, 90000}, 200000));
  for (auto const* name : {"blco", "alto"}) {
    CAPTURE(name);
    CHECK(host_terms(name, tensor, 0).copies > 0);
    CHECK(host_terms(name, tensor, 0, 3).copies == 2 * host_terms(name, tensor, 0, 2).copies);
    CHECK(host_terms(name, tensor, 0, 1).copies == 0);
    CHECK(host_terms(name, tensor, 2).copies == 0);
  }
  CHECK(host_terms("sorted", tensor, 0).copies == 0);
}

TEST_CASE("On a host, rows are locked or miss the caches if a mode is long", "[cost_model]") {
  // More than 65536 rows, and more than an eighth of the nonzeros: too many for copies of each thread.
  auto const tensor = survey({300, 300, 90000}, scattered({300, 300, 90000}, 200000));
  for (auto const* name : {"blco", "alto"}) {
    CAPTURE(name);
    CHECK(host_terms(name, tensor, 2).locks > 0);
    CHECK(host_terms(name, tensor, 2, 1).locks == 0);
    CHECK(host_terms(name, tensor, 0).locks == 0);
    CHECK(host_terms(name, tensor, 2).own_second > 0);
    CHECK(host_terms(name, tensor, 0).own_second == 0);
  }
  auto const near = survey({300, 300, 300}, scattered({300, 300, 300}, 200000));
  auto const far  = survey({300, 300, 200000}, scattered({300, 300, 200000}, 200000));
  for (auto const* name : {"sorted", "f-coo", "coo-permuted", "b-csf", "hb-csf", "blco", "alto"}) {
    CAPTURE(name);
    CHECK(host_terms(name, near, 0).second == 0);
    CHECK(host_terms(name, far, 0).second > 0);
  }
}

TEST_CASE("Building alto on a host takes longer where more orders are tried", "[cost_model]") {
  auto const machine = some_machine(false);
  auto const search  = [&](std::vector<std::uint64_t> const& extents) {
    auto const tensor = survey(extents, scattered(extents, 5000));
    return find_format_costs("alto")->build({tensor, machine, 16, 4, 4}).search /
           static_cast<double>(extents.size());
  };
  CHECK(std::abs(search({30, 40, 50, 60}) / search({30, 40, 50}) - 15.0 / 7) < 1e-9);
  CHECK(std::abs(search({9, 9, 9, 9, 9, 9}) / search({30, 40, 50}) - 13.0 / 7) < 1e-9);
}

TEST_CASE("Building alto on a host examines windows of at most 16384 nonzeros", "[cost_model]") {
  auto const machine = some_machine(false);
  auto const windows = [&](std::size_t nnz) {
    auto const tensor = survey({300, 400, 500}, scattered({300, 400, 500}, nnz));
    return find_format_costs("alto")->build({tensor, machine, 16, 4, 4}).windows;
  };
  CHECK(windows(16000) == 2 * windows(8000));
  CHECK(windows(100000) == windows(20000));
}

TEST_CASE("Rows that many nonzeros share cost more to add to", "[cost_model]") {
  auto const machine = some_machine(true);
  auto const few     = survey({2, 3000, 3000}, scattered({2, 3000, 3000}, 50000));
  auto const many    = survey({3000, 3000, 3000}, scattered({3000, 3000, 3000}, 50000));
  auto const& atomic = *find_format_costs("coo-tiny-vec");
  CHECK(predict(atomic, {few, machine, 32, 4, 4}).mode_s[0] >
        2 * predict(atomic, {many, machine, 32, 4, 4}).mode_s[0]);
}

TEST_CASE("Floats are not added one by one where a row has millions of nonzeros", "[cost_model]") {
  auto const machine = some_machine(true);
  auto tensor        = survey({30, 300, 300}, scattered({30, 300, 300}, 5000));
  using Names        = std::set<std::string>;
  auto const losing  = [&](int scalar_bytes, std::uint64_t longest) {
    tensor.modes[1].longest = longest;
    auto const candidates   = detail::candidates({tensor, machine, 16, scalar_bytes, 4},
                                                 ChoiceInput{.may_stream = true, .bytes = 1 << 30});
    Names names;
    for (auto const& candidate : candidates)
      if (candidate.loses_digits) names.insert(candidate.name);
    // Any other format that fits comes first.
    CHECK_FALSE(candidates.front().loses_digits);
    return names;
  };
  Names const add_each_term{"alto", "coo-scratch", "coo-tiny-vec", "csf"};
  Names const add_tiles_too{"alto", "blco", "coo-scratch", "coo-tiny-vec", "csf", "streamed-blco"};
  CHECK(losing(4, 1 << 16).empty());
  CHECK(losing(4, 1 << 18) == add_each_term);
  CHECK(losing(4, 1 << 22) == add_tiles_too);
  CHECK(losing(8, 100'000'000).empty());
}

}  // namespace polyad
