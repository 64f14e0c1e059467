// Among one process collectives return what they are given.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %sum = "stablehlo.all_reduce"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %sum, dense<[1.0, 2.0]> : tensor<2xf32>
  %all = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %all, dense<[1.0, 2.0]> : tensor<2xf32>
  %id = stablehlo.replica_id : tensor<ui32>
  check.expect_eq_const %id, dense<0> : tensor<ui32>
  return
}

// -----

// Groups of two, which are not neighbours: the sum of each. Expected: by the definition.
module @sums {
  func.func @sums(%x: tensor<2xf32>) -> tensor<2xf32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {replica_groups = dense<[[0, 2], [3, 1]]> : tensor<2x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
    %x1 = stablehlo.constant dense<[3.5, 4.0]> : tensor<2xf32>
    %x2 = stablehlo.constant dense<[10.0, 20.0]> : tensor<2xf32>
    %x3 = stablehlo.constant dense<[-5.0, 0.25]> : tensor<2xf32>
    %r:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@sums], [@sums], [@sums], [@sums]]} : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    check.expect_eq_const %r#0, dense<[11.0, 18.0]> : tensor<2xf32>
    check.expect_eq_const %r#1, dense<[-1.5, 4.25]> : tensor<2xf32>
    check.expect_eq_const %r#2, dense<[11.0, 18.0]> : tensor<2xf32>
    check.expect_eq_const %r#3, dense<[-1.5, 4.25]> : tensor<2xf32>
    return
  }
}

// -----

// The largest of each group, of integers. Expected: by the definition.
module @largest {
  func.func @largest(%x: tensor<3xi32>) -> tensor<3xi32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.maximum %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {replica_groups = dense<[[0, 2], [3, 1]]> : tensor<2x2xi64>} : (tensor<3xi32>) -> tensor<3xi32>
    return %r : tensor<3xi32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 9, -3]> : tensor<3xi32>
    %x1 = stablehlo.constant dense<[7, 2, 2]> : tensor<3xi32>
    %x2 = stablehlo.constant dense<[4, -8, 5]> : tensor<3xi32>
    %x3 = stablehlo.constant dense<[0, 0, 6]> : tensor<3xi32>
    %r:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@largest], [@largest], [@largest], [@largest]]} : (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>)
    check.expect_eq_const %r#0, dense<[4, 9, 5]> : tensor<3xi32>
    check.expect_eq_const %r#1, dense<[7, 2, 6]> : tensor<3xi32>
    check.expect_eq_const %r#2, dense<[4, 9, 5]> : tensor<3xi32>
    check.expect_eq_const %r#3, dense<[7, 2, 6]> : tensor<3xi32>
    return
  }
}

// -----

// Groups of unlike sizes: -1 stands for no process. Expected: by the definition.
module @ragged {
  func.func @ragged(%x: tensor<2xf32>) -> tensor<2xf32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.multiply %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 3], [2, -1, -1]]> : tensor<2x3xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %x1 = stablehlo.constant dense<[3.0, -4.0]> : tensor<2xf32>
    %x2 = stablehlo.constant dense<[5.0, 6.0]> : tensor<2xf32>
    %x3 = stablehlo.constant dense<[0.5, 0.25]> : tensor<2xf32>
    %r:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@ragged], [@ragged], [@ragged], [@ragged]]} : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    check.expect_eq_const %r#0, dense<[1.5, -2.0]> : tensor<2xf32>
    check.expect_eq_const %r#1, dense<[1.5, -2.0]> : tensor<2xf32>
    check.expect_eq_const %r#2, dense<[5.0, 6.0]> : tensor<2xf32>
    check.expect_eq_const %r#3, dense<[1.5, -2.0]> : tensor<2xf32>
    return
  }
}

// -----

// What the processes of a group give lies in the order of the group, not of their numbers. Expected: by the definition.
module @gather {
  func.func @gather(%x: tensor<1x2xi32>) -> tensor<2x2xi32> {
    %r = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2], [3, 1]]> : tensor<2x2xi64>} : (tensor<1x2xi32>) -> tensor<2x2xi32>
    return %r : tensor<2x2xi32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi32>
    %x1 = stablehlo.constant dense<[[11, 12]]> : tensor<1x2xi32>
    %x2 = stablehlo.constant dense<[[21, 22]]> : tensor<1x2xi32>
    %x3 = stablehlo.constant dense<[[31, 32]]> : tensor<1x2xi32>
    %r:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@gather], [@gather], [@gather], [@gather]]} : (tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>) -> (tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>)
    check.expect_eq_const %r#0, dense<[[1, 2], [21, 22]]> : tensor<2x2xi32>
    check.expect_eq_const %r#1, dense<[[31, 32], [11, 12]]> : tensor<2x2xi32>
    check.expect_eq_const %r#2, dense<[[1, 2], [21, 22]]> : tensor<2x2xi32>
    check.expect_eq_const %r#3, dense<[[31, 32], [11, 12]]> : tensor<2x2xi32>
    return
  }
}

