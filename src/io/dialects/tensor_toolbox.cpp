// SPDX-License-Identifier: BSD-3-Clause
// The text of the Tensor Toolbox for MATLAB, of pyttb and of GenTen: "sptensor", N, the extents, nnz, each on
// a separate line.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/dialects/registry.hpp"
#include "io/quoted.hpp"
#include "io/text/header_reader.hpp"
#include "io/text/tns_writer.hpp"
#include "io/text/tokens.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;
using Line = LeadingBlocks::Line;

std::optional<TextHeader> read_tensor_toolbox_header(LeadingBlocks& lines, std::optional<Fault>& fault) {
  Line const first            = *lines.next();
  std::string_view rest       = first.text;
  std::string_view const word = take_token(rest);
  if (word == "tensor"sv || word == "ktensor"sv || word == "matrix"sv || word == "facmatrix"sv) {
    fault =
        Fault{first.number, static_cast<std::uint64_t>(word.data() - first.text.data()) + 1,
              "holds a " + std::string(word) + " of the Tensor Toolbox, not a sparse tensor ('sptensor')"};
    return TextHeader{};
  }
  if (word != "sptensor"sv) return std::nullopt;
  HeaderReader reader(lines, first, fault);
  std::string_view const origin = take_token(rest);
  std::string_view const more   = take_token(rest);
  if (origin == "indices-start-at-zero"sv || origin == "indices-start-at-one"sv) {
    reader.header.rules.index_base = origin == "indices-start-at-zero"sv ? 0 : 1;
  } else if (!origin.empty()) {
    fault = Fault{
        first.number, static_cast<std::uint64_t>(origin.data() - first.text.data()) + 1,
        "expected 'indices-start-at-zero', 'indices-start-at-one' or nothing, found " + in_quotes(origin)};
  }
  if (!more.empty() && !fault)
    fault = Fault{first.number, static_cast<std::uint64_t>(more.data() - first.text.data()) + 1,
                  "expected the end of the line, found " + in_quotes(more)};
  HeaderLine order(reader.next("the number of modes"), fault);
  if (order.expect_count(1, "the number of modes alone")) reader.order(order);
  reader.extents(reader.next("the extents"));
  HeaderLine nnz(reader.next("the number of nonzeros"), fault);
  if (nnz.expect_count(1, "the number of nonzeros alone")) reader.nnz(nnz);
  return reader.finish(Dialect::tensor_toolbox);
}

void write_tensor_toolbox(std::filesystem::path const& path, CoordinateList const& tensor,
                          WriteOptions const& options) {
  std::string const order = std::to_string(tensor.order()), nnz = std::to_string(tensor.nnz());
  write_coordinate_text(path, tensor,
                        std::string("sptensor") +
                            (options.index_base == 0 ? " indices-start-at-zero\n" : "\n") + order + "\n" +
                            extents_line(tensor.extents) + "\n" + nnz + "\n",
                        options);
}

}  // namespace

constinit DialectDefinition const tensor_toolbox_dialect = {.name        = "tensor-toolbox",
                                                            .is_text     = true,
                                                            .read_header = read_tensor_toolbox_header,
                                                            .write       = write_tensor_toolbox};

constinit Dialect const Dialect::tensor_toolbox(tensor_toolbox_dialect);

}  // namespace polyad::io
