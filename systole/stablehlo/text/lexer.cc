#include "systole/stablehlo/text/lexer.h"

#include <algorithm>

namespace systole::hlo::text {
namespace {

// Unlike the C library's functions, these ignore the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool begins_identifier(char c) { return is_letter(c) || c == '_'; }
bool continues_identifier(char c) {
  return begins_identifier(c) || is_digit(c) || c == '$' || c == '.';
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  return (c | 0x20) - 'a' + 10;
}

TokenKind prefixed_kind(char c) {
  switch (c) {
    case '%':
      return TokenKind::value;
    case '^':
      return TokenKind::block;
    case '#':
      return TokenKind::hash;
    case '!':
      return TokenKind::bang;
    case '@':
      return TokenKind::symbol;
    default:
      return TokenKind::punctuation;
  }
}

constexpr std::string_view kOpenResources = "{-#";
constexpr std::string_view kCloseResources = "#-}";

// Returns the offset of the first list of resources, outside of comments and strings (which do not
// span lines); npos if there is none.
size_t find_resource_list(std::string_view text, size_t begin) {
  const size_t first = text.find(kOpenResources, begin);
  if (first == std::string_view::npos) return first;
  const size_t line = text.rfind('\n', first) + 1;  // npos + 1 == 0: the first line
  for (size_t i = std::max(begin, line); i < text.size(); ++i) {
    if (text.substr(i).starts_with(kOpenResources)) return i;
    if (text.substr(i).starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i) {
        if (text[i] == '\\') ++i;
      }
    }
  }
  return std::string_view::npos;
}

// Formats a token for an error message.
std::string describe(const Token& token) {
  constexpr size_t kLongest = 40;
  if (token.is(TokenKind::end)) return "the end of the text";
  if (token.text.size() > kLongest) return fmt::format("'{}...'", token.text.substr(0, kLongest));
  return fmt::format("'{}'", token.text);
}

}  // namespace

Lexer::Lexer(std::string_view text, std::string_view file, size_t begin)
    : text_(text), file_(file) {
  find_aliases(begin);
  find_resources(begin);
  move_to(begin);
}

// Finds lines `#name =` and `!name =`. Strings do not span lines, so no line starts inside one.
void Lexer::find_aliases(size_t begin) {
  while (begin < text_.size()) {
    size_t i = begin;
    while (i < text_.size() && (text_[i] == ' ' || text_[i] == '\t')) ++i;
    if (i < text_.size() && (text_[i] == '#' || text_[i] == '!')) {
      const size_t name = i++;
      while (i < text_.size() && continues_identifier(text_[i])) ++i;
      const std::string_view key = text_.substr(name, i - name);
      while (i < text_.size() && text_[i] == ' ') ++i;
      if (key.size() > 1 && i < text_.size() && text_[i] == '=') aliases_.emplace(key, i + 1);
    }
    const size_t end = text_.find('\n', i);
    begin = end == std::string_view::npos ? text_.size() : end + 1;
  }
}

// Finds name: "..." between {-# and #-}. The names of the lists are not followed by a string.
void Lexer::find_resources(size_t begin) {
  const size_t open = find_resource_list(text_, begin);
  if (open == std::string_view::npos) return;
  std::string name;
  bool named = false;
  for (size_t i = open + kOpenResources.size();;) {
    i = skip_space(i);
    if (text_.substr(i, kCloseResources.size()) == kCloseResources) return;
    const Token token = lex(i);
    if (token.is(TokenKind::end)) return;
    if (token.is(TokenKind::string) && named) {
      resources_.emplace(std::exchange(name, {}), token.offset);
      named = false;
    } else if (token.is(':')) {
      named = !name.empty();
    } else {
      const bool key = token.is(TokenKind::string) || token.is(TokenKind::identifier);
      name = key ? unquote(token.text) : "";
      named = false;
    }
    i = token.offset + token.text.size();
  }
}

std::optional<size_t> Lexer::resource(const std::string& name) const {
  const auto found = resources_.find(name);
  if (found == resources_.end()) return std::nullopt;
  return found->second;
}

void Lexer::skip_resources() {
  const size_t begin = position();
  if (!text_.substr(begin).starts_with(kOpenResources)) throw unexpected("module", "'func.func'");
  const size_t close = text_.find(kCloseResources, begin);
  if (close == std::string_view::npos) {
    throw error_at(begin, "resources, got the end of the text, expected '#-}' for this '{-#'");
  }
  move_to(close + kCloseResources.size());
}

