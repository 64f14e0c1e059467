#include <algorithm>

#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/codegen/window.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Value;

namespace {

// How the windows lie.
struct WindowCover {
  explicit WindowCover(const Instruction& x) : whole(windows_tile(x)) {
    const auto& attrs = x.attrs<hlo::WindowAttrs>();
    for (size_t d = 0; d < attrs.window_dimensions.size(); ++d) {
      const int64_t window = attrs.window_dimensions[d];
      apart = apart && window <= attrs.window_strides[d];
      cut = cut || attrs.padding[d].first < 0;
      elements *= window;
    }
    first_apart =
        attrs.window_dimensions.empty() || attrs.window_dimensions[0] <= attrs.window_strides[0];
  }
  bool apart = true;        // no element lies in two
  bool first_apart = true;  // apart along the first axis
  bool whole;               // every element lies in exactly one
  bool cut = false;         // the first ones begin after the first elements
  int64_t elements = 1;     // of a window
};

llvm::Value* initial_element(Elements& e, const Instruction& x) {
  const Value init = x.operand(2);
  return convert(e.f, init.dtype(), x.dtype(), e.element(init, scalar_index()));
}

// `sum` with the update taken in.
llvm::Value* scattered(Elements& e, const Instruction& x, llvm::Value* sum, llvm::Value* update) {
  llvm::Value* arguments[] = {
      convert(e.f, x.dtype(), x.region(1).parameter(0).dtype(), sum),
      convert(e.f, x.operand(1).dtype(), x.region(1).parameter(1).dtype(), update)};
  return fit(e.f, x.dtype(), e.call(x.region(1), arguments)[0]);
}

// One window, written out.
class WindowCode {
 public:
  WindowCode(Elements& e, const Instruction& x, const IndexRef& source) : e_(e), x_(x), b_(e.f.b) {
    const auto& attrs = x.attrs<hlo::WindowAttrs>();
    std::vector<Affine> inside(attrs.window_dimensions.size());
    collect(attrs, source->at(e), inside, 0);
  }

  // The number of the selected element, an i32; -1 when the window covers none.
  llvm::Value* selected();
  // Updates the selected element of the result, and none other.
  void scatter(const IndexRef& source, const Slice& result);

 private:
  void collect(const hlo::WindowAttrs& attrs, const std::vector<Affine>& window,
               std::vector<Affine>& inside, size_t axis);

