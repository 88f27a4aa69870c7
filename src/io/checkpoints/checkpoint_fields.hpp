// SPDX-License-Identifier: BSD-3-Clause
// The common format of the checkpoints of cpd and fast-tucker: a signature, little-endian fields of 64 bits,
// and the CRC-32C of everything before it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/known_file.hpp"
#include "io/streams/crc32c.hpp"
#include "io/streams/file_bytes.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

inline constexpr std::uint64_t longest_name   = 64;
inline constexpr std::uint64_t checksum_bytes = 4;

/// Writes fields and sums them up.
class FieldWriter {
public:
  explicit FieldWriter(AtomicFile& file) : m_file(file) {}
  void bytes(std::string_view bytes) {
    m_crc = crc32c(m_crc, bytes);
    m_file.write(bytes);
  }
  void u64(std::uint64_t value) {
    char text[8];
    for (char& c : text) {
      c = static_cast<char>(value & 0xFF);
      value >>= 8;
    }
    bytes({text, sizeof text});
  }
  void f64(double value) { u64(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string const& value) {
    u64(value.size());
    bytes(value);
  }
  void numbers(std::span<double const> values) {
    for (double const value : values) f64(value);
  }
  void finish() {
    char text[checksum_bytes];
    for (std::size_t k = 0; k < checksum_bytes; ++k) text[k] = static_cast<char>(m_crc >> 8 * k & 0xFF);
    m_file.write({text, sizeof text});
  }

private:
  AtomicFile& m_file;
  std::uint32_t m_crc = 0;
};

class CheckpointReader {
public:
  CheckpointReader(std::string const& file, std::string_view bytes) : m_fields(file, bytes) {}

  std::uint64_t u64() { return m_fields.u64(); }
  double f64() {
    double const value = std::bit_cast<double>(m_fields.u64());
    if (!std::isfinite(value)) m_fields.refuse("holds a number that is not finite");
    return value;
  }
  std::string text(std::uint64_t longest = longest_name) {
    std::uint64_t const size = m_fields.u64();
    if (size > longest) m_fields.refuse("holds a name of " + std::to_string(size) + " bytes");
    return std::string(m_fields.take(size));
  }
  /// Refuses a count that the file cannot hold before memory is taken for it.
  std::vector<double> numbers(std::uint64_t rows, std::uint64_t columns) {
    std::uint64_t count = 0;
    if (__builtin_mul_overflow(rows, columns, &count) || count > m_fields.left() / 8)
      m_fields.refuse("is too short for " + std::to_string(rows) + " x " + std::to_string(columns) +
                      " numbers");
    std::vector<double> values(count);
    for (double& value : values) value = f64();
    return values;
  }
  [[nodiscard]] FieldReader& fields() noexcept { return m_fields; }

private:
  FieldReader m_fields;
};

/// The bytes between the signature and the checksum.
/// \throws InputError for another signature, a file that is cut short or a wrong checksum
inline std::string_view checked_fields(FileBytes const& file, std::string_view signature) {
  std::string_view bytes = file.bytes();
  auto const refuse      = [&](std::string const& reason) { throw InputError(file.name(), 0, 0, reason); };
  if (!bytes.starts_with(signature)) {
    bool const of_other = bytes.size() >= 8 && bytes.substr(0, 2) == signature.substr(0, 2) &&
                          bytes.substr(5, 3) == signature.substr(5);
    auto const known    = describe_foreign_file(bytes);
    refuse(of_other ? "is a checkpoint of another command" : known ? *known : "is not a checkpoint");
  }
  if (bytes.size() < signature.size() + 8 + checksum_bytes) refuse("the checkpoint is cut short");
  std::string_view const sum = bytes.substr(bytes.size() - checksum_bytes);
  bytes.remove_suffix(checksum_bytes);
  if (FieldReader(file.name(), sum).u32() != crc32c(0, bytes))
    refuse("the checkpoint is damaged or cut short: its checksum is wrong");
  return bytes.substr(signature.size());
}

}  // namespace polyad::io
