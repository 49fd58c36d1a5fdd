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

// Copy n numbers, mostly few: a call of memcpy would take longer than the copy.
template <class T>
inline void copy(std::ptrdiff_t n, const T* from, T* to) {
    constexpr int L = width<T>;
    if (n < L) {
        for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = from[i];
        return;
    }
    for (std::ptrdiff_t i = 0; i + L < n; i += L) store<T>(to + i, load<T>(from + i));
    store<T>(to + n - L, load<T>(from + n - L));
}

// Sum each column of a matrix (rows x columns), behind which a whole vector can be read.
template <class T>
inline void column_sums(std::ptrdiff_t rows, std::ptrdiff_t columns, const T* a, T* sums) {
    constexpr int L = width<T>;
    std::ptrdiff_t j = 0;
    for (; j + 4 * L <= columns; j += 4 * L) {
        Vec<T> sum[4] = {};
        for (std::ptrdiff_t i = 0; i < rows; ++i)
            for (int v = 0; v < 4; ++v) sum[v] += load<T>(a + i * columns + j + v * L);
        for (int v = 0; v < 4; ++v) store<T>(sums + j + v * L, sum[v]);
    }
    for (; j < columns; j += L) {
        Vec<T> sum[2] = {};  // two chains of additions
        std::ptrdiff_t i = 0;
        for (; i + 1 < rows; i += 2) {
            sum[0] += load<T>(a + i * columns + j);
            sum[1] += load<T>(a + (i + 1) * columns + j);
        }
        if (i < rows) sum[0] += load<T>(a + i * columns + j);
        const Vec<T> total = sum[0] + sum[1];
        std::memcpy(sums + j, &total, std::size_t(columns - j < L ? columns - j : L) * sizeof(T));
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
