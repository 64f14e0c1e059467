// RUN: systole hlo opt --pretty --passes forward_loop_slices,dce %s | FileCheck %s

// Each row is read before it is set, once: it is read from the array before the loop.
// CHECK-LABEL: @set_once
// CHECK: %[[START:.*]] = stablehlo.constant dense<7>
// CHECK: stablehlo.while(%[[I:.*]] = %{{.*}}, %[[ACC:.*]] = %[[START]])
// CHECK: %[[ROW:.*]] = stablehlo.dynamic_slice %[[START]], %[[I]],
// CHECK: %[[SUM:.*]] = stablehlo.add %[[ROW]],
// CHECK: stablehlo.dynamic_update_slice %[[ACC]], %[[SUM]], %[[I]],
func.func public @set_once(%y: tensor<4x3x5xi32>) -> tensor<4x3x5xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %start = stablehlo.constant dense<7> : tensor<4x3x5xi32>
  %r:2 = stablehlo.while(%i = %zero, %acc = %start) : tensor<i32>, tensor<4x3x5xi32>
    cond {
      %more = stablehlo.compare LT, %i, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %ys = stablehlo.dynamic_slice %y, %i, %zero, %zero, sizes = [1, 3, 5] : (tensor<4x3x5xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x5xi32>
      %old = stablehlo.dynamic_slice %acc, %i, %zero, %zero, sizes = [1, 3, 5] : (tensor<4x3x5xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x5xi32>
      %sum = stablehlo.add %old, %ys : tensor<1x3x5xi32>
      %next = stablehlo.dynamic_update_slice %acc, %sum, %i, %zero, %zero : (tensor<4x3x5xi32>, tensor<1x3x5xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x3x5xi32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %next : tensor<i32>, tensor<4x3x5xi32>
    }
  return %r#1 : tensor<4x3x5xi32>
}

// All iterations set row 1.
// CHECK-LABEL: @set_often
// CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %[[ACC:.*]] = %{{.*}})
// CHECK: stablehlo.dynamic_slice %[[ACC]],
func.func public @set_often(%y: tensor<4x3x5xi32>) -> tensor<4x3x5xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %start = stablehlo.constant dense<7> : tensor<4x3x5xi32>
  %r:2 = stablehlo.while(%i = %zero, %acc = %start) : tensor<i32>, tensor<4x3x5xi32>
    cond {
      %more = stablehlo.compare LT, %i, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %ys = stablehlo.dynamic_slice %y, %i, %zero, %zero, sizes = [1, 3, 5] : (tensor<4x3x5xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x5xi32>
      %old = stablehlo.dynamic_slice %acc, %one, %zero, %zero, sizes = [1, 3, 5] : (tensor<4x3x5xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x5xi32>
      %sum = stablehlo.add %old, %ys : tensor<1x3x5xi32>
      %next = stablehlo.dynamic_update_slice %acc, %sum, %one, %zero, %zero : (tensor<4x3x5xi32>, tensor<1x3x5xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x3x5xi32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %next : tensor<i32>, tensor<4x3x5xi32>
    }
  return %r#1 : tensor<4x3x5xi32>
}
