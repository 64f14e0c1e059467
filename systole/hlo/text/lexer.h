// Tokens of MLIR text.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "systole/base/error.h"

namespace systole::hlo::text {

enum class TokenKind : uint8_t {
  end,          // of the text
  identifier,   // add, func.func, true
  value,        // %0
  symbol,       // @main, @"a name"
  block,        // ^bb0
  hash,         // #stablehlo.dot; the #1 of %0#1
  bang,         // !stablehlo.token
  integer,      // 42, 0x2A; a sign is a token of its own
  floating,     // 1.5e-3
  string,       // "text", with its quotes and escapes
  arrow,        // ->
  punctuation,  // one character
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  size_t offset = 0;

  bool is(TokenKind wanted) const { return kind == wanted; }
  bool is(char c) const { return kind == TokenKind::punctuation && text[0] == c; }
  bool is_word(std::string_view word) const {
    return kind == TokenKind::identifier && text == word;
  }
};

// A cursor over the tokens of a text, which the caller keeps alive. It can be moved back, so that
// what stands behind a part may be read before it; how much is read again, and how much memory a
// short text can ask for, is bounded. Errors: INVALID_ARGUMENT
// `<file>:<line>:<column>: <what>, got <token>, expected <what>`.
class Lexer {
 public:
  // Begins at `begin`, which lines are not counted from.
  Lexer(std::string_view text, std::string_view file, size_t begin = 0);

  const Token& peek() const { return token_; }
  Token take();
  // The next token's place; `seek` goes there again.
  size_t position() const { return token_.offset; }
  void seek(size_t offset);
  // The end of the last token taken.
  size_t last_end() const { return end_; }

  // Counts memory that the text asks for beyond its own size (a constant of equal elements, a type
  // by its name).
  // Errors: INVALID_ARGUMENT at `offset` when it is more than 1 GiB in all.
  void charge(size_t offset, int64_t bytes);

  // Takes the next token if it is that.
  bool accept(char c);
  bool accept_word(std::string_view word);
  // Errors: the next token is anything else; `what` names what is being read.
  Token expect(TokenKind kind, std::string_view what, std::string_view expected);
  void expect(char c, std::string_view what);
  void expect_word(std::string_view word, std::string_view what);

  // Where the definition `#name = ...` or `!name = ...` of that token goes on behind the '=';
  // nullopt when the text has none. Definitions stand on lines of their own, anywhere.
  std::optional<size_t> use_alias(const Token& name) const;

  // Where the string of that name stands in the lists of resources that a text may end with:
  // {-# dialect_resources: {builtin: {name: "0x..."}} #-}.
  std::optional<size_t> resource(const std::string& name) const;
  // From their '{' to behind them. Errors: that is no list of resources, or has no end.
  void skip_resources();

  // From an opening token to behind its closing one, over everything between.
  void skip_balanced(char open, char close);

  const std::string& file() const { return file_; }
  // "<file>:<line>:<column>", both counted from 1; columns in bytes.
  std::string place(size_t offset) const;
  // An error at the next token.
  Error unexpected(std::string_view what, std::string_view expected) const;
  Error error_at(size_t offset, std::string_view message) const {
    return invalid_argument("{}: {}", place(offset), message);
  }

 private:
  void move_to(size_t offset);
  void find_aliases(size_t begin);
  void find_resources(size_t begin);
  Token lex(size_t offset) const;
  size_t skip_space(size_t offset) const;
  Token lex_number(size_t offset) const;
  Token lex_string(size_t offset, size_t begin, TokenKind kind) const;
  Token lex_prefixed(size_t offset) const;

  std::string_view text_;
  std::string file_;
  Token token_;
  size_t work_ = 0;     // bytes lexed so far
  int64_t memory_ = 0;  // bytes charged so far
  std::unordered_map<std::string_view, size_t> aliases_;
  std::unordered_map<std::string, size_t> resources_;
  size_t end_ = 0;  // of the last token taken
};

// Where the next line `// -----`, which separates the modules of a file, begins; the text's end
// when there is none.
size_t next_split(std::string_view text, size_t begin);

// The bytes that a string token (or what follows a symbol's @) stands for: "a\22b\n" -> a"b and a
// line's end.
std::string unquote(std::string_view quoted);
// The other way round.
std::string quote(std::string_view bytes);
// A symbol's name as it is written behind the @: quoted when it is not an identifier.
std::string symbol_text(std::string_view name);

}  // namespace systole::hlo::text
