// SPDX-License-Identifier: BSD-3-Clause
// MpiCollectives: 64-bit counts on MPI's calls, which count in int. Up to `most` elements are one call; more
// are sent in pieces.
#pragma once

#include <memory>
#include <span>

#include "distributed/collectives/mpi_api.hpp"

namespace polyad::detail {

class MpiCollectives final : public Collectives {
public:
  static constexpr count_t most_of_a_call = 2147483647;

  /// \param most  the most elements per call; tests use few
  explicit MpiCollectives(std::unique_ptr<MpiApi> calls, char const* name = "MPI",
                          count_t most = most_of_a_call);

  [[nodiscard]] char const* name() const override { return m_name; }
  [[nodiscard]] int rank() const override { return m_calls->rank(); }
  [[nodiscard]] int size() const override { return m_calls->size(); }
  void all_reduce(void* data, count_t count, ElementType type) override;
  void reduce_scatter(void const* data, void* own, std::span<count_t const> parts, ElementType type) override;
  void all_gather(void* data, std::span<count_t const> parts, ElementType type) override;
  void all_to_all(void const* sent, std::span<count_t const> to, void* received,
                  std::span<count_t const> from, ElementType type) override;
  void broadcast(void* data, count_t count, int root, ElementType type) override;
  [[nodiscard]] std::unique_ptr<Collectives> split(int color, int key) override;

private:
  /// f(first, count) for pieces of at most `most` elements.
  template <class F>
  void in_pieces(count_t count, F const& f) const {
    for (count_t first = 0; first < count; first += m_most)
      f(first, static_cast<int>(count - first < m_most ? count - first : m_most));
  }

  std::unique_ptr<MpiApi> m_calls;
  char const* m_name;
  count_t m_most;
};

}  // namespace polyad::detail
