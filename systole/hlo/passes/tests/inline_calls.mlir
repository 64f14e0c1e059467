// RUN: systole hlo opt --pretty --passes inline_calls %s | FileCheck %s

// CHECK-LABEL: func.func public @main
// CHECK-NEXT: %[[A:.*]] = stablehlo.multiply %arg0, %arg0
// CHECK-NEXT: %[[B:.*]] = stablehlo.add %[[A]], %[[A]]
// CHECK-NEXT: %[[C:.*]] = stablehlo.multiply %[[B]], %[[B]]
// CHECK-NEXT: return %[[C]]
func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = func.call @twice(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = func.call @square(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
func.func private @twice(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = func.call @square(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = stablehlo.add %0, %0 : tensor<3xf32>
  return %1 : tensor<3xf32>
}
func.func private @square(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}
