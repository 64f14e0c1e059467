#!/usr/bin/env python3
"""Prints the polynomials of systole/stablehlo/chlo/ops as C++ tables. Needs mpmath.   usage: fit_chlo.py [OP]...

Each polynomial is the Chebyshev interpolation of a function on an interval, computed with 50 digits and expanded in powers
of the distance from a center. The center is the middle of the interval or lies towards the end at which the function is
small, so that few digits cancel in Horner's rule. The build does not run this script."""

import sys

import mpmath as mp

mp.mp.dps = 50
DIGITS = {32: 11, 64: 20}


def chebyshev(function, low, high, count):
    """Returns the first `count` Chebyshev coefficients of the function on [low, high]."""
    nodes = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / (2 * count + 16)) for k in range(2 * count + 16)]
    values = [function((low + high) / 2 + (high - low) / 2 * x) for x in nodes]
    result = [2 * mp.fsum(v * mp.chebyt(j, x) for v, x in zip(values, nodes)) / len(nodes) for j in range(count)]
    result[0] /= 2
    return result


def powers(coefficients, low, high, center):
    """Expands the Chebyshev series in powers of x - center, lowest first."""
    scale = 2 / (high - low)
    shift = scale * (center - (low + high) / 2)

    def times_t(p):
        return [shift * a + scale * b for a, b in zip(p + [0], [0] + p)]

    before, current = [mp.mpf(1)], times_t([mp.mpf(1)])
    result = [mp.mpf(0)] * len(coefficients)
    for coefficient in coefficients:
        for i, value in enumerate(before):
            result[i] += coefficient * value
        after = [2 * value for value in times_t(current)]
        for i, value in enumerate(before):
            after[i] -= value
        before, current = current, after
    return result


def fit(name, bits, function, interval, count, center=0):
    """Prints `name` with `count` coefficients, highest power first, and the largest relative error of the function."""
    low, high = map(mp.mpf, interval)
    p = powers(chebyshev(function, low, high, count), low, high, mp.mpf(center))
    points = [low + (high - low) * k / 200 for k in range(201)]
    error = max(abs(mp.polyval(p[::-1], x - center) / function(x) - 1) for x in points)
    print(f"// {mp.nstr(error, 3)} off at most, relatively")
    print(f"constexpr double {name}{bits}[] = {{{', '.join(mp.nstr(c, DIGITS[bits]) for c in p[::-1])}}};")


def beside(function, hole=0):
    """Evaluates the function slightly beside the point at which its formula is 0 / 0."""
    def result(x):
        with mp.workdps(100):
            return function(x if abs(x - hole) > mp.mpf("1e-25") else hole + mp.mpf("1e-25"))
    return result


def odd_tail(function):
    """Returns (f(x) / x - 1) / x^2 as a function of x^2, for an odd function with slope 1 at 0."""
    return beside(lambda z: (function(mp.sqrt(z)) / mp.sqrt(z) - 1) / z)


def asin():
    fit("kAsin", 32, odd_tail(mp.asin), (0, 0.25), 6)
    fit("kAsin", 64, odd_tail(mp.asin), (0, 0.25), 13)


def asinh():
    fit("kSmall", 32, odd_tail(mp.asinh), (0, 0.25), 6)
    fit("kSmall", 64, odd_tail(mp.asinh), (0, 0.25), 13)


def atanh():
    fit("kSmall", 32, odd_tail(mp.atanh), (0, 0.25), 6)
    fit("kSmall", 64, odd_tail(mp.atanh), (0, 0.25), 14)


def sinh():
    fit("kSmall", 32, odd_tail(mp.sinh), (0, 1), 4)
    fit("kSmall", 64, odd_tail(mp.sinh), (0, 1), 8)


def bessel_i1e():
    def scaled(x):
        return mp.besseli(1, x) * mp.exp(-x)

    def in_inverse(t):
        if t > mp.mpf(1) / 2000:
            return scaled(1 / t) / mp.sqrt(t)
        term, total = mp.mpf(1), mp.mpf(1)  # the asymptotic series
        for k in range(1, 40):
            term *= -(4 - (2 * k - 1)**2) * t / (8 * k)
            total += term
        return total / mp.sqrt(2 * mp.pi)

    small = beside(lambda x: scaled(x) / x)
    fit("kSmall", 32, small, (0, 2), 12, 1.75)
    fit("kSmall", 64, small, (0, 2), 18, 1.75)
    fit("kMiddle", 32, lambda x: scaled(x) * mp.sqrt(x), (2, 8), 14, 4.5)
    fit("kMiddle", 64, lambda x: scaled(x) * mp.sqrt(x), (2, 8), 32, 4.5)
    fit("kLarge", 32, in_inverse, (0, 0.125), 7, 0.0625)
    fit("kLarge", 64, in_inverse, (0, 0.125), 27, 0.0625)


