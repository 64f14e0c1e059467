#include "systole/keras/layers/lambda.h"

#include <map>

#include "systole/keras/engine/layer_class.h"

namespace systole::keras::layers {
namespace {

std::map<std::string, LambdaFn>& lambda_table() {
  static std::map<std::string, LambdaFn> functions;
  return functions;
}

const LambdaFn& registered_lambda(const std::string& name) {
  const auto it = lambda_table().find(name);
  if (it == lambda_table().end()) {
    std::vector<std::string> names;
    for (const auto& [known, function] : lambda_table()) names.push_back(known);
    throw not_found("Lambda: Unknown function:{}{}, expected one that register_lambda() named",
                    name, did_you_mean(name, names));
  }
  return it->second;
}

struct LambdaLayerOptions {
  LambdaOptions common;
  std::string function_name;
  LambdaFn function;
  Json arguments = Json::object();
};

class LambdaLayer : public LayerDefinition {
 public:
  explicit LambdaLayer(LambdaLayerOptions options) : options_(std::move(options)) {}

  std::string class_name() const override { return "Lambda"; }
  MaskSupport mask_support() const override {
    return options_.common.mask ? MaskSupport::custom : MaskSupport::refuse;
  }

  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    std::vector<Output> outputs = options_.function(inputs, options_.arguments);
    if (!options_.common.mask) return outputs;
    const Output given = context.mask(inputs.at(0));
    const Output mask = given.valid() ? options_.common.mask(given) : Output();
    if (mask.valid()) {
      for (const Output& output : outputs) context.set_mask(output, mask);
    }
    return outputs;
  }

  Json config() const override {
    if (options_.function_name.empty()) {
      throw make_error(Code::unimplemented,
                       "layer '{}': a Lambda of a function without a name cannot be saved, "
                       "expected Lambda(\"name\", function)",
                       name());
    }
    Json json = common_config(*this);
    json["function"] = options_.function_name;
    json["function_type"] = "function";
    json["output_shape"] = nullptr;
    json["output_shape_type"] = "raw";
    json["arguments"] = options_.arguments;
    return json;
  }

 private:
  const LambdaLayerOptions options_;
};

std::shared_ptr<LayerDefinition> lambda_from_config(const Json& given) {
  Json config = given;
  const CommonArguments common = take_common_arguments(config);
  if (config.value("function_type", "function") != "function" ||
      !config.at("function").is_string()) {
    throw make_error(Code::unimplemented,
                     "Lambda: layer '{}' of this file is the bytecode of a Python lambda: expected "
                     "a function with a name, that register_lambda() makes known",
                     common.name);
  }
  LambdaLayerOptions options;
  options.function_name = config.at("function").get<std::string>();
  options.function = registered_lambda(options.function_name);
  if (config.contains("arguments") && !config.at("arguments").is_null()) {
    options.arguments = config.at("arguments");
  }
  auto layer = std::make_shared<LambdaLayer>(std::move(options));
  apply_common(*layer, common);
  return layer;
}

std::shared_ptr<LayerDefinition> make_lambda(const std::string& function_name, LambdaFn function,
                                             LambdaOptions common, SourceLocation where) {
  CommonArguments arguments{.name = common.name, .trainable = common.trainable, .where = where};
  arguments.batch_input_shape = common.batch_input_shape;
  if (common.input_shape) arguments.batch_input_shape = with_batch(-1, *common.input_shape);
  auto layer = std::make_shared<LambdaLayer>(
      LambdaLayerOptions{std::move(common), function_name, std::move(function)});
  apply_common(*layer, arguments);
  return layer;
}

}  // namespace

void register_lambda(const std::string& name, LambdaFn function) {
  lambda_table()[name] = std::move(function);
}

LayerClass lambda_class() {
  return {.name = "Lambda",
          .arguments = {{"function", "the name of a registered function",
                         Json(Json::value_t::discarded)},
                        {"arguments", "an object", Json::object()}},
          .from_config = lambda_from_config};
}

Lambda::Lambda(const std::string& function_name, LambdaFn function, LambdaOptions options,
               Where where)
    : Layer(make_lambda(function_name, function, std::move(options), where)) {
  if (!function_name.empty()) register_lambda(function_name, std::move(function));
}

Lambda::Lambda(const char* function_name, LambdaOptions options, Where where)
    : Lambda(std::string(function_name), registered_lambda(function_name), std::move(options),
             where) {}

}  // namespace systole::keras::layers
