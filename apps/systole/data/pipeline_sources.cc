// The sources of pipelines.
#include <algorithm>
#include <numeric>

#include "apps/systole/data/pipeline_spec.h"
#include "systole/data/sources.h"
#include "systole/graph/api/array_ops.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/csv.h"

namespace systole::app {
namespace {

constexpr ConfigKey kRecordKeys[] = {
    {"files", "text or list", "required",
     "File names, with wildcards * and ?; inside interleave and flat_map the element by default."},
    {"compression_type", "text", "", "GZIP or ZLIB."},
    {"num_parallel_reads", "integer or AUTOTUNE", "0", "Number of files to read in parallel."},
    {"buffer_size", "integer", "262144", "Bytes read at a time."}};
constexpr ConfigKey kTextKeys[] = {
    {"files", "text or list", "required", "File names, as in tfrecord."},
    {"compression_type", "text", "", "GZIP or ZLIB."}};
constexpr ConfigKey kListKeys[] = {
    {"files", "text or list", "required", "File names, with wildcards * and ?."},
    {"shuffle", "boolean", "true", "Shuffle again in each epoch; otherwise sorted by name."},
    {"seed", "integer", "0", "Equal seeds give equal orders."}};
constexpr ConfigKey kFixedKeys[] = {
    {"files", "text or list", "required", "File names, as in tfrecord."},
    {"record_bytes", "integer", "required", "Size of one record."}};
constexpr ConfigKey kFileKeys[] = {{"file", "text", "required", "File name."}};
constexpr ConfigKey kRangeKeys[] = {{"stop", "integer", "required", "The limit, exclusive."}};
constexpr ConfigKey kCsvKeys[] = {
    {"files", "text or list", "required", "File names."},
    {"features", "map", "required",
     "A dtype for each feature, read from the column of its name; or a map of `dtype` and "
     "`columns` (a column, or a list of columns) or `column_range` (`[first, last]`). Columns are "
     "given by name, or by number from 0. A list or a range makes a vector."},
    {"header", "boolean", "true", "The first line names the columns."},
    {"field_delim", "text", "`,`", "Field separator."}};
constexpr ConfigKey kZipKeys[] = {
    {kAnyName, "pipeline", "required", "The pipeline of this feature."}};
constexpr ConfigKey kFeatureKeys[] = {
    {"dtype", "text", "required", "TensorFlow's name of the dtype."},
    {"columns", "name, number or list", "", "Where its values stand."},
    {"column_range", "[first, last]", "", "The same for columns in a row."}};

std::vector<std::string> patterns_of(const ConfigSection& argument, const PipelineScope& scope) {
  argument.require("files", "names of files");
  std::vector<std::string> patterns = argument.texts("files");
  for (std::string& pattern : patterns) pattern = scope.path_of(pattern);
  return patterns;
}

std::vector<std::string> files_of(const ConfigSection& argument, const PipelineScope& scope) {
  const std::vector<std::string> patterns = patterns_of(argument, scope);
  std::vector<std::string> files;
  for (const Element& name : Dataset::list_files(patterns, {.shuffle = false})) {
    files.push_back(name.leaf().data<std::string>()[0]);
  }
  return files;
}

// Inside an interleave the element may be the file name.
bool is_file_of_element(const ConfigSection& argument, const PipelineScope& scope) {
  return scope.element && !argument.has("files");
}
FileNames names_of_files(const ConfigSection& argument, const PipelineScope& scope) {
  if (is_file_of_element(argument, scope)) return *scope.element;
  return files_of(argument, scope);
}

std::string file_of(const ConfigSection& argument, const PipelineScope& scope) {
  argument.require("file", "the name of a file");
  return scope.path_of(argument.text("file"));
}

Pipeline tfrecord(const ConfigSection& argument, const PipelineScope& scope) {
  Pipeline pipeline;
  if (!is_file_of_element(argument, scope)) pipeline.record_files = files_of(argument, scope);
  pipeline.compression = argument.text("compression_type");
  pipeline.parallel_reads = integer_or_autotune(argument, "num_parallel_reads", 0);
  pipeline.dataset = TFRecordDataset(
      pipeline.record_files.empty() ? FileNames(*scope.element) : FileNames(pipeline.record_files),
      {.compression_type = pipeline.compression,
       .buffer_size = argument.integer("buffer_size", 256 << 10),
       .num_parallel_reads = pipeline.parallel_reads});
  return pipeline;
}

// -- CSV.

struct CsvFeature {
  std::string name;
  DType dtype = DType::f32;
  std::vector<size_t> columns;
  bool scalar = true;  // one column by itself, not a list of one
};

// Each column is read as a separate tensor, so a longer range is a mistake.
constexpr size_t kMaxRangeColumns = size_t{1} << 20;

size_t column_of(const ConfigNode& node, const std::string& what, const CsvReader& reader) {
  const auto text = node.as<std::string>(what, "a column");
  if (!reader.header().empty()) {
    const auto& header = reader.header();
    const auto found = std::ranges::find(header, text);
    if (found != header.end()) return static_cast<size_t>(found - header.begin());
  }
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) {
    throw node.error(
        what, "'" + text + "'",
        reader.header().empty() ? "the number of a column" : expected_names(text, reader.header()));
  }
  return static_cast<size_t>(node.as<int64_t>(what, "the number of a column"));
}

std::vector<size_t> columns_between(const ConfigNode& range, const std::string& what,
                                    const CsvReader& reader) {
  const std::string wanted = "[first, last]";
  if (!range.is_list()) throw range.error(what, range.shown(), wanted);
  const auto ends = range.items(what, wanted);
  if (ends.size() != 2) throw range.error(what, fmt::format("{} columns", ends.size()), wanted);
  const size_t first = column_of(ends[0], what, reader);
  const size_t last = column_of(ends[1], what, reader);
  if (last < first) throw range.error(what, "the last before the first", wanted);
  if (last - first >= kMaxRangeColumns) {
    throw range.error(what, fmt::format("{} columns", last - first + 1),
                      fmt::format("at most {}", kMaxRangeColumns));
  }
  std::vector<size_t> columns(last - first + 1);
  std::iota(columns.begin(), columns.end(), first);
  return columns;
}

CsvFeature csv_feature(const std::string& name, const ConfigNode& node, const CsvReader& reader) {
  const ConfigSection spec("feature '" + name + "'", node, kFeatureKeys);
  CsvFeature feature{.name = name,
                     .dtype = config_dtype(spec.require("dtype", "a dtype"), spec.what("dtype"))};
  if (spec.has("columns") && spec.has("column_range")) {
    throw spec.error("columns", "column_range beside it", "one of the two");
  }
  if (const ConfigNode range = spec.find("column_range"); range.present()) {
    feature.columns = columns_between(range, spec.what("column_range"), reader);
    feature.scalar = false;
    return feature;
  }
  const ConfigNode columns = spec.find("columns");
  const std::string what = spec.what("columns");
  if (!columns.present()) {
    feature.columns = {reader.column_index(name)};
  } else if (!columns.is_list()) {
    feature.columns = {column_of(columns, what, reader)};
  } else {
    for (const ConfigNode& column : columns.items(what, "a list of columns")) {
      feature.columns.push_back(column_of(column, what, reader));
    }
    if (feature.columns.empty()) throw columns.error(what, "an empty list", "a list of columns");
    feature.scalar = false;
  }
  return feature;
}

Pipeline csv(const ConfigSection& argument, const PipelineScope& scope) {
  const std::vector<std::string> files = files_of(argument, scope);
  const bool header = argument.flag("header", true);
  const std::string delimiter = argument.text("field_delim", ",");
  if (delimiter.size() != 1) {
    throw argument.error("field_delim", "'" + delimiter + "'", "one character");
  }
  const CsvReader reader(default_file_system().open(files.at(0)),
                         {.header = header, .delimiter = delimiter[0]});
  std::vector<CsvFeature> features;
  std::map<size_t, DType> wanted;
  for (const auto& [name, node] :
       argument.require("features", "{feature: dtype}").entries(argument.what("features"))) {
    features.push_back(csv_feature(name, node, reader));
    const CsvFeature& feature = features.back();
    for (const size_t column : feature.columns) {
      if (wanted.emplace(column, feature.dtype).first->second != feature.dtype) {
        throw node.error("csv", fmt::format("two dtypes for column {}", column), "one");
      }
    }
  }
  std::vector<Tensor> defaults;
  std::vector<size_t> columns;
  for (const auto& [column, dtype] : wanted) {
    columns.push_back(column);
    // A text may be empty, a number is required.
    defaults.push_back(dtype == DType::string ? Tensor("") : Tensor(dtype, {0}));
  }
  const CsvDataset records(files, defaults,
                           {.header = header, .field_delim = delimiter[0], .select_cols = columns});
  const auto position = [columns](size_t column) {
    return static_cast<size_t>(std::ranges::find(columns, column) - columns.begin());
  };
  return {.dataset = records.map([features, position](const Nest<Output>& record) {
    std::vector<Nest<Output>::Entry> entries;
    for (const CsvFeature& feature : features) {
      std::vector<Output> parts;
      for (const size_t column : feature.columns) {
        parts.push_back(record[position(column)].leaf());
      }
      entries.emplace_back(feature.name, feature.scalar ? parts[0] : stack(parts));
    }
    return Nest<Output>::dict(std::move(entries));
  })};
}

Pipeline zip(const ConfigSection& argument, const PipelineScope& scope) {
  std::vector<Nest<Dataset>::Entry> parts;
  for (const auto& [name, stages] : argument.node().entries("zip")) {
    parts.emplace_back(name, parse_pipeline(stages, scope).dataset);
  }
  return {.dataset = Dataset::zip(Nest<Dataset>::dict(std::move(parts)))};
}

constexpr PipelineSource kSources[] = {
    {"tfrecord", "Records of TFRecord files.", kRecordKeys, &tfrecord},
    {"csv", "Rows of CSV files, as features.", kCsvKeys, &csv},
    {"text_line", "Lines of text files.", kTextKeys,
     [](const ConfigSection& argument, const PipelineScope& scope) {
       return Pipeline{
           .dataset = TextLineDataset(names_of_files(argument, scope),
                                      {.compression_type = argument.text("compression_type")})};
     }},
    {"fixed_length", "Records of equal length.", kFixedKeys,
     [](const ConfigSection& argument, const PipelineScope& scope) {
       return Pipeline{.dataset = FixedLengthRecordDataset(names_of_files(argument, scope),
                                                           argument.integer("record_bytes"))};
     }},
    {"idx", "Rows of an IDX file, plain or gzip.", kFileKeys,
     [](const ConfigSection& argument, const PipelineScope& scope) {
       return Pipeline{.dataset = IdxDataset(file_of(argument, scope))};
     }},
    {"npy", "Rows of a NumPy array.", kFileKeys,
     [](const ConfigSection& argument, const PipelineScope& scope) {
       return Pipeline{.dataset = NpyDataset(file_of(argument, scope))};
     }},
    {"range", "Integers from 0.", kRangeKeys,
     [](const ConfigSection& argument, const PipelineScope&) {
       return Pipeline{.dataset = Dataset::range(argument.integer("stop"))};
     }},
    {"list_files", "File names, for interleave.", kListKeys,
     [](const ConfigSection& argument, const PipelineScope& scope) {
       return Pipeline{.dataset = Dataset::list_files(patterns_of(argument, scope),
                                                      {.shuffle = argument.flag("shuffle", true),
                                                       .seed = argument.integer("seed", 0)})};
     }},
    {"element",
     "The single element of the surrounding interleave or flat_map.",
     {},
     [](const ConfigSection& argument, const PipelineScope& scope) {
       if (!scope.element) {
         throw argument.node().error("element", "it outside of a pipeline of interleave",
                                     "it inside of one");
       }
       return Pipeline{.dataset = *scope.element};
     }},
    {"zip", "Combines pipelines: `{image: [...], label: [...]}`.", kZipKeys, &zip}};

}  // namespace

std::string PipelineScope::path_of(const std::string& file) const {
  return join_path(folder, file);
}

std::span<const PipelineSource> pipeline_sources() { return kSources; }

}  // namespace systole::app
