// SPDX-License-Identifier: BSD-3-Clause
#include "distributed/collectives/mpi_collectives.hpp"

#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace polyad::detail {

namespace {

std::byte* at(void* data, count_t first, ElementType type) {
  return static_cast<std::byte*>(data) + first * bytes_of(type);
}
std::byte const* at(void const* data, count_t first, ElementType type) {
  return static_cast<std::byte const*>(data) + first * bytes_of(type);
}

count_t sum_of(std::span<count_t const> parts) {
  return std::accumulate(parts.begin(), parts.end(), count_t(0));
}

std::vector<int> as_ints(std::span<count_t const> parts) {
  std::vector<int> ints;
  for (count_t const part : parts) ints.push_back(static_cast<int>(part));
  return ints;
}

}  // namespace

MpiCollectives::MpiCollectives(std::unique_ptr<MpiApi> calls, char const* name, count_t most)
    : m_calls(std::move(calls)), m_name(name), m_most(most) {}

void MpiCollectives::all_reduce(void* data, count_t count, ElementType type) {
  in_pieces(count,
            [&](count_t first, int piece) { m_calls->all_reduce(at(data, first, type), piece, type); });
}

void MpiCollectives::reduce_scatter(void const* data, void* own, std::span<count_t const> parts,
                                    ElementType type) {
  if (sum_of(parts) <= m_most) return m_calls->reduce_scatter(data, own, as_ints(parts), type);
  count_t begin = 0;
  for (int k = 0; k < std::ssize(parts); ++k) {
    in_pieces(parts[k], [&](count_t first, int piece) {
      bool const is_own = k == rank();
      m_calls->reduce(at(data, begin + first, type), is_own ? at(own, first, type) : nullptr, piece, k, type);
    });
    begin += parts[k];
  }
}

void MpiCollectives::all_gather(void* data, std::span<count_t const> parts, ElementType type) {
  std::vector<count_t> begins(parts.size());
  std::exclusive_scan(parts.begin(), parts.end(), begins.begin(), count_t(0));
  if (sum_of(parts) <= m_most) return m_calls->all_gather(data, as_ints(parts), as_ints(begins), type);
  for (int k = 0; k < std::ssize(parts); ++k)
    in_pieces(parts[k], [&](count_t first, int piece) {
      m_calls->broadcast(at(data, begins[k] + first, type), piece, k, type);
    });
}

void MpiCollectives::all_to_all(void const* sent, std::span<count_t const> to, void* received,
                                std::span<count_t const> from, ElementType type) {
  count_t begin = 0;
  count_t own   = 0;  // where the own part is received
  for (int k = 0; k < std::ssize(from); ++k) {
    if (k == rank()) own = begin;
    if (k != rank())
      in_pieces(from[k], [&](count_t first, int piece) {
        m_calls->begin_receive(at(received, begin + first, type), piece, k, type);
      });
    begin += from[k];
  }
  begin = 0;
  for (int k = 0; k < std::ssize(to); ++k) {
    if (k != rank())
      in_pieces(to[k], [&](count_t first, int piece) {
        m_calls->begin_send(at(sent, begin + first, type), piece, k, type);
      });
    else if (to[k] > 0)
      std::memcpy(at(received, own, type), at(sent, begin, type), to[k] * bytes_of(type));
    begin += to[k];
  }
  m_calls->wait();
}

void MpiCollectives::broadcast(void* data, count_t count, int root, ElementType type) {
  in_pieces(count,
            [&](count_t first, int piece) { m_calls->broadcast(at(data, first, type), piece, root, type); });
}

std::unique_ptr<Collectives> MpiCollectives::split(int color, int key) {
  return std::make_unique<MpiCollectives>(m_calls->split(color, key), m_name, m_most);
}

}  // namespace polyad::detail
