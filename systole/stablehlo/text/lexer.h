// Tokens of MLIR text.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

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

// A cursor over the tokens of a text, which must outlive it. It can move back, so that later parts
// can be read before earlier ones. The work of rereading, and the memory that a short text can
// request, are limited. Errors: INVALID_ARGUMENT `<file>:<line>:<column>: <what>, got <token>,
// expected <what>`.
class Lexer {
 public:
  // Starts at `begin`; line numbers count from the start of the text.
  Lexer(std::string_view text, std::string_view file, size_t begin = 0);

  const Token& peek() const { return token_; }
  Token take();
  // The offset of the next token, for seek().
  size_t position() const { return token_.offset; }
  void seek(size_t offset);
  // The end of the last token taken.
  size_t last_end() const { return end_; }

  // Counts memory that the text requests beyond its own size (a constant of equal elements, a type
  // by an alias). Errors: INVALID_ARGUMENT at `offset` above 32 MiB and 512 bytes for each byte of
  // the text in total.
  void charge(size_t offset, int64_t bytes);

  // Takes the next token if it matches, and returns whether it did.
  bool accept(char c);
  bool accept_word(std::string_view word);
  // Takes the next token. Errors: INVALID_ARGUMENT if it does not match; `what` names the construct
  // being read.
  Token expect(TokenKind kind, std::string_view what, std::string_view expected);
  void expect(char c, std::string_view what);
  void expect_word(std::string_view word, std::string_view what);

  // Returns the offset after the '=' of the definition `#name = ...` or `!name = ...` of that
  // token; nullopt if the text has none. Definitions are on lines of their own, anywhere in the
  // text.
  std::optional<size_t> use_alias(const Token& name) const;

  // Returns the offset of the string of that name in the resources at the end of the text: {-#
  // dialect_resources: {builtin: {name: "0x..."}} #-}. Returns nullopt if there is none.
  std::optional<size_t> resource(const std::string& name) const;
  // Skips the resources from their '{' on. Errors: INVALID_ARGUMENT if they are malformed.
  void skip_resources();

  // Skips from an opening token to its closing one. Remembers the pairs in between, so that regions
  // within regions are not read again at each level.
  void skip_balanced(char open, char close);

  const std::string& file() const { return file_; }
  // "<file>:<line>:<column>", both counted from 1; columns in bytes.
  std::string place(size_t offset) const;
  // Returns an error at the next token.
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
  struct Balanced {
    size_t next;  // token after the closing one
    size_t end;   // of the closing one
  };
  std::unordered_map<size_t, Balanced> balanced_;  // by offset of the opening token
};

// Returns the offset of the next line `// -----`, which separates modules; the text's end if there
// is none.
size_t next_split(std::string_view text, size_t begin);

// Decodes a string token, or a symbol without its @: "a\22b\n" -> a"b and a newline.
std::string unquote(std::string_view quoted);
// The inverse of unquote.
std::string quote(std::string_view bytes);
// Returns a symbol's name as written after the @: quoted if it is not an identifier.
std::string symbol_text(std::string_view name);

}  // namespace systole::hlo::text
