#include <limits>
#include <optional>

#include "systole/hlo/ir/signature.h"
#include "systole/stablehlo/text/attr_reader.h"
#include "systole/stablehlo/text/attr_writer.h"
#include "systole/stablehlo/text/body_reader.h"
#include "systole/stablehlo/text/format.h"
#include "systole/stablehlo/text/kept_symbols.h"
#include "systole/stablehlo/text/location.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace text {
namespace {

// The parameter attribute of main that becomes an entry of Module::aliases.
constexpr std::string_view kAliasing = "tf.aliasing_output";
constexpr std::string_view kVisibility = "sym_visibility";

class Parser {
 public:
  explicit Parser(Lexer lexer) : lexer_(std::move(lexer)) {}

  // Returns the next module; nullptr at the end of the text. Functions outside of a module form
  // one.
  std::unique_ptr<Module> parse() {
    skip_aliases();
    if (lexer_.peek().is(TokenKind::end)) return nullptr;
    module_ = std::make_unique<Module>();
    bodies_.emplace(lexer_, *module_);
    if (lexer_.accept_word("module") || lexer_.accept_word("builtin.module")) {
      parse_module();
    } else if (accept_op("builtin.module")) {
      parse_generic_module();
    } else {
      for (; !lexer_.peek().is(TokenKind::end); skip_aliases()) parse_member("module");
    }
    bodies_->check_calls();
    skip_aliases();
    return std::move(module_);
  }

  const Lexer& lexer() const { return lexer_; }

 private:
  struct Function {
    Token token;  // where its name stands
    std::string name;
    std::vector<TypeTree> results;
    std::vector<Dictionary> parameter_attributes;  // one each
    std::vector<Dictionary> result_attributes;
    FunctionAttributes kept;
  };

  // #loc3 = loc("x"), !pair = tuple<...>: the lexer has found these already.
  void skip_aliases() {
    while (lexer_.peek().is(TokenKind::hash) || lexer_.peek().is(TokenKind::bang)) {
      lexer_.take();
      lexer_.expect('=', "alias");
      if (lexer_.peek().is_word("loc")) {
        read_location(lexer_);
      } else {
        read_attribute(lexer_);
      }
    }
    // {-# ... #-} at the end of the text: the lexer has found these already.
    if (lexer_.peek().is('{')) lexer_.skip_resources();
  }

  bool accept_op(std::string_view name) {
    const Token& token = lexer_.peek();
    if (!token.is(TokenKind::string) || unquote(token.text) != name) return false;
    lexer_.take();
    return true;
  }

  // module @name attributes {...} {...}
  void parse_module() {
    if (lexer_.peek().is(TokenKind::symbol)) {
      module_->set_name(unquote(lexer_.take().text.substr(1)));
    }
    if (lexer_.accept_word("attributes")) keep_module(read_dictionary(lexer_));
    lexer_.expect('{', "module");
    while (!lexer_.accept('}')) parse_member("module");
    read_location(lexer_);
  }

  // "builtin.module"() <{sym_name = "name"}> ({...}) {...} : () -> ()
  void parse_generic_module() {
    Dictionary attributes = parse_generic_head();
    lexer_.expect('(', "module");
    lexer_.expect('{', "module");
    if (lexer_.peek().is(TokenKind::block)) {
      lexer_.take();
      if (lexer_.accept('(')) lexer_.expect(')', "module");
      lexer_.expect(':', "module");
    }
    while (!lexer_.accept('}')) parse_member("module");
    lexer_.expect(')', "module");
    parse_generic_tail(attributes);
    keep_module(attributes);
    const auto name = take_string(module_->attributes, "sym_name");
    if (name) module_->set_name(*name);
  }

  // () <{...}>
  Dictionary parse_generic_head() {
    Dictionary attributes;
    lexer_.expect('(', "operands");
    lexer_.expect(')', "operands");
    if (lexer_.accept('<')) {
      attributes = read_dictionary(lexer_);
      lexer_.expect('>', "properties");
    }
    return attributes;
  }