// -----

// The same along the other axis. Expected: by the definition.
module @gather_columns {
  func.func @gather_columns(%x: tensor<1x2xi32>) -> tensor<1x4xi32> {
    %r = "stablehlo.all_gather"(%x) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 2], [3, 1]]> : tensor<2x2xi64>} : (tensor<1x2xi32>) -> tensor<1x4xi32>
    return %r : tensor<1x4xi32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi32>
    %x1 = stablehlo.constant dense<[[11, 12]]> : tensor<1x2xi32>
    %x2 = stablehlo.constant dense<[[21, 22]]> : tensor<1x2xi32>
    %x3 = stablehlo.constant dense<[[31, 32]]> : tensor<1x2xi32>
    %r:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@gather_columns], [@gather_columns], [@gather_columns], [@gather_columns]]} : (tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>) -> (tensor<1x4xi32>, tensor<1x4xi32>, tensor<1x4xi32>, tensor<1x4xi32>)
    check.expect_eq_const %r#0, dense<[[1, 2, 21, 22]]> : tensor<1x4xi32>
    check.expect_eq_const %r#1, dense<[[31, 32, 11, 12]]> : tensor<1x4xi32>
    check.expect_eq_const %r#2, dense<[[1, 2, 21, 22]]> : tensor<1x4xi32>
    check.expect_eq_const %r#3, dense<[[31, 32, 11, 12]]> : tensor<1x4xi32>
    return
  }
}

// -----

// Each gives each of its group a half. Expected: by the definition.
module @exchange {
  func.func @exchange(%x: tensor<4xi32>) -> tensor<4xi32> {
    %r = "stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 2], [3, 1]]> : tensor<2x2xi64>} : (tensor<4xi32>) -> tensor<4xi32>
    return %r : tensor<4xi32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
    %x1 = stablehlo.constant dense<[100, 101, 102, 103]> : tensor<4xi32>
    %x2 = stablehlo.constant dense<[200, 201, 202, 203]> : tensor<4xi32>
    %x3 = stablehlo.constant dense<[300, 301, 302, 303]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@exchange], [@exchange], [@exchange], [@exchange]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
    check.expect_eq_const %r#0, dense<[0, 1, 200, 201]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<[302, 303, 102, 103]> : tensor<4xi32>
    check.expect_eq_const %r#2, dense<[2, 3, 202, 203]> : tensor<4xi32>
    check.expect_eq_const %r#3, dense<[300, 301, 100, 101]> : tensor<4xi32>
    return
  }
}

// -----

// Split along one axis, joined along the other. Expected: by the definition.
module @exchange_axes {
  func.func @exchange_axes(%x: tensor<2x4xi32>) -> tensor<4x2xi32> {
    %r = "stablehlo.all_to_all"(%x) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 2], [3, 1]]> : tensor<2x2xi64>} : (tensor<2x4xi32>) -> tensor<4x2xi32>
    return %r : tensor<4x2xi32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0, 1, 2, 3], [10, 11, 12, 13]]> : tensor<2x4xi32>
    %x1 = stablehlo.constant dense<[[100, 101, 102, 103], [110, 111, 112, 113]]> : tensor<2x4xi32>
    %x2 = stablehlo.constant dense<[[200, 201, 202, 203], [210, 211, 212, 213]]> : tensor<2x4xi32>
    %x3 = stablehlo.constant dense<[[300, 301, 302, 303], [310, 311, 312, 313]]> : tensor<2x4xi32>
    %r:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@exchange_axes], [@exchange_axes], [@exchange_axes], [@exchange_axes]]} : (tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>)
    check.expect_eq_const %r#0, dense<[[0, 1], [10, 11], [200, 201], [210, 211]]> : tensor<4x2xi32>
    check.expect_eq_const %r#1, dense<[[302, 303], [312, 313], [102, 103], [112, 113]]> : tensor<4x2xi32>
    check.expect_eq_const %r#2, dense<[[2, 3], [12, 13], [202, 203], [212, 213]]> : tensor<4x2xi32>
    check.expect_eq_const %r#3, dense<[[300, 301], [310, 311], [100, 101], [110, 111]]> : tensor<4x2xi32>
    return
  }
}

// -----

