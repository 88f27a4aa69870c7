// SPDX-License-Identifier: BSD-3-Clause
#include "io/models/ktensor_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "io/known_file.hpp"
#include "io/models/constraint_numbers.hpp"
#include "io/names/labels_file.hpp"
#include "io/names/row_names.hpp"
#include "io/quoted.hpp"
#include "io/streams/decoder.hpp"
#include "io/streams/raw_input.hpp"
#include "io/text/decimal.hpp"
#include "io/text/tokens.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

namespace {

/// Appends numbers to a file, `columns` per line.
class NumberLines {
public:
  explicit NumberLines(AtomicFile& file) : m_file(file) {}

  template <class Number>
  void line(Number const* numbers, std::size_t columns) {
    m_line.clear();
    for (std::size_t k = 0; k < columns; ++k) {
      char text[32];
      auto const end = std::to_chars(text, text + sizeof text, numbers[k]).ptr;
      m_line.append(text, end);
      m_line += k + 1 == columns ? '\n' : ' ';
    }
    m_file.write(m_line);
  }

private:
  AtomicFile& m_file;
  std::string m_line;
};

std::string key_text(std::uint32_t key) {
  std::string text(8, '0');
  for (std::size_t k = text.size(); key > 0; key /= 16) text[--k] = "0123456789abcdef"[key % 16];
  return text;
}

/// The whole text of a file, unpacked.
std::string read_text(RawInput& input) {
  ReadMemory memory;
  Compression const compression = recognise(input);
  std::string text;
  if (compression == Compression::none && input.has_places()) {
    memory.take("the text of " + input.name(), input.size());
    text.resize(input.size());
    input.read_at(0, text.data(), text.size());
    return text;
  }
  auto const decoder = make_decoder(input, compression, memory);
  for (std::size_t size = 0, capacity = std::size_t{1} << 16;; capacity *= 2) {
    memory.take("the text of " + input.name(), capacity - text.size());
    text.resize(capacity);
    size += decoder->read(text.data() + size, capacity - size);
    if (size < capacity) {
      text.resize(size);
      return text;
    }
  }
}

/// Takes numbers and words from a text and knows its position.
class Tokens {
public:
  Tokens(std::string file, std::string_view text) : m_file(std::move(file)), m_rest(text) { advance(); }

  /// \param synonym  another word that is accepted
  void word(std::string_view expected, std::string_view synonym = {}) {
    if (m_token.empty() || (m_token != expected && m_token != synonym))
      fail("expected '" + std::string(expected) + "', found " + found());
    advance();
  }

  [[nodiscard]] bool is(std::string_view word) const { return m_token == word; }
  /// Whether the next token is this word, which is then taken.
  bool skip(std::string_view word) {
    if (m_token != word) return false;
    advance();
    return true;
  }

  /// The key of a file of labels: eight hexadecimal digits.
  std::uint32_t key() {
    std::uint32_t value   = 0;
    auto const* const end = m_token.data() + m_token.size();
    auto const parsed     = std::from_chars(m_token.data(), end, value, 16);
    if (m_token.size() != 8 || parsed.ec != std::errc() || parsed.ptr != end)
      fail("expected the key of the labels, 8 hexadecimal digits, found " + found());
    advance();
    return value;
  }

  std::uint64_t size(std::string const& what) {
    return size(what, [](std::uint64_t) { return std::string(); });
  }
  /// \param fault_of  returns the fault of the number, which is reported at its place; empty if there is none
  template <class FaultOf>
  std::uint64_t size(std::string const& what, FaultOf const& fault_of) {
    std::uint64_t value = 0;
    if (m_token.empty() || read_unsigned(m_token, what, value))
      fail("expected " + what + ", found " + found());
    std::string const fault = fault_of(value);
    if (!fault.empty()) fail(fault);
    advance();
    return value;
  }

  double number(std::string const& what) {
    double value = 0;
    if (m_token.empty()) fail("expected " + what + ", found " + found());
    auto const fault = read_decimal(m_token, false, value);
    if (fault == DecimalFault::not_a_number) fail("expected " + what + ", found " + found());
    if (fault != DecimalFault::none) fail(what + " " + std::string(to_string(fault)) + ": " + found());
    if (!std::isfinite(value)) fail(what + " is not finite: " + found());
    advance();
    return value;
  }