std::optional<size_t> Lexer::use_alias(const Token& name) const {
  const auto found = aliases_.find(name.text);
  if (found == aliases_.end()) return std::nullopt;
  return found->second;
}

// Rereading regions and aliases must not take disproportionate time.
void Lexer::move_to(size_t offset) {
  constexpr size_t kMaxReadings = 256;
  constexpr size_t kMinWork = size_t{1} << 22;
  token_ = lex(offset);
  work_ += token_.offset + token_.text.size() - offset;
  if (work_ > kMinWork + kMaxReadings * text_.size()) {
    throw error_at(token_.offset, "text, got regions or aliases in each other, expected fewer");
  }
}

void Lexer::charge(size_t offset, int64_t bytes) {
  constexpr int64_t kFree = int64_t{32} << 20;
  constexpr int64_t kForEachByte = 512;
  const int64_t left = kFree + kForEachByte * static_cast<int64_t>(text_.size()) - memory_;
  if (bytes <= left) {
    memory_ += bytes;
    return;
  }
  throw error_at(offset, fmt::format("constant, got {} bytes, expected at most {}", bytes, left));
}

Token Lexer::take() {
  const Token taken = token_;
  end_ = taken.offset + taken.text.size();
  move_to(end_);
  return taken;
}

void Lexer::seek(size_t offset) { move_to(offset); }

bool Lexer::accept(char c) {
  if (!token_.is(c)) return false;
  take();
  return true;
}

bool Lexer::accept_word(std::string_view word) {
  if (!token_.is_word(word)) return false;
  take();
  return true;
}

Token Lexer::expect(TokenKind kind, std::string_view what, std::string_view expected) {
  if (!token_.is(kind)) throw unexpected(what, expected);
  return take();
}

void Lexer::expect(char c, std::string_view what) {
  if (!accept(c)) throw unexpected(what, fmt::format("'{}'", c));
}

void Lexer::expect_word(std::string_view word, std::string_view what) {
  if (!accept_word(word)) throw unexpected(what, fmt::format("'{}'", word));
}

void Lexer::skip_balanced(char open, char close) {
  const size_t begin = position();
  if (const auto known = balanced_.find(begin); known != balanced_.end()) {
    const Balanced found = known->second;
    seek(found.next);
    end_ = found.end;
    return;
  }
  std::vector<size_t> opened;
  do {
    if (token_.is(TokenKind::end)) {
      throw error_at(
          begin, fmt::format("'{}', got the end of the text, expected a '{}' for it", open, close));
    }
    if (token_.is(open)) opened.push_back(position());
    const bool closes = token_.is(close);
    take();
    if (!closes || opened.empty()) continue;
    if (opened.size() > 1) balanced_[opened.back()] = {position(), end_};
    opened.pop_back();
  } while (!opened.empty());
}

std::string Lexer::place(size_t offset) const {
  const std::string_view before = text_.substr(0, offset);
  const auto line = 1 + std::ranges::count(before, '\n');
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 == 0: the first line
  return fmt::format("{}:{}:{}", file_, line, offset - line_begin + 1);
}

Error Lexer::unexpected(std::string_view what, std::string_view expected) const {
  return error_at(token_.offset,
                  fmt::format("{}, got {}, expected {}", what, describe(token_), expected));
}

size_t Lexer::skip_space(size_t offset) const {
  while (offset < text_.size()) {
    const char c = text_[offset];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++offset;
    } else if (text_.substr(offset, 2) == "//") {
      offset = std::min(text_.find('\n', offset), text_.size());
    } else {
      break;
    }
  }
  return offset;
}

Token Lexer::lex(size_t offset) const {
  offset = skip_space(offset);
  if (offset >= text_.size()) return {TokenKind::end, {}, text_.size()};
  const char c = text_[offset];
  if (is_digit(c)) return lex_number(offset);
  if (c == '"') return lex_string(offset, offset, TokenKind::string);
  if (begins_identifier(c)) {
    size_t end = offset;
    while (end < text_.size() && continues_identifier(text_[end])) ++end;
    return {TokenKind::identifier, text_.substr(offset, end - offset), offset};
  }
  if (prefixed_kind(c) != TokenKind::punctuation) return lex_prefixed(offset);
  if (text_.substr(offset, 2) == "->") return {TokenKind::arrow, text_.substr(offset, 2), offset};
  constexpr std::string_view kPunctuation = "()[]{}<>,:=+-*?/|";
  if (kPunctuation.find(c) == std::string_view::npos) {
    throw error_at(offset, fmt::format("character, got byte 0x{:02x}, expected a token",
                                       static_cast<unsigned char>(c)));
  }
  return {TokenKind::punctuation, text_.substr(offset, 1), offset};
}

