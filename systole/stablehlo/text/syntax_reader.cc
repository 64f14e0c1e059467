#include "systole/stablehlo/text/syntax_reader.h"

#include <charconv>

namespace systole::hlo::text {
namespace {

bool is_word_letter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

class SyntaxReader {
 public:
  SyntaxReader(Lexer& lexer, const Scopes& scopes, ParsedOp& op)
      : lexer_(lexer), scopes_(scopes), op_(op) {
    fields_.offset = lexer.position();
  }

  void read(const std::vector<Piece>& pieces) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      // e<exponent_bits>: the word and the number are one token.
      const bool glued = i + 1 < pieces.size() && pieces[i + 1].kind == Piece::Kind::field;
      read(pieces[i], glued);
    }
  }

  Dictionary take_fields() { return std::move(fields_); }

 private:
  void read(const Piece& piece, bool glued) {
    switch (piece.kind) {
      case Piece::Kind::literal:
        return read_literal_text(piece.text, glued);
      case Piece::Kind::operands:
        return read_operands();
      case Piece::Kind::field:
        return add(piece.text, read_short_attribute(lexer_));
      case Piece::Kind::dialect:
        return read_dialect(piece);
      case Piece::Kind::symbol:
        return read_symbol(piece);
      case Piece::Kind::ranges:
        return read_ranges(piece);
      case Piece::Kind::optional:
        if (begins(piece.parts[0])) read(piece.parts[0]);
        return;
      case Piece::Kind::set:
        return read_set(piece);
    }
  }

  // ", low = " token by token.
  void read_literal_text(std::string_view text, bool glued) {
    const std::string_view what = op_.name;
    while (!text.empty()) {
      if (text[0] == ' ') {
        text.remove_prefix(1);
      } else if (is_word_letter(text[0])) {
        size_t size = 0;
        while (size < text.size() && is_word_letter(text[size])) ++size;
        const std::string_view word = text.substr(0, size);
        text.remove_prefix(size);
        if (glued && text.empty()) {
          read_glued(word);
        } else {
          lexer_.expect_word(word, what);
        }
      } else {
        lexer_.expect(text[0], what);
        text.remove_prefix(1);
      }
    }
  }

  void read_glued(std::string_view word) {
    const Token token = lexer_.peek();
    if (!token.text.starts_with(word)) throw lexer_.unexpected(op_.name, fmt::format("'{}'", word));
    lexer_.seek(token.offset + word.size());
  }

  // Returns whether the text continues with the first literal of `pieces`.
  bool begins(const std::vector<Piece>& pieces) {
    const size_t position = lexer_.position();
    std::string_view text = pieces[0].text;
    bool same = true;
    while (same && !text.empty()) {
      size_t size = 1;
      if (is_word_letter(text[0])) {
        while (size < text.size() && is_word_letter(text[size])) ++size;
        same = lexer_.accept_word(text.substr(0, size));
      } else if (text[0] != ' ') {
        same = lexer_.accept(text[0]);
      }
      text.remove_prefix(size);
    }
    lexer_.seek(position);
    return same;
  }

  // Reads operands up to a comma that no operand follows.
  void read_operands() {
    if (!lexer_.peek().is(TokenKind::value)) {
      // optimization_barrier() has an empty list.
      if (op_.name == "stablehlo.optimization_barrier" && lexer_.accept('(')) {
        lexer_.expect(')', op_.name);
      }
      return;
    }
    while (true) {
      op_.operands.push_back(&scopes_.read(lexer_));
      const size_t comma = lexer_.position();
      if (!lexer_.accept(',')) return;
      if (lexer_.peek().is(TokenKind::value)) continue;
      lexer_.seek(comma);
      return;
    }
  }

  // <...>, or the brackets of [b, 0, f]x[0, i, o]->[b, 0, f].
  void read_dialect(const Piece& piece) {
    Attribute attribute;
    attribute.offset = lexer_.position();
    attribute.value = DialectAttribute{piece.rest[0], lexer_.position()};
    if (!piece.bare) {
      if (!lexer_.peek().is('<')) throw lexer_.unexpected(op_.name, "'<'");
      lexer_.skip_balanced('<', '>');
    } else {
      do {
        if (!lexer_.peek().is('[')) throw lexer_.unexpected(op_.name, "'['");
        lexer_.skip_balanced('[', ']');
      } while (lexer_.accept_word("x") || accept_arrow());
    }
    attribute.end = lexer_.last_end();
    add(piece.text, std::move(attribute));
  }

  bool accept_arrow() {
    const bool arrow = lexer_.peek().is(TokenKind::arrow);
    if (arrow) lexer_.take();
    return arrow;
  }

  void read_symbol(const Piece& piece) {
    Attribute attribute;
    attribute.offset = lexer_.position();
    const Token token = lexer_.expect(TokenKind::symbol, op_.name, "a symbol such as @f");
    attribute.value = Symbol{unquote(token.text.substr(1))};
    attribute.end = lexer_.last_end();
    add(piece.text, std::move(attribute));
  }

  // [0:4:2, 1:3]
  void read_ranges(const Piece& piece) {
    DenseArray lists[3];
    const size_t begin = lexer_.position();
    lexer_.expect('[', op_.name);
    while (!lexer_.accept(']')) {
      if (!lists[0].values.empty()) lexer_.expect(',', op_.name);
      lists[0].values.push_back(read_index());
      lexer_.expect(':', op_.name);
      lists[1].values.push_back(read_index());
      lists[2].values.push_back(lexer_.accept(':') ? read_index() : 1);
    }
    for (size_t i = 0; i < 3; ++i) {
      Attribute attribute;
      attribute.offset = begin;
      attribute.end = lexer_.last_end();
      attribute.value = std::move(lists[i]);
      add(i == 0 ? piece.text : piece.rest[i - 1], std::move(attribute));
    }
  }

  int64_t read_index() {
    const bool negative = lexer_.accept('-');
    const Token token = lexer_.expect(TokenKind::integer, op_.name, "an integer");
    int64_t value = 0;
    const auto [end, error] =
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (error != std::errc() || end != token.text.data() + token.text.size()) {
      throw lexer_.error_at(token.offset, fmt::format("{}, got '{}', expected an index below 2^63",
                                                      op_.name, token.text.substr(0, 40)));
    }
    return negative ? -value : value;
  }

  void read_set(const Piece& piece) {
    bool first = true;
    while (first || lexer_.accept(',')) {
      bool found = false;
      for (const std::vector<Piece>& part : piece.parts) {
        if (found || !begins(part)) continue;
        found = true;
        read(part);
      }
      if (found) {
        first = false;
      } else if (first) {
        return;
      } else {
        throw lexer_.unexpected(op_.name, "another of its attributes");
      }
    }
  }

  void add(const std::string& name, Attribute attribute) {
    if (fields_.find(name) != nullptr) {
      throw lexer_.error_at(attribute.offset,
                            fmt::format("{}, got '{}' again, expected it once", op_.name, name));
    }
    fields_.entries.push_back({name, std::move(attribute)});
  }

  Lexer& lexer_;
  const Scopes& scopes_;
  ParsedOp& op_;
  Dictionary fields_;
};

}  // namespace

void read_syntax(Lexer& lexer, const Scopes& scopes, const Syntax& syntax, ParsedOp& op) {
  SyntaxReader reader(lexer, scopes, op);
  reader.read(syntax.pieces);
  op.attributes.push_back(reader.take_fields());
}

}  // namespace systole::hlo::text
