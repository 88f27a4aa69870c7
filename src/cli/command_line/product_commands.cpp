// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/product_commands.hpp"

#include <cmath>
#include <initializer_list>
#include <string>

#include "cli/command_line/command_parts.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

constexpr auto of_matrices = "Of values and matrices: f32 or f64";

void add_mode(CLI::App& command, int& mode, std::string const& what) {
  command.add_option("-m,--mode", mode, what)->required()->check(CLI::Range(1, 16))->type_name("N");
}

/// Inputs that no output may overwrite; stdin by its name.
void check_files(std::filesystem::path& tensor, std::filesystem::path const& matrices,
                 std::filesystem::path const& output, CommonOptions const& common) {
  if (tensor == "-") tensor = "/dev/stdin";
  for (auto const& input : {tensor, matrices}) {
    refuse_overwriting(input, output, "-o");
    refuse_overwriting(input, common.report, "--report");
  }
  if (same_file(output, common.report)) refuse("-o and --report name the same file");
}

void expect_npz(std::filesystem::path const& path) {
  if (!path.empty() && path.extension() != ".npz")
    refuse("-o " + path.string() + ": the result is written as .npz");
}

}  // namespace

ProductCommands::ProductCommands(CLI::App& app) : m_app(app) {
  add_tucker();
  add_ttm();
  add_ttmc();
}

void ProductCommands::add_ttm() {
  auto& command = *m_app.add_subcommand("ttm", "The tensor times a matrix along one mode");
  add_tensor(command, m_ttm.tensor, m_ttm.index_base);
  add_mode(command, m_ttm.mode, "The mode that is multiplied, counted from 1");
  command
      .add_option("--matrix", m_ttm.matrix,
                  "The matrix: the array 'matrix' of this .npz, a row for each of the mode")
      ->required()
      ->type_name("FILE");
  add_precision(command, m_ttm.precision, of_matrices);
  command
      .add_option("-o,--output", m_ttm.output, "The product, a tensor file of the kind that its ending says")
      ->required()
      ->type_name("FILE");
  add_common(command, m_ttm.common);
  command.footer("Example: polyad ttm uber.tns.xz -m 3 --matrix u.npz -o product.tns");
}

void ProductCommands::add_ttmc() {
  auto& command = *m_app.add_subcommand("ttmc", "The tensor times the matrices of all modes but one");
  add_tensor(command, m_ttmc.tensor, m_ttmc.index_base);
  add_mode(command, m_ttmc.mode, "The mode that stays, counted from 1");
  command
      .add_option("--matrices", m_ttmc.matrices,
                  "The arrays 'factor_0', 'factor_1', ... of this .npz: a model, or what tucker writes")
      ->required()
      ->type_name("FILE");
  add_precision(command, m_ttmc.precision, of_matrices);
  command
      .add_option("-o,--output", m_ttmc.output,
                  "The product, as .npz with the array 'matrix': a row for each of the mode, a column for "
                  "each choice of "
                  "the others' columns, the last mode's fastest")
      ->required()
      ->type_name("FILE");
  add_common(command, m_ttmc.common);
  command.footer("Example: polyad ttmc uber.tns.xz -m 1 --matrices model.npz -o product.npz");
}

void ProductCommands::add_tucker() {
  auto& command =
      *m_app.add_subcommand("tucker", "Tucker decomposition by higher-order orthogonal iteration");
  add_tensor(command, m_tucker.tensor, m_tucker.index_base);
  command.add_option("-r,--ranks", m_tucker.ranks, "The ranks of the modes, separated by commas")
      ->required()
      ->delimiter(',')
      ->check(whole_number<std::uint64_t>())
      ->type_name("R1,R2,...");
  command.add_option("-i,--iterations", m_tucker.max_iterations, "Most iterations")
      ->check(whole_number<int>())
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--tol", m_tucker.tolerance,
                  "Stop when the fit changes by less between two iterations; 0 never does")
      ->type_name("X")
      ->capture_default_str();
  command.add_option("--time-limit", m_tucker.time_limit_s, "Stop after the iteration that passes S seconds")
      ->type_name("S");
  add_precision(command, m_tucker.precision, of_matrices);
  command
      .add_option("--init", m_tucker.init,
                  "Start: random; or hosvd, the leading left singular vectors of the unfolded tensor")
      ->check(CLI::IsMember({"random", "hosvd"}))
      ->type_name("random|hosvd")
      ->capture_default_str();
  command.add_option("--seed", m_tucker.seed, "Of the random start")
      ->check(whole_number<std::uint64_t>())
      ->type_name("S")
      ->capture_default_str();
  command
      .add_option("-o,--output", m_tucker.output, "The arrays 'core' and 'factor_0', 'factor_1', ... as .npz")
      ->type_name("FILE");
  add_common(command, m_tucker.common);
  command.footer("Example: polyad tucker uber.tns.xz -r 4,4,10,10 -o model.npz");
}

std::optional<Options> ProductCommands::chosen() {
  auto const given = [&](char const* name) { return m_app.got_subcommand(name); };
  if (given("ttm")) {
    check_files(m_ttm.tensor, m_ttm.matrix, m_ttm.output, m_ttm.common);
    if (!io::dialect_of_ending(m_ttm.output))
      refuse("-o " + m_ttm.output.string() +
             ": its ending names no kind of tensor file (.tns, .mtx, .pten, .npz)");
    return m_ttm;
  }
  if (given("ttmc")) {
    check_files(m_ttmc.tensor, m_ttmc.matrices, m_ttmc.output, m_ttmc.common);
    expect_npz(m_ttmc.output);
    return m_ttmc;
  }
  if (given("tucker")) {
    if (m_tucker.max_iterations < 1)
      refuse("-i takes at least 1 iteration, not " + std::to_string(m_tucker.max_iterations));
    if (!(m_tucker.tolerance >= 0) || std::isinf(m_tucker.tolerance))
      refuse("--tol takes a number from 0 on");
    if (!(m_tucker.time_limit_s > 0)) refuse("--time-limit takes seconds, more than 0");
    check_files(m_tucker.tensor, {}, m_tucker.output, m_tucker.common);
    expect_npz(m_tucker.output);
    return m_tucker;
  }
  return std::nullopt;
}

}  // namespace polyad::cli