Token Lexer::lex_number(size_t offset) const {
  const auto digits = [&](size_t from, bool (*wanted)(char)) {
    while (from < text_.size() && wanted(text_[from])) ++from;
    return from;
  };
  const auto at = [&](size_t i) { return i < text_.size() ? text_[i] : '\0'; };
  const auto token = [&](TokenKind kind, size_t end) {
    return Token{kind, text_.substr(offset, end - offset), offset};
  };
  if (at(offset) == '0' && at(offset + 1) == 'x' && is_hex(at(offset + 2))) {
    return token(TokenKind::integer, digits(offset + 2, is_hex));
  }
  size_t end = digits(offset, is_digit);
  if (at(end) != '.') return token(TokenKind::integer, end);
  end = digits(end + 1, is_digit);
  if (at(end) == 'e' || at(end) == 'E') {
    const size_t sign = at(end + 1) == '+' || at(end + 1) == '-' ? 1 : 0;
    if (is_digit(at(end + 1 + sign))) end = digits(end + 1 + sign, is_digit);
  }
  return token(TokenKind::floating, end);
}

Token Lexer::lex_string(size_t offset, size_t begin, TokenKind kind) const {
  for (size_t i = begin + 1; i < text_.size() && text_[i] != '\n'; ++i) {
    if (text_[i] == '"') return {kind, text_.substr(offset, i + 1 - offset), offset};
    if (text_[i] == '\\') ++i;
  }
  throw error_at(begin, "string, got no end, expected '\"' on the same line");
}

Token Lexer::lex_prefixed(size_t offset) const {
  const TokenKind kind = prefixed_kind(text_[offset]);
  size_t end = offset + 1;
  if (kind == TokenKind::symbol && text_.substr(end, 1) == "\"")
    return lex_string(offset, end, kind);
  // Names of values and blocks may contain a minus, but the "->" of #stablehlo.conv is an arrow.
  const auto is_minus = [&](size_t i) {
    return text_[i] == '-' && (kind == TokenKind::value || kind == TokenKind::block);
  };
  while (end < text_.size() && (continues_identifier(text_[end]) || is_minus(end))) ++end;
  if (end == offset + 1) {
    throw error_at(offset, fmt::format("name, got none, expected one after '{}'", text_[offset]));
  }
  return {kind, text_.substr(offset, end - offset), offset};
}

size_t next_split(std::string_view text, size_t begin) {
  constexpr std::string_view kSplit = "// -----";
  while (begin < text.size()) {
    if (text.substr(begin).starts_with(kSplit)) return begin;
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) break;
    begin = end + 1;
  }
  return text.size();
}

std::string unquote(std::string_view quoted) {
  if (quoted.size() < 2 || quoted[0] != '"') return std::string(quoted);
  const std::string_view body = quoted.substr(1, quoted.size() - 2);
  std::string bytes;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || i + 1 >= body.size()) {
      bytes += body[i];
      continue;
    }
    const char c = body[++i];
    if (c == 'n' || c == 't') {
      bytes += c == 'n' ? '\n' : '\t';
    } else if (i + 1 < body.size() && is_hex(c) && is_hex(body[i + 1])) {
      bytes += static_cast<char>(hex_value(c) * 16 + hex_value(body[i + 1]));
      ++i;
    } else {
      bytes += c;
    }
  }
  return bytes;
}

std::string quote(std::string_view bytes) {
  std::string quoted = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"') {
      quoted += fmt::format("\\{:02X}", byte);
    } else if (c == '\\') {
      quoted += "\\\\";
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string symbol_text(std::string_view name) {
  const bool plain = !name.empty() && begins_identifier(name[0]) &&
                     std::ranges::all_of(name, continues_identifier);
  return plain ? std::string(name) : quote(name);
}

}  // namespace systole::hlo::text
