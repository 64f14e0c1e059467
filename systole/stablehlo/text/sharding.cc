#include "systole/stablehlo/text/sharding.h"

#include <fmt/core.h>

#include <algorithm>

namespace systole::hlo::text {
namespace {

const Attribute& find_sharding(const Lexer& lexer, const ParsedOp& op, std::string_view name) {
  for (const Dictionary& dictionary : op.attributes) {
    if (const Attribute* attribute = dictionary.find(name)) return *attribute;
  }
  throw lexer.error_at(op.offset(),
                       fmt::format("{}: attributes, got no '{}', expected one", op.name, name));
}

}  // namespace

std::string sharding_text(Lexer& lexer, const Attribute& attribute) {
  const std::string text = attribute_text(lexer, attribute);
  const auto* dialect = std::get_if<DialectAttribute>(&attribute.value);
  if (dialect == nullptr) return text;
  const std::string_view body = std::string_view(text).substr(1 + dialect->name.size());
  if (dialect->name == kShardingPerValue && body.starts_with('[')) {
    return fmt::format("#{}<{}>", kShardingPerValue, body);
  }
  if (dialect->name == kManualAxes && body.starts_with('{')) {
    return fmt::format("#sdy<manual_axes{}>", body);
  }
  return text;
}

std::vector<std::string> sharding_texts(Lexer& lexer, const Attribute& attribute) {
  const auto* dialect = std::get_if<DialectAttribute>(&attribute.value);
  if (dialect == nullptr || dialect->name != kShardingPerValue) {
    return {attribute_text(lexer, attribute)};
  }
  std::vector<std::string> texts;
  const size_t position = lexer.position();
  lexer.seek(dialect->body);
  lexer.expect('<', "shardings");
  lexer.expect('[', "shardings");
  while (!lexer.accept(']')) {
    if (!texts.empty()) lexer.expect(',', "shardings");
    const size_t begin = lexer.position();
    if (!lexer.peek().is('<')) throw lexer.unexpected("shardings", "'<'");
    lexer.skip_balanced('<', '>');
    const size_t end = lexer.last_end();
    const Attribute one{
        .offset = begin, .end = end, .value = DialectAttribute{"sdy.sharding", begin}};
    const size_t next = lexer.position();
    texts.push_back(attribute_text(lexer, one));
    lexer.seek(next);
  }
  lexer.seek(position);
  return texts;
}

Value add_sharding(Builder& builder, Value value, std::string_view attribute, std::string text) {
  const bool partial = text.find("unreduced") != std::string::npos;
  if (value.dtype() == DType::token || (value.shape().rank() == 0 && !partial)) return value;
  CustomCallAttrs attrs;
  attrs.call_target_name = kShardingTarget;
  attrs.others.push_back({std::string(attribute), {std::move(text)}});
  return builder.op(Opcode::custom_call, {value}, std::move(attrs), {value.type()})->result();
}

ManualShardings read_manual_shardings(Lexer& lexer, const ParsedOp& op) {
  return {.in = sharding_text(lexer, find_sharding(lexer, op, "in_shardings")),
          .out = sharding_text(lexer, find_sharding(lexer, op, "out_shardings")),
          .axes = sharding_text(lexer, find_sharding(lexer, op, "manual_axes"))};
}

std::vector<Value> add_shape_change(Builder& builder, std::string_view target,
                                    const std::vector<Value>& values,
                                    const std::vector<TensorType>& types,
                                    const ManualShardings& shardings) {
  if (values.empty()) return {};
  CustomCallAttrs attrs;
  attrs.call_target_name = target;
  const bool in = target == kGlobalToLocal;
  attrs.others.push_back({std::string(in ? kInShardingsAttribute : kOutShardingsAttribute),
                          {in ? shardings.in : shardings.out}});
  attrs.others.push_back({std::string(kManualAxesAttribute), {shardings.axes}});
  std::ranges::sort(attrs.others, {}, &NamedAttrText::name);  // as MLIR does
  Instruction* const call = builder.op(Opcode::custom_call, values, std::move(attrs), types);
  std::vector<Value> results;
  for (int i = 0; i < call->num_results(); ++i) results.push_back(call->result(i));
  return results;
}

}  // namespace systole::hlo::text
