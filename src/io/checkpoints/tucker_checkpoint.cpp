// SPDX-License-Identifier: BSD-3-Clause
// The checkpoints of Tucker (docs/file-formats.md).
#include <span>
#include <string>
#include <string_view>

#include "io/checkpoints/checkpoint_fields.hpp"
#include "io/checkpoints/checkpoint_rows.hpp"
#include "io/streams/file_bytes.hpp"
#include "io/text/line_parser.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/checkpoint.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;

constexpr auto tucker_magic            = "\x89PTUK\r\n\x1A"sv;
constexpr std::uint64_t tucker_version = 1;

}  // namespace

void write_tucker_checkpoint(std::filesystem::path const& path, TuckerCheckpoint const& checkpoint,
                             ReadFactorRows const& read) {
  std::size_t const order = checkpoint.extents.size();
  POLYAD_EXPECTS(checkpoint.ranks.size() == order, checkpoint.ranks.size(), " ranks for ", order, " modes");
  AtomicFile file(path);
  FieldWriter writer(file);
  writer.bytes(tucker_magic);
  writer.u64(tucker_version);
  writer.text(checkpoint.precision);
  writer.text(checkpoint.format);
  writer.u64(checkpoint.seed);
  writer.u64(order);
  for (auto const* numbers : {&checkpoint.extents, &checkpoint.ranks})
    for (std::uint64_t const number : *numbers) writer.u64(number);
  writer.u64(checkpoint.nnz);
  writer.f64(checkpoint.norm_squared);
  writer.u64(checkpoint.iteration);
  writer.f64(checkpoint.fit);
  write_rows(writer, checkpoint.rows, order);
  for (std::size_t n = 0; n < order; ++n)
    blocks_read_by(read, n, stored_rows(checkpoint.rows, n, checkpoint.extents[n]), checkpoint.ranks[n])
        .for_each_block([&](std::span<double const> block) { writer.numbers(block); });
  writer.finish();
  file.commit();
}

TuckerCheckpoint read_tucker_checkpoint(std::filesystem::path const& path) {
  FileBytes const file(path);
  auto const refuse = [&](std::string const& reason) { throw InputError(file.name(), 0, 0, reason); };
  CheckpointReader reader(file.name(), checked_fields(file, tucker_magic));
  std::uint64_t const found = reader.u64();
  if (found != tucker_version)
    refuse("is a checkpoint of version " + std::to_string(found) + "; this Polyad reads version " +
           std::to_string(tucker_version));
  TuckerCheckpoint checkpoint;
  checkpoint.precision      = reader.text();
  checkpoint.format         = reader.text();
  checkpoint.seed           = reader.u64();
  std::uint64_t const order = reader.u64();
  if (order < 1 || order > most_modes) refuse("the checkpoint has no modes");
  for (auto* numbers : {&checkpoint.extents, &checkpoint.ranks})
    for (std::uint64_t n = 0; n < order; ++n) numbers->push_back(reader.u64());
  checkpoint.nnz          = reader.u64();
  checkpoint.norm_squared = reader.f64();
  checkpoint.iteration    = reader.u64();
  checkpoint.fit          = reader.f64();
  checkpoint.rows         = read_rows(reader, checkpoint.extents);
  for (std::size_t n = 0; n < order; ++n)
    checkpoint.factors.push_back(
        reader.numbers(stored_rows(checkpoint.rows, n, checkpoint.extents[n]), checkpoint.ranks[n]));
  if (reader.fields().left() != 0) refuse("the checkpoint holds more than it says");
  return checkpoint;
}

}  // namespace polyad::io
