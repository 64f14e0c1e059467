// RUN: systole hlo opt --pretty --passes replica_streams %s | FileCheck %s

// Eight 32-bit numbers are two blocks of 128 bits: each replica begins two blocks after the one before it.
// CHECK-LABEL: @philox
// CHECK: %[[REPLICA:.*]] = stablehlo.replica_id
// CHECK: stablehlo.constant dense<[0, 2, 0]>
// CHECK: %[[STATE:.*]] = stablehlo.add %arg0,
// CHECK: stablehlo.rng_bit_generator %[[STATE]], algorithm = PHILOX
func.func public @philox(%state: tensor<3xui64>) -> (tensor<3xui64>, tensor<8xui32>) {
  %0, %1 = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<8xui32>)
  return %0, %1 : tensor<3xui64>, tensor<8xui32>
}

// CHECK-LABEL: @threefry
// CHECK-NEXT: stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY
// CHECK-NEXT: return
func.func public @threefry(%state: tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>) {
  %0, %1 = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  return %0, %1 : tensor<2xui64>, tensor<8xui32>
}
