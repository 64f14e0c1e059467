func.func @main(%x: tensor<3x4xi32>, %y: tensor<4x3xi32>, %at: tensor<i32>) -> (tensor<3x3xi32>, tensor<5x6xi32>, tensor<4xi32>, tensor<2x2xi32>, tensor<3x4xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %dot = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x4xi32>, tensor<4x3xi32>) -> tensor<3x3xi32>
  %pad = stablehlo.pad %x, %zero, low = [1, 2], high = [1, 0], interior = [0, 0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<5x6xi32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<4xi32>
  %part = stablehlo.dynamic_slice %x, %at, %zero, sizes = [2, 2] : (tensor<3x4xi32>, tensor<i32>, tensor<i32>) -> tensor<2x2xi32>
  %t = stablehlo.transpose %y, dims = [1, 0] : (tensor<4x3xi32>) -> tensor<3x4xi32>
  %iota = stablehlo.iota dim = 1 : tensor<3x4xi32>
  %sorted = "stablehlo.sort"(%t) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %less = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<3x4xi32>) -> tensor<3x4xi32>
  %max = stablehlo.maximum %sorted, %iota : tensor<3x4xi32>
  return %dot, %pad, %sum, %part, %max : tensor<3x3xi32>, tensor<5x6xi32>, tensor<4xi32>, tensor<2x2xi32>, tensor<3x4xi32>
}