  void end() {
    if (!m_token.empty()) fail("expected the end of the file, found " + found());
  }

  /// Refuses sizes that the rest of the text cannot fill, before memory is taken for them.
  void expect_room(std::uint64_t rows, std::uint64_t columns) const {
    std::uint64_t const most = m_rest.size() / 2 + 1;  // a digit and a blank for each number
    std::uint64_t count      = 0;
    if (__builtin_mul_overflow(rows, columns, &count) || count > most)
      fail("the text is too short for " + std::to_string(rows) + " x " + std::to_string(columns) +
           " numbers");
  }

  [[noreturn]] void fail(std::string const& reason) const {
    throw InputError(m_file, m_line, m_column, reason);
  }

private:
  [[nodiscard]] std::string found() const {
    return m_token.empty() ? "the end of the file" : in_quotes(m_token);
  }

  void advance() {
    m_column += m_token.size();
    std::size_t k = 0;
    for (; k < m_rest.size() &&
           (m_rest[k] == ' ' || m_rest[k] == '\t' || m_rest[k] == '\r' || m_rest[k] == '\n');
         ++k) {
      ++m_column;
      if (m_rest[k] == '\n') {
        ++m_line;
        m_column = 1;
      }
    }
    m_rest.remove_prefix(k);
    m_token = m_rest.substr(0, m_rest.find_first_of(" \t\r\n"));
    m_rest.remove_prefix(m_token.size());
  }

  std::string m_file;
  std::string_view m_rest, m_token;
  std::uint64_t m_line = 1, m_column = 1;
};

/// A section of rows, which may be missing: the word, their count, and their numbers from 0, which increase.
StoredRows read_rows(Tokens& tokens, std::uint64_t extent) {
  if (!tokens.is("rows")) return StoredRows(extent);
  tokens.word("rows");
  auto const count = tokens.size("the number of stored rows");
  tokens.expect_room(count, 1);
  std::vector<std::uint64_t> numbers;
  numbers.reserve(count);
  for (std::uint64_t k = 0; k < count; ++k)
    static_cast<void>(tokens.size("the number of a row", [&](std::uint64_t number) {
      numbers.push_back(number);
      // Only the last two numbers: the others were checked before.
      auto const fault = StoredRows::fault_of(extent, std::span(numbers).last(k == 0 ? 1 : 2));
      return fault.empty() ? fault : "the list of rows " + fault;
    }));
  return {extent, std::move(numbers)};
}

}  // namespace

void write_ktensor_text_blocks(std::filesystem::path const& path, KtensorBlocks const& model) {
  std::optional<LabelsFile> labels;
  if (holds_names(model.names.labels) && may_have_labels_file(path))
    labels = labels_file(model.names.labels, model.extents);
  std::optional<AtomicFile> file_of_labels;
  if (labels) {
    file_of_labels.emplace(labels_path(path));
    file_of_labels->write(labels->bytes);
  }
  AtomicFile file(path);
  NumberLines numbers(file);
  std::uint64_t const order = model.factors.size(), rank = model.weights.size();
  file.write("ktensor\n");
  numbers.line(&order, 1);
  numbers.line(model.extents.data(), model.extents.size());
  numbers.line(&rank, 1);
  numbers.line(model.weights.data(), model.weights.size());
  for (std::size_t n = 0; n < model.factors.size(); ++n) {
    auto const& factor          = model.factors[n];
    std::uint64_t const rows    = factor.rows();
    std::uint64_t const sizes[] = {rows, rank};
    if (!model.rows.empty() && model.rows[n].is_list()) {
      file.write("rows\n");
      numbers.line(&rows, 1);
      for (std::uint64_t const& row : model.rows[n].numbers()) numbers.line(&row, 1);
    }
    file.write("matrix\n2\n");
    numbers.line(sizes, 2);
    factor.for_each_block([&](std::span<double const> block) {
      for (std::size_t k = 0; k < block.size(); k += rank) numbers.line(block.data() + k, rank);
    });
  }
  if (model.names.index_base == 0) file.write("# index_base 0\n");
  if (!model.constraints.empty()) {
    file.write("# constraints\n");
    auto const all = constraint_numbers(model.constraints);
    for (std::size_t e = 0; e < all.size(); e += numbers_of_constraints)
      numbers.line(all.data() + e, numbers_of_constraints);
  }
  if (labels) file.write("# labels " + key_text(labels->key) + "\n");
  if (!labels) return file.commit();
  std::error_code failed;
  bool const is_first = !std::filesystem::exists(labels_path(path), failed);
  file_of_labels->commit();
  try {
    file.commit();
  } catch (...) {  // a model that was there before now has foreign labels, which its key shows
    if (is_first) std::filesystem::remove(labels_path(path), failed);
    throw;
  }
}

