// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/core/memory_plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "polyad/core/error.hpp"
#include "polyad/core/quantity_text.hpp"

namespace polyad {

struct MemoryPlan::Ledger {
  struct Array {
    std::string what;
    std::uint64_t bytes = 0;
  };
  std::map<std::uint64_t, Array> arrays;  // held now, by their numbers
  std::uint64_t next = 0, held = 0, peak = 0;
  Array largest;

  void release(std::uint64_t number) {
    auto const found = arrays.find(number);
    held -= found->second.bytes;
    arrays.erase(found);
  }
};

MemoryPlan::Held::Held(std::shared_ptr<Ledger> ledger, std::uint64_t number)
    : m_ledger(std::move(ledger)), m_number(number) {}
MemoryPlan::Held::Held(Held&& other) noexcept
    : m_ledger(std::exchange(other.m_ledger, nullptr)), m_number(other.m_number) {}
MemoryPlan::Held& MemoryPlan::Held::operator=(Held&& other) noexcept {
  if (this != &other) {
    release();
    m_ledger = std::exchange(other.m_ledger, nullptr);
    m_number = other.m_number;
  }
  return *this;
}
MemoryPlan::Held::~Held() {
  release();
}
void MemoryPlan::Held::release() {
  if (m_ledger) m_ledger->release(m_number);
  m_ledger.reset();
}

MemoryPlan::MemoryPlan() : m_ledger(std::make_shared<Ledger>()) {}

MemoryPlan::Held MemoryPlan::hold(std::string const& what, std::uint64_t bytes) {
  Ledger& ledger = *m_ledger;
  bytes          = std::min(bytes, most - ledger.held);
  ledger.arrays.emplace(ledger.next, Ledger::Array{what, bytes});
  ledger.held += bytes;
  if (ledger.held > ledger.peak) {
    ledger.peak = ledger.held;
    ledger.largest =
        std::max_element(ledger.arrays.begin(), ledger.arrays.end(), [](auto const& a, auto const& b) {
          return a.second.bytes < b.second.bytes;
        })->second;
  }
  return {m_ledger, ledger.next++};
}

void MemoryPlan::pass(std::string const& what, std::uint64_t bytes) {
  auto const held = hold(what, bytes);
}

std::uint64_t MemoryPlan::peak() const {
  return m_ledger->peak;
}
std::string const& MemoryPlan::largest() const {
  return m_ledger->largest.what;
}
std::uint64_t MemoryPlan::largest_bytes() const {
  return m_ledger->largest.bytes;
}
std::uint64_t MemoryPlan::held() const {
  return m_ledger->held;
}

void MemoryPlan::expect_fits(std::uint64_t bytes, std::string const& run) const {
  if (peak() <= bytes) return;
  throw MemoryError(run, peak(),
                    "only " + bytes_text(bytes) + " are free; most of it are " + largest() + " with " +
                        bytes_text(largest_bytes()));
}

std::uint64_t MemoryPlan::product(std::initializer_list<std::uint64_t> factors) {
  std::uint64_t result = 1;
  bool is_zero         = false;
  for (std::uint64_t const factor : factors) is_zero = is_zero || factor == 0;
  if (is_zero) return 0;
  for (std::uint64_t const factor : factors)
    if (__builtin_mul_overflow(result, factor, &result) || result > most) return most;
  return result;
}

std::uint64_t MemoryPlan::sum(std::uint64_t a, std::uint64_t b) {
  return a > most || b > most - std::min(a, most) ? most : a + b;
}

}  // namespace polyad
