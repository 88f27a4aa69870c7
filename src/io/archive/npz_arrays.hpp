// SPDX-License-Identifier: BSD-3-Clause
// The arrays of an npz archive, vectors and matrices of floats or doubles, by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/archive/zip.hpp"
#include "io/memory/element_blocks.hpp"
#include "io/streams/raw_input.hpp"
#include "polyad/io/labels.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad::io {

/// A vector or a matrix.
struct NpzArray {
  std::vector<std::uint64_t> shape;
  std::vector<double> elements;  // row-major
};

/// Adds an array to an archive, whose elements are read two or three times.
/// \param single_precision  float instead of double, rounded, unless an element would become infinite or zero
void add_array(ZipWriter& zip, std::string const& name, std::vector<std::uint64_t> const& shape,
               ElementBlocks const& elements, bool single_precision);
void add_array(ZipWriter& zip, std::string const& name, std::vector<std::uint64_t> const& shape,
               std::vector<double> const& elements, bool single_precision);

/// Adds the lists of a model: "rows_n" of each mode that has one, and "extents". No lists: adds nothing.
void add_rows(ZipWriter& zip, std::vector<StoredRows> const& rows);

class NpzReader {
public:
  /// \throws InputError, as every member does; MemoryError
  /// \param input  must live as long
  explicit NpzReader(RawInput& input);

  [[nodiscard]] bool has(std::string const& array) const;

  /// Refuses an archive of another kind, if its arrays' names show one. \param kind  as archive_kind()
  void expect(std::string_view kind) const;

  /// The array of that name, or nothing if there is none. Its numbers are finite.
  [[nodiscard]] std::optional<NpzArray> read(std::string const& array, std::size_t dimensions) const;

  /// The same for an array that has to be there.
  [[nodiscard]] NpzArray require(std::string const& array, std::size_t dimensions) const;

  /// What add_rows wrote; empty if there are no lists.
  /// \param extents  the rows of the factors; they are replaced by those of the modes
  [[nodiscard]] std::vector<StoredRows> read_rows(std::vector<std::uint64_t>& extents) const;

  /// What add_names wrote. \param extents  the rows of the modes
  [[nodiscard]] RowNames read_names(std::vector<std::uint64_t> const& extents) const;
  /// The given number of booleans; empty if there is no such array.
  [[nodiscard]] std::vector<std::uint8_t> read_booleans(std::string const& array, std::uint64_t count) const;

  /// The name of the file, for messages.
  [[nodiscard]] std::string const& name() const noexcept { return m_input.name(); }

private:
  /// A vector of integers, none of them negative; nothing if there is none of that name.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> read_counts(std::string const& array) const;

  RawInput& m_input;
  std::vector<ZipMember> m_members;
  mutable ReadMemory m_memory;  // without a limit
};

}  // namespace polyad::io
