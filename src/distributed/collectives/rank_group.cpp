// SPDX-License-Identifier: BSD-3-Clause
// RankGroup: sizes checked, words counted; and the back end of one rank.
#include <cstdlib>
#include <numeric>
#include <utility>

#include "polyad/core/error.hpp"
#include "polyad/distributed/communicator.hpp"

namespace polyad {

using namespace detail;

namespace {

/// One rank: sums need no work. Parts are never copied, since RankGroup skips such calls.
class SelfCollectives final : public Collectives {
public:
  [[nodiscard]] char const* name() const override { return "self"; }
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  void all_reduce(void*, count_t, ElementType) override {}
  void reduce_scatter(void const*, void*, std::span<count_t const>, ElementType) override {
    throw UsageError("one rank has nothing to scatter: take the data itself");
  }
  void all_gather(void*, std::span<count_t const>, ElementType) override {}
  void all_to_all(void const*, std::span<count_t const>, void*, std::span<count_t const>,
                  ElementType) override {
    throw UsageError("one rank has nothing to exchange: take the data itself");
  }
  void broadcast(void*, count_t, int, ElementType) override {}
  [[nodiscard]] std::unique_ptr<Collectives> split(int, int) override {
    return std::make_unique<SelfCollectives>();
  }
};

}  // namespace

RankGroup::RankGroup() : RankGroup(std::make_shared<SelfCollectives>()) {}

RankGroup::RankGroup(std::shared_ptr<Collectives> collectives)
    : m_collectives(std::move(collectives)), m_words(std::make_shared<count_t>(0)) {}

void RankGroup::all_reduce(void* data, count_t count, ElementType type) const {
  count_t const ranks = size();
  *m_words += 2 * (count - count / ranks);
  m_collectives->all_reduce(data, count, type);
}

void RankGroup::reduce_scatter(void* data, void* own, std::span<count_t const> parts,
                               ElementType type) const {
  POLYAD_EXPECTS(std::ssize(parts) == size(), parts.size(), " parts for ", size(), " ranks");
  for (int k = 0; k < std::ssize(parts); ++k)
    if (k != rank()) *m_words += parts[k];
  m_collectives->reduce_scatter(data, own, parts, type);
}

void RankGroup::all_gather(void* data, std::span<count_t const> parts, ElementType type) const {
  POLYAD_EXPECTS(std::ssize(parts) == size(), parts.size(), " parts for ", size(), " ranks");
  *m_words += parts[rank()] * (size() - 1);
  m_collectives->all_gather(data, parts, type);
}

void RankGroup::all_to_all(void const* sent, std::span<count_t const> to, void* received,
                           std::span<count_t const> from, ElementType type) const {
  POLYAD_EXPECTS(std::ssize(to) == size() && from.size() == to.size(), to.size(), " parts to send and ",
                 from.size(), " to receive for ", size(), " ranks");
  std::size_t const own = rank();
  POLYAD_EXPECTS(to[own] == from[own], "a rank sends itself ", to[own], " elements and receives ", from[own]);
  *m_words += std::accumulate(to.begin(), to.end(), count_t(0)) - to[own];
  m_collectives->all_to_all(sent, to, received, from, type);
}

std::vector<count_t> RankGroup::counts_from(std::span<count_t const> to) const {
  POLYAD_EXPECTS(std::ssize(to) == size(), to.size(), " parts for ", size(), " ranks");
  std::vector<count_t> const ones(to.size(), 1);
  std::vector<count_t> from(to.begin(), to.end());
  if (size() > 1) m_collectives->all_to_all(to.data(), ones, from.data(), ones, ElementType::u64);
  return from;
}

void RankGroup::broadcast(void* data, count_t count, int root, ElementType type) const {
  POLYAD_EXPECTS(root >= 0 && root < size(), "rank ", root, " of ", size());
  if (root == rank()) *m_words += count * (size() - 1);
  m_collectives->broadcast(data, count, root, type);
}

RankGroup RankGroup::split(int color, int key) const {
  RankGroup group(std::shared_ptr<Collectives>(m_collectives->split(color, key)));
  group.m_words = m_words;
  return group;
}

bool started_by_launcher() {
  // Set by Open MPI, MPICH and its derivatives, and Slurm's srun.
  for (char const* const name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS"}) {
    char const* const ranks = std::getenv(name);
    if (ranks != nullptr && std::atoi(ranks) > 1) return true;
  }
  return false;
}

}  // namespace polyad