// Sums, of which each of the group keeps its part. Expected: by the definition.
module @parts {
  func.func @parts(%x: tensor<4xi32>) -> tensor<2xi32> {
    %r = "stablehlo.reduce_scatter"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 2], [3, 1]]> : tensor<2x2xi64>} : (tensor<4xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
    %x1 = stablehlo.constant dense<[100, 101, 102, 103]> : tensor<4xi32>
    %x2 = stablehlo.constant dense<[200, 201, 202, 203]> : tensor<4xi32>
    %x3 = stablehlo.constant dense<[300, 301, 302, 303]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@parts], [@parts], [@parts], [@parts]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[200, 202]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[404, 406]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[204, 206]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[400, 402]> : tensor<2xi32>
    return
  }
}

// -----

// A ring of three; nobody sends to the fourth, who has zeros. Expected: by the definition.
module @ring {
  func.func @ring(%x: tensor<4xi32>) -> tensor<4xi32> {
    %r = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 3], [3, 1], [1, 0]]> : tensor<3x2xi64>} : (tensor<4xi32>) -> tensor<4xi32>
    return %r : tensor<4xi32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
    %x1 = stablehlo.constant dense<[100, 101, 102, 103]> : tensor<4xi32>
    %x2 = stablehlo.constant dense<[200, 201, 202, 203]> : tensor<4xi32>
    %x3 = stablehlo.constant dense<[300, 301, 302, 303]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@ring], [@ring], [@ring], [@ring]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
    check.expect_eq_const %r#0, dense<[100, 101, 102, 103]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<[300, 301, 302, 303]> : tensor<4xi32>
    check.expect_eq_const %r#2, dense<[0, 0, 0, 0]> : tensor<4xi32>
    check.expect_eq_const %r#3, dense<[0, 1, 2, 3]> : tensor<4xi32>
    return
  }
}

// -----

// The first of each group tells the others. Expected: by the definition.
module @told {
  func.func @told(%x: tensor<4xi32>) -> tensor<4xi32> {
    %r = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[2, 0], [1, 3]]> : tensor<2x2xi64>} : (tensor<4xi32>) -> tensor<4xi32>
    return %r : tensor<4xi32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
    %x1 = stablehlo.constant dense<[100, 101, 102, 103]> : tensor<4xi32>
    %x2 = stablehlo.constant dense<[200, 201, 202, 203]> : tensor<4xi32>
    %x3 = stablehlo.constant dense<[300, 301, 302, 303]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@told], [@told], [@told], [@told]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
    check.expect_eq_const %r#0, dense<[200, 201, 202, 203]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<[100, 101, 102, 103]> : tensor<4xi32>
    check.expect_eq_const %r#2, dense<[200, 201, 202, 203]> : tensor<4xi32>
    check.expect_eq_const %r#3, dense<[100, 101, 102, 103]> : tensor<4xi32>
    return
  }
}

// -----

// Six replicas: their mean in pairs weighs their number; then the mean of all. Expected: by the definition.
module @nested {
  func.func @nested(%x: tensor<1xf32>) -> tensor<1xf32> {
    %id = stablehlo.replica_id : tensor<ui32>
    %weight = stablehlo.convert %id : (tensor<ui32>) -> tensor<f32>
    %weights = stablehlo.reshape %weight : (tensor<f32>) -> tensor<1xf32>
    %pair = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {replica_groups = dense<[[0, 3], [1, 4], [2, 5]]> : tensor<3x2xi64>} : (tensor<1xf32>) -> tensor<1xf32>
    %own = stablehlo.multiply %pair, %weights : tensor<1xf32>
    %r = "stablehlo.all_reduce"(%own) ({
    ^bb0(%d: tensor<f32>, %e: tensor<f32>):
      %f = stablehlo.add %d, %e : tensor<f32>
      stablehlo.return %f : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi64>} : (tensor<1xf32>) -> tensor<1xf32>
    return %r : tensor<1xf32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0]> : tensor<1xf32>
    %x1 = stablehlo.constant dense<[1.0]> : tensor<1xf32>
    %x2 = stablehlo.constant dense<[4.0]> : tensor<1xf32>
    %x3 = stablehlo.constant dense<[9.0]> : tensor<1xf32>
    %x4 = stablehlo.constant dense<[16.0]> : tensor<1xf32>
    %x5 = stablehlo.constant dense<[25.0]> : tensor<1xf32>
    %r:6 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3, %x4, %x5) {programs = [[@nested], [@nested], [@nested], [@nested], [@nested], [@nested]]} : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
    check.expect_eq_const %r#0, dense<[75.0]> : tensor<1xf32>
    check.expect_eq_const %r#1, dense<[75.0]> : tensor<1xf32>
    check.expect_eq_const %r#2, dense<[75.0]> : tensor<1xf32>
    check.expect_eq_const %r#3, dense<[240.0]> : tensor<1xf32>
    check.expect_eq_const %r#4, dense<[240.0]> : tensor<1xf32>
    check.expect_eq_const %r#5, dense<[240.0]> : tensor<1xf32>
    return
  }
}
