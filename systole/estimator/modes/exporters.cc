#include "systole/estimator/exporters.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "systole/base/log.h"
#include "systole/estimator/estimator.h"
#include "systole/io/file_systems/file_systems.h"

namespace systole {
namespace {

void check_exports_to_keep(const std::string& exporter, std::optional<int64_t> count) {
  if (count && *count < 1) {
    throw invalid_argument(
        "`exports_to_keep`, if provided, must be positive number, got {} in '{}'", *count,
        exporter);
  }
}

// Removes all but the `count` newest exports of a folder, whose names are times in seconds.
void keep_newest(const std::string& folder, std::optional<int64_t> count) {
  if (!count) return;
  FileSystem& files = default_file_system();
  std::vector<std::string> exports = files.list(folder);
  std::erase_if(exports, [](const std::string& name) {
    return name.find_first_not_of("0123456789") != std::string::npos;
  });
  std::ranges::sort(exports, [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  const auto kept = std::min(exports.size(), static_cast<size_t>(*count));
  exports.resize(exports.size() - kept);
  for (const std::string& old : exports) remove_tree(files, join_path(folder, old));
}

std::string best_file(const std::string& export_path) {
  return join_path(export_path, "best_eval_result.json");
}

Error bad_best(const std::string& path, std::string_view got) {
  return make_error(
      Code::data_loss,
      "{}: evaluation, got {}, expected numbers by name; remove the file to begin anew", path, got);
}

// JSON has no infinities and NaN: they are the strings "inf", "-inf" and "nan".
nlohmann::json json_of(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double number_of(const nlohmann::json& value) {
  for (const double special : {INFINITY, -INFINITY, NAN}) {
    if (value == json_of(special)) return special;
  }
  return value.get<double>();
}

std::optional<Evaluation> read_best(const std::string& export_path) {
  FileSystem& files = default_file_system();
  const std::string path = best_file(export_path);
  if (!files.exists(path)) return std::nullopt;
  Evaluation::Values values;
  try {
    const auto scalars = nlohmann::json::parse(read_file(files, path));
    if (!scalars.is_object()) throw bad_best(path, scalars.type_name());
    for (const auto& [name, value] : scalars.items()) {
      values.emplace(name, Tensor(number_of(value)));
    }
  } catch (const nlohmann::json::exception& error) {
    throw bad_best(path, error.what());
  }
  return Evaluation(std::move(values), 0);
}

void write_best(const std::string& export_path, const Evaluation& evaluation) {
  auto scalars = nlohmann::json::object();
  for (const auto& [name, value] : evaluation.values()) {
    if (value.num_elements() == 1) scalars[name] = json_of(value.as_double(0));
  }
  write_file_atomically(default_file_system(), best_file(export_path), scalars.dump(2) + "\n");
}

bool loss_is_smaller(const Evaluation& best, const Evaluation& current) {
  return std::isnan(best["loss"]) || current["loss"] < best["loss"];
}

}  // namespace

SavedModelExporter::SavedModelExporter(std::string name,
                                       ServingInputReceiverFn serving_input_receiver_fn,
                                       std::map<std::string, std::string> assets_extra,
                                       std::optional<int64_t> exports_to_keep)
    : name_(std::move(name)),
      receiver_fn_(std::move(serving_input_receiver_fn)),
      assets_extra_(std::move(assets_extra)),
      exports_to_keep_(exports_to_keep) {
  check_exports_to_keep(name_, exports_to_keep_);
}

std::string SavedModelExporter::write(TPUEstimator& estimator, const std::string& export_path,
                                      const std::string& checkpoint_path) const {
  std::string made = estimator.export_saved_model(
      export_path, receiver_fn_,
      {.assets_extra = assets_extra_, .checkpoint_path = checkpoint_path});
  keep_newest(export_path, exports_to_keep_);
  return made;
}

FinalExporter::FinalExporter(std::string name, ServingInputReceiverFn serving_input_receiver_fn,
                             FinalExporterOptions options)
    : SavedModelExporter(std::move(name), std::move(serving_input_receiver_fn),
                         std::move(options.assets_extra), std::nullopt) {}

std::string FinalExporter::export_model(TPUEstimator& estimator, const std::string& export_path,
                                        const std::string& checkpoint_path, const Evaluation&,
                                        bool is_the_final_export) {
  if (!is_the_final_export) return "";
  return write(estimator, export_path, checkpoint_path);
}

LatestExporter::LatestExporter(std::string name, ServingInputReceiverFn serving_input_receiver_fn,
                               LatestExporterOptions options)
    : SavedModelExporter(std::move(name), std::move(serving_input_receiver_fn),
                         std::move(options.assets_extra), options.exports_to_keep) {}

std::string LatestExporter::export_model(TPUEstimator& estimator, const std::string& export_path,
                                         const std::string& checkpoint_path, const Evaluation&,
                                         bool) {
  if (checkpoint_path == exported_) return "";
  std::string made = write(estimator, export_path, checkpoint_path);
  exported_ = checkpoint_path;
  return made;
}

BestExporter::BestExporter(std::string name, ServingInputReceiverFn serving_input_receiver_fn,
                           BestExporterOptions options)
    : SavedModelExporter(std::move(name), std::move(serving_input_receiver_fn),
                         std::move(options.assets_extra), options.exports_to_keep),
      compare_fn_(std::move(options.compare_fn)) {}

bool BestExporter::is_better(const std::string& export_path, const Evaluation& best,
                             const Evaluation& current) const {
  if (compare_fn_) return compare_fn_(best, current);
  if (!best.values().contains("loss")) throw bad_best(best_file(export_path), "no 'loss'");
  return loss_is_smaller(best, current);
}

std::string BestExporter::export_model(TPUEstimator& estimator, const std::string& export_path,
                                       const std::string& checkpoint_path,
                                       const Evaluation& eval_result, bool) {
  if (eval_result.examples() == 0) {
    log_warning(
        "exporter '{}': evaluation, got one of no examples, which is no better than another",
        name());
    return "";
  }
  const std::optional<Evaluation> best = read_best(export_path);
  if (best && !is_better(export_path, *best, eval_result)) return "";
  std::string made = write(estimator, export_path, checkpoint_path);
  write_best(export_path, eval_result);
  return made;
}

}  // namespace systole
