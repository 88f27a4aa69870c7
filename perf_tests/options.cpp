// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

namespace polyad::perf {
namespace {

/// CLI11 would let a negative number wrap around, truncate one that is too large, and read 010 as 8.
template <class Number>
CLI::Validator number_from(Number least) {
  return CLI::Validator(
      [least](std::string& text) -> std::string {
        Number value{};
        auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        bool const whole        = error == std::errc() && end == text.data() + text.size();
        while (text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9') text.erase(0, 1);
        if (whole && value >= least) return "";
        std::ostringstream refusal;
        refusal << "'" << text << "' is not a number of at least " << least;
        return refusal.str();
      },
      "");
}

CLI::Validator not_empty() {
  return CLI::Validator([](std::string& text) { return std::string(text.empty() ? "an empty value" : ""); },
                        "");
}

/// "all" or a mode
CLI::Validator all_or_number() {
  return CLI::Validator(
      [number = number_from(0)](std::string& text) { return text == "all" ? std::string() : number(text); },
      "");
}

/// CLI11's formatter, with the default after the text.
class Help : public CLI::Formatter {
public:
  std::string make_option_opts(CLI::Option const* option) const override {
    std::string const type = option->get_type_name();
    return type.empty() ? "" : " " + type.substr(0, type.find(':'));  // validators' texts follow the colon
  }
  std::string make_option_desc(CLI::Option const* option) const override {
    std::string const value = option->get_default_str();
    return option->get_description() + (value.empty() ? "" : "; default " + value);
  }
};

std::vector<std::string> split(std::string const& text, char separator) {
  std::vector<std::string> parts(1);
  for (char const c : text)
    if (c == separator)
      parts.emplace_back();
    else
      parts.back().push_back(c);
  return parts;
}

/// A list of values in one argument, separated by commas. An option that is given again replaces the earlier
/// one. CLI11's own lists drop an empty value, and take the next argument if nothing else is left.
template <class T>
CLI::Option* add_list(CLI::App& app, std::string const& name, std::vector<T>& values,
                      std::string const& meaning, CLI::Validator const& each) {
  auto const take = [&values, name, each](std::string const& text) {
    values.clear();
    for (auto& part : split(text, ',')) {
      if (auto const refusal = each(part); !refusal.empty()) throw CLI::ValidationError(name, refusal);
      CLI::detail::lexical_cast(part, values.emplace_back());
    }
  };
  return app.add_option_function<std::string>(name, take, meaning)->take_last();
}

template <class T>
std::string joined(std::vector<T> const& values) {
  return CLI::detail::join(values, ",");
}

/// R, or FIRST:LAST:STEP
std::vector<int> ranks_of(std::string const& text) {
  std::vector<int> numbers;
  for (auto part : split(text, ':')) {
    if (auto const refusal = number_from(1)(part); !refusal.empty())
      throw CLI::ValidationError("--ranks", refusal);
    numbers.push_back(std::stoi(part));
  }
  if (numbers.size() == 1) return numbers;
  if (numbers.size() != 3 || numbers[0] > numbers[1])
    throw CLI::ValidationError("--ranks", "'" + text + "' does not have the form FIRST:LAST:STEP");
  std::vector<int> ranks;
  for (std::int64_t rank = numbers[0]; rank <= numbers[1]; rank += numbers[2])
    ranks.push_back(static_cast<int>(rank));
  return ranks;
}

}  // namespace

PerfOptions parse_options(int argc, char const* const* argv) {
  PerfOptions options;
  CLI::App app("How fast each kernel is, as a time and as a share of what this machine can do.",
               "polyad_perf");
  app.footer(
      "Other options are Google Benchmark's (--benchmark_...). Names are "
      "group<format,backend,scalar>/tensor/...;\n"
      "--benchmark_filter=REGEX picks among them, --benchmark_out=FILE.json --benchmark_out_format=json "
      "writes\n"
      "what scripts/perf_report.py reads.\n");
  app.formatter(std::make_shared<Help>());
  app.get_formatter()->column_width(22);
  app.get_formatter()->label("OPTIONS", "options");
  app.allow_extras();
  add_list(app, "--tensor", options.tensors,
           "Presets (uniform10m, uber, vast, nell2, delicious, fr_m, darpa, brainq, even10m,\n"
           "skewed10m, netflix30m, order3 ... order10, cube1000, tiny), random:SEED for a shape\n"
           "drawn at random, .tns files (plain or compressed) or gentns' binary files; default\n"
           "uniform10m",
           not_empty())
      ->type_name("A,B,..");
  add_list(app, "--scale", options.scales, "Multiples of a preset's number of nonzeros", number_from(1e-6))
      ->type_name("X,Y,..")
      ->default_str(joined(options.scales));
  add_list(app, "--formats", options.formats,
           "Storage formats, and on hosts alto-reference, a yardstick; default all", not_empty())
      ->type_name("A,B,..");
  std::vector<std::string> ranks;
  add_list(app, "--ranks", ranks, "Ranks, or FIRST:LAST:STEP", not_empty())
      ->type_name("R,S,..")
      ->default_str(joined(options.ranks));
  add_list(app, "--scalar", options.scalars, "Scalars of values and factors", CLI::IsMember({"f32", "f64"}))
      ->type_name("f32,f64")
      ->default_str(joined(options.scalars));
  add_list(app, "--modes", options.modes, "Modes, counted from 0, or all in one; default all and each",
           all_or_number())
      ->type_name("all,0,..");
  add_list(app, "--stream", options.stream,
           "Also time streamed-blco with buffers for these shares of the nonzeros,\n"
           "such as 0.5,0.05",
           number_from(1e-9))
      ->type_name("X,Y,..");
  app.add_flag("--strategies", options.strategies,
               "Also time each strategy of the formats, including those that this backend does not use");
  app.add_flag("--dense", options.dense, "Also time dense routines, and those of Kokkos Kernels");
  app.add_option("--device-memory", options.device_memory,
                 "Also run CP-ALS over streamed-blco, built on the host, in so many bytes of the device")
      ->transform(number_from<std::uint64_t>(1))
      ->take_last()
      ->type_name("B");
  app.add_option("--samples", options.samples, "Timed repetitions for each median")
      ->transform(number_from(1))
      ->take_last()
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--surveys", options.surveys,
                 "Measure nothing, and write what the cost model knows of the tensors")
      ->take_last()
      ->type_name("FILE.json");
  app.add_flag("--dry-run", options.dry_run,
               "The tensor `tiny`, one sample: does everything run and pass its check?");
  try {
    app.parse(argc, argv);
    if (!ranks.empty()) options.ranks.clear();
    for (auto const& text : ranks)
      for (int const rank : ranks_of(text)) options.ranks.push_back(rank);
  } catch (CLI::Success const&) {
    std::fputs(app.help().c_str(), stdout);
    std::exit(0);
  } catch (CLI::ParseError const& error) {
    std::fprintf(stderr, "polyad_perf: %s\n\n%s", error.what(), app.help().c_str());
    std::exit(2);
  }
  options.others = app.remaining();
  if (options.dry_run) {
    options.samples       = 1;
    options.stream        = {0.2};
    options.device_memory = 64U << 20;
  }
  if (options.tensors.empty()) options.tensors = {options.dry_run ? "tiny" : "uniform10m"};
  return options;
}

}  // namespace polyad::perf
