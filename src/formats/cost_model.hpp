// SPDX-License-Identifier: BSD-3-Clause
// The cost model: the bytes and seconds that a format of a tensor will take, before it is built. Free of
// Kokkos.
//
// A time is a sum of terms. Each term is the time of one kind of work at the machine's measured rates
// (Ceilings). Its weight depends on the format, the kind of machine and the scalar:
//
//   seconds of a mode = w_launch launch + w_stream bytes/copy + w_gather rows/gather + ...
//                       + w_hot rows/atomic
//
// The costs of a family are in formats/<family>/costs/costs.cpp: the rows and bytes that it moves. Its
// weights are in weights.hpp next to that file; scripts/fit_cost_model.py fits them to stored measurements.
// The test `cost_model` compares predictions with measurements (docs/which-format.md). Names: P nonzeros, N
// modes, I_n rows, R columns, s bytes per value.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "polyad/formats/ceilings.hpp"
#include "polyad/formats/format_candidate.hpp"
#include "polyad/tensor/survey.hpp"

namespace polyad::detail {

struct CostInput {
  TensorSurvey const& tensor;
  Ceilings const& machine;
  std::uint64_t rank = 0;
  int scalar_bytes   = 8;
  int index_bytes    = 4;
  /// Free memory where the tensor goes. What is streamed stays there up to this size.
  std::uint64_t free_bytes = 0;
  /// The kernels' memory is the host's, without the limit of a simulated device: what is streamed is part of
  /// it.
  bool one_memory = false;
  /// AnyFormatOptions::loading_bytes
  std::uint64_t loading_bytes = 0;
  /// AnyFormatOptions::only_mode, for the bytes of formats that then keep less.
  int only_mode = -1;

  [[nodiscard]] bool keeps(int n) const { return only_mode < 0 || only_mode == n; }
};

/// A term of a sum, and its name in weights and scripts.
template <class Terms>
struct Term {
  std::string_view name;
  double Terms::* value;
};

/// Terms of an MTTKRP's mode, in seconds at the ceilings; or their weights.
struct ModeTerms {
  double launch = 0;     // one launch
  double stream = 0;     // the format's arrays, copied once per block of columns
  double near   = 0;     // rows of the other factors, one per nonzero, at the rate of the smallest table;
                         // on a device whole blocks of columns
  double gather    = 0;  // their additional time, since the factors are larger
  double narrow    = 0;  // 64 bytes for each of these rows and blocks: the bytes fetched for a short row
  double upper     = 0;  // rows among those that are read once per fiber
  double output    = 0;  // V, written; on a device rows with gaps count for more
  double scattered = 0;  // 64 bytes per nonzero from a random place: coordinates by a permutation
  double atomics   = 0;  // atomic rows to a whole factor
  double hot       = 0;  // atomic rows if there are few
  double ordered   = 0;  // atomic rows in the order of the mode itself, so that neighbours meet

  // Only hosts have these terms (HostWalk). The unit is the time of a line of 64 bytes from that cache.
  double nonzeros   = 0;  // nonzeros in all passes: loops, indices
  double nodes      = 0;  // nodes or groups of nonzeros in all passes
  double second     = 0;  // lines of the other factors that the second-level cache misses
  double third      = 0;  // and those that the third-level cache misses
  double own_second = 0;  // the same of the output, if its rows are added to
  double own_third  = 0;
  double locks      = 0;  // rows that are locked
  double copies     = 0;  // rows of the output that threads keep copies of

  /// All of them, in the order of their sum.
  static constexpr auto all = std::to_array<Term<ModeTerms>>({{"launch", &ModeTerms::launch},
                                                              {"stream", &ModeTerms::stream},
                                                              {"near", &ModeTerms::near},
                                                              {"gather", &ModeTerms::gather},
                                                              {"narrow", &ModeTerms::narrow},
                                                              {"upper", &ModeTerms::upper},
                                                              {"output", &ModeTerms::output},
                                                              {"scattered", &ModeTerms::scattered},
                                                              {"atomics", &ModeTerms::atomics},
                                                              {"hot", &ModeTerms::hot},
                                                              {"ordered", &ModeTerms::ordered},
                                                              {"nonzeros", &ModeTerms::nonzeros},
                                                              {"nodes", &ModeTerms::nodes},
                                                              {"second", &ModeTerms::second},
                                                              {"third", &ModeTerms::third},
                                                              {"own_second", &ModeTerms::own_second},
                                                              {"own_third", &ModeTerms::own_third},
                                                              {"locks", &ModeTerms::locks},
                                                              {"copies", &ModeTerms::copies}});
};

/// Terms of a build.
struct BuildTerms {
  double mode    = 0;  // a launch for each mode; on a device one for each array of each mode's copy
  double stream  = 0;  // what is stored, copied
  double sort    = 0;  // each 8 bits of each word of the sorts' keys, with their positions, copied
  double scatter = 0;  // coordinates and values from random places, for each copy
  double rows    = 0;  // a flag and an index for each row of each mode
  double memory  = 0;  // a launch for each copy whose arrays are longer than an allocator keeps ready
  double search  = 0;  // the coordinates, compared once for each order that is tried (alto on a host)
  double windows = 0;  // the nonzeros of the windows in which each of these orders is examined