  // {...} : () -> (), after the region.
  void parse_generic_tail(Dictionary& attributes) {
    if (lexer_.peek().is('{')) {
      for (NamedAttribute& entry : read_dictionary(lexer_).entries) {
        attributes.entries.push_back(std::move(entry));
      }
    }
    lexer_.expect(':', "op");
    read_types(lexer_, "operand types");
    lexer_.expect(TokenKind::arrow, "op", "'->'");
    read_types(lexer_, "result types");
    read_location(lexer_);
  }

  void parse_member(std::string_view what) {
    if (lexer_.accept_word("func.func")) {
      parse_function();
    } else if (accept_op("func.func")) {
      parse_generic_function();
    } else if (lexer_.accept_word(kMesh)) {
      parse_mesh();
    } else if (accept_op(kMesh)) {
      parse_generic_mesh();
    } else {
      const std::string advice = advice_on(unquote(lexer_.peek().text));
      if (advice.empty()) throw lexer_.unexpected(what, "'func.func'");
      throw unimplemented("{}: {}, got '{}', expected 'func.func'{}",
                          lexer_.place(lexer_.position()), what, lexer_.peek().text, advice);
    }
  }

  // sdy.mesh @mesh = <["x"=2]> {...}
  void parse_mesh() {
    const Token name = lexer_.expect(TokenKind::symbol, "mesh", "a name such as @mesh");
    lexer_.expect('=', "mesh");
    const size_t begin = lexer_.position();
    if (!lexer_.peek().is('<')) throw lexer_.unexpected("mesh", "'<'");
    lexer_.skip_balanced('<', '>');
    keep_mesh(unquote(name.text.substr(1)), begin);
    if (lexer_.peek().is('{')) read_dictionary(lexer_);
    read_location(lexer_);
  }

  // "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "mesh"}> : () -> ()
  void parse_generic_mesh() {
    const Token at = lexer_.peek();
    Dictionary attributes = parse_generic_head();
    parse_generic_tail(attributes);
    const size_t end = lexer_.position();
    AttributeTexts texts;
    keep(attributes, texts);
    const std::string name = required_string(texts, "sym_name", at);
    const Attribute* mesh = attributes.find("mesh");
    const auto* body = mesh == nullptr ? nullptr : std::get_if<DialectAttribute>(&mesh->value);
    if (body == nullptr)
      throw lexer_.error_at(at.offset, "sdy.mesh: mesh, expected #sdy.mesh<...>");
    lexer_.seek(body->body);
    lexer_.skip_balanced('<', '>');
    keep_mesh(name, body->body);
    lexer_.seek(end);
  }

  // The text from `begin` to the last token taken.
  void keep_mesh(const std::string& name, size_t begin) {
    const Attribute mesh{.offset = begin, .end = lexer_.last_end(), .value = Other()};
    module_->attributes[std::string(kMeshAttribute) + name] = attribute_text(lexer_, mesh);
  }

  // public @main(%arg0: tensor<f32> {...}) -> (tensor<f32> {...}) attributes {...} {...}
  // private @f(tensor<f32> {...}) -> tensor<f32>
  void parse_function() {
    Function function;
    std::string visibility;
    if (lexer_.peek().is_word("public") || lexer_.peek().is_word("private") ||
        lexer_.peek().is_word("nested")) {
      visibility = lexer_.take().text;
    }
    function.token = lexer_.expect(TokenKind::symbol, "function", "a name such as @main");
    function.name = unquote(function.token.text.substr(1));
    if (visibility == "private" && is_declaration()) return parse_declaration(function);
    Computation& computation = begin_function(function);
    parse_parameters(computation, function);
    parse_results(function);
    if (lexer_.accept_word("attributes")) {
      keep(read_dictionary(lexer_), function.kept.function);
    }
    set_visibility(function, visibility);
    if (!lexer_.peek().is('{')) {
      throw lexer_.unexpected(fmt::format("function @{}", function.name), "'{' and its body");
    }
    lexer_.expect('{', "function");
    bodies_->read_block_label(computation);
    bodies_->read_body(computation);
    lexer_.expect('}', "function");
    read_location(lexer_);
    finish_function(computation, function);
  }

