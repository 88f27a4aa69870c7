// SPDX-License-Identifier: BSD-3-Clause
// Matrix Market's sparse matrices: "%%MatrixMarket matrix coordinate FIELD SYMMETRY", then the line
// "rows columns nnz".
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/dialects/registry.hpp"
#include "io/quoted.hpp"
#include "io/text/header_reader.hpp"
#include "io/text/matrix_market.hpp"
#include "io/text/tns_writer.hpp"
#include "io/text/tokens.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;
using Line = LeadingBlocks::Line;

constexpr std::array matrix_market_endings = {".mtx"sv};
constexpr auto banner_form =
    "%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric|skew-symmetric";

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::optional<TextHeader> read_matrix_market_header(LeadingBlocks& lines, std::optional<Fault>& fault) {
  Line const banner = *lines.first();
  if (!begins_with_banner(banner.text)) return std::nullopt;
  HeaderReader reader(lines, banner, fault);
  LineRules& rules = reader.header.rules;
  rules.order      = 2;
  rules.index_base = 1;
  std::array<std::string_view, 5> words;
  std::string_view rest = banner.text;
  for (auto& word : words) word = take_token(rest);
  auto const refuse = [&](std::string_view word, std::string const& reason) {
    auto const column = word.empty() ? banner.text.size() + 1
                                     : static_cast<std::uint64_t>(word.data() - banner.text.data()) + 1;
    if (!fault) fault = Fault{banner.number, column, reason};
  };
  std::string const object = lowered(words[1]), layout = lowered(words[2]), field = lowered(words[3]),
                    symmetry = lowered(words[4]);
  auto const expected        = [&](std::string_view word) {
    refuse(word, "expected '" + std::string(banner_form) + "', found " +
                     (word.empty() ? std::string("the end of the line") : in_quotes(word)));
  };
  if (lowered(words[0]) != lowered(matrix_market_banner)) expected(words[0]);
  if (object != "matrix") expected(words[1]);
  if (layout == "array") refuse(words[2], "a dense matrix ('array') is not a sparse tensor");
  if (layout != "coordinate") expected(words[2]);
  if (field == "complex") refuse(words[3], "complex values are not supported");
  if (field == "integer") {
    rules.integer_values = true;
  } else if (field == "pattern") {
    rules.has_value = false;
  } else if (field != "real" && field != "double") {
    expected(words[3]);
  }
  if (symmetry == "symmetric") {
    rules.symmetry = Symmetry::symmetric;
  } else if (symmetry == "skew-symmetric") {
    rules.symmetry = Symmetry::skew;
    if (!rules.has_value) refuse(words[4], "a pattern has no signs and cannot be skew-symmetric");
  } else if (symmetry == "hermitian") {
    refuse(words[4], "a hermitian matrix has complex values, which are not supported");
  } else if (symmetry != "general") {
    expected(words[4]);
  }
  if (auto const more = take_token(rest); !more.empty()) expected(more);
  Line const sizes = reader.next("the rows, columns and nonzeros");
  HeaderLine line(sizes, fault);
  if (line.expect_count(3, "rows, columns and nonzeros")) {
    reader.extent(line, 0);
    reader.extent(line, 1);
    if (!fault && rules.symmetry != Symmetry::none && reader.header.extents[0] != reader.header.extents[1])
      fault = Fault{sizes.number, line.column(), "a symmetric matrix is square: " + in_quotes(sizes.text)};
    reader.nnz(line);
  }
  return reader.finish(Dialect::matrix_market);
}

void write_matrix_market(std::filesystem::path const& path, CoordinateList const& tensor,
                         WriteOptions const& options) {
  if (tensor.order() != 2)
    throw UsageError("matrix-market holds order 2, not " + std::to_string(tensor.order()));
  WriteOptions from_one = options;
  from_one.index_base   = 1;
  write_coordinate_text(path, tensor,
                        "%%MatrixMarket matrix coordinate real general\n" + extents_line(tensor.extents) +
                            " " + std::to_string(tensor.nnz()) + "\n",
                        from_one);
}

}  // namespace

constinit DialectDefinition const matrix_market_dialect = {.name        = "matrix-market",
                                                           .endings     = matrix_market_endings,
                                                           .is_text     = true,
                                                           .read_header = read_matrix_market_header,
                                                           .write       = write_matrix_market};

constinit Dialect const Dialect::matrix_market(matrix_market_dialect);

}  // namespace polyad::io
