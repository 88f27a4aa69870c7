// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "cli/command_line/checks.hpp"
#include "cli/command_line/command.hpp"
#include "cli/command_line/declarations.hpp"
#include "cli/command_line/declared_options.hpp"
#include "cli/command_line/shared_options.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

/// "frostt|extended-frostt|..."
std::string const& writable_dialects() {
  static std::string const text = [] {
    std::string names;
    for (auto const dialect : io::dialects())
      if (dialect.can_write()) names += (names.empty() ? "" : "|") + std::string(dialect.name());
    return names;
  }();
  return text;
}

void add_dialect(Command& command, std::string& to) {
  command
      .add_option("--to " + writable_dialects(), to,
                  "Dialect to write, unless the ending (" + io::endings_text() + ") says it")
      ->check([](std::string const& name) {
        return io::writable_dialect(name) ? std::string()
                                          : "'" + name + "' is not one of " + writable_dialects();
      });
}

/// Requires an ending that implies a dialect, or --to.
void expect_dialect(std::filesystem::path const& output, std::string const& to) {
  if (to.empty() && !io::dialect_of_ending(output))
    refuse(output.string() + ": a tensor's name ends with " + io::endings_text() + "; or say --to");
}

void add_input(Command& command, TensorInput& input, char const* duplicates) {
  input.duplicates = duplicates;
  add_tensor(command, input.path, input.index_base);
  add_duplicates(command, input.duplicates, {"sum", "keep", "last", "error"});
  add_drop_zeros(command, input.drop_zeros);
}

}  // namespace

void declare(Command& command, ConvertOptions& options) {
  add_input(command, options.input, "keep");
  command
      .add_output("OUTPUT", options.output, "The file to write, in full or not at all; - writes to stdout")
      ->required();
  add_dialect(command, options.to);
  add_precision(command, options.precision, "the values in .pten and .npz: f32 rounds them");
  add_index_base(command, "--output-base", options.output_base,
                 "Number of the first index in the file; unset: as in TENSOR");
  command.add_flag("--pack", options.packed, "Pack the blocks of .pten with zstd");
  command.add_flag("--allow-non-finite", options.input.allow_non_finite, "Take NaN and infinity as they are");
  command.add_force(options.force, "OUTPUT may be TENSOR, which it replaces when it is whole");
  add_common(command);
  command.footer(
      "Example: polyad convert uber.tns.xz uber.pten\nThe dialects are described in docs/file-formats.md.");
}

void declare(Command& command, CheckOptions& options) {
  add_tensor(command, options.input.path, options.input.index_base);
  command.add_output("--fix FILE", options.fixed,
                     "Write the tensor with duplicates summed and the others left out");
  command.add_force(options.force, "That file may be TENSOR, which is replaced once it is complete");
  command.only_for({"--force"}, "--fix", [&options] { return !options.fixed.empty(); });
  add_common(command);
  command.footer(
      "The exit status is 8 if it finds any of them, and 3 if the file cannot be read. Empty slices are "
      "listed too, but they are not faults.\nExample: polyad check ratings.tns --fix ratings.pten");
}

void declare(Command& command, CompareOptions& options) {
  command.add_input("A", options.a, "A model (.ktns, .npz) or a tensor")->required();
  command.add_input("B", options.b, "Another model or tensor; if A is a model, a tensor here gives its fit")
      ->required();
  command.add_option("--at-least X", options.at_least,
                     "Exit with status 8 below this factor match score (unset: 0.99) or fit (unset: any)");
  add_index_base(command, "--index-base", options.index_base,
                 "Number of the first row in texts; unset: as the model says, or as the files show");
  add_max_memory(command);
  add_table(command);
  add_common(command);
  command.footer(
      "The factor match score of two components is the product of their columns' cosines, whatever their "
      "signs and scales. The score of two models is the mean over components in the best permutation. A "
      "second score also counts the weights' ratio.\n"
      "Tensors are the same when each place has the same value in both, in any order.\n"
      "Example: polyad compare model.ktns truth.ktns");
}

