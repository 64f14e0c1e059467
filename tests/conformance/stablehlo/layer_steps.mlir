// A step of a transformer layer: layer normalisation, causal attention of two heads, gelu, the cross entropy of every
// token, all gradients and Adam's third step. Expected: the loss in f64, its finite differences, Adam's formula.
func.func @main() {
  %1 = stablehlo.constant dense<[[[-1.1, 1.04, 0.79, -0.73], [-0.01, -0.15, 0.45, 0.87], [-1.22, -1.41, 1.01, -0.2]], [[0.79, -1.49, -0.16, 0.66], [-0.81, 1.34, 1.2, -1.41], [-1.42, 0.12, 1.32, -0.36]]]> : tensor<2x3x4xf32>
  %2 = stablehlo.constant dense<[1.0, 0.9, 1.1, 1.2]> : tensor<4xf32>
  %3 = stablehlo.constant dense<[[0.55, 0.54, -0.53, -0.5, 0.4, 0.28, 0.2, -0.23, 0.13, 0.13, 0.1, -0.41], [-0.08, -0.13, 0.27, 0.59, 0.54, 0.05, -0.07, -0.28, -0.56, -0.57, -0.04, -0.22], [-0.14, 0.47, 0.03, 0.07, -0.32, -0.57, -0.21, -0.44, 0.01, 0.6, 0.21, -0.38], [0.47, 0.36, 0.28, 0.49, 0.32, 0.35, -0.18, 0.58, 0.55, -0.41, 0.3, 0.26]]> : tensor<4x12xf32>
  %4 = stablehlo.constant dense<[[-0.31, 0.05, -0.16, 0.12], [0.15, -0.52, -0.58, 0.4], [-0.29, -0.32, 0.59, -0.04], [0.4, -0.03, 0.17, -0.42]]> : tensor<4x4xf32>
  %5 = stablehlo.constant dense<[[-0.48, -0.71, -0.19, -0.62, -0.78, -0.18], [0.75, 0.54, 0.48, -0.5, 0.07, -0.4], [-0.59, -0.71, -0.51, 0.77, 0.59, 0.55], [0.54, -0.55, -0.34, 0.23, 0.42, 0.64]]> : tensor<4x6xf32>
  %6 = stablehlo.constant dense<[[0.22, 0.44, 0.53, 0.8], [0.43, 0.76, -0.85, -0.06], [0.8, 0.27, 0.72, -0.7], [-0.06, -0.46, 0.08, 0.13], [-0.88, -0.51, -0.4, 0.75], [0.48, -0.61, 0.53, -0.65]]> : tensor<6x4xf32>
  %7 = stablehlo.constant dense<[[0.53, 0.58, -0.03], [-0.43, -0.9, 0.29], [-0.05, 0.47, -0.23], [0.49, -0.41, 0.54]]> : tensor<4x3xf32>
  %8 = stablehlo.constant dense<[[0, 2, 1], [1, 1, 0]]> : tensor<2x3xi32>
  %cc9 = stablehlo.constant dense<0.0> : tensor<f32>
  %10 = stablehlo.reduce(%1 init: %cc9) applies stablehlo.add across dimensions = [2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3xf32>
  %11 = stablehlo.constant dense<4.0> : tensor<2x3xf32>
  %12 = stablehlo.divide %10, %11 : tensor<2x3xf32>
  %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x4xf32>
  %14 = stablehlo.subtract %1, %13 : tensor<2x3x4xf32>
  %15 = stablehlo.multiply %14, %14 : tensor<2x3x4xf32>
  %cc16 = stablehlo.constant dense<0.0> : tensor<f32>
  %17 = stablehlo.reduce(%15 init: %cc16) applies stablehlo.add across dimensions = [2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3xf32>
  %18 = stablehlo.constant dense<4.0> : tensor<2x3xf32>
  %19 = stablehlo.divide %17, %18 : tensor<2x3xf32>
  %20 = stablehlo.constant dense<1.0e-05> : tensor<2x3xf32>
  %21 = stablehlo.add %19, %20 : tensor<2x3xf32>
  %22 = stablehlo.rsqrt %21 : tensor<2x3xf32>
  %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x4xf32>
  %24 = stablehlo.multiply %14, %23 : tensor<2x3x4xf32>
  %25 = stablehlo.broadcast_in_dim %2, dims = [2] : (tensor<4xf32>) -> tensor<2x3x4xf32>
  %26 = stablehlo.multiply %24, %25 : tensor<2x3x4xf32>
  %27 = stablehlo.dot_general %26, %3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4xf32>, tensor<4x12xf32>) -> tensor<2x3x12xf32>
  %28 = stablehlo.slice %27 [0:2, 0:3, 0:4] : (tensor<2x3x12xf32>) -> tensor<2x3x4xf32>
  %29 = stablehlo.reshape %28 : (tensor<2x3x4xf32>) -> tensor<2x3x2x2xf32>
  %30 = stablehlo.slice %27 [0:2, 0:3, 4:8] : (tensor<2x3x12xf32>) -> tensor<2x3x4xf32>
  %31 = stablehlo.reshape %30 : (tensor<2x3x4xf32>) -> tensor<2x3x2x2xf32>
  %32 = stablehlo.slice %27 [0:2, 0:3, 8:12] : (tensor<2x3x12xf32>) -> tensor<2x3x4xf32>
  %33 = stablehlo.reshape %32 : (tensor<2x3x4xf32>) -> tensor<2x3x2x2xf32>
  %34 = stablehlo.dot_general %29, %31, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>) -> tensor<2x2x3x3xf32>
  %35 = stablehlo.constant dense<1.414214> : tensor<2x2x3x3xf32>
  %36 = stablehlo.divide %34, %35 : tensor<2x2x3x3xf32>
  %37 = stablehlo.iota dim = 0 : tensor<3x3xi32>
  %38 = stablehlo.iota dim = 1 : tensor<3x3xi32>
  %39 = stablehlo.compare GE, %37, %38, SIGNED : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
  %40 = stablehlo.broadcast_in_dim %39, dims = [2, 3] : (tensor<3x3xi1>) -> tensor<2x2x3x3xi1>
  %41 = stablehlo.constant dense<-1.0e+09> : tensor<2x2x3x3xf32>
  %42 = stablehlo.select %40, %36, %41 : tensor<2x2x3x3xi1>, tensor<2x2x3x3xf32>
  %cc43 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %44 = stablehlo.reduce(%42 init: %cc43) applies stablehlo.maximum across dimensions = [3] : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3xf32>
  %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2] : (tensor<2x2x3xf32>) -> tensor<2x2x3x3xf32>
  %46 = stablehlo.subtract %42, %45 : tensor<2x2x3x3xf32>
  %47 = stablehlo.exponential %46 : tensor<2x2x3x3xf32>
  %cc48 = stablehlo.constant dense<0.0> : tensor<f32>
  %49 = stablehlo.reduce(%47 init: %cc48) applies stablehlo.add across dimensions = [3] : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3xf32>
  %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2] : (tensor<2x2x3xf32>) -> tensor<2x2x3x3xf32>
  %51 = stablehlo.divide %47, %50 : tensor<2x2x3x3xf32>
  %52 = stablehlo.dot_general %51, %33, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x2x3x3xf32>, tensor<2x3x2x2xf32>) -> tensor<2x2x3x2xf32>
  %53 = stablehlo.transpose %52, dims = [0, 2, 1, 3] : (tensor<2x2x3x2xf32>) -> tensor<2x3x2x2xf32>
  %54 = stablehlo.reshape %53 : (tensor<2x3x2x2xf32>) -> tensor<2x3x4xf32>
  %55 = stablehlo.dot_general %54, %4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4xf32>, tensor<4x4xf32>) -> tensor<2x3x4xf32>
  %56 = stablehlo.add %1, %55 : tensor<2x3x4xf32>
  %cc57 = stablehlo.constant dense<0.0> : tensor<f32>
  %58 = stablehlo.reduce(%56 init: %cc57) applies stablehlo.add across dimensions = [2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3xf32>
  %59 = stablehlo.constant dense<4.0> : tensor<2x3xf32>
  %60 = stablehlo.divide %58, %59 : tensor<2x3xf32>
  %61 = stablehlo.broadcast_in_dim %60, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x4xf32>
  %62 = stablehlo.subtract %56, %61 : tensor<2x3x4xf32>
  %63 = stablehlo.multiply %62, %62 : tensor<2x3x4xf32>
  %cc64 = stablehlo.constant dense<0.0> : tensor<f32>
  %65 = stablehlo.reduce(%63 init: %cc64) applies stablehlo.add across dimensions = [2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3xf32>
  %66 = stablehlo.constant dense<4.0> : tensor<2x3xf32>
  %67 = stablehlo.divide %65, %66 : tensor<2x3xf32>
  %68 = stablehlo.constant dense<1.0e-05> : tensor<2x3xf32>
  %69 = stablehlo.add %67, %68 : tensor<2x3xf32>
  %70 = stablehlo.rsqrt %69 : tensor<2x3xf32>
  %71 = stablehlo.broadcast_in_dim %70, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x4xf32>
  %72 = stablehlo.multiply %62, %71 : tensor<2x3x4xf32>
  %73 = stablehlo.dot_general %72, %5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4xf32>, tensor<4x6xf32>) -> tensor<2x3x6xf32>
  %74 = stablehlo.multiply %73, %73 : tensor<2x3x6xf32>
  %75 = stablehlo.multiply %74, %73 : tensor<2x3x6xf32>
  %76 = stablehlo.constant dense<0.044715> : tensor<2x3x6xf32>
  %77 = stablehlo.multiply %75, %76 : tensor<2x3x6xf32>
  %78 = stablehlo.add %73, %77 : tensor<2x3x6xf32>
  %79 = stablehlo.constant dense<0.7978846> : tensor<2x3x6xf32>
  %80 = stablehlo.multiply %78, %79 : tensor<2x3x6xf32>
  %81 = stablehlo.tanh %80 : tensor<2x3x6xf32>
  %82 = stablehlo.constant dense<0.5> : tensor<2x3x6xf32>
  %83 = stablehlo.multiply %73, %82 : tensor<2x3x6xf32>
  %84 = stablehlo.constant dense<1.0> : tensor<2x3x6xf32>
  %85 = stablehlo.add %81, %84 : tensor<2x3x6xf32>
  %86 = stablehlo.multiply %83, %85 : tensor<2x3x6xf32>
  %87 = stablehlo.dot_general %86, %6, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6xf32>, tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %88 = stablehlo.add %56, %87 : tensor<2x3x4xf32>
  %89 = stablehlo.dot_general %88, %7, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4xf32>, tensor<4x3xf32>) -> tensor<2x3x3xf32>
  %cc90 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %91 = stablehlo.reduce(%89 init: %cc90) applies stablehlo.maximum across dimensions = [2] : (tensor<2x3x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %92 = stablehlo.broadcast_in_dim %91, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x3xf32>
  %93 = stablehlo.subtract %89, %92 : tensor<2x3x3xf32>
  %94 = stablehlo.exponential %93 : tensor<2x3x3xf32>
  %cc95 = stablehlo.constant dense<0.0> : tensor<f32>
  %96 = stablehlo.reduce(%94 init: %cc95) applies stablehlo.add across dimensions = [2] : (tensor<2x3x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %97 = stablehlo.broadcast_in_dim %96, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x3xf32>
  %98 = stablehlo.divide %94, %97 : tensor<2x3x3xf32>
  %99 = stablehlo.iota dim = 2 : tensor<2x3x3xi32>
  %100 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<2x3xi32>) -> tensor<2x3x3xi32>
  %101 = stablehlo.compare EQ, %99, %100, SIGNED : (tensor<2x3x3xi32>, tensor<2x3x3xi32>) -> tensor<2x3x3xi1>
  %102 = stablehlo.convert %101 : (tensor<2x3x3xi1>) -> tensor<2x3x3xf32>
  %103 = stablehlo.subtract %89, %92 : tensor<2x3x3xf32>
  %104 = stablehlo.log %96 : tensor<2x3xf32>
  %105 = stablehlo.broadcast_in_dim %104, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x3xf32>
  %106 = stablehlo.subtract %103, %105 : tensor<2x3x3xf32>
  %107 = stablehlo.multiply %106, %102 : tensor<2x3x3xf32>
  %cc108 = stablehlo.constant dense<0.0> : tensor<f32>
  %109 = stablehlo.reduce(%107 init: %cc108) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x3x3xf32>, tensor<f32>) -> tensor<f32>
  %110 = stablehlo.constant dense<6.0> : tensor<f32>
  %111 = stablehlo.divide %109, %110 : tensor<f32>
  %112 = stablehlo.negate %111 : tensor<f32>
  %113 = stablehlo.subtract %98, %102 : tensor<2x3x3xf32>
  %114 = stablehlo.constant dense<6.0> : tensor<2x3x3xf32>
  %115 = stablehlo.divide %113, %114 : tensor<2x3x3xf32>
  %116 = stablehlo.dot_general %88, %115, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4xf32>, tensor<2x3x3xf32>) -> tensor<4x3xf32>
  %117 = stablehlo.dot_general %115, %7, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x3xf32>, tensor<4x3xf32>) -> tensor<2x3x4xf32>
  %118 = stablehlo.dot_general %86, %117, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6xf32>, tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %119 = stablehlo.dot_general %117, %6, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4xf32>, tensor<6x4xf32>) -> tensor<2x3x6xf32>
  %120 = stablehlo.constant dense<1.0> : tensor<2x3x6xf32>
  %121 = stablehlo.add %81, %120 : tensor<2x3x6xf32>
  %122 = stablehlo.constant dense<0.5> : tensor<2x3x6xf32>
  %123 = stablehlo.multiply %121, %122 : tensor<2x3x6xf32>
  %124 = stablehlo.multiply %81, %81 : tensor<2x3x6xf32>
  %125 = stablehlo.constant dense<1.0> : tensor<2x3x6xf32>
  %126 = stablehlo.subtract %125, %124 : tensor<2x3x6xf32>
  %127 = stablehlo.multiply %73, %73 : tensor<2x3x6xf32>
  %128 = stablehlo.constant dense<0.134145> : tensor<2x3x6xf32>
  %129 = stablehlo.multiply %127, %128 : tensor<2x3x6xf32>
  %130 = stablehlo.constant dense<1.0> : tensor<2x3x6xf32>
  %131 = stablehlo.add %129, %130 : tensor<2x3x6xf32>
  %132 = stablehlo.constant dense<0.5> : tensor<2x3x6xf32>
  %133 = stablehlo.multiply %73, %132 : tensor<2x3x6xf32>
  %134 = stablehlo.multiply %133, %126 : tensor<2x3x6xf32>
  %135 = stablehlo.constant dense<0.7978846> : tensor<2x3x6xf32>
  %136 = stablehlo.multiply %131, %135 : tensor<2x3x6xf32>
  %137 = stablehlo.multiply %134, %136 : tensor<2x3x6xf32>
  %138 = stablehlo.add %123, %137 : tensor<2x3x6xf32>
  %139 = stablehlo.multiply %119, %138 : tensor<2x3x6xf32>
  %140 = stablehlo.dot_general %72, %139, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4xf32>, tensor<2x3x6xf32>) -> tensor<4x6xf32>
  %141 = stablehlo.dot_general %139, %5, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x6xf32>, tensor<4x6xf32>) -> tensor<2x3x4xf32>
  %cc142 = stablehlo.constant dense<0.0> : tensor<f32>
  %143 = stablehlo.reduce(%141 init: %cc142) applies stablehlo.add across dimensions = [2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3xf32>
  %144 = stablehlo.constant dense<4.0> : tensor<2x3xf32>
  %145 = stablehlo.divide %143, %144 : tensor<2x3xf32>
  %146 = stablehlo.broadcast_in_dim %145, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x4xf32>
  %147 = stablehlo.multiply %141, %72 : tensor<2x3x4xf32>
  %cc148 = stablehlo.constant dense<0.0> : tensor<f32>
  %149 = stablehlo.reduce(%147 init: %cc148) applies stablehlo.add across dimensions = [2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3xf32>
  %150 = stablehlo.constant dense<4.0> : tensor<2x3xf32>
  %151 = stablehlo.divide %149, %150 : tensor<2x3xf32>
  %152 = stablehlo.broadcast_in_dim %151, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x4xf32>
  %153 = stablehlo.subtract %141, %146 : tensor<2x3x4xf32>
  %154 = stablehlo.multiply %72, %152 : tensor<2x3x4xf32>
  %155 = stablehlo.subtract %153, %154 : tensor<2x3x4xf32>
  %156 = stablehlo.multiply %71, %155 : tensor<2x3x4xf32>
  %157 = stablehlo.add %117, %156 : tensor<2x3x4xf32>
  %158 = stablehlo.dot_general %54, %157, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<4x4xf32>
  %159 = stablehlo.dot_general %157, %4, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4xf32>, tensor<4x4xf32>) -> tensor<2x3x4xf32>
  %160 = stablehlo.reshape %159 : (tensor<2x3x4xf32>) -> tensor<2x3x2x2xf32>
  %161 = stablehlo.dot_general %160, %33, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>) -> tensor<2x2x3x3xf32>
  %162 = stablehlo.dot_general %51, %160, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x2x3x3xf32>, tensor<2x3x2x2xf32>) -> tensor<2x2x3x2xf32>
  %163 = stablehlo.transpose %162, dims = [0, 2, 1, 3] : (tensor<2x2x3x2xf32>) -> tensor<2x3x2x2xf32>
  %164 = stablehlo.multiply %161, %51 : tensor<2x2x3x3xf32>
  %cc165 = stablehlo.constant dense<0.0> : tensor<f32>
  %166 = stablehlo.reduce(%164 init: %cc165) applies stablehlo.add across dimensions = [3] : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3xf32>
  %167 = stablehlo.broadcast_in_dim %166, dims = [0, 1, 2] : (tensor<2x2x3xf32>) -> tensor<2x2x3x3xf32>
  %168 = stablehlo.subtract %161, %167 : tensor<2x2x3x3xf32>
  %169 = stablehlo.multiply %51, %168 : tensor<2x2x3x3xf32>
  %170 = stablehlo.constant dense<1.414214> : tensor<2x2x3x3xf32>
  %171 = stablehlo.divide %169, %170 : tensor<2x2x3x3xf32>
  %172 = stablehlo.dot_general %171, %31, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x2x3x3xf32>, tensor<2x3x2x2xf32>) -> tensor<2x2x3x2xf32>
  %173 = stablehlo.transpose %172, dims = [0, 2, 1, 3] : (tensor<2x2x3x2xf32>) -> tensor<2x3x2x2xf32>
  %174 = stablehlo.dot_general %171, %29, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x2x3x3xf32>, tensor<2x3x2x2xf32>) -> tensor<2x2x3x2xf32>
  %175 = stablehlo.transpose %174, dims = [0, 2, 1, 3] : (tensor<2x2x3x2xf32>) -> tensor<2x3x2x2xf32>
  %176 = stablehlo.reshape %173 : (tensor<2x3x2x2xf32>) -> tensor<2x3x4xf32>
  %177 = stablehlo.reshape %175 : (tensor<2x3x2x2xf32>) -> tensor<2x3x4xf32>
  %178 = stablehlo.reshape %163 : (tensor<2x3x2x2xf32>) -> tensor<2x3x4xf32>
  %179 = stablehlo.concatenate %176, %177, %178, dim = 2 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x12xf32>
  %180 = stablehlo.dot_general %26, %179, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4xf32>, tensor<2x3x12xf32>) -> tensor<4x12xf32>
  %181 = stablehlo.dot_general %179, %3, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x12xf32>, tensor<4x12xf32>) -> tensor<2x3x4xf32>
  %182 = stablehlo.multiply %181, %24 : tensor<2x3x4xf32>
  %cc183 = stablehlo.constant dense<0.0> : tensor<f32>
  %184 = stablehlo.reduce(%182 init: %cc183) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<4xf32>
  %185 = stablehlo.constant dense<[-0.02, -0.01, 0.0, 0.01]> : tensor<4xf32>
  %186 = stablehlo.constant dense<[0.0004, 0.0008, 0.0012, 0.0004]> : tensor<4xf32>
  %187 = stablehlo.constant dense<0.9> : tensor<4xf32>
  %188 = stablehlo.multiply %185, %187 : tensor<4xf32>
  %189 = stablehlo.constant dense<0.1> : tensor<4xf32>
  %190 = stablehlo.multiply %184, %189 : tensor<4xf32>
  %191 = stablehlo.add %188, %190 : tensor<4xf32>
  %192 = stablehlo.constant dense<0.999> : tensor<4xf32>
  %193 = stablehlo.multiply %186, %192 : tensor<4xf32>
  %194 = stablehlo.multiply %184, %184 : tensor<4xf32>
  %195 = stablehlo.constant dense<0.001> : tensor<4xf32>
  %196 = stablehlo.multiply %194, %195 : tensor<4xf32>
  %197 = stablehlo.add %193, %196 : tensor<4xf32>
  %198 = stablehlo.constant dense<0.271> : tensor<4xf32>
  %199 = stablehlo.divide %191, %198 : tensor<4xf32>
  %200 = stablehlo.constant dense<0.01> : tensor<4xf32>
  %201 = stablehlo.multiply %199, %200 : tensor<4xf32>
  %202 = stablehlo.constant dense<0.002997001> : tensor<4xf32>
  %203 = stablehlo.divide %197, %202 : tensor<4xf32>
  %204 = stablehlo.sqrt %203 : tensor<4xf32>
  %205 = stablehlo.constant dense<1.0e-08> : tensor<4xf32>
  %206 = stablehlo.add %204, %205 : tensor<4xf32>
  %207 = stablehlo.divide %201, %206 : tensor<4xf32>
  %208 = stablehlo.subtract %2, %207 : tensor<4xf32>
  %209 = stablehlo.constant dense<[[-0.02, -0.01, 0.0, 0.01, 0.02, -0.02, -0.01, 0.0, 0.01, 0.02, -0.02, -0.01], [0.0, 0.01, 0.02, -0.02, -0.01, 0.0, 0.01, 0.02, -0.02, -0.01, 0.0, 0.01], [0.02, -0.02, -0.01, 0.0, 0.01, 0.02, -0.02, -0.01, 0.0, 0.01, 0.02, -0.02], [-0.01, 0.0, 0.01, 0.02, -0.02, -0.01, 0.0, 0.01, 0.02, -0.02, -0.01, 0.0]]> : tensor<4x12xf32>
  %210 = stablehlo.constant dense<[[0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012], [0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012], [0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012], [0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012]]> : tensor<4x12xf32>
  %211 = stablehlo.constant dense<0.9> : tensor<4x12xf32>
  %212 = stablehlo.multiply %209, %211 : tensor<4x12xf32>
  %213 = stablehlo.constant dense<0.1> : tensor<4x12xf32>
  %214 = stablehlo.multiply %180, %213 : tensor<4x12xf32>
  %215 = stablehlo.add %212, %214 : tensor<4x12xf32>
  %216 = stablehlo.constant dense<0.999> : tensor<4x12xf32>
  %217 = stablehlo.multiply %210, %216 : tensor<4x12xf32>
  %218 = stablehlo.multiply %180, %180 : tensor<4x12xf32>
  %219 = stablehlo.constant dense<0.001> : tensor<4x12xf32>
  %220 = stablehlo.multiply %218, %219 : tensor<4x12xf32>
  %221 = stablehlo.add %217, %220 : tensor<4x12xf32>
  %222 = stablehlo.constant dense<0.271> : tensor<4x12xf32>
  %223 = stablehlo.divide %215, %222 : tensor<4x12xf32>
  %224 = stablehlo.constant dense<0.01> : tensor<4x12xf32>
  %225 = stablehlo.multiply %223, %224 : tensor<4x12xf32>
  %226 = stablehlo.constant dense<0.002997001> : tensor<4x12xf32>
  %227 = stablehlo.divide %221, %226 : tensor<4x12xf32>
  %228 = stablehlo.sqrt %227 : tensor<4x12xf32>
  %229 = stablehlo.constant dense<1.0e-08> : tensor<4x12xf32>
  %230 = stablehlo.add %228, %229 : tensor<4x12xf32>
  %231 = stablehlo.divide %225, %230 : tensor<4x12xf32>
  %232 = stablehlo.subtract %3, %231 : tensor<4x12xf32>
  %233 = stablehlo.constant dense<[[-0.02, -0.01, 0.0, 0.01], [0.02, -0.02, -0.01, 0.0], [0.01, 0.02, -0.02, -0.01], [0.0, 0.01, 0.02, -0.02]]> : tensor<4x4xf32>
  %234 = stablehlo.constant dense<[[0.0004, 0.0008, 0.0012, 0.0004], [0.0008, 0.0012, 0.0004, 0.0008], [0.0012, 0.0004, 0.0008, 0.0012], [0.0004, 0.0008, 0.0012, 0.0004]]> : tensor<4x4xf32>
  %235 = stablehlo.constant dense<0.9> : tensor<4x4xf32>
  %236 = stablehlo.multiply %233, %235 : tensor<4x4xf32>
  %237 = stablehlo.constant dense<0.1> : tensor<4x4xf32>
  %238 = stablehlo.multiply %158, %237 : tensor<4x4xf32>
  %239 = stablehlo.add %236, %238 : tensor<4x4xf32>
  %240 = stablehlo.constant dense<0.999> : tensor<4x4xf32>
  %241 = stablehlo.multiply %234, %240 : tensor<4x4xf32>
  %242 = stablehlo.multiply %158, %158 : tensor<4x4xf32>
  %243 = stablehlo.constant dense<0.001> : tensor<4x4xf32>
  %244 = stablehlo.multiply %242, %243 : tensor<4x4xf32>
  %245 = stablehlo.add %241, %244 : tensor<4x4xf32>
  %246 = stablehlo.constant dense<0.271> : tensor<4x4xf32>
  %247 = stablehlo.divide %239, %246 : tensor<4x4xf32>
  %248 = stablehlo.constant dense<0.01> : tensor<4x4xf32>
  %249 = stablehlo.multiply %247, %248 : tensor<4x4xf32>
  %250 = stablehlo.constant dense<0.002997001> : tensor<4x4xf32>
  %251 = stablehlo.divide %245, %250 : tensor<4x4xf32>
  %252 = stablehlo.sqrt %251 : tensor<4x4xf32>
  %253 = stablehlo.constant dense<1.0e-08> : tensor<4x4xf32>
  %254 = stablehlo.add %252, %253 : tensor<4x4xf32>
  %255 = stablehlo.divide %249, %254 : tensor<4x4xf32>
  %256 = stablehlo.subtract %4, %255 : tensor<4x4xf32>
  %257 = stablehlo.constant dense<[[-0.02, -0.01, 0.0, 0.01, 0.02, -0.02], [-0.01, 0.0, 0.01, 0.02, -0.02, -0.01], [0.0, 0.01, 0.02, -0.02, -0.01, 0.0], [0.01, 0.02, -0.02, -0.01, 0.0, 0.01]]> : tensor<4x6xf32>
  %258 = stablehlo.constant dense<[[0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012], [0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012], [0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012], [0.0004, 0.0008, 0.0012, 0.0004, 0.0008, 0.0012]]> : tensor<4x6xf32>
  %259 = stablehlo.constant dense<0.9> : tensor<4x6xf32>
  %260 = stablehlo.multiply %257, %259 : tensor<4x6xf32>
  %261 = stablehlo.constant dense<0.1> : tensor<4x6xf32>
  %262 = stablehlo.multiply %140, %261 : tensor<4x6xf32>
  %263 = stablehlo.add %260, %262 : tensor<4x6xf32>
  %264 = stablehlo.constant dense<0.999> : tensor<4x6xf32>
  %265 = stablehlo.multiply %258, %264 : tensor<4x6xf32>
  %266 = stablehlo.multiply %140, %140 : tensor<4x6xf32>
  %267 = stablehlo.constant dense<0.001> : tensor<4x6xf32>
  %268 = stablehlo.multiply %266, %267 : tensor<4x6xf32>
  %269 = stablehlo.add %265, %268 : tensor<4x6xf32>
  %270 = stablehlo.constant dense<0.271> : tensor<4x6xf32>
  %271 = stablehlo.divide %263, %270 : tensor<4x6xf32>
  %272 = stablehlo.constant dense<0.01> : tensor<4x6xf32>
  %273 = stablehlo.multiply %271, %272 : tensor<4x6xf32>
  %274 = stablehlo.constant dense<0.002997001> : tensor<4x6xf32>
  %275 = stablehlo.divide %269, %274 : tensor<4x6xf32>
  %276 = stablehlo.sqrt %275 : tensor<4x6xf32>
  %277 = stablehlo.constant dense<1.0e-08> : tensor<4x6xf32>
  %278 = stablehlo.add %276, %277 : tensor<4x6xf32>
  %279 = stablehlo.divide %273, %278 : tensor<4x6xf32>
  %280 = stablehlo.subtract %5, %279 : tensor<4x6xf32>
  %281 = stablehlo.constant dense<[[-0.02, -0.01, 0.0, 0.01], [0.02, -0.02, -0.01, 0.0], [0.01, 0.02, -0.02, -0.01], [0.0, 0.01, 0.02, -0.02], [-0.01, 0.0, 0.01, 0.02], [-0.02, -0.01, 0.0, 0.01]]> : tensor<6x4xf32>
  %282 = stablehlo.constant dense<[[0.0004, 0.0008, 0.0012, 0.0004], [0.0008, 0.0012, 0.0004, 0.0008], [0.0012, 0.0004, 0.0008, 0.0012], [0.0004, 0.0008, 0.0012, 0.0004], [0.0008, 0.0012, 0.0004, 0.0008], [0.0012, 0.0004, 0.0008, 0.0012]]> : tensor<6x4xf32>
  %283 = stablehlo.constant dense<0.9> : tensor<6x4xf32>
  %284 = stablehlo.multiply %281, %283 : tensor<6x4xf32>
  %285 = stablehlo.constant dense<0.1> : tensor<6x4xf32>
  %286 = stablehlo.multiply %118, %285 : tensor<6x4xf32>
  %287 = stablehlo.add %284, %286 : tensor<6x4xf32>
  %288 = stablehlo.constant dense<0.999> : tensor<6x4xf32>
  %289 = stablehlo.multiply %282, %288 : tensor<6x4xf32>
  %290 = stablehlo.multiply %118, %118 : tensor<6x4xf32>
  %291 = stablehlo.constant dense<0.001> : tensor<6x4xf32>
  %292 = stablehlo.multiply %290, %291 : tensor<6x4xf32>
  %293 = stablehlo.add %289, %292 : tensor<6x4xf32>
  %294 = stablehlo.constant dense<0.271> : tensor<6x4xf32>
  %295 = stablehlo.divide %287, %294 : tensor<6x4xf32>
  %296 = stablehlo.constant dense<0.01> : tensor<6x4xf32>
  %297 = stablehlo.multiply %295, %296 : tensor<6x4xf32>
  %298 = stablehlo.constant dense<0.002997001> : tensor<6x4xf32>
  %299 = stablehlo.divide %293, %298 : tensor<6x4xf32>
  %300 = stablehlo.sqrt %299 : tensor<6x4xf32>
  %301 = stablehlo.constant dense<1.0e-08> : tensor<6x4xf32>
  %302 = stablehlo.add %300, %301 : tensor<6x4xf32>
  %303 = stablehlo.divide %297, %302 : tensor<6x4xf32>
  %304 = stablehlo.subtract %6, %303 : tensor<6x4xf32>
  %305 = stablehlo.constant dense<[[-0.02, -0.01, 0.0], [0.01, 0.02, -0.02], [-0.01, 0.0, 0.01], [0.02, -0.02, -0.01]]> : tensor<4x3xf32>
  %306 = stablehlo.constant dense<[[0.0004, 0.0008, 0.0012], [0.0004, 0.0008, 0.0012], [0.0004, 0.0008, 0.0012], [0.0004, 0.0008, 0.0012]]> : tensor<4x3xf32>
  %307 = stablehlo.constant dense<0.9> : tensor<4x3xf32>
  %308 = stablehlo.multiply %305, %307 : tensor<4x3xf32>
  %309 = stablehlo.constant dense<0.1> : tensor<4x3xf32>
  %310 = stablehlo.multiply %116, %309 : tensor<4x3xf32>
  %311 = stablehlo.add %308, %310 : tensor<4x3xf32>
  %312 = stablehlo.constant dense<0.999> : tensor<4x3xf32>
  %313 = stablehlo.multiply %306, %312 : tensor<4x3xf32>
  %314 = stablehlo.multiply %116, %116 : tensor<4x3xf32>
  %315 = stablehlo.constant dense<0.001> : tensor<4x3xf32>
  %316 = stablehlo.multiply %314, %315 : tensor<4x3xf32>
  %317 = stablehlo.add %313, %316 : tensor<4x3xf32>
  %318 = stablehlo.constant dense<0.271> : tensor<4x3xf32>
  %319 = stablehlo.divide %311, %318 : tensor<4x3xf32>
  %320 = stablehlo.constant dense<0.01> : tensor<4x3xf32>
  %321 = stablehlo.multiply %319, %320 : tensor<4x3xf32>
  %322 = stablehlo.constant dense<0.002997001> : tensor<4x3xf32>
  %323 = stablehlo.divide %317, %322 : tensor<4x3xf32>
  %324 = stablehlo.sqrt %323 : tensor<4x3xf32>
  %325 = stablehlo.constant dense<1.0e-08> : tensor<4x3xf32>
  %326 = stablehlo.add %324, %325 : tensor<4x3xf32>
  %327 = stablehlo.divide %321, %326 : tensor<4x3xf32>
  %328 = stablehlo.subtract %7, %327 : tensor<4x3xf32>
  check.expect_almost_eq_const %112, dense<1.408444> : tensor<f32>
  check.expect_almost_eq_const %208, dense<[1.001117, 0.9007251, 1.100144, 1.199451]> : tensor<4xf32>
  check.expect_almost_eq_const %191, dense<[-0.01111997, -0.01014847, -0.002463933, 0.005442152]> : tensor<4xf32>
  check.expect_almost_eq_const %197, dense<[0.0004043335, 0.0007993319, 0.001199407, 0.0004008658]> : tensor<4xf32>
  check.expect_almost_eq_const %232, dense<[[0.5518215, 0.5404141, -0.5300304, -0.5004107, 0.3991556, 0.2812917, 0.2007679, -0.2301052, 0.1291091, 0.1280317, 0.1016912, -0.4086026], [-0.08021178, -0.1314842, 0.2689657, 0.5932942, 0.5397705, 0.0494132, -0.07037901, -0.2808829, -0.5594972, -0.5683451, -0.03960971, -0.2200894], [-0.1418802, 0.4712588, 0.03055374, 0.06998301, -0.3209799, -0.5712513, -0.2080301, -0.4392432, 0.01005253, 0.5989197, 0.2086821, -0.3791704], [0.4712541, 0.3614079, 0.2794589, 0.4858535, 0.3222657, 0.3512322, -0.1806968, 0.5788276, 0.5500597, -0.4088296, 0.29967, 0.2586294]]> : tensor<4x12xf32>
  check.expect_almost_eq_const %215, dense<[[-0.01802494, -0.005798539, 0.0005207966, 0.00407601, 0.01184518, -0.0221557, -0.00760038, 0.001472026, 0.01529506, 0.01948306, -0.02371533, -0.02417934], [0.002096808, 0.0209548, 0.01772699, -0.03357283, 0.003241607, 0.01010012, 0.003763339, 0.01238029, -0.00864968, -0.01649031, -0.005472158, 0.001535505], [0.0186068, -0.0176163, -0.009490963, 0.000168148, 0.01373235, 0.021457, -0.01949819, -0.01059326, -0.0009004092, 0.01069365, 0.01844316, -0.01422679], [-0.01242777, -0.02020007, 0.009274653, 0.04448913, -0.03209892, -0.02125126, 0.00693706, 0.01646462, -0.001038896, -0.01164022, 0.004671152, 0.02405164]]> : tensor<4x12xf32>
  check.expect_almost_eq_const %221, dense<[[0.0003996001, 0.0008002249, 0.001198827, 0.0004020246, 0.0008029882, 0.001200527, 0.0003997959, 0.0007994167, 0.001202763, 0.0003998199, 0.0008024665, 0.001221841], [0.0004000397, 0.0008134917, 0.001198807, 0.0004238513, 0.0008141857, 0.001209001, 0.0004023423, 0.0008023581, 0.001207543, 0.0004052105, 0.0008021945, 0.001204372], [0.0003996368, 0.0007992147, 0.001198824, 0.0003996028, 0.0008014395, 0.001199995, 0.0003998245, 0.0007994538, 0.001198881, 0.0003998868, 0.0007992196, 0.001200224], [0.000400775, 0.0008400043, 0.001198808, 0.0004697674, 0.0008190779, 0.001213809, 0.0004044123, 0.0008047721, 0.001235048, 0.0004036447, 0.00081789, 0.001256648]]> : tensor<4x12xf32>
  check.expect_almost_eq_const %256, dense<[[-0.3111928, 0.052698, -0.160703, 0.1205509], [0.1490024, -0.5190972, -0.5786923, 0.3995569], [-0.2910949, -0.3205405, 0.5909807, -0.03923217], [0.3984349, -0.02927568, 0.1684639, -0.4171863]]> : tensor<4x4xf32>
  check.expect_almost_eq_const %239, dense<[[0.01315934, -0.03995642, 0.01212248, -0.005595045], [0.01397439, -0.01547808, -0.01296544, 0.006215599], [0.01884119, 0.005452499, -0.01373946, -0.01316981], [0.01597482, -0.0103716, 0.02640493, -0.02820336]]> : tensor<4x4xf32>
  check.expect_almost_eq_const %245, dense<[[0.0004966905, 0.00089503, 0.001213495, 0.0004209015], [0.0008008206, 0.001199436, 0.0004011725, 0.0008030634], [0.001208485, 0.000415344, 0.0008010152, 0.001200539], [0.0004251195, 0.0008367259, 0.001205864, 0.0004100109]]> : tensor<4x4xf32>
  check.expect_almost_eq_const %280, dense<[[-0.4781831, -0.7084256, -0.190767, -0.6208353, -0.7820321, -0.1770172], [0.750407, 0.5387607, 0.4803308, -0.500261, 0.06928755, -0.3975333], [-0.5900125, -0.7117943, -0.5100664, 0.7716803, 0.5913956, 0.5478234], [0.5396077, -0.5497953, -0.3400189, 0.2294382, 0.4219362, 0.637727]]> : tensor<4x6xf32>
  check.expect_almost_eq_const %263, dense<[[-0.01797905, -0.02227422, 0.01324242, 0.008266456, 0.02863841, -0.05378541], [-0.00403949, 0.01767978, -0.005721607, 0.002657594, 0.01046345, -0.04443723], [0.0001239013, 0.0255368, 0.001151186, -0.01663172, -0.01966848, 0.03968098], [0.003894636, -0.002942369, 0.0003280026, 0.005707673, -0.02843338, 0.04054167]]> : tensor<4x6xf32>
  check.expect_almost_eq_const %269, dense<[[0.0003996, 0.0008168205, 0.001216336, 0.0003996538, 0.0008105176, 0.00132686], [0.0004020607, 0.0008304575, 0.001220473, 0.0004231389, 0.0008802168, 0.00132438], [0.0003996015, 0.0008265466, 0.001227188, 0.0003997872, 0.0008105816, 0.001356258], [0.0004022065, 0.0008430583, 0.001232392, 0.0004212316, 0.0008800457, 0.001298288]]> : tensor<4x6xf32>
  check.expect_almost_eq_const %304, dense<[[0.2221024, 0.4403565, 0.53008, 0.798982], [0.4297193, 0.7597669, -0.8481481, -0.06072297], [0.7998606, 0.2671163, 0.7216542, -0.6998273], [-0.0613102, -0.4584076, 0.07761902, 0.1347329], [-0.8795588, -0.5090841, -0.4024583, 0.7506326], [0.4800227, -0.6061723, 0.5286195, -0.6489979]]> : tensor<6x4xf32>
  check.expect_almost_eq_const %287, dense<[[-0.02082556, -0.00499419, -0.001371448, 0.0100755], [0.00397677, 0.004075921, -0.01853298, 0.01018295], [0.002393438, 0.02896129, -0.02318791, -0.0029644], [0.01324668, -0.02373149, 0.04175854, -0.05383756], [-0.006177657, -0.01586254, 0.02510252, -0.00925576], [-0.0003936128, -0.04301099, 0.01978684, -0.01767835]]> : tensor<6x4xf32>
  check.expect_almost_eq_const %293, dense<[[0.0004003984, 0.0008008047, 0.001198988, 0.0003997157], [0.0008188651, 0.001247535, 0.0004086878, 0.0008095693], [0.001203165, 0.000411615, 0.0008018914, 0.001202443], [0.0004171475, 0.0009063351, 0.001255247, 0.0005280331], [0.0007999966, 0.001223962, 0.0004255291, 0.0008734876], [0.001229798, 0.0005152747, 0.0008383519, 0.001269973]]> : tensor<6x4xf32>
  check.expect_almost_eq_const %328, dense<[[0.5281666, 0.5828034, -0.02961632], [-0.430033, -0.8971815, 0.2872177], [-0.04884969, 0.4687083, -0.2295921], [0.4891247, -0.4108899, 0.5417702]]> : tensor<4x3xf32>
  check.expect_almost_eq_const %311, dense<[[0.02137462, -0.04178658, -0.006588043], [0.0003295658, -0.04939654, 0.05806698], [-0.01139104, 0.01845765, -0.007066613], [0.00875399, 0.01318979, -0.03094378]]> : tensor<4x3xf32>
  check.expect_almost_eq_const %317, dense<[[0.0005546361, 0.000906696, 0.00120314], [0.0004071176, 0.001253429, 0.001777418], [0.0004001717, 0.0008332685, 0.001224614], [0.0004081489, 0.0008964803, 0.001246953]]> : tensor<4x3xf32>
  return
}
// -----

