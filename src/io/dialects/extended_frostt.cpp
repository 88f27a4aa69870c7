// SPDX-License-Identifier: BSD-3-Clause
// FROSTT's text with a header: "N nnz", then a line of N extents (the sparse compiler of MLIR writes it).
#include <cstdint>
#include <optional>
#include <string>

#include "io/dialects/registry.hpp"
#include "io/text/header_reader.hpp"
#include "io/text/tns_writer.hpp"
#include "io/text/tokens.hpp"

namespace polyad::io {

namespace {

std::uint64_t tokens_in(std::optional<LeadingBlocks::Line> const& line) {
  return line ? static_cast<std::uint64_t>(count_tokens(line->text)) : 0;
}

std::optional<TextHeader> read_extended_frostt_header(LeadingBlocks& lines, std::optional<Fault>& fault) {
  auto const first = *lines.next();
  if (count_tokens(first.text) != 2 || !all_unsigned(first.text)) return std::nullopt;
  std::string_view rest = first.text;
  std::uint64_t modes   = 0;
  (void)read_unsigned(take_token(rest), "", modes);
  auto const second = lines.next(), third = lines.next();
  // Lines of two numbers throughout are indices and values of order 1.
  bool const extents = tokens_in(second) == modes && modes != 2;
  bool const lists   = modes >= 2 && modes <= most_modes && tokens_in(third) == modes + 1;
  if (!second || !(extents || lists)) return std::nullopt;
  HeaderReader reader(lines, first, fault);
  HeaderLine numbers(first, fault);
  reader.order(numbers);
  reader.nnz(numbers);
  if (!fault) reader.extents(*second);
  auto header  = reader.finish(Dialect::extended_frostt);
  header.lines = second->number;
  return header;
}

void write_extended_frostt(std::filesystem::path const& path, CoordinateList const& tensor,
                           WriteOptions const& options) {
  write_coordinate_text(path, tensor,
                        "# extended FROSTT format\n" + std::to_string(tensor.order()) + " " +
                            std::to_string(tensor.nnz()) + "\n" + extents_line(tensor.extents) + "\n",
                        options);
}

}  // namespace

constinit DialectDefinition const extended_frostt_dialect = {.name                  = "extended-frostt",
                                                             .is_text               = true,
                                                             .shows_base_by_indices = true,
                                                             .read_header = read_extended_frostt_header,
                                                             .write       = write_extended_frostt};

constinit Dialect const Dialect::extended_frostt(extended_frostt_dialect);

}  // namespace polyad::io