def digamma():
    with mp.workdps(110):
        root = mp.findroot(lambda x: mp.psi(0, x), 1.4616)
    ratio = beside(lambda y: mp.psi(0, y) / (y - root), root)
    fit("kCore", 32, ratio, (1, 3), 15, 2)
    fit("kCore", 64, ratio, (1, 3), 30, 2)


def erf():
    def core(z):
        return mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1

    fit("kCore", 32, beside(core), (0, 1), 7)
    fit("kCore", 64, beside(core), (0, 1), 14)
    fit("kTail", 32, lambda x: mp.log(mp.erfc(x)) / x, (1, 4), 8)


def erfc():
    def scaled(x):
        return mp.erfc(x) * mp.exp(x * x)

    fit("kNear", 32, scaled, (0.75, 2), 10, 1.5)
    fit("kMiddle", 32, scaled, (2, 5), 12, 4.5)
    fit("kFar", 32, scaled, (5, 11), 13, 10)
    fit("kNear", 64, scaled, (0.75, 2), 19, 1.5)
    fit("kMiddle", 64, scaled, (2, 5), 24, 4.5)
    fit("kFar", 64, scaled, (5, 13), 27, 11)
    fit("kLast", 64, scaled, (13, 28), 24, 26)


def erf_inv():
    def ratio(w):
        """Returns erf_inv(x) / x at w = -log(1 - x^2), by Halley's method on erfc."""
        with mp.workdps(60):
            if w < mp.mpf("1e-20"):
                return mp.sqrt(mp.pi) / 2
            x = mp.sqrt(1 - mp.exp(-w))
            rest = mp.exp(-w) / (1 + x)
            y = mp.sqrt(w) if w > 3 else mp.sqrt(mp.pi) / 2 * x * (1 + w / 4)
            for _ in range(12):
                step = (mp.erfc(y) - rest) / (-2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
                y -= step / (1 + y * step)
            return y / x

    fit("kCenter", 32, ratio, (0, 5), 11, 0.5)
    fit("kOuter", 32, lambda s: ratio(s * s), (mp.sqrt(5), 4), 10, 2.5)
    fit("kCenter", 64, ratio, (0, 6.25), 25, 1)
    fit("kOuter", 64, lambda s: ratio(s * s), (2.5, 4), 20, 2.75)
    fit("kFar", 64, lambda s: ratio(s * s), (4, 6.125), 21, 4.5)


def lgamma():
    with mp.workdps(110):
        root = mp.findroot(lambda x: mp.psi(0, x), 1.4616)
        lowest = mp.loggamma(root)
    near_one = beside(lambda z: mp.loggamma(1 + z) / z)
    near_two = beside(lambda z: mp.loggamma(2 + z) / z)
    minimum = beside(lambda d: (mp.loggamma(root + d) - lowest) / d**2)
    fit("kNearOne", 32, near_one, (-0.5, 0.5), 14)
    fit("kNearOne", 64, near_one, (-0.5, 0.5), 30)
    fit("kNearTwo", 32, near_two, (-0.3, 1), 11)
    fit("kNearTwo", 64, near_two, (-0.3, 1), 23)
    fit("kMinimum", 32, minimum, (-0.25, 0.3), 10)
    fit("kMinimum", 64, minimum, (-0.25, 0.3), 20)


OPS = {f.__name__: f for f in (asin, asinh, atanh, bessel_i1e, digamma, erf, erf_inv, erfc, lgamma, sinh)}


def main(names):
    unknown = [name for name in names if name not in OPS]
    if unknown:
        sys.exit(f"fit_chlo.py: got '{unknown[0]}', expected one of: {', '.join(OPS)}")
    for name in names or OPS:
        print(f"// {name}.cc")
        OPS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
