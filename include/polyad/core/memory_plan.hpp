// SPDX-License-Identifier: BSD-3-Clause
// MemoryPlan: the arrays of a run in the order in which it will allocate and release them, and the most
// memory that they take together. A plan is written with the same block structure as the run:
//
//   MemoryPlan plan;
//   auto const coordinates = plan.hold("the coordinates", bytes);
//   {
//     auto const keys = plan.hold("the sort's keys", bytes);   // until the end of the block
//   }
//   plan.expect_fits(available_memory(space), "the run");
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

namespace polyad {

class MemoryPlan {
  struct Ledger;

public:
  /// Numbers above this are replaced by it: 2^60, more than any machine has.
  static constexpr std::uint64_t most = std::uint64_t(1) << 60;

  /// An array that is in memory from hold() until the destructor of this object.
  class Held {
  public:
    Held() = default;
    Held(Held&& other) noexcept;
    Held& operator=(Held&& other) noexcept;
    Held(Held const&)            = delete;
    Held& operator=(Held const&) = delete;
    ~Held();
    void release();

  private:
    friend class MemoryPlan;
    Held(std::shared_ptr<Ledger> ledger, std::uint64_t number);
    std::shared_ptr<Ledger> m_ledger;
    std::uint64_t m_number = 0;
  };

  MemoryPlan();
  [[nodiscard]] Held hold(std::string const& what, std::uint64_t bytes);
  /// An array that is released at once.
  void pass(std::string const& what, std::uint64_t bytes);

  /// The most bytes that were held at the same time.
  [[nodiscard]] std::uint64_t peak() const;
  /// The largest array that was held then, and its bytes.
  [[nodiscard]] std::string const& largest() const;
  [[nodiscard]] std::uint64_t largest_bytes() const;
  /// Bytes held now.
  [[nodiscard]] std::uint64_t held() const;

  /// \throws MemoryError for `run`, naming the largest array of the peak, unless the peak is at most `bytes`
  void expect_fits(std::uint64_t bytes, std::string const& run) const;

  /// The product, at most `most`.
  [[nodiscard]] static std::uint64_t product(std::initializer_list<std::uint64_t> factors);
  /// The sum, at most `most`.
  [[nodiscard]] static std::uint64_t sum(std::uint64_t a, std::uint64_t b);

private:
  std::shared_ptr<Ledger> m_ledger;
};

}  // namespace polyad
