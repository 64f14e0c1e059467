#include "systole/stablehlo/text/location.h"

namespace systole::hlo::text {
namespace {

// The maximum length of a chain of aliases such as #loc3 = #loc2.
constexpr int kMaxAliases = 16;

// Moves from #loc3 to "node"(...) of `#loc3 = loc("node"(...))`.
void follow_aliases(Lexer& lexer) {
  for (int i = 0; i < kMaxAliases && lexer.peek().is(TokenKind::hash); ++i) {
    const auto definition = lexer.use_alias(lexer.peek());
    if (!definition) return;
    lexer.seek(*definition);
    if (!lexer.accept_word("loc") || !lexer.accept('(')) return;
  }
}

}  // namespace

Metadata read_location(Lexer& lexer) {
  Metadata metadata;
  if (!lexer.accept_word("loc")) return metadata;
  const size_t begin = lexer.position();
  lexer.expect('(', "location");
  follow_aliases(lexer);
  if (lexer.peek().is(TokenKind::string)) {
    const std::string name = unquote(lexer.take().text);
    if (!lexer.peek().is(':')) metadata.name = name;  // else a file's
  }
  lexer.seek(begin);
  lexer.skip_balanced('(', ')');
  return metadata;
}

}  // namespace systole::hlo::text
