// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/file_commands.hpp"

#include <cmath>
#include <string>

#include "cli/command_line/checks.hpp"
#include "cli/command_line/command.hpp"
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
  command.add_option("--to", to, "Dialect to write, unless the ending (" + io::endings_text() + ") says it")
      ->check([](std::string const& name) {
        return io::writable_dialect(name) ? std::string()
                                          : "'" + name + "' is not one of " + writable_dialects();
      })
      ->type_name(writable_dialects());
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

FileCommands::FileCommands(CLI::App& app, SelectedCommands const& meant) : m_app(app) {
  if (meant.contains("convert")) add_convert();
  if (meant.contains("check")) add_check();
  if (meant.contains("compare")) add_compare();
  if (meant.contains("gen")) add_gen();
  if (meant.contains("mttkrp")) add_mttkrp();
}

void FileCommands::add_convert() {
  Command command(m_app, "convert", "Write a tensor in another dialect, exact to the last bit",
                  m_convert.common);
  add_input(command, m_convert.input, "keep");
  command
      .add_output("OUTPUT", m_convert.output, "The file to write, in full or not at all; - writes to stdout")
      ->required()
      ->type_name("");
  add_dialect(command, m_convert.to);
  add_precision(command, m_convert.precision, "the values in .pten and .npz: f32 rounds them");
  command
      .add_option("--output-base", m_convert.output_base,
                  "Number of the first index in the file; unset: as in TENSOR")
      ->check(CLI::IsMember({"0", "1"}))
      ->type_name("0|1");
  command.add_flag("--pack", m_convert.packed, "Pack the blocks of .pten with zstd");
  command.add_flag("--allow-non-finite", m_convert.input.allow_non_finite,
                   "Take NaN and infinity as they are");
  command.add_flag("--force", m_convert.force, "OUTPUT may be TENSOR, which it replaces when it is whole");
  add_common(command);
  command.footer(
      "Example: polyad convert uber.tns.xz uber.pten\nThe dialects are described in docs/file-formats.md.");
}

void FileCommands::add_check() {
  Command command(m_app, "check", "Look for duplicates, zeros and values that are not finite",
                  m_check.common);
  add_tensor(command, m_check.input.path, m_check.input.index_base);
  command
      .add_output("--fix", m_check.fixed, "Write the tensor with duplicates summed and the others left out")
      ->type_name("FILE");
  command.add_flag("--force", m_check.force,
                   "That file may be TENSOR, which is replaced once it is complete");
  add_common(command);
  command.footer(
      "The exit status is 8 if it finds any of them, and 3 if the file cannot be read. Empty slices are "
      "listed too, but they are not faults.\nExample: polyad check ratings.tns --fix ratings.pten");
}

