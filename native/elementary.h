// exp, expm1, log1p, tanh, the logistic function, softplus and the normal distribution function
// on vectors, to a few units in the last place. The polynomials are Chebyshev interpolants
// computed for this file with 50 digits; the largest error of each stands beside it.
#pragma once

#include "vectors.h"

namespace ISA {

template <class T, int N>
inline Vec<T> polynomial(Vec<T> x, const T (&c)[N]) {
    Vec<T> p = splat<T>(c[N - 1]);
    for (int i = N - 2; i >= 0; --i) p = p * x + c[i];
    return p;
}

template <class T>
struct Tables;

template <>
struct Tables<double> {
    // (expm1(r) − r)/r² on |r| ≤ ln 2 / 2: 1.4e-18
    static constexpr double exponential[11] = {
        0.5, 0.16666666666666670986, 0.041666666666666669752, 0.008333333333326140884,
        0.0013888888888883752417, 0.00019841269874800491981, 0.000024801587325533363819,
        2.7557255425746434282e-6, 2.7557273661348636219e-7, 2.5105206373957011116e-8,
        2.09146793765839351e-9};
    // (log1p(u) − 2s)/s³ in s², s = u/(2 + u), on 0 ≤ u ≤ 1: 2.5e-18
    static constexpr double logarithm[11] = {
        0.66666666666666666886, 0.39999999999999522505, 0.28571428571600099292,
        0.22222222198236770557, 0.18181819897962714383, 0.15384543964860549287,
        0.13335178631449255837, 0.1173427906130319746, 0.10845178394880014822,
        0.074921437955507673008, 0.15630577800922850446};
    // erf(x)/x in x² on |x| ≤ 1: 7.4e-18
    static constexpr double erf_small[12] = {
        1.1283791670955125665, -0.37612638903183540438, 0.11283791670945006266,
        -0.02686617064323777036, 0.0052239776071164227321, -0.00085483259753896920806,
        0.00012055294904839707917, -0.000014924736907419660338, 1.644742470331736241e-6,
        -1.6208483801871705902e-7, 1.3720064546777685604e-8, -7.7958988270021422416e-10};
    // exp(x²) erfc(x) in (x − 3)/(x + 3) on 1 ≤ x ≤ 6: 1.0e-17
    static constexpr double erfc_scaled[15] = {
        0.17900115118138995023, -0.32623356004303717477, 0.24560380171233194479,
        -0.15011593650078743912, 0.071665837197748743386, -0.024392499318273193125,
        0.0042691363475082563605, 0.00070774644439015373147, -0.00059706235170932842794,
        0.000045254726354833541373, 0.000064061820735305467428, -0.000012848894512523528795,
        -8.0080213194126843348e-6, 2.0236031796417566352e-6, 1.2801900862962661938e-6};
    static constexpr double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
    static constexpr double exp_min = -746.0, exp_max = 711.0, one_min = 40.0, erfc_max = 6.0;
};

template <>
struct Tables<float> {
    // The same functions in single precision: 1.4e-9, 7.2e-9, 1.2e-9, 1.0e-9
    static constexpr float exponential[6] = {0.5000000013457727153f, 0.16666666681614255706f,
                                             0.041666465006040048761f, 0.0083333109344488684687f,
                                             0.001393364103198670115f, 0.00019890980869750325563f};
    static constexpr float logarithm[5] = {0.66666667320527412469f, 0.39999706331929717402f,
                                           0.28592357994302837723f, 0.21706575800880372646f,
                                           0.23224329224023348832f};
    static constexpr float erf_small[7] = {1.128379165848350946f,     -0.37612626666720331023f,
                                           0.11283594715160217732f,   -0.026854212010626412443f,
                                           0.0051890874234339739861f, -0.00080168642871658695293f,
                                           0.000078758750626854883411f};
    static constexpr float erfc_scaled[8] = {
        0.17900115024489638976f,  -0.32623355004110314831f, 0.24560410971933860784f,
        -0.15011651323385429679f, 0.071649281863192808785f, -0.024411736888237392265f,
        0.0044925951666517956845f, 0.0014186795469324812311f};
    static constexpr float ln2_high = 0x1.62e400p-1f, ln2_low = 0x1.7f7d1cp-20f;
    static constexpr float exp_min = -104.0f, exp_max = 89.0f, one_min = 18.0f, erfc_max = 4.5f;
};

// 2ⁿ for whole n within the range of normal numbers.
template <class T>
inline Vec<T> power_of_two(Vec<T> n) {
    IntVec<T> bits = __builtin_convertvector(n, IntVec<T>) + Lanes<T>::bias;
    bits = bits << Lanes<T>::mantissa;
    Vec<T> power;
    std::memcpy(&power, &bits, sizeof power);
    return power;
}

// Split x = n ln 2 + r with whole n, and return expm1(r).
template <class T>
inline Vec<T> reduced_expm1(Vec<T> x, Vec<T>& n) {
    using C = Tables<T>;
    constexpr T rounder = T(3) * (T(std::int64_t(1) << (Lanes<T>::mantissa - 1)));
    const Vec<T> shifted = x * T(1.44269504088896340736) + rounder;
    n = shifted - rounder;
    const Vec<T> r = (x - n * C::ln2_high) - n * C::ln2_low;
    return r + r * r * polynomial<T>(r, C::exponential);
}

template <class T>
inline Vec<T> clamp(Vec<T> x, T low, T high) {
    x = x < low ? splat<T>(low) : x;
    return x > high ? splat<T>(high) : x;
}

template <class T>
inline Vec<T> exp(Vec<T> x) {
    Vec<T> n;
    const Vec<T> q = reduced_expm1<T>(clamp<T>(x, Tables<T>::exp_min, Tables<T>::exp_max), n);
    // In two factors, so that results below the normal numbers and infinity come out right.
    const Vec<T> half = __builtin_convertvector(
        __builtin_convertvector(n, IntVec<T>) >> 1, Vec<T>);
    const Vec<T> a = power_of_two<T>(half), b = power_of_two<T>(n - half);
    return (q * a + a) * b;
}

// exp(x) − 1 for |x| up to `one_min` twice over; beyond, the nearest value there.
template <class T>
inline Vec<T> expm1(Vec<T> x) {
    Vec<T> n;
    const Vec<T> q = reduced_expm1<T>(clamp<T>(x, -Tables<T>::one_min, 2 * Tables<T>::one_min), n);
    const Vec<T> s = power_of_two<T>(n);
    return s * q + (s - 1);
}

// log(1 + u) for 0 ≤ u ≤ 1.
template <class T>
inline Vec<T> log1p(Vec<T> u) {
    const Vec<T> s = u / (u + 2), z = s * s;
    return 2 * s + s * z * polynomial<T>(z, Tables<T>::logarithm);
}

// log(x) for normal numbers x ≥ 1: x = 2ⁿ m with 1 ≤ m < 2.
template <class T>
inline Vec<T> log(Vec<T> x) {
    IntVec<T> bits;
    std::memcpy(&bits, &x, sizeof bits);
    const IntVec<T> n = (bits >> Lanes<T>::mantissa) - Lanes<T>::bias;
    bits -= n << Lanes<T>::mantissa;
    Vec<T> m;
    std::memcpy(&m, &bits, sizeof m);
    return __builtin_convertvector(n, Vec<T>) * T(0.69314718055994530942) + log1p<T>(m - 1);
}

template <class T>
inline Vec<T> absolute(Vec<T> x) {
    return x < 0 ? -x : x;
}

template <class T>
inline Vec<T> tanh(Vec<T> x) {
    const Vec<T> e = expm1<T>(2 * absolute<T>(x)), t = e / (e + 2);
    return x < 0 ? -t : t;
}

template <class T>
inline Vec<T> logistic(Vec<T> x) {
    return 1 / (1 + exp<T>(-x));
}

template <class T>
inline Vec<T> softplus(Vec<T> x) {
    return (x > 0 ? x : Vec<T>{}) + log1p<T>(exp<T>(-absolute<T>(x)));
}

// Φ(a), in the left tail with relative precision down to a = −8.4 (single: −6.3).
template <class T>
inline Vec<T> normal_cdf(Vec<T> a) {
    using C = Tables<T>;
    const Vec<T> x = absolute<T>(a) * T(0.70710678118654752440);
    const Vec<T> z = x * x, inside = clamp<T>(x, T(1), C::erfc_max);
    const Vec<T> t = (inside - 3) / (inside + 3);
    const Vec<T> tail = T(0.5) * exp<T>(-z) * polynomial<T>(t, C::erfc_scaled);
    const Vec<T> centre = T(0.5) * x * polynomial<T>(z < 1 ? z : splat<T>(1), C::erf_small);
    const Vec<T> left = x < 1 ? T(0.5) - centre : tail;
    return a < 0 ? left : 1 - left;
}

}  // namespace ISA
