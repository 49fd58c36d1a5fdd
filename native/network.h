// Activations, and the forward and backward pass of one member, on the rows of one batch.
#pragma once

#include <cmath>

#include "elementary.h"
#include "gemm.h"
#include "spec.h"

namespace ISA {

// Call `use` with a function object for the activation's f on vectors.
template <class T, class Use>
inline void with_function(const LayerSpec& layer, Use use) {
    const T p = T(layer.parameter);
    using V = Vec<T>;
    switch (layer.activation) {
        case Activation::identity: return use([](V a) { return a; });
        case Activation::sigmoid: return use([p](V a) { return logistic<T>(p * a); });
        case Activation::tanh: return use([](V a) { return ISA::tanh<T>(a); });
        case Activation::hard_tanh: return use([](V a) { return clamp<T>(a, T(-1), T(1)); });
        case Activation::relu: return use([](V a) { return a < 0 ? V{} : a; });
        case Activation::leaky_relu:
        case Activation::prelu: return use([p](V a) { return a > 0 ? a : p * a; });
        case Activation::abs: return use([](V a) { return absolute<T>(a); });
        case Activation::softplus: return use([](V a) { return softplus<T>(a); });
        case Activation::gelu: return use([](V a) { return a * normal_cdf<T>(a); });
        case Activation::silu: return use([p](V a) { return a * logistic<T>(p * a); });
        case Activation::elu: return use([p](V a) { return a > 0 ? a : p * expm1<T>(a); });
        case Activation::step: return use([](V a) { return a > 0 ? splat<T>(1) : V{}; });
    }
}

// Call `use` with a function object for f'(a), given a and h = f(a).
template <class T, class Use>
inline void with_derivative(const LayerSpec& layer, Use use) {
    const T p = T(layer.parameter);
    using V = Vec<T>;
    const V one = splat<T>(1), zero{};
    switch (layer.activation) {
        case Activation::identity: return use([=](V, V) { return one; });
        case Activation::sigmoid: return use([=](V, V h) { return p * h * (1 - h); });
        case Activation::tanh: return use([=](V, V h) { return 1 - h * h; });
        case Activation::hard_tanh: return use([=](V, V h) { return absolute<T>(h) < 1 ? one : zero; });
        case Activation::relu: return use([=](V, V h) { return h > 0 ? one : zero; });
        case Activation::leaky_relu:
        case Activation::prelu: return use([=](V a, V) { return a > 0 ? one : splat<T>(p); });
        case Activation::abs: return use([=](V a, V) { return a > 0 ? one : (a < 0 ? -one : zero); });
        case Activation::softplus: return use([=](V a, V) { return logistic<T>(a); });
        case Activation::gelu:
            return use([=](V a, V) {
                return normal_cdf<T>(a) + a * T(0.39894228040143267794) * ISA::exp<T>(-a * a / 2);
            });
        case Activation::silu:
            return use([=](V a, V) {
                const V s = logistic<T>(p * a);
                return s * (1 + p * a * (1 - s));
            });
        case Activation::elu: return use([=](V a, V h) { return a > 0 ? one : h + p; });
        case Activation::step: return use([=](V, V) { return zero; });
    }
}

inline bool needs_input(Activation activation) {
    switch (activation) {
        case Activation::identity:
        case Activation::sigmoid:
        case Activation::tanh:
        case Activation::hard_tanh:
        case Activation::relu:
        case Activation::step: return false;
        default: return true;
    }
}

inline std::uint32_t mix(std::uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    return x ^ (x >> 16);
}

}  // namespace ISA
