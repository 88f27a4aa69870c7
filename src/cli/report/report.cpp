// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report/report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <cmath>

#include "cli/report/host_facts.hpp"
#include "cli/streams/messages.hpp"
#include "polyad/formats/option_text.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/version.hpp"

namespace polyad::cli {

namespace {

// Keys stay in the order in which they are put.
using Json = nlohmann::ordered_json;

Json to_json(FileName const& file) {
  return file.name;
}

Json to_json(std::optional<FormatTimes> const& times) {
  if (!times) return {};
  return {{"load_s", times->load_s},
          {"build_s", times->build_s},
          {"mode_s", times->mode_s},
          {"iteration_s", times->iteration_s}};
}

Json to_json(FormatCandidate const& c) {
  return {{"name", c.name},
          {"bytes", c.bytes},
          {"build_bytes", c.build_bytes},
          {"need_bytes", c.need_bytes},
          {"fits", c.fits},
          {"loses_digits", c.loses_digits},
          {"predicted", to_json(c.predicted)},
          {"measured", to_json(c.measured)}};
}

/// "rmse": {set: number, ...}, "mae": {...}
void put_errors(Json& json, ErrorReports const& errors) {
  for (auto const& [set, error] : errors) {
    json["rmse"][set] = error.rmse;
    json["mae"][set]  = error.mae;
  }
}

Json to_json(IterationReport const& iteration) {
  Json json = {{"iteration", iteration.iteration}};
  if (iteration.errors.empty()) {
    json["fit"]   = iteration.fit;
    json["delta"] = iteration.delta;
  } else {
    put_errors(json, iteration.errors);
    if (iteration.objective) json["objective"] = *iteration.objective;
  }
  json["seconds"] = iteration.seconds;
  json["phases"]  = iteration.phases;
  return json;
}

Json to_json(RestartSummary const& restart) {
  Json json = {{"seed", restart.seed},
               {"fit", restart.fit},  // null where the run broke down: JSON has no infinity
               {"iterations", restart.iterations},
               {"reason", to_string(restart.reason)},
               {"seconds", restart.seconds}};
  if (!restart.error.empty()) json["error"] = restart.error;
  return json;
}

Json to_json(RunReport const& runs) {
  return {{"nonempty", runs.nonempty},
          {"longest", runs.longest},
          {"single", runs.single},
          {"deviation", runs.deviation}};
}

/// Lists of what is above.
template <class T>
Json to_json(std::vector<T> const& list) {
  Json array = Json::array();
  for (T const& element : list) array.push_back(to_json(element));
  return array;
}

Json to_json(BackendReport const& backend) {
  return {{"name", backend.name}, {"concurrency", backend.concurrency}, {"device", backend.device}};
}

Json to_json(io::DelimitedReport const& table) {
  Json json = {{"delimiter", table.delimiter},
               {"header", table.has_header},
               {"columns", table.columns},
               {"value", table.value},
               {"left_out", table.left_out}};
  if (table.time_unit) json["time"] = {{"column", table.time}, {"unit", io::to_string(*table.time_unit)}};
  return json;
}

Json to_json(InputReport const& input) {
  Json json = {{"path", input.path.name},
               {"dialect", input.dialect},
               {"base", input.base},
               {"dims", input.dims},
               {"nnz", input.nnz},
               {"duplicates", input.duplicates},
               {"empty_slices", input.empty_slices},
               {"stored_rows", input.stored_rows},
               {"read_s", input.read_s}};
  if (input.table) json["table"] = to_json(*input.table);
  // A mode without a name has an empty one, and a mode without labels has 0 of them.
  for (auto const& mode : input.labels)
    json["modes"].push_back({{"name", mode.name}, {"labels", mode.rows()}});
  return json;
}

Json to_json(FormatFacts const& format) {
  Json json = {{"name", format.chosen}, {"bytes", format.storage_bytes}, {"build_s", format.build_s}};
  if (!format.because.empty()) json["chosen_because"] = format.because;
  if (!format.candidates.empty()) json["candidates"] = to_json(format.candidates);
  if (!format.warning.empty()) json["warning"] = format.warning;
  return json;
}

Json to_json(FormatsReport const& result) {
  Json json    = {{"iterations", result.iterations}, {"free_bytes", result.free_bytes}};
  json["best"] = result.best.empty() ? Json() : Json(result.best);
  if (!result.because.empty()) json["because"] = result.because;
  json["candidates"] = to_json(result.candidates);
  if (result.host_bytes > 0) {
    json["host_bytes"]          = result.host_bytes;
    json["streamed_host_bytes"] = result.streamed_host_bytes;
  }
  if (!result.shapes.empty()) json["shapes"] = Json::array();
  for (auto const& shape : result.shapes) {
    Json entry;
    for (auto const& [name, value] : OptionText(split_format_text(shape.format).options).all())
      entry[name] = std::stoll(value);
    entry["seconds"] = shape.seconds;
    json["shapes"].push_back(entry);
  }
  json["files"] = to_json(result.files);
  return json;
}

Json to_json(MemoryReport const& memory) {
  return {{"host_peak_bytes", memory.host_peak_bytes},
          {"device_peak_bytes", memory.device_peak_bytes ? Json(*memory.device_peak_bytes) : Json()},
          {"expected_peak_bytes", memory.expected_peak_bytes ? Json(*memory.expected_peak_bytes) : Json()}};
}

Json to_json(CpdReport const& result) {
  Json json = {{"fit", result.fit},
               {"fit_error", result.fit_error},
               {"weights", result.weights},
               {"converged", result.reason == StopReason::converged},
               {"reason", to_string(result.reason)},
               {"gram_fallbacks", result.gram_fallbacks},
               {"defect", result.defect.empty() ? Json() : Json(result.defect)},
               {"objective", result.objective},
               {"files", to_json(result.files)}};
  if (result.kkt_violation) {
    json["kkt_violation"]   = std::isnan(*result.kkt_violation) ? Json() : Json(*result.kkt_violation);
    json["zeros"]           = result.zeros;
    json["zero_components"] = result.zero_components;
  }
  if (!result.restarts.empty()) {
    json["restarts"]     = to_json(result.restarts);
    json["best_restart"] = result.best_restart;
    json["restarts_s"]   = result.restarts_s;
  }
  return json;
}

Json to_json(CompletionReport const& result) {
  Json json = {{"mean", result.mean}};
  put_errors(json, result.errors);
  Json entries = Json::object();
  for (auto const& [set, error] : result.errors) entries[set] = error.entries;
  json["entries"] = entries;
  if (result.objective) json["objective"] = *result.objective;
  Json biases = Json::object();
  put_errors(biases, result.biases);
  json["biases"]         = biases;
  json["rank"]           = result.rank;
  json["columns"]        = result.columns;
  json["targets"]        = result.targets;
  json["regularization"] = result.regularization;
  json["drift"]          = result.drift;
  if (result.later_times.exist) json["later_times"] = later_times_text(result.later_times);
  if (result.choice) {
    auto const& choice = *result.choice;
    json["choice"]     = {{"learns", choice.learns},
                          {"entries", choice.model.entries},
                          {"rmse", {{"biases", choice.biases.rmse}, {"model", choice.model.rmse}}},
                          {"candidates", choice.candidates},
                          {"most_rank", choice.most_rank ? Json(*choice.most_rank) : Json()},
                          {"seconds", choice.seconds},
                          {"bias_reg", choice.bias_damping},
                          {"reason", choice.reason}};
    Json classes       = Json::array();
    for (auto const& rows : choice.classes)
      classes.push_back({{"mode", rows.mode},
                         {"least", rows.least},
                         {"entries", rows.model.entries},
                         {"rmse", {{"biases", rows.biases.rmse}, {"model", rows.model.rmse}}},
                         {"learns", rows.learns}});
    json["choice"]["classes"] = classes;
  }
  if (auto const& choice = result.ranking_choice)
    json["ranking_choice"] = {{"alpha", choice->alpha},
                              {"ridge", choice->ridge},
                              {"rank", choice->rank},
                              {"ndcg", choice->ndcg},
                              {"ndcg_error", choice->ndcg_error},
                              {"users", choice->users},
                              {"popular_ndcg", choice->popular_ndcg},
                              {"popular_ndcg_error", choice->popular_error},
                              {"candidates", choice->candidates},
                              {"seconds", choice->seconds},
                              {"reason", choice->reason}};
  json["kept_iteration"] = result.kept_iteration;
  json["reason"]         = result.reason;
  json["cold"]           = result.cold;
  json["files"]          = to_json(result.files);
  return json;
}

Json to_json(FitReport const& result) {
  return {{"fit", result.fit},
          {"fit_error", result.fit_error},
          {"converged", result.reason == StopReason::converged},
          {"reason", to_string(result.reason)},
          {"files", to_json(result.files)}};
}

Json to_json(StatsReport const& result) {
  return {{"density", result.density},
          {"slices", to_json(result.slices)},
          {"fibers", to_json(result.fibers)},
          {"values", {{"min", result.smallest}, {"max", result.largest}, {"zeros", result.zeros}}},
          {"norm", result.norm},
          {"linear_bits", result.linear_bits}};
}

Json to_json(InfoReport const& result) {
  return {{"kokkos", result.kokkos_version},
          {"compiled_for", result.compiled_for},
          {"found", result.found},
          {"usable", result.usable}};
}

Json to_json(FactsReport const& result) {
  Json json = Json::object();
  for (auto const& [name, value] : result.facts)
    json[name] = std::visit([](auto const& v) { return Json(v); }, value);
  json["files"] = to_json(result.files);
  return json;
}

Json to_json(std::monostate) {
  return {};
}

}  // namespace

void warn_of_losses(FormatFacts const& format) {
  if (!format.warning.empty()) say("polyad: warning: {}\n", format.warning);
}

std::string fit_text(double fit, double error) {
  bool const is_one = 1 - fit <= error;
  return fmt::format("{:.9f}{}", fit, is_one ? fmt::format(" (to within {:.1g})", error) : "");
}

std::string later_times_text(LaterTimes const& later) {
  if (!later.exist) return "";
  std::string text = later.interact ? "the model" : "mean and biases alone";
  if (later.had_drift) text += later.fades ? ", whose drifts fade out" : ", without drifts";
  return text;
}

std::string error_text(double error) {
  return error == 0 || (error >= 0.01 && error < 1e6) ? fmt::format("{:.4f}", error)
                                                      : fmt::format("{:.3e}", error);
}

std::string errors_text(ErrorReports const& errors) {
  std::string text;
  for (char const* set : {"train", "validation", "test"})
    if (auto const found = errors.find(set); found != errors.end())
      text += fmt::format("{}{} RMSE {} MAE {}", text.empty() ? "" : ", ", set,
                          error_text(found->second.rmse), error_text(found->second.mae));
  return text;
}

double Report::iteration_seconds() const {
  double seconds = 0;
  for (auto const& iteration : iterations) seconds += iteration.seconds;
  return seconds;
}

std::string ranks_text(RanksReport const& ranks, char const* what) {
  return fmt::format(
      "ranks    {}, each with its rows of every mode, by {}; largest over mean: {} {:.2f}, rows {:.2f}, "
      "bytes {:.2f}",
      ranks.count, ranks.exchange, what, ranks.nonzeros, ranks.rows, ranks.bytes);
}

void write_report(std::filesystem::path const& path, Report const& report) {
  Json json;
  json["schema"]  = report_schema;
  json["version"] = POLYAD_VERSION;
  json["git"]     = git_hash();
  json["command"] = report.command;
  json["host"]    = host_name();
  json["backend"] = report.backend ? to_json(*report.backend) : Json();
  if (report.input) json["input"] = to_json(*report.input);
  if (report.format) json["format"] = to_json(*report.format);
  if (report.ranks)
    json["ranks"] = {{"count", report.ranks->count},
                     {"grid", report.ranks->grid},
                     {"random_order", report.ranks->labelled},
                     {"exchange", report.ranks->exchange},
                     {"imbalance",
                      {{"nonzeros", report.ranks->nonzeros},
                       {"rows", report.ranks->rows},
                       {"bytes", report.ranks->bytes}}},
                     {"expected_peak_bytes", report.ranks->expected_peak_bytes},
                     {"host_peak_bytes", report.ranks->host_peak_bytes}};
  json["options"] = Json::object();
  for (auto const& [name, value] : report.options)
    json["options"][name] = std::visit([](auto const& v) { return Json(v); }, value);
  if (report.seed) json["seed"] = *report.seed;
  if (report.iterates) json["iterations"] = to_json(report.iterations);
  json["memory"] = to_json(report.memory);
  json["result"] = std::visit([](auto const& result) { return to_json(result); }, report.result);
  json["exit"]   = report.exit;
  if (!report.error.empty()) json["error"] = report.error;

  io::AtomicFile file(path);
  // Names of files need not be UTF-8; JSON must be.
  file.write(json.dump(2, ' ', false, Json::error_handler_t::replace));
  file.write("\n");
  file.commit();
}

}  // namespace polyad::cli
