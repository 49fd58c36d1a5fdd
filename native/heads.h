// Error in nats and its gradient on the raw outputs, row by row, from logits in log space.
#pragma once

#include <cmath>

#include "elementary.h"
#include "spec.h"

namespace ISA {

inline double log_factorial(double y) {
#if defined(__GLIBC__)
    int sign;
    return lgamma_r(y + 1, &sign);
#else
    return std::lgamma(y + 1);
#endif
}

constexpr double half_log_two_pi = 0.91893853320467274178;

// Negative log-likelihood of a normal of unit variance, or half the mean square.
template <class T>
double normal_row(const T* raw, const T* y, std::ptrdiff_t q, bool mean, T* gradient) {
    double square = 0;
    for (std::ptrdiff_t j = 0; j < q; ++j) {
        gradient[j] = raw[j] - y[j];
        square += double(gradient[j]) * double(gradient[j]);
    }
    return mean ? 0.5 * square / double(q) : 0.5 * square + double(q) * half_log_two_pi;
}

// Negative log-likelihood of a Poisson distribution, or half its deviance.
template <class T>
double poisson_row(const T* raw, const T* y, std::ptrdiff_t q, bool deviance, T* gradient) {
    double error = 0;
    for (std::ptrdiff_t j = 0; j < q; ++j) {
        const T rate = std::exp(raw[j]);
        const double count = double(y[j]);
        gradient[j] = rate - y[j];
        error += double(rate) - count * double(raw[j]);
        if (deviance)
            error += (count > 0 ? count * std::log(count) : 0.0) - count;
        else
            error += log_factorial(count);
    }
    return error;
}

// Errors and gradients of up to one vector of rows, which lie along the lanes while they are
// computed: classes are few, rows are many. `lanes` holds q vectors.
template <class T>
void categorical_rows(std::ptrdiff_t rows, std::ptrdiff_t q, const T* raw, const std::int64_t* y,
                      double smoothing, double* error, T* gradient, T* lanes) {
    constexpr int L = width<T>;
    for (std::ptrdiff_t j = 0; j < q; ++j)
        for (std::ptrdiff_t b = 0; b < L; ++b) lanes[j * L + b] = b < rows ? raw[b * q + j] : T(0);
    Vec<T> top = load<T>(lanes);
    for (std::ptrdiff_t j = 1; j < q; ++j) {
        const Vec<T> a = load<T>(lanes + j * L);
        top = a > top ? a : top;
    }
    Vec<T> sum{}, total{};
    for (std::ptrdiff_t j = 0; j < q; ++j) {
        const Vec<T> a = load<T>(lanes + j * L) - top, e = exp<T>(a);
        total += a;
        sum += e;
        store<T>(lanes + j * L, e);
    }
    typename Lanes<T>::Int labels[L] = {};
    for (std::ptrdiff_t b = 0; b < rows; ++b) labels[b] = typename Lanes<T>::Int(y[b]);
    IntVec<T> label;
    std::memcpy(&label, labels, sizeof label);
    const T even = T(smoothing / double(q));
    const Vec<T> inverse = 1 / sum;
    // 1 − p of the right class without cancellation: the sum of the other probabilities.
    Vec<T> others{};
    for (std::ptrdiff_t j = 0; j < q; ++j) {
        const Vec<T> p = load<T>(lanes + j * L) * inverse;
        others += label == typename Lanes<T>::Int(j) ? Vec<T>{} : p;
        store<T>(lanes + j * L, p - even);
    }
    T tops[L], totals[L], logs[L], own[L];
    store<T>(tops, top), store<T>(totals, total), store<T>(logs, log<T>(sum));
    store<T>(own, T(smoothing) - even - others);
    for (std::ptrdiff_t b = 0; b < rows; ++b) {
        T* g = gradient + b * q;
        for (std::ptrdiff_t j = 0; j < q; ++j) g[j] = lanes[j * L + b];
        g[y[b]] = own[b];
        const double log_sum = double(logs[b]);
        const double error_here = log_sum - double(raw[b * q + y[b]] - tops[b]);
        error[b] = (1 - smoothing) * error_here + smoothing * (log_sum - double(totals[b]) / double(q));
    }
}

// softplus(a) − t·a and its derivative for each of n raw outputs.
template <class T>
void bernoulli(std::ptrdiff_t n, const T* raw, const T* y, T* error, T* gradient) {
    map<T>(n, raw, y, error, [](Vec<T> a, Vec<T> t) {
        const Vec<T> peak = (a > 0 ? a : Vec<T>{}) - t * a;
        return peak + log1p<T>(exp<T>(-absolute<T>(a)));
    });
    map<T>(n, raw, y, gradient, [](Vec<T> a, Vec<T> t) { return logistic<T>(a) - t; });
}

}  // namespace ISA
