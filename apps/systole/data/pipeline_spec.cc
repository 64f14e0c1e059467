#include "apps/systole/data/pipeline_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "systole/base/suggest.h"
#include "systole/data/sources.h"

namespace systole::app {

Error yaml_error(const YAML::Node& node, const std::string& stage, const std::string& got,
                 const std::string& wanted) {
  return invalid_argument("pipeline:{}: {}, got {}, expected {}", node.Mark().line + 1, stage, got,
                          wanted);
}

template <class T>
T yaml_value(const YAML::Node& node, const std::string& stage, const char* wanted) {
  try {
    return node.as<T>();
  } catch (const YAML::Exception&) {
    const std::string got = node.IsScalar() ? "'" + node.Scalar() + "'" : "no single value";
    throw yaml_error(node, stage, got, wanted);
  }
}
template std::string yaml_value(const YAML::Node&, const std::string&, const char*);
template int64_t yaml_value(const YAML::Node&, const std::string&, const char*);
template double yaml_value(const YAML::Node&, const std::string&, const char*);
template bool yaml_value(const YAML::Node&, const std::string&, const char*);

namespace {

// A stage's argument: one value, or several by name, each of which must be known.
class Argument {
 public:
  Argument(std::string stage, const YAML::Node& node, std::vector<std::string> names)
      : stage_(std::move(stage)), node_(node), names_(std::move(names)) {
    if (!node.IsMap()) return;
    for (const auto& entry : node) {
      const auto name = yaml_value<std::string>(entry.first, stage_, "a name");
      if (std::ranges::find(names_, name) == names_.end()) {
        throw yaml_error(entry.first, stage_, "'" + name + "'",
                         fmt::format("{}{}", fmt::join(names_, ", "), did_you_mean(name, names_)));
      }
    }
  }

  // The argument of that name; the first name is that of a single value.
  YAML::Node find(const std::string& name) const {
    if (node_.IsMap()) return node_[name];
    return name == names_[0] && !node_.IsNull() ? node_ : YAML::Node(YAML::NodeType::Undefined);
  }
  int64_t integer(const std::string& name) const {
    const YAML::Node value = find(name);
    if (!value.IsDefined()) throw yaml_error(node_, stage_, "no " + name, "a number");
    return yaml_value<int64_t>(value, stage_ + " " + name, "a number");
  }
  int64_t integer(const std::string& name, int64_t otherwise) const {
    return find(name).IsDefined() ? integer(name) : otherwise;
  }
  bool flag(const std::string& name) const {
    const YAML::Node value = find(name);
    return value.IsDefined() && yaml_value<bool>(value, stage_ + " " + name, "true or false");
  }
  std::string text(const std::string& name) const {
    const YAML::Node value = find(name);
    return value.IsDefined() ? yaml_value<std::string>(value, stage_ + " " + name, "a text") : "";
  }
  // One pattern or a list of them.
  std::vector<std::string> patterns(const std::string& name) const {
    const YAML::Node value = find(name);
    if (!value.IsDefined()) throw yaml_error(node_, stage_, "no " + name, "names of files");
    if (!value.IsSequence()) return {yaml_value<std::string>(value, stage_, "a name of a file")};
    std::vector<std::string> patterns;
    for (const YAML::Node& entry : value) {
      patterns.push_back(yaml_value<std::string>(entry, stage_, "a name of a file"));
    }
    return patterns;
  }

