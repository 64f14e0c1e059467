#include "systole/stablehlo/chlo/special.h"

namespace systole::hlo::chlo {
namespace {

// erfc(x) * exp(x^2): Chebyshev fits computed with 50 digits. f32: in x - 1.5 on [0.75, 2], in
// x - 4.5 on [2, 5], in x - 10 on [5, 11]. f64: the first two, in x - 11 on [5, 13], in x - 26 on
// [13, 28]. The centers are where the fewest digits cancel.
constexpr double kNear32[] = {
    -0.00012075082909, 0.00022414109423, -0.00063503207045, 0.0018900208821, -0.0051513492255,
    0.013376505697,    -0.032930482598,  0.076151085772,    -0.16362292718,  0.32158541611};
constexpr double kErfcMiddle32[] = {-2.4960288229e-8, -1.5781320879e-7, -5.8680383337e-7,
                                    -5.4278563988e-7, -2.1841888477e-6, 8.5063094007e-6,
                                    -4.3240267140e-5, 0.00022135256818, -0.0011046176653,
                                    0.0054131116426,  -0.026015926951,  0.12248480453};
constexpr double kFar32[] = {8.2293832932e-13, 1.2736991520e-11, 1.0011412611e-10, 3.2285058118e-10,
                             1.1437502158e-9,  -4.4919108163e-9, 4.8155556467e-8,  -5.1130895344e-7,
                             5.2466365821e-6,  -5.3736734077e-5, 0.00054787062178, -0.0055593124073,
                             0.056140992738};
constexpr double kNear64[] = {
    1.7251323531597281852e-9,    -2.6904345528939148550e-9, 1.1630384405165846254e-8,
    -4.6689767424070949374e-8,   1.6771377844635901855e-7,  -5.9574254375302236621e-7,
    2.0669783412431738859e-6,    -6.9750743617768684906e-6, 0.000022864302167865472718,
    -0.000072658910712397532923, 0.00022330994619239692836, -0.00066193006732845838070,
    0.0018861348768807028359,    -0.0051459575479452165999, 0.013377340953072180144,
    -0.032930905299563445654,    0.076151039855477329547,   -0.16362291773256006191,
    0.32158541645431750251};
constexpr double kErfcMiddle64[] = {
    -6.7777827094608073590e-17,  -1.1813717758498271813e-15, -1.0043259866137897138e-14,
    -5.1422714814358696732e-14,  -1.7952632736519963973e-13, -4.1806991903680956184e-13,
    -7.4649973044678816981e-13,  -4.5474274647351013648e-13, -2.0392787875945173493e-12,
    9.9625258309724150362e-12,   -5.6188982491376021151e-11, 3.2342176182401816329e-10,
    -1.8223459065445280657e-9,   1.0139482303897972895e-8,   -5.5650790479075384932e-8,
    3.0112636504115657400e-7,    -1.6054970136161321906e-6,  8.4292419969611729862e-6,
    -0.000043550828564431314989, 0.00022126645452903607371,  -0.0011045761167897715630,
    0.0054131254346122472276,    -0.026015928630939816401,   0.12248480427384141754};
constexpr double kErfcFar64[] = {
    3.8761453110663399749e-27,  1.6278258977519399321e-25,  3.0831310945014245807e-24,
    3.3326375733501311090e-23,  2.1647552092533044134e-22,  7.4367745571683012860e-22,
    1.9611481867905457510e-22,  -1.0541761010437848137e-20, -3.3663471546679241269e-20,
    -6.4547289792392707105e-20, 8.9808656934248844196e-19,  -6.6268688074542439431e-18,
    8.4275761329038277127e-17,  -9.9080674193545595979e-16, 1.1450670831098473627e-14,
    -1.3238658323803721094e-13, 1.5250857390954341089e-12,  -1.7504002121299528113e-11,
    2.0016922444312120686e-10,  -2.2806296953091246951e-9,  2.5887603761542209128e-8,
    -2.9274584503914975388e-7,  3.2978671066116473892e-6,   -0.000037008402785478716197,
    0.00041368816485351144344,  -0.0046060824175668121613,  0.051080594758088443618};
constexpr double kLast64[] = {
    -3.0115753290082391363e-32, -3.1946421095488774454e-30, -1.5887120543400036741e-28,
    -4.8346246697082735738e-27, -9.9942268997336929816e-26, -1.4687889421041500492e-24,
    -1.5686548258213128599e-23, -1.2016833929833542440e-22, -6.5776574135358987512e-22,
    -1.8316715770698461313e-21, -1.0328814390274982890e-20, 2.2756487535370436654e-19,
    -5.5129860584504589614e-18, 1.4653926841855402835e-16,  -3.8388400465691195205e-15,
    1.0053498942977596596e-13,  -2.6312040072189835966e-12, 6.8813446587295622684e-11,
    -1.7983587696703023965e-9,  4.6963768383609880313e-8,   -1.2255538749620075803e-6,
    0.000031958328285731325060, -0.00083275486624142923894, 0.021683584850562906535};

// A polynomial as its constant coefficient and the rest.
TwoPart two_part_polynomial(Expr x, std::span<const double> coefficients) {
  const Expr rest = x * polynomial(x, coefficients.first(coefficients.size() - 1));
  return {x.constant(coefficients.back()), rest};
}

TwoPart where(Expr condition, const TwoPart& x, const TwoPart& y) {
  return {where(condition, x.high, y.high), where(condition, x.low, y.low)};
}

// erfc(x) * exp(x^2) for x >= 3/4.
TwoPart scaled(Expr x) {
  if (!x.is_f64()) {
    const TwoPart middle = two_part_polynomial(x - 4.5, kErfcMiddle32);
    const TwoPart outer = where(x < 5.0, middle, two_part_polynomial(x - 10.0, kFar32));
    return where(x < 2.0, two_part_polynomial(x - 1.5, kNear32), outer);
  }
  const TwoPart far = two_part_polynomial(x - 11.0, kErfcFar64);
  const TwoPart last = where(x < 13.0, far, two_part_polynomial(x - 26.0, kLast64));
  const TwoPart outer = where(x < 5.0, two_part_polynomial(x - 4.5, kErfcMiddle64), last);
  return where(x < 2.0, two_part_polynomial(x - 1.5, kNear64), outer);
}

}  // namespace

// exp(-x^2) * scaled(x). The rounding error of x^2 matters for large x: it is computed and
// corrected to first order.
Expr erfc_tail(Expr x) {
  x = min(x, x.is_f64() ? 28.0 : 11.0);  // where erfc is 0
  const Expr square = x * x;
  const Expr high = high_half(x);
  const Expr low = x - high;
  const Expr error = ((high * high - square) + 2.0 * high * low) + low * low;
  const TwoPart factor = scaled(x);
  return exp(-square) * (factor.high + (factor.low - (factor.high + factor.low) * error));
}

Expr erfc(Expr x) {
  const Expr tail = erfc_tail(abs(x));
  return where(abs(x) < 0.75, 1.0 - erf_core(x), where(is_negative(x), 2.0 - tail, tail));
}

namespace ops {
namespace {

constexpr UnaryFormula kErfcFormula{
    .name = "erfc",
    .floating = chlo::erfc,
};

}  // namespace

extern const Expand erfc_expansion = elementwise<kErfcFormula>;

}  // namespace ops
}  // namespace systole::hlo::chlo
