// Normal densities with learnt scales, one or a mixture of several: error and gradient by rows.
#pragma once

#include <cmath>
#include <limits>

#include "elementary.h"
#include "heads.h"
#include "spec.h"

namespace ISA {

// Put at the end of the float range what lies beyond it.
template <class T>
inline Vec<T> saturated(Vec<T> x) {
    constexpr T largest = std::numeric_limits<T>::max();
    return clamp<T>(x, -largest, largest);
}

// Error of one component, −ln N(y | loc, σ²) with σ² = m² + exp(2a); `loc` and `scale` (T and S
// vectors of raw outputs) are replaced by the derivatives of the error on them.
template <class T>
Vec<T> component(const MixtureSpec& m, const T* y, T* loc, T* scale) {
    constexpr int L = width<T>;
    const T low = m.floor > 0 ? T(std::log(m.floor)) : T(0);
    const T top = T(std::log(double(std::numeric_limits<T>::max())) - 1e-3);
    const Vec<T> per_scale = splat<T>(T(m.n_targets) / T(m.n_scales));
    Vec<T> logs{}, squares{}, half{}, slope{};
    for (std::ptrdiff_t t = 0; t < m.n_targets; ++t) {
        const bool own = t < m.n_scales;  // a spherical component has one scale for all targets
        if (own) {
            const Vec<T> a = load<T>(scale + t * L);
            Vec<T> log_scale = a;
            slope = splat<T>(1);
            if (m.floor > 0) {
                log_scale = T(0.5) * softplus<T>(2 * (a - low)) + low;
                slope = logistic<T>(2 * (a - low));
            }
            logs += log_scale;
            // σ^(−1/2): its square may leave the float range.
            half = exp<T>(clamp<T>(T(-0.5) * log_scale, -std::numeric_limits<T>::max(), top));
        }
        const Vec<T> z = (load<T>(loc + t * L) - load<T>(y + t * L)) * half * half;
        Vec<T> square = z * z;
        square = square > std::numeric_limits<T>::max() ? splat<T>(std::numeric_limits<T>::max()) : square;
        squares += square;
        store<T>(loc + t * L, saturated<T>(z * half * half));
        if (m.n_scales > 1 || m.n_targets == 1)
            store<T>(scale + t * L, saturated<T>((1 - square) * slope));
    }
    if (m.n_scales == 1 && m.n_targets > 1)
        store<T>(scale, saturated<T>((T(m.n_targets) - squares) * slope));
    return saturated<T>(T(0.5) * squares + logs * per_scale + T(double(m.n_targets) * half_log_two_pi));
}

// Up to one vector of rows, which lie along the lanes: the C logits (none for a single normal),
// C·T means, C·S raw scales. `lanes` holds Q + T + 2 C vectors.
template <class T>
void mixture_rows(std::ptrdiff_t rows, std::ptrdiff_t q, const MixtureSpec& m, const T* raw, const T* y,
                  double* error, T* gradient, T* lanes) {
    constexpr int L = width<T>;
    const std::ptrdiff_t n = m.n_components, first = m.logits ? n : 0;
    T *target = lanes + q * L, *log_weight = target + m.n_targets * L, *errors = log_weight + n * L;
    for (std::ptrdiff_t j = 0; j < q; ++j)
        for (std::ptrdiff_t b = 0; b < L; ++b) lanes[j * L + b] = b < rows ? raw[b * q + j] : T(0);
    for (std::ptrdiff_t t = 0; t < m.n_targets; ++t)
        for (std::ptrdiff_t b = 0; b < L; ++b) target[t * L + b] = b < rows ? y[b * m.n_targets + t] : T(0);

    Vec<T> top = m.logits ? load<T>(lanes) : Vec<T>{}, sum{}, nearest{};
    for (std::ptrdiff_t c = 1; c < first; ++c) {
        const Vec<T> a = load<T>(lanes + c * L);
        top = a > top ? a : top;
    }
    for (std::ptrdiff_t c = 0; c < first; ++c) sum += exp<T>(load<T>(lanes + c * L) - top);
    const Vec<T> log_sum = m.logits ? log<T>(sum) : Vec<T>{};
    for (std::ptrdiff_t c = 0; c < n; ++c) {
        T *loc = lanes + (first + c * m.n_targets) * L, *scale = lanes + (first + n * m.n_targets + c * m.n_scales) * L;
        const Vec<T> e = component<T>(m, target, loc, scale);
        nearest = c == 0 || e < nearest ? e : nearest;
        store<T>(errors + c * L, e);
        store<T>(log_weight + c * L, m.logits ? load<T>(lanes + c * L) - top - log_sum : Vec<T>{});
    }
    // The log density of the nearest component may be so large that ln π would be lost in it.
    for (std::ptrdiff_t c = 0; c < n; ++c) {
        const Vec<T> joint = load<T>(log_weight + c * L) - (load<T>(errors + c * L) - nearest);
        top = c == 0 || joint > top ? joint : top;
        store<T>(errors + c * L, joint);
    }
    sum = Vec<T>{};
    for (std::ptrdiff_t c = 0; c < n; ++c) {
        const Vec<T> share = exp<T>(load<T>(errors + c * L) - top);
        sum += share;
        store<T>(errors + c * L, share);
    }
    T out[L];
    store<T>(out, nearest - top - log<T>(sum));
    for (std::ptrdiff_t b = 0; b < rows; ++b) error[b] = double(out[b]);
    for (std::ptrdiff_t c = 0; c < n; ++c) {
        const Vec<T> share = load<T>(errors + c * L) / sum;
        if (m.logits) store<T>(lanes + c * L, exp<T>(load<T>(log_weight + c * L)) - share);
        const auto weigh = [&](std::ptrdiff_t from, std::ptrdiff_t count) {
            for (std::ptrdiff_t j = from; j < from + count; ++j) store<T>(lanes + j * L, load<T>(lanes + j * L) * share);
        };
        weigh(first + c * m.n_targets, m.n_targets);
        weigh(first + n * m.n_targets + c * m.n_scales, m.n_scales);
    }
    for (std::ptrdiff_t b = 0; b < rows; ++b)
        for (std::ptrdiff_t j = 0; j < q; ++j) gradient[b * q + j] = lanes[j * L + b];
}

}  // namespace ISA
