// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/array_npz.hpp"

#include <utility>

#include "io/archive/npz_arrays.hpp"
#include "io/archive/npz_names.hpp"
#include "io/quoted.hpp"
#include "io/readers.hpp"
#include "io/streams/raw_input.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

HostArray read_array_npz(std::filesystem::path const& path, std::string const& name, std::size_t order) {
  RawInput input(path);
  return read_array_npz(input, name, order);
}

HostArray read_array_npz(RawInput& input, std::string const& name, std::size_t order) {
  NpzReader const archive(input);
  if (!archive.has(name)) archive.expect("an archive with an array " + in_quotes(name));
  auto array = archive.require(name, order);
  return {std::move(array.shape), std::move(array.elements)};
}

std::map<int, HostArray> read_factors_npz(std::filesystem::path const& path) {
  RawInput input(path);
  return read_factors_npz(input);
}

std::map<int, HostArray> read_factors_npz(RawInput& input) {
  NpzReader const archive(input);
  if (!archive.has("factor_0")) archive.expect("an archive of factors");
  std::map<int, HostArray> factors;
  for (int n = 0; n < 16; ++n) {
    auto factor = archive.read("factor_" + std::to_string(n), 2);
    if (factor) factors[n] = {std::move(factor->shape), std::move(factor->elements)};
  }
  if (factors.empty()) throw InputError(archive.name(), 0, 0, "holds no array 'factor_0', 'factor_1', ...");
  return factors;
}

std::vector<StoredRows> read_rows_npz(std::filesystem::path const& path,
                                      std::vector<std::uint64_t>& extents) {
  RawInput input(path);
  return read_rows_npz(input, extents);
}

std::vector<StoredRows> read_rows_npz(RawInput& input, std::vector<std::uint64_t>& extents) {
  return NpzReader(input).read_rows(extents);
}

RowNames read_names_npz(std::filesystem::path const& path, std::vector<std::uint64_t> const& extents) {
  RawInput input(path);
  return read_names_npz(input, extents);
}

RowNames read_names_npz(RawInput& input, std::vector<std::uint64_t> const& extents) {
  return NpzReader(input).read_names(extents);
}

void write_arrays_npz(std::filesystem::path const& path, std::map<std::string, HostArray> const& arrays,
                      bool single_precision, std::vector<StoredRows> const& rows, RowNames const& names) {
  AtomicFile file(path);
  ZipWriter zip(file, false);
  for (auto const& [name, array] : arrays)
    add_array(zip, name, array.shape, array.elements, single_precision);
  add_rows(zip, rows);
  add_names(zip, names);
  zip.finish();
  file.commit();
}

}  // namespace polyad::io
