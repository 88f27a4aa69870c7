// SPDX-License-Identifier: BSD-3-Clause
// Saves and loads models. A file is written completely or not at all. The ending of its name decides its kind
// when it is written, and its content when it is read (docs/file-formats.md). Scalar is the type in memory.
//
// Lists of stored rows (tensor/compact.hpp) are saved and loaded with a model. The names of its modes and
// rows are not part of a model in memory: they are passed when it is saved, and read_row_names reads them.
//
//   save(space, result.model, "model.npz");
//   auto const model = load_ktensor<double>(space, "model.npz");
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "polyad/io/fast_tucker_file.hpp"
#include "polyad/io/labels.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"
#include "polyad/tensor/ktensor.hpp"
#include "polyad/tensor/tucker_model.hpp"

namespace polyad {

/// A CP model: .npz, or .ktns and .txt for text. Waits for `space`.
/// \param names  the names of the rows; text has labels in a file next to it (docs/file-formats.md)
/// \throws UsageError for another ending, or names of other sizes; WriteError, and the previous file then
///         stays
template <class Scalar, class Space>
void save(Space const& space, Ktensor<Scalar, Space> const& model, std::filesystem::path const& path,
          io::RowNames const& names = {});
/// Waits for `space`. \throws InputError for a file that is damaged or not a CP model; MemoryError
template <class Scalar, class Space>
[[nodiscard]] Ktensor<Scalar, Space> load_ktensor(Space const& space, std::filesystem::path const& path);

/// A Tucker model: .npz with "core" (R_0 x ... x R_{N-1}) and "factor_n" (I_n x R_n). Waits for `space`.
/// \throws UsageError for another ending, or names of other sizes; WriteError, and the previous file then
///         stays
template <class Scalar, class Space>
void save(Space const& space, TuckerModel<Scalar, Space> const& model, std::filesystem::path const& path,
          io::RowNames const& names = {});
/// Waits for `space`. \throws InputError for a file that is damaged or not a Tucker model; MemoryError
template <class Scalar, class Space>
[[nodiscard]] TuckerModel<Scalar, Space> load_tucker(Space const& space, std::filesystem::path const& path);

/// A FastTucker model: .npz (io/fast_tucker_file.hpp). Waits for `space`.
/// \param observed  which rows have entries in the training set, as RankingOptions::observed has it
/// \param fit       how the rows were fitted: row_fit (fast_tucker/fast_tucker.hpp)
/// \throws UsageError for another ending, or names of other sizes; WriteError, and the previous file then
///         stays
template <class Scalar, class Space>
void save(Space const& space, FastTuckerModel<Scalar, Space> const& model, std::filesystem::path const& path,
          io::RowNames const& names = {}, std::vector<std::vector<std::uint8_t>> const& observed = {},
          std::optional<RowFit> const& fit = {});
/// Waits for `space`. \throws InputError for a file that is damaged or not a FastTucker model; MemoryError
template <class Scalar, class Space>
[[nodiscard]] FastTuckerModel<Scalar, Space> load_fast_tucker(Space const& space,
                                                              std::filesystem::path const& path);

namespace io {

/// The names of the rows of a model of any kind. \throws InputError
[[nodiscard]] RowNames read_row_names(std::filesystem::path const& path);

/// The models as the files hold them, in host memory and double precision. Each waits for `space`.
template <class Scalar, class Space>
[[nodiscard]] HostKtensor to_host_model(Space const& space, Ktensor<Scalar, Space> const& model);
template <class Scalar, class Space>
[[nodiscard]] HostFastTucker to_host_model(Space const& space, FastTuckerModel<Scalar, Space> const& model);

/// All of a FastTucker model except its factors, which stay empty. Waits for `space`.
template <class Scalar, class Space>
[[nodiscard]] HostFastTucker without_factors(Space const& space, FastTuckerModel<Scalar, Space> const& model);

/// Converts back, with shapes as in the file. Each waits for `space`.
/// \throws UsageError unless the arrays have the sizes that host says, or if a number would become infinite
///         or zero as Scalar; MemoryError before allocating
template <class Scalar, class Space>
[[nodiscard]] Ktensor<Scalar, Space> to_model(Space const& space, HostKtensor const& host);
template <class Scalar, class Space>
[[nodiscard]] FastTuckerModel<Scalar, Space> to_model(Space const& space, HostFastTucker const& host);

}  // namespace io

}  // namespace polyad