  // Returns whether the function's type is not followed by a body. Does not advance the lexer.
  bool is_declaration() {
    const size_t begin = lexer_.position();
    lexer_.skip_balanced('(', ')');
    Function ignored;
    parse_results(ignored);
    if (lexer_.accept_word("attributes")) read_dictionary(lexer_);
    const bool result = !lexer_.peek().is('{');
    lexer_.seek(begin);
    return result;
  }

  void parse_declaration(Function& function) {
    std::vector<TypeTree> parameters;
    lexer_.expect('(', "function");
    while (!lexer_.accept(')')) {
      if (!parameters.empty()) lexer_.expect(',', "function");
      if (lexer_.peek().is(TokenKind::value)) {
        parameters.push_back(read_parameter(lexer_).type);
      } else {
        parameters.push_back(read_type(lexer_));
      }
      if (lexer_.peek().is('{')) read_dictionary(lexer_);
    }
    parse_results(function);
    if (lexer_.accept_word("attributes")) read_dictionary(lexer_);
    read_location(lexer_);
    keep_declaration(function, parameters);
  }

  void keep_declaration(const Function& function, const std::vector<TypeTree>& parameters) {
    const auto list = [](const std::vector<TypeTree>& types) {
      std::vector<std::string> texts;
      for (const TensorType& type : flatten(types)) texts.push_back(type_text(type));
      return fmt::format("({})", join(texts));
    };
    const std::string text = list(parameters) + " -> " + list(function.results);
    const bool is_new =
        module_->find_function(function.name) == nullptr &&
        module_->attributes.emplace(std::string(kDeclaration) + function.name, text).second;
    if (!is_new) throw defined_twice(function);
  }

  Error defined_twice(const Function& function) const {
    return lexer_.error_at(
        function.token.offset,
        fmt::format("function, got @{} again, expected a new name", function.name));
  }

  void parse_parameters(Computation& computation, Function& function) {
    lexer_.expect('(', "function");
    bool first = true;
    while (!lexer_.accept(')')) {
      if (!first) lexer_.expect(',', "function");
      first = false;
      bodies_->add_parameter(computation, read_parameter(lexer_));
      // Attributes belong to a value: for a tuple, to its first leaf.
      Dictionary attributes;
      if (lexer_.peek().is('{')) attributes = read_dictionary(lexer_);
      read_location(lexer_);
      function.parameter_attributes.push_back(std::move(attributes));
      function.parameter_attributes.resize(static_cast<size_t>(computation.num_parameters()));
    }
  }

  void parse_results(Function& function) {
    if (!lexer_.peek().is(TokenKind::arrow)) return;
    lexer_.take();
    const bool list = lexer_.accept('(');
    while (!list || !lexer_.accept(')')) {
      if (!function.results.empty()) lexer_.expect(',', "function results");
      function.results.push_back(read_type(lexer_));
      if (!list) return;
      Dictionary attributes;
      if (lexer_.peek().is('{')) attributes = read_dictionary(lexer_);
      function.result_attributes.push_back(std::move(attributes));
      function.result_attributes.resize(flatten(function.results).size());
    }
  }

  // "func.func"() <{function_type = (T) -> T, sym_name = "main"}> ({^bb0(%arg0: T): ...}) : () ->
  // ()
  void parse_generic_function() {
    Function function;
    const Token at = lexer_.peek();
    Dictionary attributes = parse_generic_head();
    lexer_.expect('(', "function");
    const size_t body = lexer_.position();
    if (!lexer_.peek().is('{')) throw lexer_.unexpected("function", "'{'");
    lexer_.skip_balanced('{', '}');
    lexer_.expect(')', "function");
    parse_generic_tail(attributes);
    const size_t end = lexer_.position();

    AttributeTexts texts;
    keep(attributes, texts);
    function.token = at;
    function.name = required_string(texts, "sym_name", at);
    const std::string visibility = take_string(texts, kVisibility).value_or("");
    const std::vector<TypeTree> parameters = read_function_type(attributes, at, function);
    if (visibility == "private" && is_empty_region(body)) {
      lexer_.seek(end);
      return keep_declaration(function, parameters);
    }
    texts.erase("function_type");
    function.parameter_attributes = dictionaries(attributes, "arg_attrs");
    function.result_attributes = dictionaries(attributes, "res_attrs");
    texts.erase("arg_attrs");
    texts.erase("res_attrs");
    function.kept.function = std::move(texts);
    set_visibility(function, visibility);
    Computation& computation = begin_function(function);
    lexer_.seek(body);
    lexer_.expect('{', "function");
    bodies_->read_block_label(computation);
    bodies_->read_body(computation);
    lexer_.seek(end);
    finish_function(computation, function);
  }

