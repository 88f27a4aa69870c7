// SPDX-License-Identifier: BSD-3-Clause
#include "io/known_file.hpp"

#include <algorithm>
#include <cctype>

namespace polyad::io {

namespace {

using namespace std::string_view_literals;

constexpr auto by_pandas  = ": read it with pandas, and give the table to polyad.asarray"sv;
constexpr auto by_numpy   = ": load it with numpy, and give the array to polyad.asarray"sv;
constexpr auto by_scipy   = ": load it with scipy.io.loadmat, and give the matrix to polyad.asarray"sv;
constexpr auto by_python  = ": load it in Python, and give the object to polyad.asarray"sv;
constexpr auto unpacking  = ": unpack it first"sv;
constexpr auto downloaded = ": was the download refused?"sv;

struct Signature {
  std::string_view bytes, what, advice;
  std::size_t place = 0;

  /// A signature of letters could begin a text. Bytes that no text has must follow it: the next one, or a
  /// control character soon, since the first number of a Feather file may begin with a letter.
  [[nodiscard]] bool begins(std::string_view start) const {
    if (start.size() < place || !start.substr(place).starts_with(bytes)) return false;
    auto const is_text = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    if (place > 0 || bytes.size() > 6 || !std::all_of(bytes.begin(), bytes.end(), is_text)) return true;
    constexpr std::size_t soon = 64;
    auto const following       = start.substr(bytes.size(), soon);
    auto const is_control      = [](char c) {
      auto const byte = static_cast<unsigned char>(c);
      return (byte < 0x20 && c != '\t' && c != '\r' && c != '\n') || byte == 0x7F;
    };
    return !following.empty() && (static_cast<unsigned char>(following.front()) > 0x7E ||
                                  std::any_of(following.begin(), following.end(), is_control));
  }
};

constexpr Signature signatures[] = {
    {"PAR1"sv, "a Parquet file"sv, by_pandas},
    {"ARROW1"sv, "an Arrow (Feather) file"sv, by_pandas},
    {"FEA1"sv, "a Feather file"sv, by_pandas},
    {"ORC"sv, "an ORC file"sv, by_pandas},
    {"Obj\x01"sv, "an Avro file"sv, by_pandas},
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, "an Excel workbook or another Office document"sv, by_pandas},
    {"SQLite format 3\0"sv, "an SQLite database"sv, by_pandas},
    {"<stata_dta>"sv, "a Stata file"sv, by_pandas},
    {"$FL2@(#)"sv, "an SPSS file"sv, by_pandas},
    {"\x93NUMPY"sv, "an array of numpy (.npy)"sv, by_numpy},
    {"\x89HDF\r\n\x1A\n"sv, "an HDF5 file"sv, by_python},
    {"CDF\x01"sv, "a NetCDF file"sv, by_python},
    {"CDF\x02"sv, "a NetCDF file"sv, by_python},
    {"MATLAB 7.3 MAT-file"sv, "a MATLAB .mat file of version 7.3 (HDF5)"sv, by_python},
    {"MATLAB 5.0 MAT-file"sv, "a MATLAB .mat file"sv, by_scipy},
    {"RDX3\n"sv, "an R data file"sv, by_python},
    {"RDX2\n"sv, "an R data file"sv, by_python},
    {"%PDF-"sv, "a PDF document"sv, ""sv},
    {"\x7F"
     "ELF"sv,
     "a program"sv, ""sv},
    {"\x89PNG"sv, "a PNG image"sv, ""sv},
    {"7z\xBC\xAF\x27\x1C"sv, "a 7-Zip archive"sv, unpacking},
    {"Rar!\x1A\x07"sv, "a RAR archive"sv, unpacking},
    {"\x04\x22\x4D\x18"sv, "packed with lz4"sv, unpacking},
    {"\x1F\x9D"sv, "packed with compress (.Z)"sv, unpacking},
    {"LZIP\x01"sv, "packed with lzip"sv, unpacking},
    {"ustar"sv, "a tar archive"sv, unpacking, 257},
    {"version https://git-lfs"sv, "a pointer of Git LFS, not the file itself"sv,
     ": fetch it with git lfs pull"sv},
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// Whether the protocol is 2 or later: such a pickle begins with its version, and a frame or a global, a
/// tuple, a dictionary, ...
bool is_pickle(std::string_view start) {
  return start.size() > 2 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5 &&
         "\x95\x63\x5D\x7D\x28\x4B\x58\x8C\x47"sv.find(start[2]) != std::string_view::npos;
}

}  // namespace

std::optional<std::string> describe_foreign_file(std::string_view start) {
  auto const is = [](std::string_view what, std::string_view advice) {
    return "is " + std::string(what) + std::string(advice);
  };
  for (Signature const& known : signatures)
    if (known.begins(start)) return is(known.what, known.advice);
  if (is_pickle(start)) return is("a pickle of Python"sv, by_python);
  std::string_view text = start;
  if (text.starts_with("\xEF\xBB\xBF"sv)) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  std::string const word = lower(text.substr(0, 16));
  if (word.starts_with("<!doctype") || word.starts_with("<html")) return is("an HTML page"sv, downloaded);
  if (word.starts_with("<?xml")) return is("an XML document"sv, ""sv);
  if (word.starts_with('{') || word.starts_with('[')) return is("JSON, not coordinate text"sv, ""sv);
  return std::nullopt;
}

std::optional<std::string> describe_own_file(std::string_view start) {
  if (start.starts_with("\x89PTEN\r\n"sv))
    return "is a packed .pten file: unpack it first; .pten has a packing of its own (polyad convert --pack)";
  if (start.starts_with("PK\x03\x04"sv)) return "is a packed zip or .npz archive: unpack it first";
  if (start.starts_with("\x89PLAB\r\n"sv)) return "has the labels of a model in text, which is next to it";
  if (start.starts_with("\x89PCKP\r\n"sv)) return "is a checkpoint of polyad cpd, for --resume";
  if (start.starts_with("\x89PTUK\r\n"sv)) return "is a checkpoint of polyad tucker, for --resume";
  if (start.starts_with("\x89PFTK\r\n"sv)) return "is a checkpoint of polyad fast-tucker, for --resume";
  return std::nullopt;
}

std::string archive_kind(std::vector<ZipMember> const& members) {
  auto const has = [&](std::string_view name) {
    return std::any_of(members.begin(), members.end(), [&](ZipMember const& m) { return m.name == name; });
  };
  auto const has_with = [&](auto const& is) {
    return std::any_of(members.begin(), members.end(), [&](ZipMember const& m) { return is(m.name); });
  };
  if (has("factor_0.npy")) {
    if (has("core_0.npy")) return std::string(fast_tucker_model);
    if (has("core.npy")) return std::string(tucker_model);
    if (has("weights.npy")) return std::string(cp_model);
    return "";
  }
  if (has("data.npy") && has("shape.npy")) {
    bool const lists = has("coords.npy") || has("row.npy") || has("indptr.npy");
    return lists ? std::string(sparse_tensor) : "";
  }
  if (has("mttkrp.npy")) return "a product of polyad mttkrp";
  if (has("query.npy") && has("row.npy") && has("score.npy")) return "a list of rows that polyad found";
  if (has("xl/workbook.xml"))
    return "an Excel workbook (read it with pandas, and give the table to polyad.asarray)";
  if (has("[Content_Types].xml")) return "an Office document";
  if (has("content.xml") && has("mimetype")) return "an OpenDocument file";
  if (has_with([](std::string_view name) { return name.ends_with("/data.pkl"); })) return "a file of PyTorch";
  if (has("META-INF/MANIFEST.MF")) return "a Java archive";
  if (!members.empty() && !has_with([](std::string_view name) { return name.ends_with(".npy"); }))
    return "a zip archive of other files (unpack it first)";
  return "";
}

}  // namespace polyad::io