  static constexpr auto all = std::to_array<Term<BuildTerms>>({{"mode", &BuildTerms::mode},
                                                               {"stream", &BuildTerms::stream},
                                                               {"sort", &BuildTerms::sort},
                                                               {"scatter", &BuildTerms::scatter},
                                                               {"rows", &BuildTerms::rows},
                                                               {"memory", &BuildTerms::memory},
                                                               {"search", &BuildTerms::search},
                                                               {"windows", &BuildTerms::windows}});
};

/// Terms of the work in every iteration in addition to the MTTKRPs.
struct DenseTerms {
  double mode     = 0;  // a launch for each mode
  double rows     = 0;  // the factors, copied
  double cubes    = 0;  // (R/32)^3 launches for each mode: the R x R algebra
  double products = 0;  // R/32 times the factors, copied: the Gram matrices

  static constexpr auto all = std::to_array<Term<DenseTerms>>({{"mode", &DenseTerms::mode},
                                                               {"rows", &DenseTerms::rows},
                                                               {"cubes", &DenseTerms::cubes},
                                                               {"products", &DenseTerms::products}});
};

/// Whether Terms::all lists every term of Terms. A missing term would not be counted.
template <class Terms>
inline constexpr bool lists_its_terms = sizeof(Terms) == Terms::all.size() * sizeof(double);
static_assert(lists_its_terms<ModeTerms> && lists_its_terms<BuildTerms> && lists_its_terms<DenseTerms>);

/// Weights for each kind of machine and scalar.
template <class Weights>
struct ByMachine {
  Weights device_f32{}, device_f64{}, host_f32{}, host_f64{};

  [[nodiscard]] constexpr Weights const& of(CostInput const& input) const {
    bool const is_float = input.scalar_bytes == 4;
    if (input.machine.is_device) return is_float ? device_f32 : device_f64;
    return is_float ? host_f32 : host_f64;
  }
};

struct FormatWeights {
  ModeTerms mttkrp{};
  BuildTerms build{};
  double load_s = 0;  // Cost::load_s
};
using CostWeights = ByMachine<FormatWeights>;

/// How many terms of a row a walk sums before it adds them to a float of the output. 0: it sums long rows in
/// pieces, or leaves few sums to be added.
struct TermsAtOnce {
  std::uint64_t host   = 0;
  std::uint64_t device = 0;
  /// Whether a device's team adds such sums together where rows are long on average (kernel/team_sums.hpp).
  bool has_team_sums = false;
};

/// Nonzeros of a mode's rows.
struct RowLengths {
  std::uint64_t longest = 0;
  double average        = 0;
};

/// What a format states about itself. The bytes do not include the factors.
struct FormatCosts {
  std::string_view name;
  bool residual      = false;  // offers the residual sweep and least squares for rows (formats/format.hpp)
  bool deterministic = false;  // has a fixed order of summation, on devices too
  bool shares_the_tensor = false;  // uses its coordinates and values
  bool on_host           = false;  // keeps the tensor in host memory and streams it
  bool is_permuted       = false;  // a walk in a mode's order reads whole coordinates anywhere in memory
  TermsAtOnce terms_at_once{};     // for loses_digits()
  std::uint64_t (*storage_bytes)(CostInput const&);
  /// The most that a build holds in addition to the tensor's coordinates: what is stored by then, and
  /// scratch.
  std::uint64_t (*build_bytes)(CostInput const&);
  std::uint64_t (*workspace_bytes)(CostInput const&);
  ModeTerms (*mttkrp)(CostInput const&, int mode);
  BuildTerms (*build)(CostInput const&);
  CostWeights weights;
};

/// The predicted costs of a format of a tensor.
struct Cost {
  std::string_view name;
  std::uint64_t storage_bytes = 0;
  std::uint64_t build_bytes =
      0;  // the most that is held while it is built: coordinates, scratch, what is stored
  std::uint64_t run_bytes     = 0;  // what is stored, factors, outputs, scratch: held while it iterates
  std::uint64_t loading_bytes = 0;  // the most that is held before it is built
  /// What the first use of the format costs in a process: a device loads the kernels of the build and of the
  /// iterations.
  double load_s  = 0;
  double build_s = 0;
  std::vector<double> mode_s;  // an MTTKRP of each mode
  DensePart dense;             // part of an iteration, the same for all formats
  double iteration_s = 0;      // one iteration of CP-ALS
  /// The part of iteration_s for additions to rows that many threads access at the same time. It is the least
  /// certain part. Comparisons of formats therefore add a fifth to it.
  double crowded_s = 0;