  bool is_empty_region(size_t begin) {
    lexer_.seek(begin);
    return lexer_.accept('{') && lexer_.peek().is('}');
  }

  // (T) -> (T, T). Sets the results and returns the types of the parameters.
  std::vector<TypeTree> read_function_type(const Dictionary& attributes, const Token& at,
                                           Function& function) {
    const Attribute* type = attributes.find("function_type");
    if (type == nullptr) {
      throw lexer_.error_at(at.offset,
                            "func.func: attributes, got no 'function_type', expected one");
    }
    const size_t position = lexer_.position();
    lexer_.seek(type->offset);
    std::vector<TypeTree> parameters = read_types(lexer_, "function type");
    lexer_.expect(TokenKind::arrow, "function type", "'->'");
    function.results = read_types(lexer_, "function type");
    lexer_.seek(position);
    return parameters;
  }

  static std::vector<Dictionary> dictionaries(const Dictionary& attributes, std::string_view name) {
    std::vector<Dictionary> list;
    const Attribute* attribute = attributes.find(name);
    if (attribute == nullptr) return list;
    if (const auto* entries = std::get_if<std::vector<Attribute>>(&attribute->value)) {
      for (const Attribute& entry : *entries) {
        const auto* dictionary = std::get_if<Dictionary>(&entry.value);
        list.push_back(dictionary == nullptr ? Dictionary() : *dictionary);
      }
    }
    return list;
  }

  Computation& begin_function(const Function& function) {
    if (module_->find_function(function.name) != nullptr ||
        module_->attributes.contains(std::string(kDeclaration) + function.name)) {
      throw defined_twice(function);
    }
    bodies_->open_scope();
    return module_->add_function(function.name);
  }

  void finish_function(Computation& computation, Function& function) {
    bodies_->close_scope();
    const std::vector<TensorType> declared = flatten(function.results);
    const std::vector<TensorType> returned = result_types(computation);
    if (returned != declared) {
      throw lexer_.error_at(function.token.offset,
                            fmt::format("@{}: types of results, got {} from return, expected {}",
                                        function.name, to_string(returned), to_string(declared)));
    }
    const auto num_parameters = static_cast<size_t>(computation.num_parameters());
    if (function.parameter_attributes.size() > num_parameters ||
        function.result_attributes.size() > declared.size()) {
      throw lexer_.error_at(function.token.offset,
                            fmt::format("@{}: attributes of parameters or results, got more than "
                                        "there are",
                                        function.name));
    }
    for (size_t i = 0; i < function.parameter_attributes.size(); ++i) {
      keep_parameter(computation, function, static_cast<int>(i));
    }
    for (size_t i = 0; i < function.result_attributes.size(); ++i) {
      AttributeTexts texts;
      keep_dialect_attributes(function.result_attributes[i], texts);
      if (!texts.empty()) function.kept.results[static_cast<int>(i)] = std::move(texts);
    }
    computation.attributes() = std::move(function.kept);
  }

  void keep_parameter(const Computation& computation, Function& function, int index) {
    const Dictionary& attributes = function.parameter_attributes[index];
    AttributeTexts texts;
    keep_dialect_attributes(attributes, texts);
    if (function.name == "main" && attributes.find(kAliasing) != nullptr) {
      const int64_t result = read_integer_or(lexer_, attributes, kAliasing, -1);
      const auto results = static_cast<int64_t>(computation.results().size());
      if (result < 0 || result >= results) {
        throw lexer_.error_at(
            attributes.find(kAliasing)->offset,
            fmt::format("{}, got {}, expected one of {} results", kAliasing, result, results));
      }
      module_->aliases.push_back({index, static_cast<int>(result)});
      texts.erase(std::string(kAliasing));
    }
    if (!texts.empty()) function.kept.parameters[index] = std::move(texts);
  }

