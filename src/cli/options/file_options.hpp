// SPDX-License-Identifier: BSD-3-Clause
// The user's options for the commands that convert, check and describe files, one struct per command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "polyad/io/delimited_text.hpp"

namespace polyad::cli {

/// Options with their values, as the report lists them: by their names, in the order of their declaration.
using OptionValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;

using OptionList = std::vector<std::pair<std::string, OptionValue>>;

/// Options that several commands share.
struct CommonOptions {
  std::filesystem::path report;  // empty: no report
  int threads         = 0;       // 0: as many as the machine has
  bool verbose        = false;
  bool quiet          = false;                 // no progress and no notes
  bool data_on_stdout = false;                 // stdout carries an output's data: results go to stderr
  std::optional<std::uint64_t> max_memory;     // bytes for reading tensors; none: all that is free
  io::DelimitedOptions table;                  // how tables of text are read
  std::vector<std::filesystem::path> outputs;  // all files that the command writes
  OptionList listed;                           // all options of the command, as the report lists them
  std::optional<std::uint64_t> seed;           // for commands that have one
};

/// A tensor and how it is to be read.
struct TensorInput {
  std::filesystem::path path;
  int index_base         = -1;      // -1: as the file says
  int index_base_of_text = -1;      // the base of rows that a text refers to; -1: as the file says
  std::string duplicates = "keep";  // or sum, last, error
  bool drop_zeros        = false;
  bool allow_non_finite  = false;
};

/// A command's tensor, whose duplicates are summed unless the user says otherwise.
struct SummedTensorOptions {
  CommonOptions common;
  std::filesystem::path tensor;
  int index_base         = -1;     // -1: as in the file
  std::string duplicates = "sum";  // or last, error
};

struct ConvertOptions {
  CommonOptions common;
  TensorInput input;
  std::filesystem::path output;
  std::string to;  // a dialect; empty: by the ending
  std::string precision = "f64";
  bool packed           = false;
  int output_base       = -1;     // the number of the first index in a text; -1: as it was read
  bool force            = false;  // the output may be the input
};

struct CheckOptions {
  CommonOptions common;
  TensorInput input;
  std::filesystem::path fixed;  // empty: nothing is fixed
  bool force = false;           // it may be the input
};

struct CompareOptions {
  CommonOptions common;
  std::filesystem::path a, b;
  std::optional<double> at_least;  // none: the default of the comparison
  int index_base = -1;             // the first row's number in texts; -1: as the model says, or the files
};

struct GenOptions {
  CommonOptions common;
  std::string kind = "uniform";
  std::vector<std::uint64_t> dims;
  std::uint64_t nnz  = 0;
  std::uint64_t rank = 4;
  double skew        = 1;
  double noise       = 0.5;
  std::uint64_t seed = 0;
  std::filesystem::path output, model;
  std::string to;
};

struct MttkrpOptions {
  CommonOptions common;
  TensorInput input;
  std::string mode_text;  // as typed: its number or name
  int mode = 0;
  std::filesystem::path factors, output;
};

}  // namespace polyad::cli
