// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/checkpoint.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "io/crc32c.hpp"
#include "io/file_bytes.hpp"
#include "io/line_parser.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;

constexpr auto magic                   = "\x89PCKP\r\n\x1A"sv;
constexpr std::uint64_t version        = 2;
constexpr std::uint64_t first_version  = 1;  // without weights
constexpr std::uint64_t longest_name   = 64;
constexpr std::uint64_t checksum_bytes = 4;

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
  void numbers(std::vector<double> const& values) {
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
  std::string text() {
    std::uint64_t const size = m_fields.u64();
    if (size > longest_name) m_fields.refuse("holds a name of " + std::to_string(size) + " bytes");
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

}  // namespace

void write_checkpoint(std::filesystem::path const& path, Checkpoint const& checkpoint) {
  AtomicFile file(path);
  FieldWriter writer(file);
  writer.bytes(magic);
  writer.u64(checkpoint.weights.empty() ? first_version : version);
  writer.text(checkpoint.precision);
  writer.text(checkpoint.format);
  for (std::uint64_t const number :
       {checkpoint.seed, checkpoint.rank, std::uint64_t{checkpoint.extents.size()}})
    writer.u64(number);
  for (std::uint64_t const extent : checkpoint.extents) writer.u64(extent);
  writer.u64(checkpoint.nnz);
  writer.f64(checkpoint.norm_squared);
  writer.u64(checkpoint.iteration);
  writer.f64(checkpoint.fit);
  writer.u64(checkpoint.gram_fallbacks);
  for (auto const& factor : checkpoint.factors) writer.numbers(factor);
  writer.numbers(checkpoint.grams);
  writer.numbers(checkpoint.weights);
  writer.finish();
  file.commit();
}

Checkpoint read_checkpoint(std::filesystem::path const& path) {
  FileBytes const file(path);
  std::string_view bytes = file.bytes();
  auto const refuse      = [&](std::string const& reason) { throw InputError(file.name(), 0, 0, reason); };
  if (!bytes.starts_with(magic)) refuse("is no checkpoint");
  if (bytes.size() < magic.size() + 8 + checksum_bytes) refuse("the checkpoint is cut short");
  std::string_view const sum = bytes.substr(bytes.size() - checksum_bytes);
  bytes.remove_suffix(checksum_bytes);
  if (FieldReader(file.name(), sum).u32() != crc32c(0, bytes))
    refuse("the checkpoint is damaged or cut short: its checksum is wrong");
  CheckpointReader reader(file.name(), bytes.substr(magic.size()));
  std::uint64_t const found = reader.u64();
  if (found != version && found != first_version)
    refuse("is a checkpoint of version " + std::to_string(found) + "; this Polyad reads versions " +
           std::to_string(first_version) + " and " + std::to_string(version));
  Checkpoint checkpoint;
  checkpoint.precision      = reader.text();
  checkpoint.format         = reader.text();
  checkpoint.seed           = reader.u64();
  checkpoint.rank           = reader.u64();
  std::uint64_t const order = reader.u64();
  if (order < 1 || order > most_modes || checkpoint.rank == 0)
    refuse("the checkpoint has no modes or no components");
  for (std::uint64_t n = 0; n < order; ++n) checkpoint.extents.push_back(reader.u64());
  checkpoint.nnz            = reader.u64();
  checkpoint.norm_squared   = reader.f64();
  checkpoint.iteration      = reader.u64();
  checkpoint.fit            = reader.f64();
  checkpoint.gram_fallbacks = reader.u64();
  for (std::uint64_t const extent : checkpoint.extents)
    checkpoint.factors.push_back(reader.numbers(extent, checkpoint.rank));
  std::uint64_t rows = 0;
  if (__builtin_mul_overflow(order, checkpoint.rank, &rows)) rows = no_limit;
  checkpoint.grams = reader.numbers(rows, checkpoint.rank);
  if (found != first_version) checkpoint.weights = reader.numbers(1, checkpoint.rank);
  if (reader.fields().left() != 0) refuse("the checkpoint holds more than it says");
  return checkpoint;
}

}  // namespace polyad::io
