// SPDX-License-Identifier: BSD-3-Clause
// What a workspace was made for. Formats size their scratch by their own nonzeros and by the rank, so a
// kernel would write beyond the workspace of another format. Each format therefore has an identity, each
// workspace keeps it together with the rank, and every operation compares both on the host before it
// launches anything.
#pragma once

#include <cstdint>

#include "polyad/core/types.hpp"

namespace polyad {

/// A number that no other format of the process has. Copies of a format hold the same tensor and share it.
class FormatIdentity {
public:
  FormatIdentity() noexcept;
  friend bool operator==(FormatIdentity, FormatIdentity) = default;

private:
  friend class WorkspaceOwner;
  std::uint64_t m_number;
};

/// The format and the rank that a workspace was made for.
class WorkspaceOwner {
public:
  /// Not made for any format: expect() refuses it.
  WorkspaceOwner() = default;
  /// \param rank  0 if the workspace does not depend on it
  WorkspaceOwner(FormatIdentity format, count_t rank) noexcept : m_format(format.m_number), m_rank(rank) {}

  [[nodiscard]] bool is_set() const noexcept { return m_format != 0; }
  /// \param name  the name of the format, for the message
  /// \throws UsageError unless the workspace was made for this format and this rank
  void expect(FormatIdentity format, count_t rank, char const* name) const {
    if (m_format != format.m_number || m_rank != rank) refuse(format, rank, name);
  }

private:
  [[noreturn]] void refuse(FormatIdentity format, count_t rank, char const* name) const;

  std::uint64_t m_format = 0;
  count_t m_rank         = 0;
};

}  // namespace polyad
