// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/workspace_owner.hpp"

#include <atomic>
#include <string>

#include "polyad/core/error.hpp"

namespace polyad {

FormatIdentity::FormatIdentity() noexcept {
  static std::atomic<std::uint64_t> last{0};  // no format has the number 0
  m_number = last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void WorkspaceOwner::refuse(FormatIdentity format, count_t rank, char const* name) const {
  POLYAD_EXPECTS(is_set(), "the workspace was not made by make_workspace of ", name);
  POLYAD_EXPECTS(m_format == format.m_number, "the workspace was made for another tensor or format, not for ",
                 "this tensor in ", name);
  throw UsageError("the workspace was made for rank " + std::to_string(m_rank) + ", not " +
                   std::to_string(rank));
}

}  // namespace polyad
