// SPDX-License-Identifier: BSD-3-Clause
// TuckerOptions::checkpoint and resume: the same bits as a run that never stopped, and no other run's state.
#include <Kokkos_Core.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "io/temporary_folder.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "polyad/tucker/tucker.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

using testing::Random;

TuckerOptions tucker_iterations(int count) {
  TuckerOptions options;
  options.ranks          = {3, 2, 4};
  options.max_iterations = count;
  options.tolerance      = 0;
  options.seed           = 5;
  return options;
}

template <class Scalar>
CooTensor<Scalar, std::uint32_t, TestSpace> tucker_tensor(std::uint64_t seed = 9) {
  Random random(seed);
  return to_device<Scalar, std::uint32_t>(
      TestSpace(), testing::distinct(testing::random_tensor(random, {12, 9, 10}, 200)));
}

/// Unfolded, it has rank 2 in every mode: fewer than the columns that HOOI samples.
template <class Scalar>
CooTensor<Scalar, std::uint32_t, TestSpace> two_blocks() {
  testing::HostTensor tensor{"two blocks", {12, 9, 10}, {}, {}};
  for (std::uint64_t place = 0; place < 16; ++place) {
    std::uint64_t const block = place / 8;
    for (std::uint64_t n = 0; n < 3; ++n) tensor.indices.push_back(4 * block + (place >> n) % 2);
    tensor.values.push_back(block == 0 ? 3 : 2);
  }
  return to_device<Scalar, std::uint32_t>(TestSpace(), tensor);
}

template <class Scalar>
void expect_tucker_resumed(CooTensor<Scalar, std::uint32_t, TestSpace> const& coo) {
  TestSpace const space;
  auto const X = any_format(space, coo, format_options(tucker_iterations(7)));
  TemporaryFolder const folder;
  auto const whole         = tucker(space, X, tucker_iterations(7));
  auto options             = tucker_iterations(7);
  options.checkpoint       = folder / "c";
  options.checkpoint_every = 100;
  auto const cut = tucker(space, X, options, [](TuckerIteration const& it) { return it.iteration < 3; });
  CHECK(cut.reason == StopReason::interrupted);
  auto const state = io::read_tucker_checkpoint(options.checkpoint);
  CHECK(state.iteration == 3);
  CHECK(state.ranks == std::vector<std::uint64_t>{3, 2, 4});
  CHECK(state.factors[2].size() == 40);
  options.resume  = options.checkpoint;
  auto const rest = tucker(space, X, options);
  REQUIRE(rest.history.size() == 4);
  CHECK(cut.iterations == 3);
  CHECK(rest.iterations == 7);
  for (std::size_t k = 0; k < 4; ++k) {
    CHECK(rest.history[k].iteration == static_cast<int>(k) + 4);
    CHECK(rest.history[k].fit == whole.history[k + 3].fit);
    CHECK(rest.history[k].delta == whole.history[k + 3].delta);
  }
  CHECK(rest.fit == whole.fit);
  CHECK(flat(rest.model.core) == flat(whole.model.core));
  for (std::size_t n = 0; n < 3; ++n) CHECK(flat(rest.model.factors[n]) == flat(whole.model.factors[n]));
  // A run that was done has nothing left to do, and the same model.
  auto const again = tucker(space, X, options);
  CHECK(again.history.empty());
  CHECK(again.iterations == 7);
  CHECK(flat(again.model.core) == flat(whole.model.core));
}

TEST_CASE("Tucker: an interrupted run continues from its checkpoint to the same bits", "[tucker]") {
  expect_tucker_resumed(tucker_tensor<double>());
  expect_tucker_resumed(tucker_tensor<float>());
  expect_tucker_resumed(two_blocks<double>());
  expect_tucker_resumed(two_blocks<float>());
}

TEST_CASE("Tucker: a checkpoint of another run, or none, is refused", "[tucker]") {
  TestSpace const space;
  auto const X = any_format(space, tucker_tensor<double>(), format_options(tucker_iterations(2)));
  TemporaryFolder const folder;
  auto options       = tucker_iterations(2);
  options.checkpoint = folder / "c";
  static_cast<void>(tucker(space, X, options));
  options.checkpoint.clear();
  options.resume     = folder / "c";
  auto const message = [&](auto const& tensor, TuckerOptions const& of) {
    return message_of<InputError>([&] { static_cast<void>(tucker(TestSpace(), tensor, of)); });
  };
  std::string const begin = (folder / "c").string() + ": is a checkpoint of ";
  auto other              = options;
  other.ranks             = {3, 3, 4};
  CHECK(message(X, other) == begin + "the ranks 3 x 2 x 4, not 3 x 3 x 4");
  CHECK(message(tucker_tensor<float>(), options) == begin + "precision f64, not f32");
  CHECK(message(tucker_tensor<double>(2), options) == begin + "another tensor");
  auto content = content_of(folder / "c");
  content[120] = static_cast<char>(content[120] ^ 1);
  folder.write("c", content);
  CHECK(message(X, options).find("checksum") != std::string::npos);
  folder.write("c", content.substr(0, 20));
  CHECK(message(X, options).find("cut short") != std::string::npos);
  options.checkpoint_every = 0;
  CHECK_THROWS_AS(tucker(space, X, options), UsageError);
}

}  // namespace
}  // namespace polyad::test
