// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: npz archives, as a tensor, a model, a FastTucker model and a set of factors. An input that
// begins with P is an archive, whose checksums are repaired first. Any other is the recipe of one: arrays
// with names, types, shapes and elements. What was read, written and read again must be the same.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_file.hpp"
#include "io/archive/npz.hpp"
#include "io/archive/tensor_npz.hpp"
#include "io/streams/crc32.hpp"
#include "io/streams/file_bytes.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/fast_tucker_file.hpp"
#include "polyad/io/model_file.hpp"

namespace {

using namespace polyad::io;
using namespace std::string_view_literals;
using polyad::fuzz::expect;

void put(std::string& bytes, std::uint64_t value, std::size_t width) {
  for (std::size_t k = 0; k < width; ++k) bytes += static_cast<char>(value >> 8 * k & 0xFF);
}

/// Puts right checksums wherever the directory says that a member is stored without compression.
void mend(std::string& bytes) {
  for (std::size_t at = bytes.find("PK\x01\x02"); at != std::string::npos;
       at             = bytes.find("PK\x01\x02", at + 1)) {
    constexpr std::size_t head = 46, local_head = 30;
    if (bytes.size() - at < head) return;
    auto const field = [&](std::size_t place) { return element_at<std::uint32_t>(bytes.data() + place, 0); };
    std::uint64_t const packed = field(at + 20), local = field(at + 42);
    if (local + local_head > bytes.size()) continue;
    std::uint64_t const names = element_at<std::uint16_t>(bytes.data() + local + 26, 0),
                        extra = element_at<std::uint16_t>(bytes.data() + local + 28, 0),
                        start = local + local_head + names + extra;
    bool const is_plain       = element_at<std::uint16_t>(bytes.data() + at + 10, 0) == 0;
    if (!is_plain || start > bytes.size() || packed > bytes.size() - start) continue;
    std::string checksum;
    put(checksum, crc32(0, std::string_view(bytes).substr(start, packed)), 4);
    bytes.replace(at + 16, 4, checksum);
  }
}

/// The bytes of a recipe, one after the other, and zeros after the last.
class Recipe {
public:
  explicit Recipe(std::string_view bytes) : m_bytes(bytes) {}
  std::uint8_t next() {
    if (m_bytes.empty()) return 0;
    auto const byte = static_cast<std::uint8_t>(m_bytes.front());
    m_bytes.remove_prefix(1);
    return byte;
  }
  [[nodiscard]] bool is_done() const { return m_bytes.empty(); }

private:
  std::string_view m_bytes;
};

template <class Number>
void put_number(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<char const*>(&number), sizeof number);
}

/// Mostly small numbers.
void put_element(std::string& bytes, std::string_view type, std::uint8_t byte) {
  constexpr std::array<double, 8> unusual = {std::numeric_limits<double>::quiet_NaN(),
                                             std::numeric_limits<double>::infinity(),
                                             std::numeric_limits<double>::max(),
                                             -std::numeric_limits<double>::max(),
                                             0.5,
                                             -1,
                                             5e-324,
                                             1e9};
  double const number                     = byte < 248 ? byte % 16 : unusual[byte - 248U];
  if (type == "f8") return put_number(bytes, number);
  if (type == "f4") return put_number(bytes, static_cast<float>(number));
  put(bytes, byte < 248 ? byte % 16 : std::uint64_t{0} - (byte - 247U),
      static_cast<std::size_t>(type[1] - '0'));
}

/// An array as numpy writes it, of up to 64 elements; of a larger shape it has none.
std::string array(Recipe& recipe) {
  constexpr std::array types  = {"f8"sv, "f4"sv, "i8"sv, "u8"sv, "i4"sv, "u4"sv,
                                 "i2"sv, "u2"sv, "i1"sv, "u1"sv, "b1"sv, "f8"sv};
  std::uint8_t const form     = recipe.next();
  std::string_view const type = types[form % types.size()];
  std::string shape;
  std::uint64_t elements = 1;
  for (int n = recipe.next() % 4; n > 0; --n) {
    std::uint8_t const byte    = recipe.next();
    std::uint64_t const extent = byte < 248 ? byte % 8U : std::uint64_t{1} << (byte - 248U) * 9;
    shape += std::to_string(extent) + ", ";
    elements *= extent;
  }
  std::string const text = "{'descr': '" + std::string(type.ends_with('1') ? "|" : "<") + std::string(type) +
                           "', 'fortran_order': " + (form >= 128 ? "True" : "False") + ", 'shape': (" +
                           shape + "), }\n";
  std::string bytes("\x93NUMPY\x01\x00"sv);
  put(bytes, text.size(), 2);
  bytes += text;
  if (elements > 64) return bytes;
  for (std::uint64_t k = 0; k < elements; ++k) put_element(bytes, type, recipe.next());
  return bytes;
}