  /// Whether the model has weights for this format on this kind of machine.
  [[nodiscard]] bool is_known() const { return mttkrp_s() > 0; }

  [[nodiscard]] std::uint64_t need_bytes() const { return std::max({loading_bytes, build_bytes, run_bytes}); }
  [[nodiscard]] double mttkrp_s() const;
  /// Seconds of a first build and this many iterations, for comparisons. A process pays load_s once however
  /// often it factors a tensor, and measurements of it vary by a factor of up to 1.75. Less than all of it
  /// counts, so that no format is chosen for a short load if it is much slower afterwards.
  [[nodiscard]] double total_s(double iterations) const {
    constexpr double caution = 0.2, loaded = 0.7;
    return loaded * load_s + build_s + iterations * (iteration_s + caution * crowded_s);
  }
};

/// The formats that the model covers, family by family.
[[nodiscard]] std::vector<FormatCosts> const& all_format_costs();
[[nodiscard]] FormatCosts const* find_format_costs(std::string_view name);

/// Whether floats of the output lose digits in the longest row. A float that adds 2^16 positive
/// terms of various sizes one by one is wrong by about 1e-5 of the sum, one that adds 4 million by 2e-3, and
/// one that adds 100 million by half. Equal terms are the worst: 1000 of them are wrong by 1e-5.
[[nodiscard]] bool loses_digits(FormatCosts const& format, bool is_device, int scalar_bytes,
                                RowLengths const& rows);

[[nodiscard]] Cost predict(FormatCosts const& format, CostInput const& input);

/// A survey of a tensor of which only the extents (polyad/core/types.hpp) and the number of nonzeros are
/// known.
template <class Extents>
[[nodiscard]] TensorSurvey survey_of_extents(Extents const& extents, std::uint64_t nnz) {
  TensorSurvey survey;
  survey.nnz = nnz;
  for (int n = 0; n < extents.order(); ++n) {
    ModeSurvey& mode  = survey.modes.emplace_back();
    mode.extent       = extents[n];
    mode.rows[0]      = mode.extent < nnz ? mode.extent : nnz;
    mode.nonzeros[0]  = nnz;
    mode.fibers       = static_cast<double>(nnz);
    mode.fibers_along = mode.fibers;
  }
  return survey;
}

/// Adds to an MTTKRP's walk the cost of a sweep of least squares for the rows, mode by mode: R (R + 1) / 2
/// products for each nonzero. Only on hosts: on devices it was not measured.
void add_row_solves(Cost& cost, FormatCosts const& format, CostInput const& input);

[[nodiscard]] DenseTerms dense_terms_of(CostInput const& input);
[[nodiscard]] DensePart dense_part(CostInput const& input);

/// Bytes of factors, of the longest mode's output, and of the R x R matrices.
[[nodiscard]] std::uint64_t model_bytes(CostInput const& input);
/// P (s + 4 N) bytes: the coordinates that every format is built from.
[[nodiscard]] std::uint64_t coordinate_bytes(CostInput const& input);

namespace costs {

// The terms that make up the families' costs.

/// Device memory that Kokkos takes for an instance of its execution space: scratch for reductions (72 KiB
/// with Kokkos 4) and some reserve.
inline constexpr std::uint64_t device_instance_bytes = 80 * 1024;

/// The nonzeros of a row that a device's thread sums in a long row: those of a chunk, or of a bin of a tree.
inline constexpr std::uint64_t of_a_chunk = 64;

/// Zero, for a format that needs no such bytes.
[[nodiscard]] std::uint64_t no_bytes(CostInput const& input);

/// Blocks of 32 columns.
[[nodiscard]] double passes(CostInput const& input);
[[nodiscard]] double row_bytes(CostInput const& input);
[[nodiscard]] double copy_seconds(CostInput const& input, double bytes);
/// The rate at which rows are gathered from a table of this many bytes.
[[nodiscard]] double gather_rate(Ceilings const& machine, double bytes);
/// The time to gather `bytes` of the row of `mode` for every nonzero. The fullest rows are in the nearest
/// caches.
[[nodiscard]] double gather_seconds(CostInput const& input, int mode, double bytes);
/// `first`, then the other modes from the shortest to the longest. `sorted` orders a copy this way, and trees
/// order their levels (level_modes, formats/csf/storage/csf_tree.hpp).
[[nodiscard]] std::vector<int> ordered_modes(CostInput const& input, int first);
/// The time of one row of a factor per nonzero from the nearest cache. The second function gives the
/// additional time for rows of `mode` that are not in that cache.
[[nodiscard]] double near_seconds(CostInput const& input);
[[nodiscard]] double far_seconds(CostInput const& input, int mode);
/// One atomic row of `mode` per nonzero.
[[nodiscard]] double atomic_seconds(CostInput const& input, int mode);
/// The same for rows that many nonzeros share, so that their additions wait for each other.
[[nodiscard]] double hot_seconds(CostInput const& input, int mode);
/// One atomic row of `mode` per nonzero, with the nonzeros in the order of that mode. Threads that run at the
/// same time then meet in the same rows.
[[nodiscard]] double ordered_seconds(CostInput const& input, int mode);
/// launch, stream (of `nonzero_bytes` each), near, gather, narrow and output
[[nodiscard]] ModeTerms walk(CostInput const& input, int mode, double nonzero_bytes);
/// near and gather
[[nodiscard]] double gathered(ModeTerms const& terms);

[[nodiscard]] double nonzeros_of(CostInput const& input);

/// The walk of a host's format over the nonzeros for one mode. All counts are of one pass.
struct HostWalk {
  double rows      = 0;       // rows of factors that are read for nonzeros, and of the output
  double node_rows = 0;       // the same for nodes or groups of nonzeros
  double nodes     = 0;       // nodes or groups
  double bytes     = 0;       // that the format streams
  std::vector<double> reads;  // rows of each mode that are read from anywhere
  double adds    = 0;         // rows of the output that are added to, anywhere
  double locks   = 0;         // and how many of them are locked
  double copies  = 0;         // rows of which threads keep copies, which are zeroed and then added up
  double lookups = 0;         // nonzeros that are read from anywhere in the coordinates
};
[[nodiscard]] ModeTerms host_walk(CostInput const& input, int mode, HostWalk const& walk);
/// The walk over nonzeros that are sorted by the modes of `levels`, in this order. The first one is the
/// output's. A tree reads the rows of a level once for each node, other formats for each nonzero.
[[nodiscard]] HostWalk sorted_host_walk(CostInput const& input, std::vector<int> const& levels, bool tree);
/// The most distinct tuples of indices in the modes of a mask, as far as the survey knows.
[[nodiscard]] double distinct_tuples(TensorSurvey const& tensor, std::uint64_t modes);
/// Atomic rows per nonzero at the ends of chunks, for a walk in the order of the mode (chunk_length,
/// kernel/chunk_walk.hpp). A chunk adds two. On devices with many chunks per row a team adds one
/// (kernel/team_sums.hpp).
[[nodiscard]] double border_rows(CostInput const& input, int mode);
/// Adds `rows` atomic rows per nonzero: atomics and hot.
void add_atomics(ModeTerms& terms, CostInput const& input, int mode, double rows);
/// A build that stores `stored` bytes and sorts the nonzeros `copies` times by the bits of all modes.
[[nodiscard]] BuildTerms sorted_build(CostInput const& input, std::uint64_t stored, int copies);
/// Bytes that sorting needs: keys and positions, twice.
[[nodiscard]] std::uint64_t sort_bytes(CostInput const& input, int key_bytes);
/// The most that a build holds which makes one copy after the other. The nonzeros are sorted, which takes
/// `sort` bytes. Once these are free again, the copy is made, in addition to the positions that the sort
/// found and `extra` more bytes.
[[nodiscard]] std::uint64_t build_in_turn(CostInput const& input, std::vector<std::uint64_t> const& copies,
                                          std::uint64_t sort, std::uint64_t extra);

}  // namespace costs

// Each defined in src/formats/<family>/costs/costs.cpp.
[[nodiscard]] std::vector<FormatCosts> coo_costs();
[[nodiscard]] std::vector<FormatCosts> csf_costs();
[[nodiscard]] std::vector<FormatCosts> fcoo_costs();
[[nodiscard]] std::vector<FormatCosts> blco_costs();

}  // namespace polyad::detail
