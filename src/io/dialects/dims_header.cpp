// SPDX-License-Identifier: BSD-3-Clause
// The text of ParTI and B-CSF: N, then a line of N extents.
#include <optional>
#include <string>

#include "io/dialects/registry.hpp"
#include "io/text/header_reader.hpp"
#include "io/text/tns_writer.hpp"
#include "io/text/tokens.hpp"

namespace polyad::io {

namespace {

std::optional<TextHeader> read_dims_header(LeadingBlocks& lines, std::optional<Fault>& fault) {
  auto const first = *lines.next();
  if (count_tokens(first.text) != 1 || !all_unsigned(first.text)) return std::nullopt;
  HeaderReader reader(lines, first, fault);
  HeaderLine order(first, fault);
  reader.order(order);
  reader.extents(reader.next("the extents"));
  return reader.finish(Dialect::dims_header);
}

void write_dims_header(std::filesystem::path const& path, CoordinateList const& tensor,
                       WriteOptions const& options) {
  write_coordinate_text(path, tensor,
                        std::to_string(tensor.order()) + "\n" + extents_line(tensor.extents) + "\n", options);
}

}  // namespace

constinit DialectDefinition const dims_header_dialect = {.name                  = "dims-header",
                                                         .is_text               = true,
                                                         .shows_base_by_indices = true,
                                                         .read_header           = read_dims_header,
                                                         .write                 = write_dims_header};

constinit Dialect const Dialect::dims_header(dims_header_dialect);

}  // namespace polyad::io
