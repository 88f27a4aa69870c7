// SPDX-License-Identifier: BSD-3-Clause
#include "io/delimited/label_table.hpp"

#include <algorithm>
#include <bit>

#include "core/host_memory.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

constexpr std::size_t least_slots = 64;

/// \throws MemoryError
template <class Slot>
std::vector<Slot> table_of(std::size_t slots, std::size_t labels) {
  constexpr std::size_t most_labels = std::size_t{1} << 31;
  if (labels >= most_labels)
    throw MemoryError("the labels of a column", slots * sizeof(Slot), "there are more than 2^31 of them");
  detail::expect_fits_host("a table of labels", slots * sizeof(Slot));
  return std::vector<Slot>(slots);
}

}  // namespace

void IntegerTable::grow() {
  std::size_t const slots = std::max(least_slots, 2 * m_slots.size());
  m_slots                 = {};
  m_slots                 = table_of<Slot>(slots, m_labels.size());
  m_shift                 = 64 - std::countr_zero(slots);
  for (std::uint32_t k = 0; k < m_labels.size(); ++k) {
    std::size_t at = place(m_labels[k]);
    while (m_slots[at].number != empty) at = (at + 1) & (slots - 1);
    m_slots[at] = {m_labels[k], k};
  }
}

void TextTable::grow() {
  std::size_t const slots = std::max(least_slots, 2 * m_slots.size());
  m_slots                 = {};
  m_slots                 = table_of<Slot>(slots, m_labels.rows());
  m_shift                 = 64 - std::countr_zero(slots);
  for (std::uint32_t k = 0; k < m_labels.rows(); ++k) {
    std::uint64_t const hash = hash_of(m_labels.label(k));
    std::size_t at           = hash >> m_shift;
    while (m_slots[at].number != empty) at = (at + 1) & (slots - 1);
    m_slots[at]        = slot_of(m_labels.label(k), hash);
    m_slots[at].number = k;
  }
}

}  // namespace polyad::io
