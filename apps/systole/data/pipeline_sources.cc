// Where a pipeline's elements come from.
#include <algorithm>

#include "apps/systole/data/pipeline_spec.h"
#include "systole/data/sources.h"
#include "systole/graph/api/array_ops.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/csv.h"

namespace systole::app {
namespace {

constexpr ConfigKey kRecordKeys[] = {
    {"files", "text or list", "required",
     "Names of files, with * and ? where several are meant; inside of interleave and flat_map: the "
     "element, when absent."},
    {"compression_type", "text", "", "GZIP or ZLIB."},
    {"num_parallel_reads", "integer or AUTOTUNE", "0", "Files that are read at once."},
    {"buffer_size", "integer", "262144", "Bytes read at a time."}};
constexpr ConfigKey kTextKeys[] = {
    {"files", "text or list", "required", "Names of files, as those of tfrecord."},
    {"compression_type", "text", "", "GZIP or ZLIB."}};
constexpr ConfigKey kListKeys[] = {
    {"files", "text or list", "required", "Names of files, with * and ? where several are meant."},
    {"shuffle", "boolean", "true", "Another order in each epoch; else that of their names."},
    {"seed", "integer", "0", "Equal seeds, equal orders."}};
constexpr ConfigKey kFixedKeys[] = {
    {"files", "text or list", "required", "Names of files, as those of tfrecord."},
    {"record_bytes", "integer", "required", "Of one record."}};
constexpr ConfigKey kFileKeys[] = {{"file", "text", "required", "The name of the file."}};
constexpr ConfigKey kRangeKeys[] = {{"stop", "integer", "required", "The number after the last."}};
constexpr ConfigKey kCsvKeys[] = {
    {"files", "text or list", "required", "Names of files."},
    {"features", "map", "required",
     "A dtype for each feature, of the column of its name; or `{dtype, columns}`: a column, or "
     "`[first, last]`, by name or by number from 0."},
    {"header", "boolean", "true", "The first line names the columns."},
    {"field_delim", "text", "`,`", "What stands between fields."}};
constexpr ConfigKey kZipKeys[] = {
    {kAnyName, "pipeline", "required", "Where this feature comes from."}};
constexpr ConfigKey kFeatureKeys[] = {
    {"dtype", "text", "required", "TensorFlow's name of it."},
    {"columns", "name, number or list", "", "Where its values stand."}};

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

// Inside of an interleave the element may be the name.
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
  size_t first = 0;
  size_t last = 0;
  bool scalar = true;
};

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

CsvFeature csv_feature(const std::string& name, const ConfigNode& node, const CsvReader& reader) {
  const ConfigSection spec("feature '" + name + "'", node, kFeatureKeys);
  CsvFeature feature{.name = name,
                     .dtype = config_dtype(spec.require("dtype", "a dtype"), spec.what("dtype"))};
  const ConfigNode columns = spec.find("columns");
  if (!columns.present()) {
    feature.first = feature.last = reader.column_index(name);
    return feature;
  }
  const std::string what = spec.what("columns");
  if (!columns.is_list()) {
    feature.first = feature.last = column_of(columns, what, reader);
    return feature;
  }
  const auto ends = columns.items(what, "[first, last]");
  if (ends.size() != 2) throw columns.error(what, "a list", "[first, last]");
  feature.first = column_of(ends[0], what, reader);
  feature.last = column_of(ends[1], what, reader);
  feature.scalar = false;
  if (feature.last < feature.first) {
    throw columns.error(what, "the last before the first", "[first, last]");
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
    for (size_t column = feature.first; column <= feature.last; ++column) {
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
      for (size_t column = feature.first; column <= feature.last; ++column) {
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
    {"csv", "Lines of CSV files, as features.", kCsvKeys, &csv},
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
    {"idx", "Rows of an IDX file, compressed or not.", kFileKeys,
     [](const ConfigSection& argument, const PipelineScope& scope) {
       return Pipeline{.dataset = IdxDataset(file_of(argument, scope))};
     }},
    {"npy", "Rows of a NumPy array.", kFileKeys,
     [](const ConfigSection& argument, const PipelineScope& scope) {
       return Pipeline{.dataset = NpyDataset(file_of(argument, scope))};
     }},
    {"range", "Numbers from 0.", kRangeKeys,
     [](const ConfigSection& argument, const PipelineScope&) {
       return Pipeline{.dataset = Dataset::range(argument.integer("stop"))};
     }},
    {"list_files", "Names of files, for interleave.", kListKeys,
     [](const ConfigSection& argument, const PipelineScope& scope) {
       return Pipeline{.dataset = Dataset::list_files(patterns_of(argument, scope),
                                                      {.shuffle = argument.flag("shuffle", true),
                                                       .seed = argument.integer("seed", 0)})};
     }},
    {"element",
     "The element of the interleave or flat_map around the pipeline, alone.",
     {},
     [](const ConfigSection& argument, const PipelineScope& scope) {
       if (!scope.element) {
         throw argument.node().error("element", "it outside of a pipeline of interleave",
                                     "it inside of one");
       }
       return Pipeline{.dataset = *scope.element};
     }},
    {"zip", "Pipelines side by side: `{image: [...], label: [...]}`.", kZipKeys, &zip}};

}  // namespace

std::string PipelineScope::path_of(const std::string& file) const {
  return join_path(folder, file);
}

std::span<const PipelineSource> pipeline_sources() { return kSources; }

}  // namespace systole::app
