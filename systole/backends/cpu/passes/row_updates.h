// Updates only the rows of a table that have a gradient. The gradient of an embedding is a scatter
// of some rows into zeros as large as the table:
//   g = scatter(0, rows, updates);  sums' = sums + g * g;  table' = table - rate * g / sqrt(sums')
// Where g is zero, sums' is sums and table' is table. The pass computes the sums of the updates of
// each row, and the new rows from the old ones, and scatters them into sums and table, in place
// where a caller gives those up.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// Rewrites a scatter of rows into zeros that is used by elementwise instructions alone, if all that
// is used of those is what a zero gradient leaves as it is: sums, products and quotients of it with
// the table's and the optimizer's parameters. Takes zero times any number as zero, and zero divided
// by it: the rows of a table that holds infinities or NaN are left alone, too.
class RowUpdates : public hlo::Pass {
 public:
  std::string_view name() const override { return "row_updates"; }
  bool run(hlo::Module& module) override;
};

}  // namespace systole::cpu
