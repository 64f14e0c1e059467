#include "systole/graph/api/math_ops.h"
#include "systole/graph/testing/math_op_cases.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {
namespace {

OpCase product_case(std::string name, BuildFn build, const std::vector<Shape>& shapes,
                    const std::string& equation) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    inputs.push_back(random_tensor(shapes[i], -1, 1, DType::f64, i + 1));
  }
  return {
      .name = std::move(name),
      .build = std::move(build),
      .inputs = std::move(inputs),
      .compute = [equation](const auto& in) { return std::vector{sum_of_products(equation, in)}; },
      .tolerance = 1e-14,
      .dtypes = {DType::f32, DType::bf16, DType::f16},
      .second_order = true};
}

// The terms of the operands for each way to lay them out.
const char* x_term(bool transposed) { return transposed ? "kn" : "nk"; }
const char* y_term(bool transposed) { return transposed ? "mk" : "km"; }

void add_matmul(std::vector<OpCase>& cases) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const BuildFn build = [=](const auto& x) {
        return matmul(x[0], x[1], {.transpose_a = ta, .transpose_b = tb});
      };
      const auto shape = [](bool transposed, int64_t rows, int64_t columns,
                            std::initializer_list<int64_t> batch) {
        Dims dims(batch);
        dims.push_back(transposed ? columns : rows);
        dims.push_back(transposed ? rows : columns);
        return Shape(dims);
      };
      const auto add = [&](const char* what, std::initializer_list<int64_t> a_batch,
                           std::initializer_list<int64_t> b_batch, std::string_view equation) {
        cases.push_back(
            product_case(fmt::format("matmul_{}{}{}", what, ta ? "_ta" : "", tb ? "_tb" : ""),
                         build, {shape(ta, 2, 3, a_batch), shape(tb, 3, 4, b_batch)},
                         fmt::format(fmt::runtime(equation), x_term(ta), y_term(tb))));
      };
      add("2d", {}, {}, "{},{}->nm");
      add("batch", {2}, {2}, "b{},b{}->bnm");
      add("one_matrix", {2, 3}, {}, "ab{},{}->abnm");
      add("first_matrix", {}, {2}, "{},b{}->bnm");
      add("broadcast", {2, 1}, {3}, "ab{},b{}->abnm");
    }
  }
  for (const DType dtype : {DType::s8, DType::s32, DType::s64, DType::u8}) {
    OpCase integers = product_case(
        fmt::format("matmul_{}", dtype), [](const auto& x) { return matmul(x[0], x[1]); }, {},
        "nk,km->nm");
    integers.inputs = {random_tensor({2, 3}, 0, 5, dtype, 1),
                       random_tensor({3, 4}, 0, 5, dtype, 2)};
    integers.dtypes = {};
    integers.gradient = integers.second_order = false;
    cases.push_back(std::move(integers));
  }
  cases.push_back(product_case(
      "matmul_no_columns", [](const auto& x) { return matmul(x[0], x[1]); }, {{2, 0}, {0, 3}},
      "nk,km->nm"));
}

void add_tensordot(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const TensordotAxes& axes, const Shape& a,
                       const Shape& b, const std::string& equation) {
    cases.push_back(product_case(
        "tensordot_" + name, [axes](const auto& x) { return tensordot(x[0], x[1], axes); }, {a, b},
        equation));
  };
  add("one", 1, {2, 3, 4}, {4, 5}, "abc,cd->abd");
  add("two", 2, {2, 3, 4}, {3, 4}, "abc,bc->a");
  add("outer", 0, {2}, {3}, "a,b->ab");
  add("lists", {{0, -1}, {1, 0}}, {2, 3, 4}, {4, 2, 5}, "abc,cad->bd");
}

void add_einsum(std::vector<OpCase>& cases) {
  // equation, shapes, the same with explicit labels ("" when it is that already)
  struct Row {
    std::string equation;
    std::vector<Shape> shapes;
    std::string plain = {};
  };
  const std::vector<Row> rows = {
      {"ij,jk->ik", {{2, 3}, {3, 4}}},
      {"ij,jk", {{2, 3}, {3, 4}}, "ij,jk->ik"},
      {"ba,cb", {{2, 3}, {4, 2}}, "ba,cb->ac"},
      {"ij,jk->ki", {{2, 3}, {3, 4}}},
      {"bij,bjk->bik", {{2, 2, 3}, {2, 3, 4}}},
      {"bij,bkj->ibk", {{2, 2, 3}, {2, 4, 3}}},
      {"i,j->ij", {{2}, {3}}},
      {"i,i->", {{3}, {3}}},
      {"ij,ij->ij", {{2, 3}, {2, 3}}},
      {"ijk,jk->i", {{2, 3, 4}, {3, 4}}},
      {"ij,kl->i", {{2, 3}, {2, 4}}},
      {"ij,jk->k", {{2, 3}, {3, 4}}},
      {"bthd,bshd->bhts", {{2, 3, 2, 2}, {2, 4, 2, 2}}},
      {"ij->ji", {{2, 3}}},
      {"ij->i", {{2, 3}}},
      {"ijk->ki", {{2, 3, 4}}},
      {"ij->", {{2, 3}}},
      {"ij", {{2, 3}}, "ij->ij"},
      {"ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 2}}},
      {"i,j,k->kji", {{2}, {3}, {4}}},
      {"...ij,...jk->...ik", {{2, 3, 4}, {2, 4, 2}}, "aij,ajk->aik"},
      {"...ij,jk->...ik", {{2, 2, 3, 4}, {4, 2}}, "abij,jk->abik"},
      {"...ij,...jk", {{2, 1, 3, 4}, {3, 4, 2}}, "abij,bjk->abik"},
      {"... i , i -> ...", {{2, 3}, {3}}, "ai,i->a"},
      {"...,...->...", {{2, 3}, {3}}, "ab,b->ab"},
  };
  int index = 0;
  for (const Row& row : rows) {
    cases.push_back(product_case(
        fmt::format("einsum_{}", index++),
        [e = row.equation](const auto& x) { return einsum(e, x); }, row.shapes,
        row.plain.empty() ? row.equation : row.plain));
  }
}

}  // namespace

std::vector<OpCase> product_op_cases() {
  std::vector<OpCase> cases;
  add_matmul(cases);
  add_tensordot(cases);
  add_einsum(cases);
  return with_squares(std::move(cases));
}

}  // namespace systole::graph_testing