void FileCommands::add_compare() {
  Command command(m_app, "compare", "Compare two models, a model and a tensor, or two tensors",
                  m_compare.common);
  command.add_input("A", m_compare.a, "A model (.ktns, .npz) or a tensor")->required()->type_name("");
  command
      .add_input("B", m_compare.b, "Another model or tensor; if A is a model, a tensor here gives its fit")
      ->required()
      ->type_name("");
  command
      .add_option("--at-least", m_compare.at_least,
                  "Exit with status 8 below this factor match score (unset: 0.99) or fit (unset: any)")
      ->type_name("X");
  command
      .add_option("--index-base", m_compare.index_base,
                  "Number of the first row in texts; unset: as the model says, or as the files show")
      ->check(CLI::IsMember({"0", "1"}))
      ->type_name("0|1");
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

void FileCommands::add_gen() {
  Command command(m_app, "gen", "Make a random tensor; a seed gives the same on every machine", m_gen.common);
  command.add_option("KIND", m_gen.kind, "uniform, power-law, low-rank or ratings")
      ->required()
      ->check(CLI::IsMember({"uniform", "power-law", "low-rank", "ratings"}))
      ->type_name("");
  command
      .add_option("-d,--dims", m_gen.dims, "The extents, separated by commas",
                  listed_as("dims", m_gen.dims, " x "))
      ->required()
      ->delimiter(',')
      ->type_name("I,J,...");
  command.add_option("-n,--nnz", m_gen.nnz, "About how many nonzeros; not for low-rank, which fills blocks")
      ->type_name("N");
  add_rank(command, m_gen.rank, "Components of low-rank and ratings")->capture_default_str();
  command
      .add_option("--skew", m_gen.skew,
                  "For power-law and ratings: the k-th most frequent row has a share ~ k^-X")
      ->type_name("X")
      ->capture_default_str();
  command.add_option("--noise", m_gen.noise, "For ratings: the standard deviation around the planted mean")
      ->type_name("X")
      ->capture_default_str();
  add_seed(command, m_gen.seed, "all random numbers");
  add_output(command, m_gen.output, "The tensor to write")->required();
  add_dialect(command, m_gen.to);
  command.add_output("--model", m_gen.model, "Write the model that low-rank was made of")->type_name("FILE");
  add_common(command);
  command.footer("Example: polyad gen power-law -d 1000,500,200 -n 100000 -o made.pten");
}

void FileCommands::add_mttkrp() {
  Command command(m_app, "mttkrp", "Multiply the unfolded tensor by the factors of a model", m_mttkrp.common);
  add_input(command, m_mttkrp.input, "sum");
  add_mode(command, m_mttkrp.mode_text, "The mode that is left", 1);
  command.add_input("--factors", m_mttkrp.factors, "The model; only its factors are used")
      ->required()
      ->type_name("FILE");
  add_output(command, m_mttkrp.output, "The matrix, as .npz with the array 'mttkrp' of shape (I_m, R)")
      ->required();
  add_common(command);
  command.footer("Example: polyad mttkrp uber.tns.xz --mode 0 --factors model.npz -o product.npz");
}

std::optional<Options> FileCommands::chosen() {
  auto const given = [&](char const* name) { return is_given(m_app, name); };
  if (given("convert")) {
    refuse_overwriting(m_convert.input.path, m_convert.common.report, "--report");
    expect_dialect(m_convert.output, m_convert.to);
    auto const dialect =
        m_convert.to.empty() ? io::dialect_of_ending(m_convert.output) : io::writable_dialect(m_convert.to);
    if (m_convert.precision == "f32" && !(dialect && dialect->holds_floats()))
      refuse("text holds values in full: --precision f32 is for .pten and .npz");
    if (m_convert.packed && !(dialect && dialect->can_pack())) refuse("--pack is for .pten");
    if (!m_convert.force) refuse_overwriting(m_convert.input.path, m_convert.output, "OUTPUT", "--force");
    if (same_file(m_convert.output, m_convert.common.report))
      refuse("OUTPUT and --report name the same file");
    return m_convert;
  }
  if (given("check")) {
    refuse_overwriting(m_check.input.path, m_check.common.report, "--report");
    if (!m_check.fixed.empty()) expect_dialect(m_check.fixed, "");
    if (!m_check.force) refuse_overwriting(m_check.input.path, m_check.fixed, "--fix", "--force");
    if (same_file(m_check.fixed, m_check.common.report)) refuse("--fix and --report name the same file");
    return m_check;
  }
  if (given("compare")) {
    for (auto const& path : {m_compare.a, m_compare.b})
      refuse_overwriting(path, m_compare.common.report, "--report");
    if (m_compare.at_least && std::isnan(*m_compare.at_least)) refuse("--at-least takes a number, not nan");
    return m_compare;
  }
  if (given("gen")) {
    expect_dialect(m_gen.output, m_gen.to);
    if (m_gen.dims.size() > 16) refuse("a tensor has at most 16 modes");
    if (m_gen.kind != "low-rank" && m_gen.nnz == 0)
      refuse("gen " + m_gen.kind + " needs -n, the number of nonzeros");
    if (!m_gen.model.empty() && m_gen.kind != "low-rank") refuse("--model is for gen low-rank");
    if (!m_gen.model.empty()) static_cast<void>(io::model_kind(m_gen.model));
    if (!(m_gen.skew >= 0) || std::isinf(m_gen.skew))
      refuse(fmt::format("--skew takes a number of at least 0, not {}", m_gen.skew));
    if (!(m_gen.noise >= 0) || std::isinf(m_gen.noise))
      refuse(fmt::format("--noise takes a number of at least 0, not {}", m_gen.noise));
    if (same_file(m_gen.output, m_gen.model)) refuse("-o and --model name the same file");
    for (auto const& path : {m_gen.output, m_gen.model})
      if (same_file(path, m_gen.common.report)) refuse("--report would overwrite an output");
    return m_gen;
  }
  if (given("mttkrp")) {
    expect_npz("-o", m_mttkrp.output);
    expect_distinct_files({m_mttkrp.input.path, m_mttkrp.factors}, m_mttkrp.output, m_mttkrp.common.report);
    return m_mttkrp;
  }
  return std::nullopt;
}

}  // namespace polyad::cli
