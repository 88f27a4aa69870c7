// SPDX-License-Identifier: BSD-3-Clause
// RunRanks: how the ranks of a run agree. The class itself is the form of one rank, which does nothing.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fit/rank_sums.hpp"

namespace polyad::detail {

/// All ranks make the same calls in the same order. Numbers are in host memory.
class RunRanks {
public:
  RunRanks()                           = default;
  RunRanks(RunRanks const&)            = delete;
  RunRanks& operator=(RunRanks const&) = delete;
  virtual ~RunRanks()                  = default;

  [[nodiscard]] virtual int rank() const { return 0; }
  /// Whether this is the rank that reads and writes files.
  [[nodiscard]] bool is_root() const { return rank() == 0; }
  /// Whether `here` is true on any rank.
  [[nodiscard]] virtual bool any(bool here) const { return here; }
  /// The sums and the largest number of all ranks: the same bits on all.
  virtual void sum_on_host(std::span<double> /*numbers*/) const {}
  [[nodiscard]] virtual std::uint64_t sum_on_host(std::uint64_t number) const { return number; }
  [[nodiscard]] virtual double largest(double here) const { return here; }
  /// The same for the exact sums of a fit.
  [[nodiscard]] virtual RankSums rank_sums() const { return {}; }
  /// Replaces numbers by those of the first rank.
  virtual void broadcast_from_root(double* /*numbers*/, std::uint64_t /*count*/) const {}
  /// The first rank's numbers, copied to all ranks.
  [[nodiscard]] std::vector<double> from_root(std::vector<double> numbers) const;
  /// Whether a run has to be resumed in the format of its checkpoint. Several ranks each choose their own.
  [[nodiscard]] virtual bool keeps_format() const { return true; }
  /// Whether several runs may be under way at the same time. Not with several ranks, which would mix up their
  /// messages.
  [[nodiscard]] virtual bool runs_side_by_side() const { return true; }
  /// In a handler of an exception that one rank may ignore: throws it again if other ranks wait for this one.
  virtual void rethrow_if_awaited() const {}
  /// Refuses what a driver supports only on one rank. \throws UsageError unless `is_supported`
  virtual void expect_supported(bool /*is_supported*/, std::string_view /*what*/) const {}

  /// Calls `work`, which belongs to one rank: it makes no calls of this class. If it throws on any rank, all
  /// throw: a rank on which it threw its own exception, the others one of the same kind and text.
  template <class F>
  auto together(F const& work) const -> decltype(work()) {
    using Result = decltype(work());
    std::exception_ptr thrown;
    if constexpr (std::is_void_v<Result>) {
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
      throw_together(thrown);
    } else {
      std::optional<Result> result;
      try {
        result.emplace(work());
      } catch (...) {
        thrown = std::current_exception();
      }
      throw_together(thrown);
      return std::move(*result);
    }
  }
  /// Calls `work` on the first rank. The others get an empty result, or throw as in together().
  template <class F>
  auto on_root(F const& work) const -> decltype(work()) {
    return together([&]() -> decltype(work()) {
      if (is_root()) return work();
      return decltype(work())();
    });
  }
  /// Calls write(read) on the first rank. Its read(k, first, count) calls `rows` with these numbers on all
  /// ranks, and throws on all or on none. If `write` throws, all throw as in together().
  template <class Rows, class Write>
  void write_on_root(Rows const& rows, Write const& write) const {
    constexpr double ended = -1;
    double request[3]      = {ended, 0, 0};
    auto const is_request  = [&] {
      broadcast_from_root(request, 3);
      return request[0] != ended;
    };
    auto const requested = [&] {
      return rows(static_cast<int>(request[0]), static_cast<std::uint64_t>(request[1]),
                  static_cast<std::uint64_t>(request[2]));
    };
    std::exception_ptr thrown;
    auto const attempt = [&](auto const& work) {
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
    };
    if (!is_root())
      while (is_request()) attempt([&] { static_cast<void>(requested()); });
    if (is_root())
      attempt([&] {
        write([&](std::size_t k, std::uint64_t first, std::uint64_t count) {
          request[0] = static_cast<double>(k);
          request[1] = static_cast<double>(first);
          request[2] = static_cast<double>(count);
          broadcast_from_root(request, 3);
          return requested();
        });
      });
    request[0] = ended;
    if (is_root()) broadcast_from_root(request, 3);
    throw_together(thrown);
  }

private:
  /// Throws on all ranks if there is an exception on one.
  void throw_together(std::exception_ptr const& thrown) const;
};

}  // namespace polyad::detail
