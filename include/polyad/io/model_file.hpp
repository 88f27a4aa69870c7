// SPDX-License-Identifier: BSD-3-Clause
// Model files of either kind: written by the ending of the name, read by the content.
#pragma once

#include <filesystem>

#include "polyad/io/host_ktensor.hpp"

namespace polyad::io {

enum class ModelKind { text, npz };

/// .ktns or .txt: text; .npz: npz.
/// \throws UsageError for other endings
[[nodiscard]] ModelKind model_kind(std::filesystem::path const& path);

/// \param single_precision  the model was computed in float: an npz then holds floats
void write_model(std::filesystem::path const& path, HostKtensor const& model, bool single_precision = false);

/// Whether the file begins as a model does: it may still turn out damaged. \throws InputError when it cannot
/// be read
[[nodiscard]] bool is_model_file(std::filesystem::path const& path);

[[nodiscard]] HostKtensor read_model(std::filesystem::path const& path);

}  // namespace polyad::io