  // Keeps only a visibility that is not the default: public for main, private for other functions.
  static void set_visibility(Function& function, std::string_view visibility) {
    if (visibility.empty()) visibility = "public";
    if (visibility == (function.name == "main" ? "public" : "private")) return;
    function.kept.function[std::string(kVisibility)] = quote(visibility);
  }

  void keep_module(const Dictionary& attributes) {
    for (const std::string_view name : {"mhlo.num_partitions", "mhlo.num_replicas"}) {
      const int64_t count = read_integer_or(lexer_, attributes, name, 1);
      if (count >= 1) continue;
      throw lexer_.error_at(attributes.find(name)->offset,
                            fmt::format("{}, got {}, expected at least 1", name, count));
    }
    keep(attributes, module_->attributes);
  }

  // Keeps the attributes of a parameter or a result, which belong to dialects, as in MLIR.
  void keep_dialect_attributes(const Dictionary& attributes, AttributeTexts& texts) {
    for (const NamedAttribute& entry : attributes.entries) {
      if (entry.name.find('.') != std::string::npos) continue;
      throw lexer_.error_at(
          entry.attribute.offset,
          fmt::format("attributes of a parameter or result, got '{}', expected names with a "
                      "dialect, such as mhlo.sharding",
                      entry.name));
    }
    keep(attributes, texts);
  }

  void keep(const Dictionary& attributes, AttributeTexts& texts) {
    for (const NamedAttribute& entry : attributes.entries) {
      for (const std::string_view prefix : {kMeshAttribute, kDeclaration}) {
        if (!entry.name.starts_with(prefix)) continue;
        throw lexer_.error_at(
            entry.attribute.offset,
            fmt::format("attributes, got '{}', expected the symbol '{}' among the functions",
                        entry.name, prefix));
      }
      check_dialect_attribute(lexer_, entry.attribute);
      const bool unit = std::holds_alternative<Unit>(entry.attribute.value);
      texts[entry.name] = unit ? "" : attribute_text(lexer_, entry.attribute);
    }
  }

  // Removes a string from `texts` and returns it.
  static std::optional<std::string> take_string(AttributeTexts& texts, std::string_view name) {
    const auto found = texts.find(std::string(name));
    if (found == texts.end()) return std::nullopt;
    std::string value = unquote(found->second);
    texts.erase(found);
    return value;
  }

  std::string required_string(AttributeTexts& texts, std::string_view name, const Token& at) {
    if (auto value = take_string(texts, name)) return std::move(*value);
    throw lexer_.error_at(at.offset,
                          fmt::format("func.func: attributes, got no '{}', expected one", name));
  }

  Lexer lexer_;
  std::unique_ptr<Module> module_;
  std::optional<BodyReader> bodies_;
};

}  // namespace
}  // namespace text

namespace {

// Skips the byte order mark that some editors write.
std::string_view behind_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.substr(text.starts_with(kMark) ? kMark.size() : 0);
}

}  // namespace

std::unique_ptr<Module> parse(std::string_view text, std::string_view file) {
  text = behind_mark(text);
  text::expect_stablehlo_text(text, file);
  text::Parser parser(text::Lexer(text, file));
  std::unique_ptr<Module> module = parser.parse();
  if (!parser.lexer().peek().is(text::TokenKind::end)) {
    throw parser.lexer().unexpected("module", "the end of the text");
  }
  return module == nullptr ? std::make_unique<Module>() : std::move(module);
}

std::vector<std::unique_ptr<Module>> parse_all(std::string_view text, std::string_view file) {
  text = behind_mark(text);
  text::expect_stablehlo_text(text, file);
  std::vector<std::unique_ptr<Module>> modules;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text::next_split(text, begin);
    text::Parser parser(text::Lexer(text.substr(0, end), file, begin));
    while (auto module = parser.parse()) modules.push_back(std::move(module));
    begin = end == text.size() ? end : text.find('\n', end);
  }
  return modules;
}

}  // namespace systole::hlo
