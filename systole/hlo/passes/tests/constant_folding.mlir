// RUN: systole hlo opt --pretty --passes constant_folding,dce %s | FileCheck %s

// CHECK-LABEL: @arithmetic
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<[31, 82]>
// CHECK-NEXT: return %[[C]]
func.func public @arithmetic() -> tensor<2xi32> {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.constant dense<[30, 40]> : tensor<2xi32>
  %2 = stablehlo.multiply %0, %1 : tensor<2xi32>
  %3 = stablehlo.add %2, %0 : tensor<2xi32>
  return %3 : tensor<2xi32>
}

// CHECK-LABEL: @parameters
// CHECK: stablehlo.add
func.func public @parameters(%x: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.add %x, %0 : tensor<2xi32>
  return %1 : tensor<2xi32>
}

// A loop without parameters runs at compile time.
// CHECK-LABEL: @loop
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<120>
// CHECK-NEXT: return %[[C]]
func.func public @loop() -> tensor<i32> {
  %five = stablehlo.constant dense<5> : tensor<i32>
  %first = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %five, %product = %first) : tensor<i32>, tensor<i32>
    cond {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %more = stablehlo.compare GT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.subtract %i, %one : tensor<i32>
      %a = stablehlo.multiply %product, %i : tensor<i32>
      stablehlo.return %next, %a : tensor<i32>, tensor<i32>
    }
  return %0#1 : tensor<i32>
}

// Constants of 400 MB are not made.
// CHECK-LABEL: @large
// CHECK: stablehlo.add
func.func public @large() -> tensor<100000000xf32> {
  %0 = stablehlo.constant dense<1.0> : tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<100000000xf32>
  %2 = stablehlo.add %1, %1 : tensor<100000000xf32>
  return %2 : tensor<100000000xf32>
}
