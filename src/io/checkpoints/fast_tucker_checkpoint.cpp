// SPDX-License-Identifier: BSD-3-Clause
// Writing and reading share one traversal of the fields, so that they cannot disagree.
#include <bit>
#include <fstream>
#include <limits>
#include <string_view>

#include "io/checkpoints/checkpoint_fields.hpp"
#include "io/text/line_parser.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/checkpoint.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;

constexpr auto fast_tucker_magic = "\x89PFTK\r\n\x1A"sv;
// Version 1 has neither choice_epochs nor left_to_biases, and 2 has no bias_damping.
constexpr std::uint64_t fast_tucker_version = 3;
constexpr std::uint64_t longest_asked       = 4096;

/// The archive that writes the fields.
class Writes {
public:
  explicit Writes(AtomicFile& file) : m_writer(file) { m_writer.bytes(fast_tucker_magic); }
  void u64(std::uint64_t& x, std::uint64_t = 0) { m_writer.u64(x); }
  void f64(double& x) { m_writer.f64(x); }
  void text(std::string& x, std::uint64_t) { m_writer.text(x); }
  void u64s(std::vector<std::uint64_t>& x) {
    for (std::uint64_t const number : x) m_writer.u64(number);
  }
  void numbers(std::vector<double>& x, std::uint64_t rows, std::uint64_t columns) {
    std::uint64_t size = 0;
    if (__builtin_mul_overflow(rows, columns, &size) || x.size() != size)
      refuse("has " + std::to_string(x.size()) + " numbers, not " + std::to_string(rows) + " x " +
             std::to_string(columns));
    m_writer.numbers(x);
  }
  void matrix(std::vector<double>& x, std::uint64_t rows, std::uint64_t columns) {
    numbers(x, rows, columns);
  }
  void matrix(FastTuckerSnapshot::Matrix const& x, std::uint64_t rows, std::uint64_t columns) {
    if (x.rows != rows || x.columns != columns)
      refuse("has a matrix of " + std::to_string(x.rows) + " x " + std::to_string(x.columns) + ", not " +
             std::to_string(rows) + " x " + std::to_string(columns));
    x.for_each_block([&](std::span<double const> block) { m_writer.numbers(block); });
  }
  template <class List>
  void resize(List& list, std::uint64_t size) {
    if (list.size() != size)
      refuse("has " + std::to_string(list.size()) + " arrays, not " + std::to_string(size));
  }
  [[noreturn]] void refuse(std::string const& what) const {
    throw UsageError("a state of fast_tucker " + what);
  }
  void finish() { m_writer.finish(); }

private:
  FieldWriter m_writer;
};

/// The archive that reads the fields.
class Reads {
public:
  Reads(std::string const& file, std::string_view fields) : m_reader(file, fields) {}
  /// \param most  refuses more
  void u64(std::uint64_t& x, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    x = m_reader.u64();
    if (x > most)
      refuse("holds " + std::to_string(x) + " where at most " + std::to_string(most) + " makes sense");
  }
  void f64(double& x) { x = m_reader.f64(); }
  void text(std::string& x, std::uint64_t longest) { x = m_reader.text(longest); }
  void u64s(std::vector<std::uint64_t>& x) {
    for (std::uint64_t& number : x) number = m_reader.u64();
  }
  void numbers(std::vector<double>& x, std::uint64_t rows, std::uint64_t columns) {
    x = m_reader.numbers(rows, columns);
  }
  void matrix(std::vector<double>& x, std::uint64_t rows, std::uint64_t columns) {
    numbers(x, rows, columns);
  }
  template <class List>
  void resize(List& list, std::uint64_t size) {
    list.resize(size);
  }
  [[noreturn]] void refuse(std::string const& what) { m_reader.fields().refuse("the checkpoint " + what); }
  void finish() {
    if (m_reader.fields().left() != 0) refuse("holds more than it says");
  }

private:
  CheckpointReader m_reader;
};

/// The archive that reads the fields from the file itself and skips the matrices. What is wrong with the file
/// is for Reads to say.
class ReadsFacts {
public:
  explicit ReadsFacts(std::filesystem::path const& path) : m_file(path, std::ios::binary) {
    if (take(fast_tucker_magic.size()) != fast_tucker_magic) refuse("");
  }
  void u64(std::uint64_t& x, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    auto const bytes = take(sizeof x);
    x                = FieldReader({}, bytes).u64();
    if (x > most) refuse("");
  }
  void f64(double& x) {
    std::uint64_t bits = 0;
    u64(bits);
    x = std::bit_cast<double>(bits);
  }
  void text(std::string& x, std::uint64_t longest) {
    std::uint64_t size = 0;
    u64(size, longest);
    x = take(size);
  }
  void u64s(std::vector<std::uint64_t>& x) {
    for (std::uint64_t& number : x) u64(number);
  }
  void numbers(std::vector<double>& x, std::uint64_t rows, std::uint64_t columns) {
    std::uint64_t size = 0;
    if (__builtin_mul_overflow(rows, columns, &size)) refuse("");
    x.clear();
    while (x.size() < size) f64(x.emplace_back());
  }
  void matrix(std::vector<double>&, std::uint64_t rows, std::uint64_t columns) {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(rows, columns, &bytes) || __builtin_mul_overflow(bytes, 8, &bytes) ||
        bytes > std::numeric_limits<std::int64_t>::max())
      refuse("");
    m_file.seekg(static_cast<std::int64_t>(bytes), std::ios::cur);
  }
  template <class List>
  void resize(List& list, std::uint64_t size) {
    list.resize(size);
  }
  [[noreturn]] void refuse(std::string const&) const { throw InputError("", 0, 0, ""); }