  Elements& e_;
  const Instruction& x_;
  llvm::IRBuilder<>& b_;
  std::vector<WindowElement> elements_;
};

void WindowCode::collect(const hlo::WindowAttrs& attrs, const std::vector<Affine>& window,
                         std::vector<Affine>& inside, size_t axis) {
  if (axis == inside.size()) {
    elements_.push_back(window_element(e_, attrs, x_.shape(), window, inside));
    return;
  }
  for (int64_t i = 0; i < attrs.window_dimensions[axis]; ++i) {
    inside[axis] = i;
    collect(attrs, window, inside, axis + 1);
  }
}

// The number of the selected element in the window. Padding is never selected: the first element
// inside is taken whatever the comparison says. Selects instead of branches let windows become
// lanes of vectors.
llvm::Value* WindowCode::selected() {
  llvm::Value* selected = b_.getInt32(static_cast<uint32_t>(-1));
  llvm::Value* best = nullptr;
  for (size_t k = 0; k < elements_.size(); ++k) {
    llvm::Value* value = e_.element(x_.operand(0), elements_[k].index);
    llvm::Value* take = emit_inside(e_, elements_[k].bounds);
    if (best != nullptr) {
      llvm::Value* arguments[] = {best, value};
      llvm::Value* better = b_.CreateNot(e_.call(x_.region(0), arguments)[0]);
      better = b_.CreateOr(better, b_.CreateICmpSLT(selected, b_.getInt32(0)));
      take = take == nullptr ? better : b_.CreateAnd(take, better);
    }
    if (take == nullptr) take = b_.getTrue();
    best = best == nullptr ? value : b_.CreateSelect(take, value, best);
    selected = b_.CreateSelect(take, b_.getInt32(static_cast<uint32_t>(k)), selected);
  }
  return selected;
}

void WindowCode::scatter(const IndexRef& source, const Slice& result) {
  // Elements that lie in one window only hold the initial value.
  const bool fresh = WindowCover(x_).apart &&
                     std::ranges::all_of(elements_, [](const auto& w) { return w.bounds.empty(); });
  llvm::Value* chosen = selected();
  llvm::Value* update = e_.element(x_.operand(1), source);
  for (size_t k = 0; k < elements_.size(); ++k) {
    llvm::Value* here = b_.CreateICmpEQ(chosen, b_.getInt32(static_cast<uint32_t>(k)));
    llvm::Value* offset = e_.number(elements_[k].index->offset());
    if (fresh) {
      llvm::Value* initial = initial_element(e_, x_);
      e_.f.store(result, x_.dtype(), offset,
                 b_.CreateSelect(here, scattered(e_, x_, initial, update), initial));
      continue;
    }
    // Windows that overlap read what others have stored: not a store that reads are kept apart
    // from.
    llvm::Value* old = e_.f.load_from(e_.f.address(result), x_.dtype(), offset);
    e_.f.store_to(e_.f.address(result), x_.dtype(), offset,
                  b_.CreateSelect(here, scattered(e_, x_, old, update), old));
  }
}

// What the code of one window reads.
void visit_window(ElementAccess& access, const Instruction& x, const IndexRef& index) {
  const auto& attrs = x.attrs<hlo::WindowAttrs>();
  access.need(index->offset());
  std::vector<Affine> inside;
  for (const int64_t size : attrs.window_dimensions)
    inside.push_back(Affine::variable(access.add_variable(size)));
  const WindowElement element = window_element(access, attrs, x.shape(), index->at(access), inside);
  need_bounds(access, element.bounds);
  access.visit(x.operand(0), element.index);
}

// The initial value everywhere.
void emit_initial(FunctionEmitter& f, const Instruction& x) {
  const Thunk thunk(x);
  const std::vector<Slice> written = f.result_slices(x);
  emit_loop_over(
      f,
      {.thunk = thunk,
       .shape = x.shape(),
       .written = written,
       .visit = [&](ElementAccess& access, const IndexRef& index) { access.need(index->offset()); },
       .store =
           [&](Elements& e, const IndexRef& index) {
             e.f.store(written[0], x.dtype(), e.number(index->offset()), initial_element(e, x));
           }});
}

// Window by window.
void emit_scatter_windows(FunctionEmitter& f, const Instruction& x) {
  const Thunk thunk(x);
  const std::vector<Slice> written = f.result_slices(x);
  const WindowCover cover(x);
  if (!cover.whole) emit_initial(f, x);
  // Windows that overlap update the same element: only what lies apart for certain goes to
  // different threads.
  emit_loop_over(f, {.thunk = thunk,
                     .shape = x.operand(1).shape(),
                     .written = written,
                     .parallel = cover.first_apart,
                     .visit =
                         [&](ElementAccess& access, const IndexRef& index) {
                           if (!cover.apart) access.need(index->at(access)[0]);
                           visit_window(access, x, index);
                         },
                     .store =
                         [&](Elements& e, const IndexRef& index) {
                           WindowCode(e, x, index).scatter(index, written[0]);
                         }});
}

// Windows that overlap are gathered from: first the number that each selects, then for every
// element of the result the updates of the windows that selected it. No element is written twice.
class GatherWindows {
 public:
  GatherWindows(FunctionEmitter& f, const Instruction& x)
      : f_(f),
        x_(x),
        thunk_(x),
        attrs_(x.attrs<hlo::WindowAttrs>()),
        scratch_(f.program.buffers.scratch(x)) {}

  static bool fits(const Instruction& x) {
    const WindowCover cover(x);
    return !cover.apart && !cover.cut && cover.elements <= kMaxElements;
  }
  // The numbers, a byte each.
  static int64_t scratch_bytes(const Instruction& x) {
    return fits(x) ? x.operand(1).shape().num_elements() : 0;
  }
  void emit();

 private:
  static constexpr int64_t kMaxElements = 64;  // of a window: its code is written out

  // A window in which an element of the result lies, as its number `number`.
  struct Place {
    IndexRef window;
    Affine number;
    std::vector<Bound> bounds;
  };
  std::vector<Place> places(IndexSpace& space, const IndexRef& index) const;
  void add_places(IndexSpace& space, const std::vector<Affine>& at, std::vector<Affine>& windows,
                  const Place& so_far, std::vector<Place>& result) const;
  void emit_selected();
  llvm::Value* sum(Elements& e, const IndexRef& index) const;

