// SPDX-License-Identifier: BSD-3-Clause
// A file that is opened once, recognised by its content, and then read. So it can also be a pipe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "polyad/io/array_npz.hpp"
#include "polyad/io/fast_tucker_file.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

class RawInput;

class InputFile {
public:
  /// What a file holds, by its first bytes or the names of its arrays. It may still turn out damaged.
  enum class Kind { tensor, cp_model, tucker_model, fast_tucker_model };

  /// \throws InputError when the file is missing, a directory or not readable
  explicit InputFile(std::filesystem::path const& path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;

  /// Call it before reading. \throws InputError, such as for an archive that is cut short
  [[nodiscard]] Kind kind();

  /// Whether the file is a table of text, whose ids are labels. Call it before reading. \throws InputError
  [[nodiscard]] bool is_table(ReadOptions const& options = {});

  // Each reads the file like the function of that name that takes a path. An archive can be read again.
  [[nodiscard]] TensorFile read_tensor(ReadOptions const& options = {});
  [[nodiscard]] TensorFile read_tensor_part(ReadOptions const& options, FilePart const& part);
  [[nodiscard]] HostKtensor read_model();
  [[nodiscard]] HostTucker read_tucker();
  [[nodiscard]] HostFastTucker read_fast_tucker();
  [[nodiscard]] HostArray read_array_npz(std::string const& name, std::size_t order);
  [[nodiscard]] std::map<int, HostArray> read_factors_npz();
  [[nodiscard]] std::vector<StoredRows> read_rows_npz(std::vector<std::uint64_t>& extents);
  [[nodiscard]] RowNames read_names_npz(std::vector<std::uint64_t> const& extents);

private:
  std::unique_ptr<RawInput> m_input;
};

}  // namespace polyad::io