private:
  std::string take(std::uint64_t size) {
    std::string bytes(size, '\0');
    m_file.read(bytes.data(), std::ssize(bytes));
    if (!m_file) refuse("");
    return bytes;
  }

  std::ifstream m_file;
};

template <class Archive>
void flag(Archive& archive, bool& x) {
  std::uint64_t number = x ? 1 : 0;
  archive.u64(number, 1);
  if (x != (number == 1)) x = !x;  // a writer changes nothing
}

/// A list of up to `most` numbers, its length first.
template <class Archive>
std::uint64_t length(Archive& archive, std::size_t size, std::uint64_t most) {
  std::uint64_t number = size;
  archive.u64(number, most);
  return number;
}

template <class Archive>
void u64_list(Archive& archive, std::vector<std::uint64_t>& list, std::uint64_t most) {
  archive.resize(list, length(archive, list.size(), most));
  archive.u64s(list);
}

template <class Archive>
void f64_list(Archive& archive, std::vector<double>& list, std::uint64_t most) {
  archive.numbers(list, length(archive, list.size(), most), 1);
}

template <class Archive>
void errors(Archive& archive, PredictionErrors& of) {
  archive.u64(of.entries);
  archive.f64(of.rmse);
  archive.f64(of.mae);
}

/// One matrix for each mode, I_n or J_n x the number that `columns` returns. None at all if `there` is false.
template <class Archive, class List, class Rows, class Columns>
void matrices(Archive& archive, bool there, List& list, std::size_t order, Rows const& rows,
              Columns const& columns) {
  archive.resize(list, there ? order : 0);
  for (std::size_t n = 0; n < list.size(); ++n) archive.matrix(list[n], rows(n), columns(n));
}

/// The chosen options.
template <class Archive>
void chosen(Archive& archive, FastTuckerState& state, std::uint64_t order, std::uint64_t of_version) {
  archive.u64(state.rank);
  if (state.rank == 0) archive.refuse("has no components");
  archive.resize(state.columns, order);
  archive.u64s(state.columns);
  for (std::uint64_t const J : state.columns)
    if (J == 0) archive.refuse("has a factor without columns");
  u64_list(archive, state.targets, order);
  for (std::uint64_t const target : state.targets)
    if (target > 2) archive.refuse("has an unknown target of rows");
  f64_list(archive, state.shrinkage, 3);
  f64_list(archive, state.ridge, 1);
  if ((!state.targets.empty() && state.targets.size() != order) ||
      (!state.shrinkage.empty() && state.shrinkage.size() != 3))
    archive.refuse("has targets or a shrinkage of another length");
  flag(archive, state.ridge_per_entry);
  u64_list(archive, state.drift_bins, order);
  f64_list(archive, state.drift_damping, order);
  if (state.drift_bins.size() != state.drift_damping.size()) archive.refuse("has drifts without damping");
  flag(archive, state.has_choice);
  archive.u64(state.candidates, std::numeric_limits<int>::max());
  archive.f64(state.choice_s);
  errors(archive, state.choice_biases);
  errors(archive, state.choice_model);
  if (of_version < 2) {
    // As many as earlier versions have. A state that is written has them.
    std::uint64_t const always = state.has_choice ? 6 : 0;
    if (state.choice_epochs != always) state.choice_epochs = always;
    return;
  }
  archive.u64(state.choice_epochs, std::numeric_limits<int>::max());
  u64_list(archive, state.left_to_biases, order);
  if (!state.left_to_biases.empty() && state.left_to_biases.size() != order)
    archive.refuse("has classes of rows of another number of modes");
  for (std::uint64_t const classes : state.left_to_biases)
    if (classes > 15) archive.refuse("has an unknown class of rows");
  if (of_version < 3) return;
  archive.numbers(state.bias_damping, 1, 1);
  if (!(state.bias_damping[0] >= 0)) archive.refuse("has a negative damping of biases");
}

template <class Archive>
void biases(Archive& archive, FastTuckerState& state, std::uint64_t order) {
  auto const rows = [&](std::size_t n) { return state.extents[n]; };
  archive.f64(state.mean);
  bool has_biases = !state.biases.empty();
  flag(archive, has_biases);
  matrices(archive, has_biases, state.biases, order, rows, [](std::size_t) { return 1; });
  std::uint64_t time = static_cast<std::uint64_t>(state.time_mode + 1);  // 0: none
  archive.u64(time, order);
  if (int const read = static_cast<int>(time) - 1; state.time_mode != read) state.time_mode = read;
  archive.resize(state.bins, time > 0 ? order : 0);
  archive.u64s(state.bins);
  if (time > 0 && state.bins[time - 1] > 0) archive.refuse("has a mode of time that drifts itself");
  matrices(archive, time > 0, state.drifts, order, rows, [&](std::size_t n) { return state.bins[n]; });
}

