#include "systole/stablehlo/text/syntax_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "systole/hlo/ir/signature.h"
#include "systole/stablehlo/text/attr_writer.h"
#include "systole/stablehlo/text/lexer.h"
#include "systole/stablehlo/text/type.h"

namespace systole::hlo::text {
namespace {

class SyntaxWriter {
 public:
  SyntaxWriter(const std::vector<std::string>& operands, const std::vector<WrittenAttr>& attrs)
      : operands_(operands), attrs_(attrs) {}

  void write(const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) write(piece);
  }

  std::string take() { return std::move(out_); }

 private:
  void write(const Piece& piece) {
    switch (piece.kind) {
      case Piece::Kind::literal:
        out_ += piece.text;
        return;
      case Piece::Kind::operands:
        out_ += fmt::format("{}", fmt::join(operands_, ", "));
        return;
      case Piece::Kind::field:
        out_ += find(piece.text).text;
        return;
      case Piece::Kind::dialect:
        return write_dialect(piece);
      case Piece::Kind::symbol: {
        const std::string& text = find(piece.text).text;
        out_ += text.starts_with('@') ? text : "@" + symbol_text(unquote(text));
        return;
      }
      case Piece::Kind::ranges:
        return write_ranges(piece);
      case Piece::Kind::optional:
        if (is_present(piece.parts[0])) write(piece.parts[0]);
        return;
      case Piece::Kind::set: {
        bool first = true;
        for (const std::vector<Piece>& part : piece.parts) {
          if (!is_present(part)) continue;
          if (!first) out_ += ", ";
          first = false;
          write(part);
        }
        return;
      }
    }
  }

  // Writes #stablehlo.conv<...> without its name and, if bare, its brackets.
  void write_dialect(const Piece& piece) {
    std::string_view text = find(piece.text).text;
    const std::string name = "#" + piece.rest[0];
    if (text.starts_with(name)) text.remove_prefix(name.size());
    if (piece.bare) text = text.substr(1, text.size() - 2);
    out_ += text;
  }

  // Writes lists such as [0, 1] by element.
  void write_ranges(const Piece& piece) {
    const std::vector<std::string> starts = elements(find(piece.text).text);
    const std::vector<std::string> limits = elements(find(piece.rest[0]).text);
    const std::vector<std::string> strides = elements(find(piece.rest[1]).text);
    out_ += '[';
    for (size_t i = 0; i < starts.size() && i < limits.size() && i < strides.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += starts[i] + ":" + limits[i];
      if (strides[i] != "1") out_ += ":" + strides[i];
    }
    out_ += ']';
  }

  static std::vector<std::string> elements(std::string_view list) {
    std::vector<std::string> elements;
    list = list.substr(1, list.size() - 2);
    while (!list.empty()) {
      const size_t size = std::min(list.find(", "), list.size());
      elements.emplace_back(list.substr(0, size));
      list.remove_prefix(std::min(size + 2, list.size()));
    }
    return elements;
  }

  const WrittenAttr& find(std::string_view name) const {
    return *std::ranges::find(attrs_, name, &WrittenAttr::name);
  }

  bool is_present(const std::vector<Piece>& pieces) const {
    return std::ranges::any_of(pieces, [this](const Piece& piece) {
      const auto found = std::ranges::find(attrs_, piece.text, &WrittenAttr::name);
      return piece.kind != Piece::Kind::literal && found != attrs_.end() && found->present;
    });
  }

  const std::vector<std::string>& operands_;
  const std::vector<WrittenAttr>& attrs_;
  std::string out_;
};

std::string bracketed(std::span<const TensorType> types) {
  std::vector<std::string> texts;
  for (const TensorType& type : types) texts.push_back(type_text(type));
  return join(texts);
}

// Returns whether the short form determines the types of `instruction`.
bool fits(TypeForm form, const Instruction& instruction, const std::vector<TensorType>& operands) {
  if (form == TypeForm::list) return true;
  if (form == TypeForm::functional || instruction.num_results() != 1) return false;
  const TensorType& result = instruction.type();
  const auto is_result = [&result](const TensorType& type) { return type == result; };
  switch (form) {
    case TypeForm::select:
      return operands.size() == 3 && operands[1] == result && operands[2] == result;
    case TypeForm::complex: {
      const DType part = result.dtype == DType::c64 ? DType::f32 : DType::f64;
      return std::ranges::all_of(operands, [&](const TensorType& type) {
        return type == TensorType{part, result.shape};
      });
    }
    default:
      return std::ranges::all_of(operands, is_result);
  }
}

}  // namespace

std::string syntax_text(const Syntax& syntax, const std::vector<std::string>& operands,
                        const std::vector<WrittenAttr>& attrs) {
  if (syntax.pieces.empty()) return "";
  SyntaxWriter writer(operands, attrs);
  writer.write(syntax.pieces);
  const std::string text = writer.take();
  return text.empty() || text[0] == '(' ? text : " " + text;
}

std::string op_types_text(TypeForm form, const Instruction& instruction) {
  if (form == TypeForm::none) return "";
  const std::vector<TensorType> operands = types_of(instruction.operands());
  if (!fits(form, instruction, operands)) return function_type_text(instruction);
  if (form == TypeForm::list) return operands.empty() ? "" : " : " + bracketed(operands);
  const std::string result = type_text(instruction.type());
  if (form == TypeForm::select) return fmt::format(" : {}, {}", type_text(operands[0]), result);
  return " : " + result;
}

std::string function_type_text(const Instruction& instruction) {
  const std::string results = bracketed(instruction.results());
  return fmt::format(" : ({}) -> {}", bracketed(types_of(instruction.operands())),
                     instruction.num_results() == 1 ? results : fmt::format("({})", results));
}

}  // namespace systole::hlo::text
