// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/checkpoint.hpp"

#include <span>
#include <string_view>
#include <vector>

#include "io/checkpoint_blocks.hpp"
#include "io/checkpoint_fields.hpp"
#include "io/file_bytes.hpp"
#include "io/line_parser.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;

constexpr auto magic                  = "\x89PCKP\r\n\x1A"sv;
constexpr std::uint64_t version       = 2;
constexpr std::uint64_t first_version = 1;  // without weights

}  // namespace

void write_checkpoint(std::filesystem::path const& path, Checkpoint const& checkpoint) {
  std::vector<ElementBlocks> factors;
  for (auto const& factor : checkpoint.factors) factors.emplace_back(factor.size(), 1, factor);
  write_checkpoint(path, checkpoint, factors);
}

void write_checkpoint(std::filesystem::path const& path, Checkpoint const& checkpoint,
                      std::vector<ElementBlocks> const& factors) {
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
  for (auto const& factor : factors)
    factor.for_each_block([&](std::span<double const> block) { writer.numbers(block); });
  writer.numbers(checkpoint.grams);
  writer.numbers(checkpoint.weights);
  writer.finish();
  file.commit();
}

Checkpoint read_checkpoint(std::filesystem::path const& path) {
  FileBytes const file(path);
  auto const refuse = [&](std::string const& reason) { throw InputError(file.name(), 0, 0, reason); };
  CheckpointReader reader(file.name(), checked_fields(file, magic));
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
