// SPDX-License-Identifier: BSD-3-Clause
// A file read by several threads, each of them a part, put together again. All parts must end alike.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "polyad/core/error.hpp"
#include "polyad/io/tensor_file.hpp"
#include "support/catch.hpp"

namespace polyad::test {

/// Exit code and text of an error of the library; nothing of none.
inline std::pair<int, std::string> ending_of(std::exception_ptr const& error) {
  if (!error) return {0, ""};
  try {
    std::rethrow_exception(error);
  } catch (Error const& known) {
    return {static_cast<int>(known.exit_code()), known.what()};
  }
}

/// Each part's nonzeros.
/// \throws what every part throws, the same
inline std::vector<io::TensorFile> read_parts(std::filesystem::path const& path,
                                              io::ReadOptions const& options, int parts) {
  auto const count = static_cast<std::size_t>(parts);
  std::vector<std::vector<std::uint64_t>> said(count);
  std::barrier together(parts);
  std::vector<io::TensorFile> files(count);
  std::vector<std::exception_ptr> errors(count);
  std::vector<std::thread> threads;
  for (int k = 0; k < parts; ++k)
    threads.emplace_back([&, own = static_cast<std::size_t>(k)] {
      io::FilePart part;
      part.part  = static_cast<int>(own);
      part.parts = parts;
      part.share = [&](std::vector<std::uint64_t> const& words) {
        said[own] = words;
        together.arrive_and_wait();
        auto const all = said;
        together.arrive_and_wait();
        return all;
      };
      try {
        files[own] = io::read_tensor_part(path, options, part);
      } catch (...) {
        errors[own] = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  for (auto const& error : errors) REQUIRE(ending_of(error) == ending_of(errors[0]));
  if (errors[0]) std::rethrow_exception(errors[0]);
  return files;
}

/// The parts one after the other.
inline io::TensorFile read_in_parts(std::filesystem::path const& path, io::ReadOptions const& options,
                                    int parts) {
  auto files           = read_parts(path, options, parts);
  io::TensorFile whole = files[0];
  for (std::size_t k = 1; k < files.size(); ++k) {
    REQUIRE(files[k].tensor.extents == whole.tensor.extents);
    REQUIRE(files[k].report.lines == whole.report.lines);
    REQUIRE(files[k].report.text_bytes == whole.report.text_bytes);
    REQUIRE(files[k].report.zeros == whole.report.zeros);
    REQUIRE(files[k].report.index_base == whole.report.index_base);
    REQUIRE(files[k].tensor.indices.index() == whole.tensor.indices.index());
    std::visit(
        [&](auto& indices) {
          using List       = std::remove_reference_t<decltype(indices)>;
          auto const& more = std::get<List>(files[k].tensor.indices);
          indices.insert(indices.end(), more.begin(), more.end());
        },
        whole.tensor.indices);
    whole.tensor.values.insert(whole.tensor.values.end(), files[k].tensor.values.begin(),
                               files[k].tensor.values.end());
  }
  return whole;
}

}  // namespace polyad::test
