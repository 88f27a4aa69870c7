// SPDX-License-Identifier: BSD-3-Clause
// CpAlsOptions::checkpoint and resume: when a file is written, that a run continues with the same bits, and
// that a checkpoint of another run is refused.
#include <Kokkos_Core.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "io/temporary_folder.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

using testing::Random;

CooTensor<double, std::uint32_t, TestSpace> checkpoint_tensor(std::uint64_t last_extent = 8) {
  Random random(4);
  return to_device<double, std::uint32_t>(
      TestSpace(), testing::distinct(testing::random_tensor(random, {9, 7, last_extent}, 120)));
}

AnyFormat<double, TestSpace> in_order(CooTensor<double, std::uint32_t, TestSpace> const& coo,
                                      std::string const& format = "sorted") {
  return any_format(TestSpace(), coo, {.rank = 3, .format = format, .deterministic = format == "sorted"});
}

CpAlsOptions iterations(int count) {
  return {.rank = 3, .max_iterations = count, .tolerance = 0, .seed = 2};
}

TEST_CASE("checkpoints: one after every few iterations, and one at the end", "[cp]") {
  TestSpace const space;
  auto const X = in_order(checkpoint_tensor());
  TemporaryFolder const folder;
  auto options             = iterations(7);
  options.checkpoint       = folder / "c";
  options.checkpoint_every = 3;
  std::vector<std::uint64_t> found;  // before each callback
  static_cast<void>(cp_als(space, X, options, [&](CpAlsIteration const&) {
    bool const is_there = std::filesystem::exists(options.checkpoint);
    found.push_back(is_there ? io::read_checkpoint(options.checkpoint).iteration : 0);
    return true;
  }));
  CHECK(found == std::vector<std::uint64_t>{0, 0, 0, 3, 3, 3, 6});
  auto const last = io::read_checkpoint(options.checkpoint);
  CHECK(last.iteration == 7);
  CHECK(last.seed == 2);
  CHECK(last.format == "sorted");
  CHECK(last.precision == "f64");
  CHECK(last.nnz == X.nnz());
  CHECK(last.extents == std::vector<std::uint64_t>{9, 7, 8});
}

TEST_CASE("checkpoints: an interrupted run continues to the same bits", "[cp]") {
  TestSpace const space;
  auto const X = in_order(checkpoint_tensor());
  TemporaryFolder const folder;
  auto const whole         = cp_als(space, X, iterations(9));
  auto options             = iterations(9);
  options.checkpoint       = folder / "c";
  options.checkpoint_every = 1000;
  auto const cut = cp_als(space, X, options, [](CpAlsIteration const& it) { return it.iteration < 4; });
  CHECK(cut.reason == StopReason::interrupted);
  CHECK(cut.iterations == 4);
  options.resume  = options.checkpoint;
  auto const rest = cp_als(space, X, options);
  CHECK(rest.iterations == 9);
  CHECK(cp_als(space, X, options).iterations == 9);  // none is left to do
  CHECK(rest.fit == whole.fit);
  CHECK(rest.model.weights == whole.model.weights);
  for (int n = 0; n < 3; ++n) CHECK(flat(rest.model.factors[n]) == flat(whole.model.factors[n]));
  REQUIRE(rest.history.size() == 5);
  CHECK(rest.history.front().iteration == 5);
  CHECK(rest.history.front().delta == whole.history[4].delta);
  // A run that was done has nothing left to do, and the same model.
  auto const again = cp_als(space, X, options);
  CHECK(again.history.empty());
  CHECK(again.reason == StopReason::max_iterations);
  CHECK(again.model.weights == whole.model.weights);
}

TEST_CASE("checkpoints: coordinates are stored in the checkpoint's format", "[cp]") {
  TestSpace const space;
  auto const coo = checkpoint_tensor();
  TemporaryFolder const folder;
  for (char const* const format : {"csf", "coo-permuted"}) {
    auto options       = iterations(2);
    options.checkpoint = folder / format;
    static_cast<void>(cp_als(space, in_order(coo, format), options));
    options.resume         = options.checkpoint;
    options.max_iterations = 3;
    CHECK(format_options(options).format == format);
    CHECK(cp_als(space, coo, options).history.size() == 1);
  }
}

TEST_CASE("checkpoints: of another run they are refused", "[cp]") {
  TestSpace const space;
  auto const X = in_order(checkpoint_tensor());
  TemporaryFolder const folder;
  auto options       = iterations(2);
  options.checkpoint = folder / "c";
  static_cast<void>(cp_als(space, X, options));
  options.checkpoint.clear();
  options.resume     = folder / "c";
  auto const message = [&](auto const& tensor, CpAlsOptions const& of) {
    return message_of<InputError>([&] { static_cast<void>(cp_als(TestSpace(), tensor, of)); });
  };
  auto const ends_with = [&](std::string const& text, std::string const& end) {
    CAPTURE(text);
    CHECK(text == (folder / "c").string() + ": is a checkpoint of " + end);
  };
  auto other = options;
  other.rank = 4;
  ends_with(message(X, other), "rank 3, not 4");
  ends_with(message(in_order(checkpoint_tensor(), "csf"), options), "the format sorted, not csf");
  ends_with(message(in_order(checkpoint_tensor(10)), options), "another tensor");
  Random random(4);
  auto const single = to_device<float, std::uint32_t>(
      space, testing::distinct(testing::random_tensor(random, {9, 7, 8}, 120)));
  ends_with(message(any_format(space, single, {.rank = 3, .format = "sorted"}), options),
            "precision f64, not f32");
  other         = options;
  other.updates = {ridge(0.5)};
  ends_with(message(X, other), "the ridge none, not 0.5, 0.5, 0.5");
  other        = options;
  other.resume = folder / "nowhere";
  CHECK(message(X, other).find("nowhere") != std::string::npos);
  folder.write("c", "no checkpoint");
  CHECK(message(X, options).find("is not a checkpoint") != std::string::npos);
}

TEST_CASE("checkpoints: what cannot be written or counted ends the run", "[cp]") {
  TestSpace const space;
  auto const X = in_order(checkpoint_tensor());
  TemporaryFolder const folder;
  auto options             = iterations(2);
  options.checkpoint_every = 0;
  CHECK_THROWS_AS(cp_als(space, X, options), UsageError);
  options.checkpoint_every = 1;
  options.checkpoint       = folder / "nowhere/c";
  CHECK_THROWS_AS(cp_als(space, X, options), WriteError);
}

}  // namespace
}  // namespace polyad::test
