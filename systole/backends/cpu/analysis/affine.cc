#include "systole/backends/cpu/analysis/affine.h"

#include <algorithm>

namespace systole::cpu {

Affine Affine::variable(Var var, int64_t factor) {
  Affine result;
  if (factor != 0) result.terms.push_back({var, factor});
  return result;
}

int64_t Affine::factor(Var var) const {
  for (const auto& [v, f] : terms) {
    if (v == var) return f;
  }
  return 0;
}

Affine& Affine::operator+=(const Affine& other) {
  constant += other.constant;
  for (const auto& [var, factor] : other.terms) {
    const auto place = std::lower_bound(terms.begin(), terms.end(), var,
                                        [](const auto& term, Var v) { return term.first < v; });
    if (place == terms.end() || place->first != var) {
      terms.insert(place, {var, factor});
    } else if ((place->second += factor) == 0) {
      terms.erase(place);
    }
  }
  return *this;
}

Affine& Affine::operator*=(int64_t by) {
  if (by == 0) return *this = Affine();
  constant *= by;
  for (auto& term : terms) term.second *= by;
  return *this;
}

}  // namespace systole::cpu
