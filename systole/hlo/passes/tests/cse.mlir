// RUN: systole hlo opt --pretty --passes cse %s | FileCheck %s

// CHECK-LABEL: @commutative
// CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %arg0, %arg1
// CHECK-NEXT: stablehlo.multiply %[[SUM]], %[[SUM]]
func.func public @commutative(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %y : tensor<3xf32>
  %1 = stablehlo.add %y, %x : tensor<3xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<3xf32>
  return %2 : tensor<3xf32>
}

// CHECK-LABEL: @order_matters
// CHECK-NEXT: %[[A:.*]] = stablehlo.subtract %arg0, %arg1
// CHECK-NEXT: %[[B:.*]] = stablehlo.subtract %arg1, %arg0
// CHECK-NEXT: stablehlo.multiply %[[A]], %[[B]]
func.func public @order_matters(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.subtract %x, %y : tensor<3xf32>
  %1 = stablehlo.subtract %y, %x : tensor<3xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<3xf32>
  return %2 : tensor<3xf32>
}

// Zeros of different signs are different constants.
// CHECK-LABEL: @signed_zeros
// CHECK-NEXT: %[[PLUS:.*]] = stablehlo.constant dense<0.0>
// CHECK-NEXT: %[[MINUS:.*]] = stablehlo.constant dense<-0.0>
// CHECK-NEXT: return %[[PLUS]], %[[MINUS]], %[[PLUS]] :
func.func public @signed_zeros() -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.constant dense<-0.0> : tensor<f32>
  %2 = stablehlo.constant dense<0.0> : tensor<f32>
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<f32>
}

// An outer value replaces an equal one in a branch.
// CHECK-LABEL: @branches
// CHECK-NEXT: %[[OUTER:.*]] = stablehlo.exponential
// CHECK-NOT: stablehlo.exponential
// CHECK: stablehlo.return %[[OUTER]]
func.func public @branches(%p: tensor<i1>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = stablehlo.exponential %x : tensor<3xf32>
  %1 = "stablehlo.if"(%p) ({
    %2 = stablehlo.exponential %x : tensor<3xf32>
    stablehlo.return %2 : tensor<3xf32>
  }, {
    stablehlo.return %x : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