 private:
  std::string stage_;
  YAML::Node node_;
  std::vector<std::string> names_;
};

std::vector<std::string> files_of(const Argument& argument) {
  std::vector<std::string> files;
  for (const Element& name : Dataset::list_files(argument.patterns("files"), {.shuffle = false})) {
    files.push_back(name.leaf().data<std::string>()[0]);
  }
  return files;
}

struct Source {
  const char* name;
  std::vector<std::string> arguments;
  Pipeline (*make)(const Argument& argument);
};

const std::vector<Source>& sources() {
  static const std::vector<Source> table = {
      {"tfrecord",
       {"files", "compression_type", "num_parallel_reads", "buffer_size"},
       [](const Argument& argument) {
         Pipeline pipeline;
         pipeline.record_files = files_of(argument);
         pipeline.compression = argument.text("compression_type");
         pipeline.dataset =
             TFRecordDataset(pipeline.record_files,
                             {.compression_type = pipeline.compression,
                              .buffer_size = argument.integer("buffer_size", 256 << 10),
                              .num_parallel_reads = argument.integer("num_parallel_reads", 0)});
         return pipeline;
       }},
      {"text_line",
       {"files", "compression_type"},
       [](const Argument& argument) {
         return Pipeline{
             .dataset = TextLineDataset(files_of(argument),
                                        {.compression_type = argument.text("compression_type")})};
       }},
      {"fixed_length",
       {"files", "record_bytes"},
       [](const Argument& argument) {
         return Pipeline{.dataset = FixedLengthRecordDataset(files_of(argument),
                                                             argument.integer("record_bytes"))};
       }},
      {"idx",
       {"file"},
       [](const Argument& argument) {
         return Pipeline{.dataset = IdxDataset(argument.text("file"))};
       }},
      {"npy",
       {"file"},
       [](const Argument& argument) {
         return Pipeline{.dataset = NpyDataset(argument.text("file"))};
       }},
      {"range",
       {"stop"},
       [](const Argument& argument) {
         return Pipeline{.dataset = Dataset::range(argument.integer("stop"))};
       }},
  };
  return table;
}

struct Stage {
  const char* name;
  std::vector<std::string> arguments;
  Dataset (*apply)(const Dataset& dataset, const Argument& argument);
};

const std::vector<Stage>& stages() {
  static const std::vector<Stage> table = {
      {"shuffle",
       {"buffer_size", "seed"},
       [](const Dataset& dataset, const Argument& argument) {
         return dataset.shuffle(argument.integer("buffer_size"),
                                {.seed = argument.integer("seed", 0)});
       }},
      {"repeat",
       {"count"},
       [](const Dataset& dataset, const Argument& argument) {
         return dataset.repeat(argument.integer("count", -1));
       }},
      {"batch",
       {"batch_size", "drop_remainder"},
       [](const Dataset& dataset, const Argument& argument) {
         return dataset.batch(argument.integer("batch_size"), argument.flag("drop_remainder"));
       }},
      {"prefetch",
       {"buffer_size"},
       [](const Dataset& dataset, const Argument& argument) {
         return dataset.prefetch(argument.integer("buffer_size", AUTOTUNE));
       }},
      {"take",
       {"count"},
       [](const Dataset& dataset, const Argument& argument) {
         return dataset.take(argument.integer("count"));
       }},
      {"skip",
       {"count"},
       [](const Dataset& dataset, const Argument& argument) {
         return dataset.skip(argument.integer("count"));
       }},
      {"shard",
       {"num_shards", "index"},
       [](const Dataset& dataset, const Argument& argument) {
         return dataset.shard(argument.integer("num_shards"), argument.integer("index"));
       }},
      {"cache",
       {"file"},
       [](const Dataset& dataset, const Argument& argument) {
         const std::string file = argument.text("file");
         return file.empty() ? dataset.cache() : dataset.cache(file);
       }},
      {"enumerate",
       {"start"},
       [](const Dataset& dataset, const Argument& argument) {
         return dataset.enumerate(argument.integer("start", 0));
       }},
      {"unbatch",
       {"none"},
       [](const Dataset& dataset, const Argument&) { return dataset.unbatch(); }},
  };
  return table;
}

// The name and the argument of an entry of the list: `name: argument`, or a name alone.
std::pair<std::string, YAML::Node> named(const YAML::Node& entry) {
  if (entry.IsScalar()) return {entry.Scalar(), YAML::Node(YAML::NodeType::Null)};
  if (!entry.IsMap() || entry.size() != 1) {
    throw yaml_error(entry, "stage", "something else", "a name and its argument");
  }
  const auto first = entry.begin();
  return {yaml_value<std::string>(first->first, "stage", "a name"), first->second};
}

Dataset map_stage(const Dataset& dataset, const YAML::Node& argument) {
  const Argument options("map", argument, {"ops", "num_parallel_calls"});
  const YAML::Node list = options.find("ops");
  if (!list.IsDefined() || !list.IsSequence()) {
    throw yaml_error(argument, "map", "no list", "ops: a list of ops");
  }
  std::vector<GraphOp> ops;
  for (const YAML::Node& entry : list) {
    const auto [name, op_argument] = named(entry);
    ops.push_back(parse_pipeline_op(name, op_argument));
  }
  return dataset.map(
      [ops](const Nest<Output>& element) {
        Nest<Output> result = element;
        for (const GraphOp& op : ops) result = op(result);
        return result;
      },
      {.num_parallel_calls = options.integer("num_parallel_calls", 0)});
}

template <class Table>
auto find_row(const Table& table, const std::string& name) {
  return std::ranges::find_if(table, [&](const auto& row) { return row.name == name; });
}

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

void add_stage(Pipeline& pipeline, const YAML::Node& entry) {
  const auto [name, argument] = named(entry);
  if (name == "map") {
    pipeline.dataset = map_stage(pipeline.dataset, argument);
    return;
  }
  if (is_pipeline_op(name)) {
    const GraphOp op = parse_pipeline_op(name, argument);
    pipeline.dataset =
        pipeline.dataset.map([op](const Nest<Output>& element) { return op(element); });
    return;
  }
  const auto row = find_row(stages(), name);
  if (row == stages().end()) {
    std::vector<std::string> names = names_of(stages());
    names.emplace_back("map");
    std::ranges::copy(pipeline_op_names(), std::back_inserter(names));
    throw yaml_error(entry, "stage", "'" + name + "'",
                     fmt::format("{}{}", fmt::join(names, ", "), did_you_mean(name, names)));
  }
  pipeline.dataset = row->apply(pipeline.dataset, Argument(name, argument, row->arguments));
  if (name == "batch") pipeline.batched = true;
  if (name == "unbatch") pipeline.batched = false;
}

}  // namespace

Pipeline parse_pipeline(const std::string& yaml) {
  YAML::Node root;
  try {
    root = YAML::Load(yaml);
  } catch (const YAML::ParserException& error) {
    throw invalid_argument("pipeline:{}: YAML, got '{}', expected a list of stages",
                           error.mark.line + 1, error.msg);
  }
  if (!root.IsSequence() || root.size() == 0) {
    throw yaml_error(root, "pipeline", "no list", "a list of stages, a source first");
  }
  const auto [name, argument] = named(root[0]);
  const auto row = find_row(sources(), name);
  if (row == sources().end()) {
    const std::vector<std::string> names = names_of(sources());
    throw yaml_error(root[0], "source", "'" + name + "'",
                     fmt::format("{}{}", fmt::join(names, ", "), did_you_mean(name, names)));
  }
  Pipeline pipeline = row->make(Argument(name, argument, row->arguments));
  for (size_t i = 1; i < root.size(); ++i) add_stage(pipeline, root[i]);
  return pipeline;
}

}  // namespace systole::app
