#include "systole/stablehlo/text/syntax.h"

#include <algorithm>
#include <map>

#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::text {
namespace {

struct SyntaxRow {
  std::string_view name;
  std::string_view line;
  TypeForm types;
};

// Ops that no module keeps (text/import.h).
constexpr SyntaxRow kImportedOps[] = {
    {"broadcast", "$*, sizes = <broadcast_sizes>", TypeForm::functional},
    {"create_token", "", TypeForm::result},
    {"dot", "$*?(, precision = <precision_config>)", TypeForm::functional},
    {"einsum", "$*, config = <einsum_config>", TypeForm::functional},
    {"unary_einsum", "$*, config = <einsum_config>", TypeForm::functional},
    {"get_tuple_element", "$*[<index>]", TypeForm::functional},
    {"tuple", "$*", TypeForm::tuple},
};

// Compiles a line to pieces. The lines are constants of this library and not validated.
class Compiler {
 public:
  explicit Compiler(std::string_view line) : rest_(line) {}

  // Compiles through `end`, or to the end of the line for '\0'.
  std::vector<Piece> pieces(char end) {
    std::vector<Piece> pieces;
    while (!rest_.empty() && rest_[0] != end) pieces.push_back(piece(end));
    rest_.remove_prefix(rest_.empty() ? 0 : 1);
    return pieces;
  }

  std::vector<std::string> fields;

 private:
  Piece piece(char end) {
    if (rest_.starts_with("$*")) {
      rest_.remove_prefix(2);
      return {Piece::Kind::operands, "", {}, false, {}};
    }
    if (rest_[0] == '<') return field();
    if (rest_.starts_with("?(")) {
      rest_.remove_prefix(2);
      return {Piece::Kind::optional, "", {}, false, {pieces(')')}};
    }
    if (rest_[0] == '|') return set();
    const std::string stop = std::string("$<?|") + end;
    const size_t size = std::min(rest_.find_first_of(stop), rest_.size());
    return {Piece::Kind::literal, std::string(take(size)), {}, false, {}};
  }

  Piece field() {
    const size_t size = rest_.find('>');
    std::string_view body = take(size + 1).substr(1, size - 1);
    Piece piece{Piece::Kind::field, "", {}, false, {}};
    if (body.starts_with('@')) {
      piece.kind = Piece::Kind::symbol;
      body.remove_prefix(1);
    }
    if (const size_t hash = body.find('#'); hash != std::string_view::npos) {
      piece.kind = Piece::Kind::dialect;
      piece.bare = body.ends_with('<');
      if (piece.bare) rest_.remove_prefix(1);
      body.remove_suffix(piece.bare ? 1 : 0);
      piece.rest.emplace_back(body.substr(hash + 1));
      body = body.substr(0, hash);
    }
    while (body.find(':') != std::string_view::npos) {
      piece.kind = Piece::Kind::ranges;
      const size_t colon = body.rfind(':');
      piece.rest.emplace(piece.rest.begin(), body.substr(colon + 1));
      fields.push_back(piece.rest.front());
      body = body.substr(0, colon);
    }
    piece.text = body;
    fields.push_back(piece.text);
    return piece;
  }

  Piece set() {
    rest_.remove_prefix(1);
    Piece piece{Piece::Kind::set, "", {}, false, {}};
    std::string_view body = take(rest_.find('|'));
    rest_.remove_prefix(1);
    while (!body.empty()) {
      const size_t size = std::min(body.find(", "), body.size());
      Compiler part(body.substr(0, size));
      piece.parts.push_back(part.pieces('\0'));
      fields.insert(fields.end(), part.fields.begin(), part.fields.end());
      body.remove_prefix(std::min(size + 2, body.size()));
    }
    return piece;
  }

  std::string_view take(size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
};

Syntax compile(std::string_view line, TypeForm types) {
  Compiler compiler(line);
  std::vector<Piece> pieces = compiler.pieces('\0');
  return {types, std::move(pieces), std::move(compiler.fields)};
}

std::map<std::string_view, Syntax> compile_all() {
  std::map<std::string_view, Syntax> table;
  for (int i = 0; i < kNumOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    const std::optional<AssemblyFormat>& format = semantics_of(opcode).format;
    if (format) {
      table.emplace(to_string(opcode), compile(format->line, format->types));
    } else if (traits(opcode).has(kElementwise)) {
      table.emplace(to_string(opcode), compile("$*", TypeForm::same));
    }
  }
  for (const SyntaxRow& row : kImportedOps) table.emplace(row.name, compile(row.line, row.types));
  return table;
}

}  // namespace

bool Syntax::has_field(std::string_view name) const {
  return std::ranges::find(fields, name) != fields.end();
}

const Syntax* find_syntax(std::string_view name) {
  static const std::map<std::string_view, Syntax> table = compile_all();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace systole::hlo::text
