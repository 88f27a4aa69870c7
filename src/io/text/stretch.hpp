// SPDX-License-Identifier: BSD-3-Clause
// FileRange: the readers' interface to a FilePart (polyad/io/tensor_file.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/text/line_parser.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

/// The numbers that one reader sends to all.
using Words = std::vector<std::uint64_t>;

struct FileRange : FilePart {
  FileRange() = default;
  explicit FileRange(FilePart const& whose) : FilePart(whose) {}

  [[nodiscard]] bool is_whole() const noexcept { return parts == 1; }
  /// \throws what another part threw, if one did instead of calling this
  [[nodiscard]] std::vector<Words> of_all(Words const& own) const;
  /// The end of a part that has found no fault. \throws likewise
  void finish() const;
  /// Reports the exception in flight to the other parts, which throw it from of_all or finish unless they
  /// already have one. \throws it, or that of an earlier part
  [[noreturn]] void fail() const;
  /// The beginning of this part among `count` consecutive items, and the beginning of the next part.
  [[nodiscard]] std::uint64_t begin(std::uint64_t count) const { return cut(count, part); }
  [[nodiscard]] std::uint64_t end(std::uint64_t count) const { return cut(count, part + 1); }

  /// All parts throw the fault of the first part that found one. `own` has its line counted in the file.
  /// \throws InputError unless no part found a fault
  void throw_first(std::string const& file, std::optional<Fault> const& own) const;

private:
  void agree(Words const& own, std::string const& text) const;

  mutable bool m_is_over = false;  // all parts know of a fault
  [[nodiscard]] std::uint64_t cut(std::uint64_t count, int k) const {
    std::uint64_t const before = k, all = parts;
    return count / all * before + count % all * before / all;
  }
};

}  // namespace polyad::io
