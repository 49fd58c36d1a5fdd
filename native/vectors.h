// Vectors of one instruction set. ISA names the namespace, VECTOR_BYTES the width; both come
// from the build, which compiles every kernel once for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ISA {

template <class T>
struct Lanes;
template <>
struct Lanes<float> {
    using Int = std::int32_t;
    static constexpr int mantissa = 23, bias = 127;
};
template <>
struct Lanes<double> {
    using Int = std::int64_t;
    static constexpr int mantissa = 52, bias = 1023;
};

// Number of T in a vector.
template <class T>
constexpr int width = VECTOR_BYTES / int(sizeof(T));

template <class T>
struct Types {
    typedef T V __attribute__((vector_size(VECTOR_BYTES)));
    typedef T Unaligned __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));
    typedef typename Lanes<T>::Int I __attribute__((vector_size(VECTOR_BYTES)));
};
template <class T>
using Vec = typename Types<T>::V;
template <class T>
using IntVec = typename Types<T>::I;

template <class T>
inline Vec<T> load(const T* p) {
    return *reinterpret_cast<const typename Types<T>::Unaligned*>(p);
}
template <class T>
inline void store(T* p, Vec<T> v) {
    *reinterpret_cast<typename Types<T>::Unaligned*>(p) = v;
}
template <class T>
inline Vec<T> splat(T s) {
    return s - Vec<T>{};
}

// Apply f to n entries of up to three arrays and write the result to `out`, which may be one of
// them. A tail shorter than a vector goes through a copy, so that it rounds like the rest.
template <class T, class F>
inline void map(std::ptrdiff_t n, const T* a, T* out, F f) {
    constexpr int L = width<T>;
    std::ptrdiff_t i = 0;
    for (; i + L <= n; i += L) store<T>(out + i, f(load<T>(a + i)));
    if (i < n) {
        T x[L] = {};
        std::memcpy(x, a + i, (n - i) * sizeof(T));
        store<T>(x, f(load<T>(x)));
        std::memcpy(out + i, x, (n - i) * sizeof(T));
    }
}
template <class T, class F>
inline void map(std::ptrdiff_t n, const T* a, const T* b, T* out, F f) {
    constexpr int L = width<T>;
    std::ptrdiff_t i = 0;
    for (; i + L <= n; i += L) store<T>(out + i, f(load<T>(a + i), load<T>(b + i)));
    if (i < n) {
        T x[L] = {}, y[L] = {};
        std::memcpy(x, a + i, (n - i) * sizeof(T));
        std::memcpy(y, b + i, (n - i) * sizeof(T));
        store<T>(x, f(load<T>(x), load<T>(y)));
        std::memcpy(out + i, x, (n - i) * sizeof(T));
    }
}

// Sum of squares, in the precision of double.
template <class T>
inline double sum_of_squares(std::ptrdiff_t n, const T* a) {
    constexpr int L = 16;
    double sums[L] = {};
    std::ptrdiff_t i = 0;
    for (; i + L <= n; i += L)
        for (int j = 0; j < L; ++j) sums[j] += double(a[i + j]) * double(a[i + j]);
    for (; i < n; ++i) sums[0] += double(a[i]) * double(a[i]);
    double total = 0;
    for (double s : sums) total += s;
    return total;
}

}  // namespace ISA
