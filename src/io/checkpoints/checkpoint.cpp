// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/checkpoint.hpp"

#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/checkpoints/checkpoint_fields.hpp"
#include "io/checkpoints/checkpoint_rows.hpp"
#include "io/memory/element_blocks.hpp"
#include "io/streams/file_bytes.hpp"
#include "io/text/line_parser.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;

constexpr auto magic                      = "\x89PCKP\r\n\x1A"sv;
constexpr std::uint64_t version           = 5;
constexpr std::uint64_t no_bounds         = 4;  // but ridges
constexpr std::uint64_t no_penalties      = 3;
constexpr std::uint64_t all_rows          = 2;  // without lists of rows either
constexpr std::uint64_t first_version     = 1;  // without weights either
constexpr std::uint64_t numbers_of_a_mode = 5;  // that a mode has

/// write_checkpoint() for `checkpoint`, whose own factors are not used: `factors` has A^(n) of each mode.
void write_blocks(std::filesystem::path const& path, Checkpoint const& checkpoint,
                  std::vector<ElementBlocks> const& factors) {
  std::uint64_t const order = checkpoint.extents.size();
  bool const is_constrained = !checkpoint.constraints.empty();
  bool const is_penalised   = is_constrained || !checkpoint.penalties.empty();
  POLYAD_EXPECTS(checkpoint.penalties.size() == (is_penalised && !is_constrained ? order : 0) &&
                     checkpoint.constraints.size() == (is_constrained ? numbers_of_a_mode * order : 0) &&
                     checkpoint.scales.size() == (is_penalised ? order * checkpoint.rank : 0),
                 checkpoint.penalties.size(), " penalties, ", checkpoint.constraints.size(),
                 " numbers of constraints and ", checkpoint.scales.size(), " scales for ", order,
                 " modes and the rank ", checkpoint.rank);
  AtomicFile file(path);
  FieldWriter writer(file);
  writer.bytes(magic);
  std::uint64_t const oldest = checkpoint.weights.empty() ? first_version : all_rows;
  std::uint64_t const older  = checkpoint.rows.empty() ? oldest : no_penalties;
  writer.u64(is_constrained ? version : is_penalised ? no_bounds : older);
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
  if (is_penalised || !checkpoint.rows.empty()) write_rows(writer, checkpoint.rows, order);
  for (auto const& factor : factors)
    factor.for_each_block([&](std::span<double const> block) { writer.numbers(block); });
  writer.numbers(checkpoint.grams);
  if ((is_penalised || !checkpoint.rows.empty()) && checkpoint.weights.empty())
    writer.numbers(std::vector<double>(checkpoint.rank, 1.0));
  else
    writer.numbers(checkpoint.weights);
  writer.numbers(checkpoint.penalties);
  writer.numbers(checkpoint.constraints);
  writer.numbers(checkpoint.scales);
  writer.finish();
  file.commit();
}

/// The factors of `checkpoint`, as `read` returns them.
std::vector<ElementBlocks> factors_read_by(Checkpoint const& checkpoint, ReadFactorRows const& read) {
  std::vector<ElementBlocks> factors;
  for (std::size_t n = 0; n < checkpoint.extents.size(); ++n)
    factors.push_back(
        blocks_read_by(read, n, stored_rows(checkpoint.rows, n, checkpoint.extents[n]), checkpoint.rank));
  return factors;
}

}  // namespace

void write_checkpoint(std::filesystem::path const& path, Checkpoint const& checkpoint) {
  std::vector<ElementBlocks> factors;
  for (auto const& factor : checkpoint.factors) factors.emplace_back(factor.size(), 1, factor);
  write_blocks(path, checkpoint, factors);
}

void write_checkpoint(std::filesystem::path const& path, Checkpoint const& checkpoint,
                      ReadFactorRows const& read) {
  write_blocks(path, checkpoint, factors_read_by(checkpoint, read));
}

Checkpoint read_checkpoint(std::filesystem::path const& path) {
  FileBytes const file(path);
  auto const refuse = [&](std::string const& reason) { throw InputError(file.name(), 0, 0, reason); };
  CheckpointReader reader(file.name(), checked_fields(file, magic));
  std::uint64_t const found = reader.u64();
  if (found < first_version || found > version)
    refuse("is a checkpoint of version " + std::to_string(found) + "; this Polyad reads versions " +
           std::to_string(first_version) + " to " + std::to_string(version));
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
  if (found >= no_penalties) checkpoint.rows = read_rows(reader, checkpoint.extents);
  for (std::size_t n = 0; n < checkpoint.extents.size(); ++n)
    checkpoint.factors.push_back(
        reader.numbers(stored_rows(checkpoint.rows, n, checkpoint.extents[n]), checkpoint.rank));
  std::uint64_t rows = 0;
  if (__builtin_mul_overflow(order, checkpoint.rank, &rows)) rows = no_limit;
  checkpoint.grams = reader.numbers(rows, checkpoint.rank);
  if (found != first_version) checkpoint.weights = reader.numbers(1, checkpoint.rank);
  if (found == no_bounds) checkpoint.penalties = reader.numbers(1, order);
  if (found == version) checkpoint.constraints = reader.numbers(numbers_of_a_mode, order);
  if (found >= no_bounds) checkpoint.scales = reader.numbers(order, checkpoint.rank);
  if (reader.fields().left() != 0) refuse("the checkpoint holds more than it says");
  return checkpoint;
}

std::string read_checkpoint_format(std::filesystem::path const& path) {
  std::string head(magic.size() + 3 * sizeof(std::uint64_t) + 2 * longest_name, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), std::ssize(head));
  head.resize(file.gcount());
  if (!head.starts_with(magic)) return read_checkpoint(path).format;  // says what the file is
  CheckpointReader reader(path.string(), std::string_view(head).substr(magic.size()));
  static_cast<void>(reader.u64());  // the version
  static_cast<void>(reader.text());
  return reader.text();
}

}  // namespace polyad::io
