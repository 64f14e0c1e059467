func.func private @twice(%x: tensor<4xi32>) -> tensor<4xi32> {
  %r = stablehlo.add %x, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}
func.func public @main(%x: tensor<4xi32>, %k: tensor<i32>) -> (tensor<4xi32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xi32>
    cond {
      %more = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %d = func.call @twice(%v) : (tensor<4xi32>) -> tensor<4xi32>
      %b = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<4xi32>
      %n = stablehlo.xor %d, %b : tensor<4xi32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %n : tensor<i32>, tensor<4xi32>
    }
  %p = stablehlo.compare GT, %k, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %c = "stablehlo.if"(%p) ({
    %m = stablehlo.multiply %k, %five : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }, {
    %q = stablehlo.divide %five, %k : tensor<i32>
    stablehlo.return %q : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  return %w#1, %c : tensor<4xi32>, tensor<i32>
}
