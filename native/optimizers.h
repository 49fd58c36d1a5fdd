// One step of each optimiser on a flat buffer.
#pragma once

#include <cmath>
#include <vector>

#include "gemm.h"
#include "spec.h"

namespace ISA {

template <class T>
void sgd(std::ptrdiff_t n, T* theta, const T* g, T* v, T momentum, bool nesterov, T rate) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
        v[i] = momentum * v[i] - rate * g[i];
        theta[i] += nesterov ? momentum * v[i] - rate * g[i] : v[i];
    }
}

template <class T>
void adam(std::ptrdiff_t n, T* theta, const T* g, T* m, T* s, T b1, T b2, T epsilon, T rate) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
        m[i] += (1 - b1) * (g[i] - m[i]);
        s[i] = b2 * s[i] + (1 - b2) * (g[i] * g[i]);
        theta[i] -= rate * (m[i] / (std::sqrt(s[i]) + epsilon));
    }
}

template <class T>
void rmsprop(std::ptrdiff_t n, T* theta, const T* g, T* s, T* v, T rho, T momentum, T epsilon, T rate) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
        s[i] = rho * s[i] + (1 - rho) * (g[i] * g[i]);
        v[i] = momentum * v[i] + g[i] / (std::sqrt(s[i]) + epsilon);
        theta[i] -= rate * v[i];
    }
}

// x ← nearly U Vᵀ of x = U Σ Vᵀ (rows x columns) by Newton–Schulz iterations.
template <class T>
void orthogonalize(std::ptrdiff_t rows, std::ptrdiff_t columns, T* x, int n_steps,
                   std::vector<T>& space, T* scratch) {
    // The largest entry first: squares of tiny or huge gradients are no numbers.
    T largest = T(1e-38);
    for (std::ptrdiff_t i = 0; i < rows * columns; ++i) largest = std::max(largest, std::abs(x[i]));
    for (std::ptrdiff_t i = 0; i < rows * columns; ++i) x[i] /= largest;
    const T norm = T(std::max(std::sqrt(sum_of_squares<T>(rows * columns, x)), 1e-30));
    for (std::ptrdiff_t i = 0; i < rows * columns; ++i) x[i] /= norm;
    // The Gram matrix of the shorter side: x xᵀ from the left, or xᵀ x from the right.
    const bool tall = rows > columns;
    const std::ptrdiff_t n = std::min(rows, columns), long_side = std::max(rows, columns);
    space.resize(std::size_t(2 * n * n + rows * columns));
    T *gram = space.data(), *poly = gram + n * n, *next = poly + n * n;
    const Matrix<T> wide = tall ? Matrix<T>{x, 1, columns} : Matrix<T>{x, columns, 1};
    const Matrix<T> transposed{x, wide.column, wide.row};
    for (int step = 0; step < n_steps; ++step) {
        multiply<T>(n, n, long_side, wide, transposed, gram, n, nullptr, scratch);
        multiply<T>(n, n, n, {gram, n, 1}, {gram, n, 1}, poly, n, nullptr, scratch);
        for (std::ptrdiff_t i = 0; i < n * n; ++i) poly[i] = T(2.0315) * poly[i] - T(4.7750) * gram[i];
        if (tall)
            multiply<T>(rows, columns, n, {x, columns, 1}, {poly, n, 1}, next, columns, nullptr, scratch);
        else
            multiply<T>(rows, columns, n, {poly, n, 1}, {x, columns, 1}, next, columns, nullptr, scratch);
        for (std::ptrdiff_t i = 0; i < rows * columns; ++i) x[i] = T(3.4445) * x[i] + next[i];
    }
}

}  // namespace ISA
