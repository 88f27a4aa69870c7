// SPDX-License-Identifier: BSD-3-Clause
#include "read_input.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "interrupt.hpp"
#include "polyad/io/tensor_file.hpp"
#include "progress.hpp"

namespace polyad::cli {

io::CoordinateList read_input(std::filesystem::path const& path, int index_base, CommonOptions const& common,
                              Report& report) {
  io::TnsFile file = io::read_tensor(path, {.index_base = index_base, .threads = common.threads});
  stop_if_interrupted("reading the tensor");
  InputReport input;
  input.path    = path.string();
  input.dialect = io::to_string(file.report.dialect);
  input.base    = file.report.index_base;
  input.dims    = file.tensor.extents;
  input.nnz     = file.tensor.nnz();
  input.read_s  = file.report.seconds;
  report.input  = input;
  if (common.verbose)
    fmt::print(stderr, "read {} ({}, base {}): {} lines, {:.1f} MB of text in {}, {:.0f} MB/s\n", input.path,
               io::to_string(file.report.compression), input.base, file.report.lines,
               static_cast<double>(file.report.text_bytes) / 1e6, duration_text(input.read_s),
               static_cast<double>(file.report.text_bytes) / 1e6 / input.read_s);
  return std::move(file.tensor);
}

std::string dims_text(std::vector<std::uint64_t> const& dims) {
  return fmt::format("{}", fmt::join(dims, " x "));
}

std::string tensor_text(InputReport const& input) {
  std::string text = fmt::format("{}, {} nonzeros", dims_text(input.dims), input.nnz);
  if (input.duplicates > 0)
    text +=
        fmt::format(" ({} {} summed)", input.duplicates, input.duplicates == 1 ? "duplicate" : "duplicates");
  return text;
}

}  // namespace polyad::cli
