// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/input_file.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "io/archive/zip.hpp"
#include "io/binary_kind.hpp"
#include "io/delimited/delimited_reader.hpp"
#include "io/readers.hpp"
#include "io/streams/decoder.hpp"
#include "io/streams/raw_input.hpp"

namespace polyad::io {

namespace {

InputFile::Kind kind_of_archive(RawInput& input) {
  ReadMemory memory;
  input.hold(memory);
  auto const members = list_zip(input);
  auto const has     = [&](std::string_view name) {
    return std::any_of(members.begin(), members.end(), [&](ZipMember const& m) { return m.name == name; });
  };
  if (has("weights.npy")) return InputFile::Kind::cp_model;
  if (has("core_0.npy")) return InputFile::Kind::fast_tucker_model;
  if (has("core.npy")) return InputFile::Kind::tucker_model;
  return InputFile::Kind::tensor;
}

}  // namespace

InputFile::InputFile(std::filesystem::path const& path) : m_input(std::make_unique<RawInput>(path)) {}
InputFile::~InputFile()                                     = default;
InputFile::InputFile(InputFile&& other) noexcept            = default;
InputFile& InputFile::operator=(InputFile&& other) noexcept = default;

InputFile::Kind InputFile::kind() {
  if (m_input->peek().starts_with("PK")) return kind_of_archive(*m_input);
  std::array<char, 64> start{};
  std::size_t size = 0;
  m_input->begin_look();
  {
    ReadMemory memory;
    size = make_decoder(*m_input, recognise(*m_input), memory)->read(start.data(), start.size());
  }
  m_input->look_again();
  std::string_view const text(start.data(), size);
  std::size_t const first = text.find_first_not_of(" \t\r\n");
  bool const is_model     = first != std::string_view::npos && text.substr(first).starts_with("ktensor");
  return is_model ? Kind::cp_model : Kind::tensor;
}

bool InputFile::is_table(ReadOptions const& options) {
  return !recognise_binary(*m_input) && find_table(*m_input, options);
}

TensorFile InputFile::read_tensor(ReadOptions const& options) {
  return io::read_tensor(*m_input, options);
}

TensorFile InputFile::read_tensor_part(ReadOptions const& options, FilePart const& part) {
  return io::read_tensor_part(*m_input, options, part);
}

HostKtensor InputFile::read_model() {
  return io::read_model(*m_input);
}

HostTucker InputFile::read_tucker() {
  return io::read_tucker(*m_input);
}

HostFastTucker InputFile::read_fast_tucker() {
  return io::read_fast_tucker(*m_input);
}

HostArray InputFile::read_array_npz(std::string const& name, std::size_t order) {
  return io::read_array_npz(*m_input, name, order);
}

std::map<int, HostArray> InputFile::read_factors_npz() {
  return io::read_factors_npz(*m_input);
}

std::vector<StoredRows> InputFile::read_rows_npz(std::vector<std::uint64_t>& extents) {
  return io::read_rows_npz(*m_input, extents);
}

RowNames InputFile::read_names_npz(std::vector<std::uint64_t> const& extents) {
  return io::read_names_npz(*m_input, extents);
}

}  // namespace polyad::io
