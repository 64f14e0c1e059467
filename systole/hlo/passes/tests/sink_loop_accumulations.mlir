// RUN: systole hlo opt --pretty --passes sink_loop_accumulations,dce %s | FileCheck %s

// Four products of 3 rows are one product of 12 rows after the loop.
// CHECK-LABEL: @weight_gradient
// CHECK-NOT: stablehlo.while
// CHECK: %[[P:.*]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0, 1] x [0, 1]
// CHECK-NEXT: stablehlo.add %{{.*}}, %[[P]]
func.func public @weight_gradient(%x: tensor<4x3x2xi32>, %y: tensor<4x3x5xi32>) -> tensor<2x5xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %start = stablehlo.constant dense<7> : tensor<2x5xi32>
  %r:2 = stablehlo.while(%i = %zero, %acc = %start) : tensor<i32>, tensor<2x5xi32>
    cond {
      %more = stablehlo.compare LT, %i, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %xs = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 3, 2] : (tensor<4x3x2xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x2xi32>
      %a = stablehlo.reshape %xs : (tensor<1x3x2xi32>) -> tensor<3x2xi32>
      %ys = stablehlo.dynamic_slice %y, %i, %zero, %zero, sizes = [1, 3, 5] : (tensor<4x3x5xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x5xi32>
      %b = stablehlo.reshape %ys : (tensor<1x3x5xi32>) -> tensor<3x5xi32>
      %p = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3x2xi32>, tensor<3x5xi32>) -> tensor<2x5xi32>
      %next = stablehlo.add %acc, %p : tensor<2x5xi32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %next : tensor<i32>, tensor<2x5xi32>
    }
  return %r#1 : tensor<2x5xi32>
}

// The number of iterations is not known.
// CHECK-LABEL: @unknown_length
// CHECK: stablehlo.while
// CHECK: stablehlo.dot_general
// CHECK: return
func.func public @unknown_length(%x: tensor<4x3x2xi32>, %y: tensor<4x3x5xi32>, %n: tensor<i32>) -> tensor<2x5xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %start = stablehlo.constant dense<7> : tensor<2x5xi32>
  %r:2 = stablehlo.while(%i = %zero, %acc = %start) : tensor<i32>, tensor<2x5xi32>
    cond {
      %more = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %xs = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 3, 2] : (tensor<4x3x2xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x2xi32>
      %a = stablehlo.reshape %xs : (tensor<1x3x2xi32>) -> tensor<3x2xi32>
      %ys = stablehlo.dynamic_slice %y, %i, %zero, %zero, sizes = [1, 3, 5] : (tensor<4x3x5xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x5xi32>
      %b = stablehlo.reshape %ys : (tensor<1x3x5xi32>) -> tensor<3x5xi32>
      %p = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3x2xi32>, tensor<3x5xi32>) -> tensor<2x5xi32>
      %next = stablehlo.add %acc, %p : tensor<2x5xi32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %next : tensor<i32>, tensor<2x5xi32>
    }
  return %r#1 : tensor<2x5xi32>
}
