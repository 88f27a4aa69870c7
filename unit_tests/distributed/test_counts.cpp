// SPDX-License-Identifier: BSD-3-Clause
// Counts beyond 2^31 on calls that count in ints, by calls that look at their arguments and move nothing.
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "distributed/collectives/mpi_collectives.hpp"
#include "support/catch.hpp"

namespace polyad::test {
namespace {

/// A call's name, where its data begins, how many elements it has, and the other rank.
struct Call {
  std::string name;
  std::size_t at;
  count_t count;
  int rank;
  bool operator==(Call const&) const = default;
};

/// Rank 1 of 3.
class CountingCalls final : public MpiApi {
public:
  explicit CountingCalls(std::vector<Call>& calls) : m_calls(calls) {}
  [[nodiscard]] int rank() const override { return 1; }
  [[nodiscard]] int size() const override { return 3; }
  void all_reduce(void* data, int count, ElementType) override { note("all_reduce", data, count, -1); }
  void reduce(void const* data, void* sum, int count, int root, ElementType) override {
    CHECK((sum != nullptr) == (root == 1));
    note("reduce", data, count, root);
  }
  void reduce_scatter(void const* data, void*, std::span<int const> parts, ElementType) override {
    note("reduce_scatter", data, std::accumulate(parts.begin(), parts.end(), 0), -1);
  }
  void all_gather(void* data, std::span<int const> parts, std::span<int const>, ElementType) override {
    note("all_gather", data, std::accumulate(parts.begin(), parts.end(), 0), -1);
  }
  void broadcast(void* data, int count, int root, ElementType) override {
    note("broadcast", data, count, root);
  }
  void begin_send(void const* data, int count, int to, ElementType) override {
    note("send", data, count, to);
  }
  void begin_receive(void* data, int count, int from, ElementType) override {
    note("receive", data, count, from);
  }
  void wait() override { note("wait", nullptr, 0, -1); }
  [[nodiscard]] std::unique_ptr<MpiApi> split(int, int) override {
    return std::make_unique<CountingCalls>(m_calls);
  }

private:
  void note(char const* name, void const* data, int count, int rank) {
    CHECK(count >= 0);
    m_calls.push_back({name, reinterpret_cast<std::size_t>(data), static_cast<count_t>(count), rank});
  }
  std::vector<Call>& m_calls;
};

constexpr count_t most  = 2147483647;
constexpr count_t large = 5'000'000'000;

/// An address that is never followed.
template <class T = void>
T* address(std::size_t bytes) {
  return reinterpret_cast<T*>(bytes);
}

}  // namespace

TEST_CASE("Counts beyond 2^31 go in pieces", "[distributed]") {
  std::vector<Call> calls;
  MpiCollectives ranks(std::make_unique<CountingCalls>(calls));

  SECTION("all-reduce") {
    ranks.all_reduce(address(64), large, ElementType::f64);
    CHECK(calls == std::vector<Call>{{"all_reduce", 64, most, -1},
                                     {"all_reduce", 64 + 8 * most, most, -1},
                                     {"all_reduce", 64 + 16 * most, large - 2 * most, -1}});
  }
  SECTION("broadcast") {
    ranks.broadcast(address(64), most + 1, 2, ElementType::f32);
    CHECK(calls == std::vector<Call>{{"broadcast", 64, most, 2}, {"broadcast", 64 + 4 * most, 1, 2}});
  }
  SECTION("parts that are small one by one, and large together") {
    std::vector<count_t> const parts{most, 10, 20};
    ranks.reduce_scatter(address(64), address(1), parts, ElementType::f64);
    CHECK(calls == std::vector<Call>{{"reduce", 64, most, 0},
                                     {"reduce", 64 + 8 * most, 10, 1},
                                     {"reduce", 64 + 8 * (most + 10), 20, 2}});
    calls.clear();
    ranks.all_gather(address(64), parts, ElementType::f32);
    CHECK(calls == std::vector<Call>{{"broadcast", 64, most, 0},
                                     {"broadcast", 64 + 4 * most, 10, 1},
                                     {"broadcast", 64 + 4 * (most + 10), 20, 2}});
  }
  SECTION("what one call holds is one call") {
    std::vector<count_t> const parts{most - 30, 10, 20};
    ranks.reduce_scatter(address(64), address(1), parts, ElementType::f64);
    ranks.all_gather(address(64), parts, ElementType::f64);
    CHECK(calls == std::vector<Call>{{"reduce_scatter", 64, most, -1}, {"all_gather", 64, most, -1}});
  }
  SECTION("all-to-all") {
    std::vector<count_t> const to{large, 0, 7};
    std::vector<count_t> const from{3, 0, most + 5};
    ranks.all_to_all(address(64), to, address(128), from, ElementType::u32);
    CHECK(calls == std::vector<Call>{{"receive", 128, 3, 0},
                                     {"receive", 128 + 12, most, 2},
                                     {"receive", 128 + 12 + 4 * most, 5, 2},
                                     {"send", 64, most, 0},
                                     {"send", 64 + 4 * most, most, 0},
                                     {"send", 64 + 8 * most, large - 2 * most, 0},
                                     {"send", 64 + 4 * large, 7, 2},
                                     {"wait", 0, 0, -1}});
  }
  SECTION("nothing is nothing") {
    ranks.all_reduce(nullptr, 0, ElementType::f64);
    CHECK(calls.empty());
  }
}

}  // namespace polyad::test