/// \param of  what has the matrices: the state itself, or a snapshot
template <class Archive, class Matrices>
void fields(Archive& archive, FastTuckerState& state, Matrices& of, std::uint64_t of_version) {
  archive.text(state.precision, longest_name);
  archive.text(state.format, longest_name);
  archive.text(state.asked, longest_asked);
  if (state.precision != "f32" && state.precision != "f64") archive.refuse("has no precision that is known");
  std::uint64_t const order = length(archive, state.extents.size(), most_modes);
  if (order < 2) archive.refuse("has fewer than two modes");
  archive.resize(state.extents, order);
  archive.u64s(state.extents);
  archive.u64(state.nnz);
  archive.u64(state.validation_nnz);
  archive.f64(state.norm_squared);
  chosen(archive, state, order, of_version);
  biases(archive, state, order);

  archive.u64(state.epoch, std::numeric_limits<int>::max() - 1);
  archive.u64(state.kept_epoch, state.epoch);
  archive.f64(state.best);
  for (auto& of_set : state.kept_errors) errors(archive, of_set);
  auto const I = [&](std::size_t n) { return state.extents[n]; };
  auto const J = [&](std::size_t n) { return state.columns[n]; };
  auto const R = [&](std::size_t) { return state.rank; };
  matrices(archive, true, of.factors, order, I, J);
  matrices(archive, true, of.cores, order, J, R);
  matrices(archive, true, of.intermediates, order, I, R);
  bool has_squares = !state.squares.empty(), has_moments = !of.moments.empty(), has_kept = !of.kept.empty();
  flag(archive, has_squares);
  archive.numbers(state.squares, has_squares ? order : 0, state.rank);
  // Two of A^(n), then two of B^(n); and one of each.
  flag(archive, has_moments);
  matrices(
      archive, has_moments, of.moments, 4 * order,
      [&](std::size_t k) { return k % 4 < 2 ? I(k / 4) : J(k / 4); },
      [&](std::size_t k) { return k % 4 < 2 ? J(k / 4) : state.rank; });
  flag(archive, has_kept);
  matrices(
      archive, has_kept, of.kept, 2 * order, [&](std::size_t k) { return k % 2 == 0 ? I(k / 2) : J(k / 2); },
      [&](std::size_t k) { return k % 2 == 0 ? J(k / 2) : state.rank; });
}

/// The lowest version that holds the state, so that earlier versions of Polyad read what they can.
std::uint64_t version_of(FastTuckerState const& state) {
  if (!state.bias_damping.empty()) return fast_tucker_version;
  bool const is_new = !state.left_to_biases.empty() || state.choice_epochs != (state.has_choice ? 6U : 0U);
  return is_new ? 2 : 1;
}

}  // namespace

void write_fast_tucker_checkpoint(std::filesystem::path const& path, FastTuckerState const& state) {
  AtomicFile file(path);
  Writes archive(file);
  std::uint64_t number = version_of(state);
  archive.u64(number);
  auto& same = const_cast<FastTuckerState&>(state);  // Writes changes nothing of it
  fields(archive, same, same, number);
  archive.finish();
  file.commit();
}

void write_fast_tucker_checkpoint(std::filesystem::path const& path, FastTuckerSnapshot const& snapshot) {
  AtomicFile file(path);
  Writes archive(file);
  std::uint64_t number = version_of(snapshot.facts);
  archive.u64(number);
  fields(archive, const_cast<FastTuckerState&>(snapshot.facts), snapshot, number);
  archive.finish();
  file.commit();
}

FastTuckerState read_fast_tucker_checkpoint(std::filesystem::path const& path) {
  FileBytes const file(path);
  Reads archive(file.name(), checked_fields(file, fast_tucker_magic));
  std::uint64_t found = 0;
  archive.u64(found);
  if (found < 1 || found > fast_tucker_version)
    throw InputError(file.name(), 0, 0,
                     "is a checkpoint of version " + std::to_string(found) +
                         "; this Polyad reads versions 1 to " + std::to_string(fast_tucker_version));
  FastTuckerState state;
  fields(archive, state, state, found);
  archive.finish();
  state.file = path.string();
  return state;
}

FastTuckerState read_fast_tucker_facts(std::filesystem::path const& path) {
  try {
    ReadsFacts archive(path);
    std::uint64_t found = 0;
    archive.u64(found, fast_tucker_version);
    FastTuckerState state;
    fields(archive, state, state, found);
    state.file = path.string();
    return state;
  } catch (InputError const&) {
    return read_fast_tucker_checkpoint(path);  // says what is wrong with it
  }
}

}  // namespace polyad::io