  FunctionEmitter& f_;
  const Instruction& x_;
  Thunk thunk_;
  const hlo::WindowAttrs& attrs_;
  Slice scratch_;
};

std::vector<GatherWindows::Place> GatherWindows::places(IndexSpace& space,
                                                        const IndexRef& index) const {
  std::vector<Place> result;
  std::vector<Affine> windows;
  add_places(space, index->at(space), windows, {}, result);
  return result;
}

// In the order of the windows: sums of floats are those of the scatter.
void GatherWindows::add_places(IndexSpace& space, const std::vector<Affine>& at,
                               std::vector<Affine>& windows, const Place& so_far,
                               std::vector<Place>& result) const {
  const size_t d = windows.size();
  const Shape& shape = x_.operand(1).shape();
  if (d == at.size()) {
    result.push_back(so_far);
    result.back().window = make_index(shape, windows);
    return;
  }
  const int64_t size = attrs_.window_dimensions[d];
  const int64_t stride = attrs_.window_strides[d];
  const int64_t last = shape[static_cast<int>(d)] - 1;
  const auto [quotient, remainder] = space.divide(at[d] + Affine(attrs_.padding[d].first), stride);
  for (int64_t j = (size - 1) / stride; j >= 0; --j) {
    Place place = so_far;
    const Affine window = quotient + Affine(-j);
    const Affine inside = remainder + Affine(j * stride);
    const auto [low, high] = space.range(window);
    if (low < 0 || high > last) place.bounds.push_back({window, last});
    if (space.range(inside).second >= size) place.bounds.push_back({inside, size - 1});
    place.number = so_far.number * size + inside;
    windows.push_back(low < 0 || high > last ? space.clamp(window, last) : window);
    add_places(space, at, windows, place, result);
    windows.pop_back();
  }
}

void GatherWindows::emit_selected() {
  emit_loop_over(f_, {.thunk = thunk_,
                      .shape = x_.operand(1).shape(),
                      .written = {scratch_},
                      .visit = [&](ElementAccess& access,
                                   const IndexRef& index) { visit_window(access, x_, index); },
                      .store =
                          [&](Elements& e, const IndexRef& index) {
                            llvm::Value* number = WindowCode(e, x_, index).selected();
                            e.f.store(scratch_, DType::u8, e.number(index->offset()),
                                      e.f.b.CreateTrunc(number, e.f.b.getInt8Ty()));
                          }});
}

llvm::Value* GatherWindows::sum(Elements& e, const IndexRef& index) const {
  auto& b = e.f.b;
  llvm::Value* sum = initial_element(e, x_);
  for (const Place& place : places(e, index)) {
    llvm::Value* offset = e.number(place.window->offset());
    llvm::Value* number = e.f.load_from(e.f.address(scratch_), DType::u8, offset);
    llvm::Value* here =
        b.CreateICmpEQ(number, b.CreateTrunc(e.number(place.number), b.getInt8Ty()));
    if (llvm::Value* inside = emit_inside(e, place.bounds)) here = b.CreateAnd(here, inside);
    llvm::Value* update = e.element(x_.operand(1), place.window);
    sum = b.CreateSelect(here, scattered(e, x_, sum, update), sum);
  }
  return sum;
}

void GatherWindows::emit() {
  emit_selected();
  const std::vector<Slice> written = f_.result_slices(x_);
  emit_loop_over(f_, {.thunk = thunk_,
                      .shape = x_.shape(),
                      .written = written,
                      .visit =
                          [&](ElementAccess& access, const IndexRef& index) {
                            access.need(index->offset());
                            for (const Place& place : places(access, index)) {
                              access.need(place.number);
                              need_bounds(access, place.bounds);
                              access.visit(x_.operand(1), place.window);
                            }
                          },
                      .store =
                          [&](Elements& e, const IndexRef& index) {
                            e.f.store(written[0], x_.dtype(), e.number(index->offset()),
                                      sum(e, index));
                          }});
}

}  // namespace

int64_t select_and_scatter_scratch_bytes(const Instruction& x) {
  return GatherWindows::scratch_bytes(x);
}

void emit_select_and_scatter(FunctionEmitter& f, const Instruction& x) {
  if (x.shape().num_elements() == 0) return;
  if (x.operand(1).shape().num_elements() == 0) {
    emit_initial(f, x);
  } else if (f.program.optimize && GatherWindows::fits(x)) {
    GatherWindows(f, x).emit();
  } else {
    emit_scatter_windows(f, x);
  }
}

}  // namespace systole::cpu