void write_ktensor_text(std::filesystem::path const& path, HostKtensor const& model) {
  write_ktensor_text_blocks(path, blocks_of(model));
}

HostKtensor read_ktensor_text(RawInput& input) {
  std::string const text = read_text(input);
  if (auto const known = describe_foreign_file(text)) throw InputError(input.name(), 0, 0, *known);
  if (auto const known = describe_own_file(text)) throw InputError(input.name(), 0, 0, *known);
  Tokens tokens(input.name(), text);
  if (tokens.is("sptensor")) tokens.fail("is a sparse tensor, not a CP model");
  HostKtensor model;
  tokens.word("ktensor");
  auto const order = tokens.size("the order");
  if (order < 1 || order > 16) tokens.fail("the order is 1 to 16, not " + std::to_string(order));
  for (std::uint64_t n = 0; n < order; ++n) model.extents.push_back(tokens.size("an extent"));
  auto const rank = tokens.size("the rank");
  if (rank == 0) tokens.fail("the rank is 0");
  tokens.expect_room(1, rank);
  for (std::uint64_t r = 0; r < rank; ++r) model.weights.push_back(tokens.number("a weight"));
  for (std::uint64_t const extent : model.extents) {
    model.rows.push_back(read_rows(tokens, extent));
    tokens.word("matrix", "facmatrix");  // GenTen writes either
    if (tokens.size("2") != 2) tokens.fail("a factor matrix has 2 sizes");
    auto const rows              = tokens.size("the rows of a factor matrix");
    auto const columns           = tokens.size("the columns of a factor matrix");
    std::uint64_t const expected = model.rows.back().size();
    if (rows != expected || columns != rank)
      tokens.fail("a factor matrix is " + std::to_string(rows) + " x " + std::to_string(columns) + ", not " +
                  std::to_string(expected) + " x " + std::to_string(rank));
    tokens.expect_room(rows, columns);
    auto& factor = model.factors.emplace_back(rows * columns);
    for (double& element : factor) element = tokens.number("an element");
  }
  bool is_next = tokens.skip("#");
  if (is_next && !tokens.is("labels") && !tokens.is("constraints")) {
    tokens.word("index_base");
    model.names.index_base = static_cast<int>(tokens.size("the index base, 0 or 1", [](std::uint64_t base) {
      return base > 1 ? "the index base is 0 or 1, not " + std::to_string(base) : std::string();
    }));
    is_next                = tokens.skip("#");
  }
  if (is_next && tokens.is("constraints")) {
    tokens.word("constraints");
    std::vector<double> all(order * numbers_of_constraints);
    for (double& number : all) number = tokens.number("a bound or a penalty");
    auto found = constraints_of(all);
    if (!found) tokens.fail("the constraints have an empty interval or a penalty below 0");
    model.constraints = std::move(*found);
    is_next           = tokens.skip("#");
  }
  std::optional<std::uint32_t> key;
  if (is_next) {
    tokens.word("labels");
    key = tokens.key();
  }
  tokens.end();
  if (std::none_of(model.rows.begin(), model.rows.end(), [](auto const& rows) { return rows.is_list(); }))
    model.rows.clear();
  if (key) model.names.labels = read_labels_file(input.name(), model.extents, *key);
  return model;
}

}  // namespace polyad::io