void declare(Command& command, GenOptions& options) {
  command.add_option("KIND", options.kind, "uniform, power-law, low-rank or ratings")
      ->required()
      ->check(CLI::IsMember({"uniform", "power-law", "low-rank", "ratings"}));
  command.add_list("-d,--dims I,J,...", options.dims, "The extents, separated by commas", " x ")->required();
  command.add_option("-n,--nnz N", options.nnz,
                     "About how many nonzeros; not for low-rank, which fills blocks");
  add_rank(command, options.rank, "Components of low-rank and ratings")->capture_default_str();
  command.add_shown("--skew X", options.skew,
                    "For power-law and ratings: the k-th most frequent row has a share ~ k^-X");
  command.add_shown("--noise X", options.noise,
                    "For ratings: the standard deviation around the planted mean");
  add_row(command, OptionRow("seed", "--seed S", "Seed of all random numbers"), options.seed);
  add_output(command, options.output, "The tensor to write")->required();
  add_dialect(command, options.to);
  command.add_output("--model FILE", options.model, "Write the model that low-rank was made of");
  auto const for_kinds = [&](std::string const& name, std::vector<std::string> const& kinds) {
    auto const others = std::span(kinds).first(kinds.size() - 1);
    command.only_for(
        {name},
        fmt::format("gen {}{}{}", fmt::join(others, ", "), others.empty() ? "" : " and ", kinds.back()),
        [&options, kinds] { return std::ranges::find(kinds, options.kind) != kinds.end(); });
  };
  for_kinds("--rank", {"low-rank", "ratings"});
  for_kinds("--nnz", {"uniform", "power-law", "ratings"});
  for_kinds("--skew", {"power-law", "ratings"});
  for_kinds("--noise", {"ratings"});
  for_kinds("--model", {"low-rank"});
  add_common(command);
  command.footer("Example: polyad gen power-law -d 1000,500,200 -n 100000 -o made.pten");
}

void declare(Command& command, MttkrpOptions& options) {
  add_input(command, options.input, "sum");
  add_mode(command, options.mode_text, "The mode that is left", 1);
  command.add_input("--factors FILE", options.factors, "The model; only its factors are used")->required();
  add_output(command, options.output, "The matrix, as .npz with the array 'mttkrp' of shape (I_m, R)")
      ->required();
  command.make_npz();
  add_common(command);
  command.footer("Example: polyad mttkrp uber.tns.xz --mode 0 --factors model.npz -o product.npz");
}

void check(ConvertOptions const& options) {
  expect_dialect(options.output, options.to);
  auto const dialect =
      options.to.empty() ? io::dialect_of_ending(options.output) : io::writable_dialect(options.to);
  if (options.precision == "f32" && !(dialect && dialect->holds_floats()))
    refuse("text holds values in full: --precision f32 is for .pten and .npz");
  if (options.packed && !(dialect && dialect->can_pack())) refuse("--pack is for .pten");
}

void check(CheckOptions const& options) {
  if (!options.fixed.empty()) expect_dialect(options.fixed, "");
}

void check(CompareOptions const& options) {
  if (options.at_least && std::isnan(*options.at_least)) refuse("--at-least takes a number, not nan");
}

void check(GenOptions const& options) {
  expect_dialect(options.output, options.to);
  if (options.dims.size() > 16) refuse("a tensor has at most 16 modes");
  if (options.kind != "low-rank" && options.nnz == 0)
    refuse("gen " + options.kind + " needs -n, the number of nonzeros");
  if (!options.model.empty()) static_cast<void>(io::model_kind(options.model));
  expect_not_negative("--skew", options.skew);
  expect_not_negative("--noise", options.noise);
  for (auto const& path : {options.output, options.model})
    if (same_file(path, options.common.report)) refuse("--report would overwrite an output");
}

}  // namespace polyad::cli
