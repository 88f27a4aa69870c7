// SPDX-License-Identifier: BSD-3-Clause
// What docs/library.md allows several host threads at once: each its own objects, and coordinates and formats
// that nobody changes. Each thread's result is the one that it gives alone.
#include <Kokkos_Core.hpp>
#include <atomic>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "io/temporary_folder.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/io/coo_file.hpp"
#include "polyad/io/saved_models.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

/// Runs work(0) and work(1) in threads of their own, which begin together. Throws what the first one threw.
void at_once(std::function<void(int)> const& work) {
  std::exception_ptr failure[2];
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k)
    threads.emplace_back([&, k] {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      try {
        work(k);
      } catch (...) {
        failure[k] = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  for (auto const& one : failure)
    if (one) std::rethrow_exception(one);
}

/// 3000 nonzeros, other ones for each k.
io::CoordinateList numbers(int k) {
  io::CoordinateList list;
  list.extents = {40, 30, 20};
  std::vector<std::uint32_t> indices;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    std::uint32_t const cell = (i * 7 + static_cast<std::uint32_t>(k)) % 24000;  // each once
    for (std::uint32_t const index : {cell % 40, cell / 40 % 30, cell / 1200}) indices.push_back(index);
    list.values.push_back(1 + (cell * 13 + i) % 5);
  }
  list.indices.emplace<0>().assign(indices.begin(), indices.end());
  return list;
}

CooTensor<double, std::uint32_t, TestSpace> tensor_of(TestSpace const& space, int k) {
  return io::to_coo_tensor(space, numbers(k));
}

CpAlsOptions factored() {
  CpAlsOptions options;
  options.rank           = 5;
  options.max_iterations = 4;
  options.tolerance      = 0;
  return options;
}

/// The bytes of the model that cp_als makes of X.
template <class X>
std::string model_bytes(TestSpace const& space, X const& x, std::filesystem::path const& path) {
  save(space, cp_als(space, x, factored()).model, path);
  return content_of(path);
}

TEST_CASE("two host threads read, build, factor and save at once, each its own tensor", POLYAD_HOST_ONLY) {
  TestSpace const space;
  TemporaryFolder const folder;
  std::vector<std::filesystem::path> inputs;
  std::vector<std::string> alone[2];
  auto const formats = {"sorted", "alto", "streamed-sorted", "auto"};
  for (int k = 0; k < 2; ++k) {
    inputs.push_back(folder / (std::to_string(k) + (k == 0 ? ".tns" : ".pten")));
    io::write_tensor(inputs.back(), numbers(k), {.threads = 1});
  }
  auto const run = [&](int k, std::vector<std::string>& results) {
    for (std::string const format : formats) {
      auto const tensor = load_tensor(space, inputs[static_cast<std::size_t>(k)], {.threads = 2});
      auto const X      = any_format(space, tensor, {.rank = 5, .format = format, .deterministic = true});
      results.push_back(model_bytes(space, X, folder / (std::to_string(k) + ".npz")));
    }
  };
  for (int k = 0; k < 2; ++k) run(k, alone[k]);
  REQUIRE(alone[0] != alone[1]);
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<std::string> together[2];
    at_once([&](int k) { run(k, together[k]); });
    for (int k = 0; k < 2; ++k) CHECK(together[k] == alone[k]);
  }
}

TEST_CASE("two host threads share coordinates and a format that nobody changes", POLYAD_HOST_ONLY) {
  TestSpace const space;
  TemporaryFolder const folder;
  auto const tensor = tensor_of(space, 0);
  for (std::string const format : {"sorted", "alto"}) {  // a streamed format has buffers of its own
    AnyFormatOptions const options{.rank = 5, .format = format, .deterministic = true};
    auto const X     = any_format(space, tensor, options);
    auto const alone = model_bytes(space, X, folder / "alone.npz");
    std::string shared[2], own[2];
    at_once([&](int k) {
      auto const name = std::to_string(k) + ".npz";
      shared[k]       = model_bytes(space, X, folder / name);
      own[k]          = model_bytes(space, any_format(space, tensor, options), folder / name);
    });
    CAPTURE(format);
    for (int k = 0; k < 2; ++k) {
      CHECK(shared[k] == alone);
      CHECK(own[k] == alone);
    }
  }
}

TEST_CASE("a host thread that completes and one that fails do not disturb each other", POLYAD_HOST_ONLY) {
  TestSpace const space;
  TemporaryFolder const folder;
  auto const tensor = tensor_of(space, 1);
  auto const wrong  = folder.write("wrong.tns", "1 1 1 5\n1 x 1 5\n");
  FastTuckerOptions options;
  options.rank         = 3;
  options.max_epochs   = 3;
  auto const completed = [&](char const* name) {
    AnyFormatOptions const format{.format = "sorted", .deterministic = true};
    save(space, fast_tucker(space, tensor, options, FastTuckerCallback(), format).model, folder / name);
    return content_of(folder / name);
  };
  auto const alone = completed("alone.npz");
  int refused      = 0;
  std::string beside;
  at_once([&](int k) {
    if (k == 0)
      beside = completed("beside.npz");
    else
      for (int i = 0; i < 50; ++i) {
        try {
          (void)load_tensor(space, wrong, {.threads = 2});
        } catch (InputError const&) {
          ++refused;
        }
      }
  });
  CHECK(beside == alone);
  CHECK(refused == 50);
}

}  // namespace
}  // namespace polyad::test
