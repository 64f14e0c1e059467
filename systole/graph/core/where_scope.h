// The source line that nodes carry when library code builds them on behalf of a user's line.
#pragma once

#include "systole/base/source_location.h"

namespace systole {

// While it lives, on this thread, nodes added get `where` in place of the line of the call that
// adds them: a layer gives its caller's line, a gradient that of the forward node. The outermost
// scope counts, unless one `overrides` it.
class WhereScope {
 public:
  explicit WhereScope(SourceLocation where, bool overrides = false);
  ~WhereScope();
  WhereScope(const WhereScope&) = delete;
  WhereScope& operator=(const WhereScope&) = delete;

  // Unknown when no scope is in force.
  static SourceLocation current();

 private:
  SourceLocation previous_;
};

}  // namespace systole
