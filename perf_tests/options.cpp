// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace polyad::perf {
namespace {

constexpr char const* usage = R"(polyad_perf [options] [Google Benchmark's --benchmark_... options]
  --tensor A,B,..    presets (uniform10m, uber, vast, nell2, delicious, fr_m, darpa, brainq, even10m,
                     skewed10m, netflix30m, order3 ... order10, cube1000, tiny), .tns files (plain or
                     compressed) or gentns' binary files; default uniform10m
  --scale X,Y,..     multiples of a preset's number of nonzeros; default 1
  --formats A,B,..   storage formats, and on hosts alto-reference, a yardstick; default all
  --ranks R,S,..     or FIRST:LAST:STEP; default 16,32
  --scalar f32,f64   default both
  --modes all,0,..   default all and each
  --stream X,Y,..    also time streamed-blco with buffers for these shares of the nonzeros, such as 0.5,0.05
  --device-memory B  also run CP-ALS over streamed-blco, built on the host, in so many bytes of the device
  --samples N        timed repetitions behind each median; default 10
  --dry-run          the tensor `tiny`, one sample: does everything run and pass its check?
Names are group<format,backend,scalar>/tensor/...; --benchmark_filter=REGEX picks among them,
--benchmark_out=FILE.json --benchmark_out_format=json writes what scripts/perf_report.py reads.
)";

[[noreturn]] void refuse(std::string_view flag, std::string_view value) {
  std::fprintf(stderr, "polyad_perf: bad value '%.*s' for %.*s\n\n%s", static_cast<int>(value.size()),
               value.data(), static_cast<int>(flag.size()), flag.data(), usage);
  std::exit(2);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    auto const at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

template <class Number>
Number number(std::string_view flag, std::string const& text, Number least) {
  Number value{};
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least)) refuse(flag, text);
  return value;
}

std::vector<int> ranks(std::string_view flag, std::string const& text) {
  auto const range = split(text, ':');
  std::vector<int> result;
  if (range.size() == 3) {
    int const step = number(flag, range[2], 1);
    int const last = number(flag, range[1], 1);
    for (int rank = number(flag, range[0], 1); rank <= last; rank += step) result.push_back(rank);
  } else {
    for (auto const& part : split(text, ',')) result.push_back(number(flag, part, 1));
  }
  if (result.empty()) refuse(flag, text);
  return result;
}

}  // namespace

PerfOptions parse_options(int& argc, char** argv) {
  PerfOptions options;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      std::fputs(usage, stdout);
      std::exit(0);
    }
    if (argument == "--dry-run") {
      options.dry_run = true;
      continue;
    }
    auto const equals             = argument.find('=');
    std::string_view flag         = argument.substr(0, equals);
    constexpr char const* known[] = {"--tensor", "--scale",   "--formats", "--ranks",        "--scalar",
                                     "--modes",  "--samples", "--stream",  "--device-memory"};
    if (std::find(std::begin(known), std::end(known), flag) == std::end(known)) {
      argv[kept++] = argv[i];
      continue;
    }
    std::string value;
    if (equals != std::string_view::npos)
      value = argument.substr(equals + 1);
    else if (++i < argc)
      value = argv[i];
    if (value.empty()) refuse(flag, value);
    if (flag == "--tensor") options.tensors = split(value, ',');
    if (flag == "--formats") options.formats = split(value, ',');
    if (flag == "--ranks") options.ranks = ranks(flag, value);
    if (flag == "--stream")
      for (auto const& part : split(value, ',')) options.stream.push_back(number(flag, part, 1e-9));
    if (flag == "--device-memory") options.device_memory = number<std::uint64_t>(flag, value, 1);
    if (flag == "--samples") options.samples = number(flag, value, 1);
    if (flag == "--scale") {
      options.scales.clear();
      for (auto const& part : split(value, ',')) options.scales.push_back(number(flag, part, 1e-6));
    }
    if (flag == "--scalar") {
      options.scalars = split(value, ',');
      for (auto const& scalar : options.scalars)
        if (scalar != "f32" && scalar != "f64") refuse(flag, scalar);
    }
    if (flag == "--modes") {
      options.modes = split(value, ',');
      for (auto const& mode : options.modes)
        if (mode != "all") number(flag, mode, 0);
    }
  }
  argc = kept;
  if (options.dry_run) {
    options.samples       = 1;
    options.stream        = {0.2};
    options.device_memory = 64U << 20;
  }
  if (options.tensors.empty()) options.tensors = {options.dry_run ? "tiny" : "uniform10m"};
  return options;
}

}  // namespace polyad::perf