// A step of a convolution with batch normalisation, relu, a pool of maxima, the mean over places and a dense layer, with
// momentum and the running moments. Expected: the loss in f64 and its finite differences.
func.func @main() {
  %1 = stablehlo.constant dense<[[[[-0.11, 0.14], [1.02, -0.08], [0.02, 0.21], [-0.76, 0.03]], [[0.31, 0.7], [-0.97, -0.47], [-0.98, 0.74], [0.46, -1.1]], [[1.16, 1.12], [0.37, 0.28], [-0.82, -1.16], [0.07, -1.06]], [[-0.74, -0.62], [-1.13, -0.09], [-0.14, 0.82], [0.05, 0.34]]], [[[-0.0, 0.39], [-0.1, -0.53], [1.19, 1.19], [0.82, 0.5]], [[-0.44, -0.65], [-0.51, -1.03], [0.64, -0.24], [0.83, -0.27]], [[1.1, 0.83], [-1.2, -0.7], [0.98, -0.07], [1.15, -0.25]], [[-1.02, 0.31], [0.67, -0.55], [-0.99, -0.4], [1.11, 0.62]]], [[[-0.92, -0.61], [-0.96, -1.06], [0.71, -0.77], [0.14, -0.13]], [[-0.74, 0.56], [-0.89, 0.34], [-0.92, -0.19], [-0.69, -0.55]], [[1.13, 0.73], [-0.47, 0.92], [-0.69, -0.25], [0.85, 0.34]], [[-0.96, 1.17], [-0.69, -0.58], [0.65, -0.41], [-0.49, -1.02]]]]> : tensor<3x4x4x2xf32>
  %2 = stablehlo.constant dense<[[[[-0.03, 0.16, 0.17], [-0.36, -0.49, -0.13]], [[-0.23, 0.31, 0.19], [0.1, 0.06, 0.16]], [[-0.35, -0.06, -0.34], [0.41, -0.44, 0.32]]], [[[-0.43, 0.19, -0.16], [-0.1, 0.34, -0.48]], [[-0.44, 0.42, 0.01], [-0.41, 0.49, 0.45]], [[-0.39, -0.08, -0.36], [-0.19, 0.12, -0.34]]], [[[0.2, -0.45, -0.33], [0.32, -0.1, -0.08]], [[0.1, -0.02, -0.12], [-0.47, 0.23, 0.47]], [[0.48, 0.16, -0.14], [-0.14, 0.19, 0.17]]]]> : tensor<3x3x2x3xf32>
  %3 = stablehlo.constant dense<[1.0, 0.8, 1.2]> : tensor<3xf32>
  %4 = stablehlo.constant dense<[0.1, -0.1, 0.2]> : tensor<3xf32>
  %5 = stablehlo.constant dense<[[-0.43, 0.33], [0.33, 0.63], [-0.57, -0.48]]> : tensor<3x2xf32>
  %6 = stablehlo.convolution(%1, %2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x4x4x2xf32>, tensor<3x3x2x3xf32>) -> tensor<3x4x4x3xf32>
  %7:3 = "stablehlo.batch_norm_training"(%6, %3, %4) {epsilon = 1.000000e-03 : f32, feature_index = 3 : i64} : (tensor<3x4x4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3x4x4x3xf32>, tensor<3xf32>, tensor<3xf32>)
  %8 = stablehlo.constant dense<0.0> : tensor<3x4x4x3xf32>
  %9 = stablehlo.maximum %7#0, %8 : tensor<3x4x4x3xf32>
  %10 = stablehlo.constant dense<0.0> : tensor<f32>
  %11 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %12 = "stablehlo.reduce_window"(%9, %11) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<3x4x4x3xf32>, tensor<f32>) -> tensor<3x2x2x3xf32>
  %cc13 = stablehlo.constant dense<0.0> : tensor<f32>
  %14 = stablehlo.reduce(%12 init: %cc13) applies stablehlo.add across dimensions = [1, 2] : (tensor<3x2x2x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  %15 = stablehlo.constant dense<4.0> : tensor<3x3xf32>
  %16 = stablehlo.divide %14, %15 : tensor<3x3xf32>
  %17 = stablehlo.dot_general %16, %5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %cc18 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %19 = stablehlo.reduce(%17 init: %cc18) applies stablehlo.maximum across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
  %20 = stablehlo.broadcast_in_dim %19, dims = [0] : (tensor<3xf32>) -> tensor<3x2xf32>
  %21 = stablehlo.subtract %17, %20 : tensor<3x2xf32>
  %22 = stablehlo.exponential %21 : tensor<3x2xf32>
  %cc23 = stablehlo.constant dense<0.0> : tensor<f32>
  %24 = stablehlo.reduce(%22 init: %cc23) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
  %25 = stablehlo.broadcast_in_dim %24, dims = [0] : (tensor<3xf32>) -> tensor<3x2xf32>
  %26 = stablehlo.divide %22, %25 : tensor<3x2xf32>
  %27 = stablehlo.subtract %17, %20 : tensor<3x2xf32>
  %28 = stablehlo.log %24 : tensor<3xf32>
  %29 = stablehlo.broadcast_in_dim %28, dims = [0] : (tensor<3xf32>) -> tensor<3x2xf32>
  %30 = stablehlo.subtract %27, %29 : tensor<3x2xf32>
  %31 = stablehlo.constant dense<[[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]> : tensor<3x2xf32>
  %32 = stablehlo.multiply %30, %31 : tensor<3x2xf32>
  %cc33 = stablehlo.constant dense<0.0> : tensor<f32>
  %34 = stablehlo.reduce(%32 init: %cc33) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<f32>
  %35 = stablehlo.constant dense<3.0> : tensor<f32>
  %36 = stablehlo.divide %34, %35 : tensor<f32>
  %37 = stablehlo.negate %36 : tensor<f32>
  %38 = stablehlo.subtract %26, %31 : tensor<3x2xf32>
  %39 = stablehlo.constant dense<3.0> : tensor<3x2xf32>
  %40 = stablehlo.divide %38, %39 : tensor<3x2xf32>
  %41 = stablehlo.dot_general %16, %40, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %42 = stablehlo.dot_general %40, %5, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x3xf32>
  %43 = stablehlo.broadcast_in_dim %42, dims = [0, 3] : (tensor<3x3xf32>) -> tensor<3x2x2x3xf32>
  %44 = stablehlo.constant dense<4.0> : tensor<3x2x2x3xf32>
  %45 = stablehlo.divide %43, %44 : tensor<3x2x2x3xf32>
  %46 = "stablehlo.select_and_scatter"(%9, %45, %10) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %ge = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %ge : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3x4x4x3xf32>, tensor<3x2x2x3xf32>, tensor<f32>) -> tensor<3x4x4x3xf32>
  %47 = stablehlo.compare GT, %7#0, %8, FLOAT : (tensor<3x4x4x3xf32>, tensor<3x4x4x3xf32>) -> tensor<3x4x4x3xi1>
  %48 = stablehlo.select %47, %46, %8 : tensor<3x4x4x3xi1>, tensor<3x4x4x3xf32>
  %49:3 = "stablehlo.batch_norm_grad"(%6, %3, %7#1, %7#2, %48) {epsilon = 1.000000e-03 : f32, feature_index = 3 : i64} : (tensor<3x4x4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x4x4x3xf32>) -> (tensor<3x4x4x3xf32>, tensor<3xf32>, tensor<3xf32>)
  %50 = stablehlo.convolution(%1, %49#0) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x4x4x2xf32>, tensor<3x4x4x3xf32>) -> tensor<3x3x2x3xf32>
  %51 = stablehlo.constant dense<[[[[-0.02, 0.0, 0.02], [-0.02, 0.0, 0.02]], [[-0.02, 0.0, 0.02], [-0.02, 0.0, 0.02]], [[-0.02, 0.0, 0.02], [-0.02, 0.0, 0.02]]], [[[-0.02, 0.0, 0.02], [-0.02, 0.0, 0.02]], [[-0.02, 0.0, 0.02], [-0.02, 0.0, 0.02]], [[-0.02, 0.0, 0.02], [-0.02, 0.0, 0.02]]], [[[-0.02, 0.0, 0.02], [-0.02, 0.0, 0.02]], [[-0.02, 0.0, 0.02], [-0.02, 0.0, 0.02]], [[-0.02, 0.0, 0.02], [-0.02, 0.0, 0.02]]]]> : tensor<3x3x2x3xf32>
  %52 = stablehlo.constant dense<0.9> : tensor<3x3x2x3xf32>
  %53 = stablehlo.multiply %51, %52 : tensor<3x3x2x3xf32>
  %54 = stablehlo.add %53, %50 : tensor<3x3x2x3xf32>
  %55 = stablehlo.constant dense<0.1> : tensor<3x3x2x3xf32>
  %56 = stablehlo.multiply %54, %55 : tensor<3x3x2x3xf32>
  %57 = stablehlo.subtract %2, %56 : tensor<3x3x2x3xf32>
  %58 = stablehlo.constant dense<[-0.02, 0.0, 0.02]> : tensor<3xf32>
  %59 = stablehlo.constant dense<0.9> : tensor<3xf32>
  %60 = stablehlo.multiply %58, %59 : tensor<3xf32>
  %61 = stablehlo.add %60, %49#1 : tensor<3xf32>
  %62 = stablehlo.constant dense<0.1> : tensor<3xf32>
  %63 = stablehlo.multiply %61, %62 : tensor<3xf32>
  %64 = stablehlo.subtract %3, %63 : tensor<3xf32>
  %65 = stablehlo.constant dense<[-0.02, 0.0, 0.02]> : tensor<3xf32>
  %66 = stablehlo.constant dense<0.9> : tensor<3xf32>
  %67 = stablehlo.multiply %65, %66 : tensor<3xf32>
  %68 = stablehlo.add %67, %49#2 : tensor<3xf32>
  %69 = stablehlo.constant dense<0.1> : tensor<3xf32>
  %70 = stablehlo.multiply %68, %69 : tensor<3xf32>
  %71 = stablehlo.subtract %4, %70 : tensor<3xf32>
  %72 = stablehlo.constant dense<[[-0.02, 0.0], [0.02, -0.02], [0.0, 0.02]]> : tensor<3x2xf32>
  %73 = stablehlo.constant dense<0.9> : tensor<3x2xf32>
  %74 = stablehlo.multiply %72, %73 : tensor<3x2xf32>
  %75 = stablehlo.add %74, %41 : tensor<3x2xf32>
  %76 = stablehlo.constant dense<0.1> : tensor<3x2xf32>
  %77 = stablehlo.multiply %75, %76 : tensor<3x2xf32>
  %78 = stablehlo.subtract %5, %77 : tensor<3x2xf32>
  %79 = stablehlo.constant dense<[0.5, 0.5, 0.5]> : tensor<3xf32>
  %80 = stablehlo.constant dense<0.99> : tensor<3xf32>
  %81 = stablehlo.multiply %79, %80 : tensor<3xf32>
  %82 = stablehlo.constant dense<0.01> : tensor<3xf32>
  %83 = stablehlo.multiply %7#1, %82 : tensor<3xf32>
  %84 = stablehlo.add %81, %83 : tensor<3xf32>
  %85 = stablehlo.constant dense<[1.5, 1.5, 1.5]> : tensor<3xf32>
  %86 = stablehlo.constant dense<0.99> : tensor<3xf32>
  %87 = stablehlo.multiply %85, %86 : tensor<3xf32>
  %88 = stablehlo.constant dense<0.01> : tensor<3xf32>
  %89 = stablehlo.multiply %7#2, %88 : tensor<3xf32>
  %90 = stablehlo.add %87, %89 : tensor<3xf32>
  check.expect_almost_eq_const %37, dense<0.6049534> : tensor<f32>
  check.expect_almost_eq_const %84, dense<[0.4956269, 0.4947372, 0.4954319]> : tensor<3xf32>
  check.expect_almost_eq_const %90, dense<[1.490595, 1.491288, 1.490648]> : tensor<3xf32>
  check.expect_almost_eq_const %54, dense<[[[[0.03224018, 0.02058256, 0.02723178], [-0.04350451, 0.01851119, 0.00624829]], [[-0.02464442, 0.006384572, 0.03285297], [-0.02586065, -0.01435567, 0.02457719]], [[0.2373537, 0.01059796, 0.02132716], [0.07540287, -0.00236389, 0.004449338]]], [[[-0.1077298, 0.004621802, 0.008400297], [-0.1425539, -0.02305736, 0.01289428]], [[0.1745077, 0.03792053, 0.03784381], [-0.07670614, -0.009605767, 0.02180129]], [[0.1007583, 0.01705008, 0.026546], [-0.03514623, -0.01029787, 0.01670187]]], [[[0.01907878, -0.005663323, 0.01791759], [-0.1049821, -0.01759065, 0.01150571]], [[-0.03759248, 0.01385907, 0.03640851], [-0.05999611, -0.01002318, 0.01835821]], [[0.2054158, 0.02554067, 0.02752589], [0.0484101, -0.01652784, 0.006699203]]]]> : tensor<3x3x2x3xf32>
  check.expect_almost_eq_const %57, dense<[[[[-0.03322402, 0.1579417, 0.1672768], [-0.3556495, -0.4918511, -0.1306248]], [[-0.2275356, 0.3093615, 0.1867147], [0.1025861, 0.06143557, 0.1575423]], [[-0.3737354, -0.0610598, -0.3421327], [0.4024597, -0.4397636, 0.3195551]]], [[[-0.419227, 0.1895378, -0.16084], [-0.08574461, 0.3423057, -0.4812894]], [[-0.4574508, 0.4162079, 0.006215619], [-0.4023294, 0.4909606, 0.4478199]], [[-0.4000758, -0.08170501, -0.3626546], [-0.1864854, 0.1210298, -0.3416702]]], [[[0.1980921, -0.4494337, -0.3317918], [0.3304982, -0.09824093, -0.08115057]], [[0.1037592, -0.02138591, -0.1236409], [-0.4640004, 0.2310023, 0.4681642]], [[0.4594584, 0.1574459, -0.1427526], [-0.144841, 0.1916528, 0.1693301]]]]> : tensor<3x3x2x3xf32>
  check.expect_almost_eq_const %61, dense<[-0.02480215, 0.05888235, 0.02551059]> : tensor<3xf32>
  check.expect_almost_eq_const %64, dense<[1.00248, 0.7941118, 1.197449]> : tensor<3xf32>
  check.expect_almost_eq_const %68, dense<[0.0535651, 0.01596865, 0.02647481]> : tensor<3xf32>
  check.expect_almost_eq_const %71, dense<[0.09464349, -0.1015969, 0.1973525]> : tensor<3xf32>
  check.expect_almost_eq_const %75, dense<[[-0.01846627, 0.0004662688], [-0.1336967, 0.1336967], [-0.1189741, 0.1369741]]> : tensor<3x2xf32>
  check.expect_almost_eq_const %78, dense<[[-0.4281534, 0.3299534], [0.3433697, 0.6166303], [-0.5581026, -0.4936974]]> : tensor<3x2xf32>
  return
}
