// SPDX-License-Identifier: BSD-3-Clause
// TensorByRank: a tensor in formats, of which this rank has all nonzeros or some. For cp_als and tucker.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "polyad/core/types.hpp"
#include "polyad/formats/any_format.hpp"

namespace polyad {

namespace detail {
template <class Scalar, class Space>
class RowDistribution;
}

/// Largest over mean of all ranks: 1 is perfect.
struct Imbalance {
  double nonzeros = 1;
  double rows     = 1;
  double bytes    = 1;  // nonzeros, factors and products
};

/// What one of several ranks will hold in a run that divides the rows of every mode, for the plan of its
/// memory: `owned_rows` (distributed/distribute.hpp) counts it.
struct OwnedRows {
  struct OfMode {
    count_t rows = 0;
    count_t nnz  = 0;  // in these rows
  };
  std::vector<OfMode> modes;
  count_t part    = 0;  // nonzeros that this rank has before they are exchanged
  count_t nnz     = 0;  // the nonzeros of all ranks together
  int ranks       = 1;
  int rank        = 0;
  int longest     = 0;      // the mode with the most rows
  bool is_ordered = false;  // every part is in lexicographic order, and has no nonzero twice
  bool by_mpi     = false;  // MPI adds up arrays in host memory, and copies them

  /// The most nonzeros of a mode.
  [[nodiscard]] count_t most_nnz() const {
    count_t most = 0;
    for (auto const& mode : modes) most = std::max(most, mode.nnz);
    return most;
  }
};

/// Shares its formats when copied. `tensor_by_rank` and `distribute_rows` (distributed/distribute.hpp) make
/// one of several ranks.
template <class Scalar, class Space>
class TensorByRank {
public:
  using Format = AnyFormat<Scalar, Space>;
  using Rows   = std::shared_ptr<detail::RowDistribution<Scalar, Space>>;

  /// Facts about the whole tensor, the same on all ranks.
  struct Facts {
    Extents extents;
    count_t nnz = 0, duplicates = 0;  // the duplicates were summed
    double norm_squared = 0;
    Imbalance imbalance = {};
  };

  /// A tensor that this rank has alone.
  TensorByRank(Space const& space, Format X);
  /// \param formats  hold this rank's nonzeros: one for all modes, or one for each mode
  TensorByRank(Facts facts, std::vector<Format> formats, Rows rows)
      : m_facts(std::move(facts)), m_formats(std::move(formats)), m_rows(std::move(rows)) {}

  [[nodiscard]] Extents const& extents() const { return m_facts.extents; }
  [[nodiscard]] count_t nnz() const { return m_facts.nnz; }
  [[nodiscard]] count_t duplicates() const { return m_facts.duplicates; }
  [[nodiscard]] double norm_squared() const { return m_facts.norm_squared; }
  [[nodiscard]] Imbalance const& imbalance() const { return m_facts.imbalance; }

  [[nodiscard]] std::vector<Format> const& formats() const { return m_formats; }
  /// The format that mode n is computed with, and its number among formats().
  [[nodiscard]] Format const& format(int n) const { return m_formats[format_number(n)]; }
  [[nodiscard]] std::size_t format_number(int n) const {
    return std::min<std::size_t>(n, m_formats.size() - 1);
  }
  [[nodiscard]] std::string chosen() const { return m_formats.front().chosen(); }
  /// All formats of this rank together.
  [[nodiscard]] FormatFacts format_facts() const {
    auto const& first = m_formats.front();
    FormatFacts facts{first.chosen(), first.chosen_because(), 0, 0, first.candidates()};
    for (auto const& format : m_formats) {
      facts.storage_bytes += format.storage_bytes();
      facts.build_s += format.build_seconds();
      if (facts.warning.empty()) facts.warning = format.warning();
    }
    return facts;
  }
  /// How the rows are divided; never null.
  [[nodiscard]] Rows const& rows() const { return m_rows; }

private:
  Facts m_facts;
  std::vector<Format> m_formats;
  Rows m_rows;
};

}  // namespace polyad