/// An archive of up to 24 arrays.
std::string archive(Recipe recipe) {
  constexpr std::array names = {"coords"sv,    "data"sv,     "fill_value"sv, "shape"sv,   "weights"sv,
                                "factor_0"sv,  "factor_1"sv, "factor_2"sv,   "core_0"sv,  "core_1"sv,
                                "core_2"sv,    "bias_0"sv,   "bias_1"sv,     "bias_2"sv,  "mean"sv,
                                "time_mode"sv, "drift_0"sv,  "drift_1"sv,    "drift_2"sv, "range"sv};
  std::string bytes, directory;
  std::uint64_t count = 0;
  for (; count < 24 && !recipe.is_done(); ++count) {
    std::string const name    = std::string(names[recipe.next() % names.size()]) + ".npy";
    std::string const content = array(recipe);
    std::string common;
    put(common, 0, 8);  // flags, method, time and date
    put(common, crc32(0, content), 4);
    put(common, content.size(), 4);
    put(common, content.size(), 4);
    put(common, name.size(), 2);
    put(common, 0, 2);
    directory += "PK\x01\x02\x14\x00\x14\x00"sv;
    directory += common;
    directory.append(10, '\0');
    put(directory, bytes.size(), 4);
    directory += name;
    bytes += "PK\x03\x04\x14\x00"sv;
    bytes += common + name + content;
  }
  std::uint64_t const offset = bytes.size();
  bytes += directory + "PK\x05\x06";
  put(bytes, 0, 4);
  put(bytes, count, 2);
  put(bytes, count, 2);
  put(bytes, directory.size(), 4);
  put(bytes, offset, 4);
  put(bytes, 0, 2);
  return bytes;
}

bool same(CoordinateList const& a, CoordinateList const& b) {
  return a.extents == b.extents && a.indices == b.indices && a.values.size() == b.values.size() &&
         std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(double)) == 0;
}

/// Calls read(path); if there is no fault and `again`, the same with what write(copy, result) makes of it.
template <class Read, class Write, class Same>
void check(std::string const& path, bool again, Read const& read, Write const& write, Same const& are_same) {
  static std::filesystem::path const copy = polyad::fuzz::own_folder() / "copy.npz";
  try {
    auto const first = read(path);
    if (!again) return;
    write(copy, first);
    expect(are_same(read(copy), first), "written and read again, the content differs");
  } catch (polyad::InputError const&) {
  } catch (polyad::MemoryError const&) {
  }
}

void check_tensor(std::string const& path, bool again) {
  check(
      path, again,
      [](auto const& file) {
        return read_tensor_npz(file, {.threads = 1, .memory_bytes = polyad::fuzz::most_memory}).tensor;
      },
      [](auto const& file, auto const& tensor) { write_tensor_npz(file, tensor, false); }, same);
}

void check_model(std::string const& path, bool again) {
  check(
      path, again,
      [](auto const& file) {
        bool const is_model = is_model_file(file);
        HostKtensor model   = read_model(file);
        expect(is_model, "a model is not recognised by its arrays");
        return model;
      },
      [](auto const& file, auto const& model) { write_model(file, model); }, std::equal_to<>());
}

void check_fast_tucker(std::string const& path, bool again) {
  check(
      path, again, [](auto const& file) { return read_fast_tucker(file); },
      [](auto const& file, auto const& model) { write_fast_tucker(file, model); }, std::equal_to<>());
}

void check_factors(std::string const& path, bool again) {
  check(
      path, again, [](auto const& file) { return read_factors_npz(file); },
      [](auto const& file, auto const& factors) {
        std::map<std::string, HostArray> arrays;
        for (auto const& [n, factor] : factors) arrays["factor_" + std::to_string(n)] = factor;
        write_arrays_npz(file, arrays, false);
      },
      [](auto const& a, auto const& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](auto const& x, auto const& y) {
          return x.first == y.first && x.second.shape == y.second.shape &&
                 x.second.elements == y.second.elements;
        });
      });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static polyad::fuzz::File const file("npz");
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<char const*>(data), size);
  bool const again = size % 16 == 2;
  if (data[0] != 'P') {
    file.fill(archive(Recipe(std::string_view(bytes).substr(1))));
    // Reading is quick, so that one reader an input makes the most of it.
    if (data[0] % 4 == 0) check_tensor(file.path(), again);
    if (data[0] % 4 == 1) check_model(file.path(), again);
    if (data[0] % 4 == 2) check_fast_tucker(file.path(), again);
    if (data[0] % 4 == 3) check_factors(file.path(), again);
    return 0;
  }
  // An odd length: as it is.
  if (size % 2 == 0) mend(bytes);
  file.fill(bytes);
  check_tensor(file.path(), again);
  check_model(file.path(), again);
  if (bytes.find("core_0") != std::string::npos) check_fast_tucker(file.path(), again);
  return 0;
}
