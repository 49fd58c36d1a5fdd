// The kernel for one instruction set; the build compiles this file once for each.
#include "trainer.h"

namespace ISA {
namespace {

std::unique_ptr<Trainer> make_trainer(MemberSpec spec, Rows rows, bool is_double) {
    if (is_double) return std::make_unique<MemberTrainer<double>>(std::move(spec), rows);
    return std::make_unique<MemberTrainer<float>>(std::move(spec), rows);
}

template <class T>
void evaluate_as(Function what, const LayerSpec& layer, std::ptrdiff_t n, const T* x, T* out) {
    using V = Vec<T>;
    switch (what) {
        case Function::exp: return map<T>(n, x, out, [](V a) { return ISA::exp<T>(a); });
        case Function::expm1: return map<T>(n, x, out, [](V a) { return ISA::expm1<T>(a); });
        case Function::log: return map<T>(n, x, out, [](V a) { return ISA::log<T>(a); });
        case Function::log1p: return map<T>(n, x, out, [](V a) { return ISA::log1p<T>(a); });
        case Function::tanh: return map<T>(n, x, out, [](V a) { return ISA::tanh<T>(a); });
        case Function::logistic: return map<T>(n, x, out, [](V a) { return logistic<T>(a); });
        case Function::softplus: return map<T>(n, x, out, [](V a) { return softplus<T>(a); });
        case Function::normal_cdf: return map<T>(n, x, out, [](V a) { return normal_cdf<T>(a); });
        case Function::activation:
            return with_function<T>(layer, [&](auto f) { map<T>(n, x, out, f); });
        case Function::derivative:
            with_function<T>(layer, [&](auto f) { map<T>(n, x, out, f); });
            return with_derivative<T>(layer, [&](auto f) { map<T>(n, x, out, out, f); });
    }
}

void evaluate(Function what, const LayerSpec& layer, std::ptrdiff_t n, const void* x, void* out,
              bool is_double) {
    if (is_double)
        evaluate_as(what, layer, n, static_cast<const double*>(x), static_cast<double*>(out));
    else
        evaluate_as(what, layer, n, static_cast<const float*>(x), static_cast<float*>(out));
}

template <class T>
void multiply_as(std::ptrdiff_t rows, std::ptrdiff_t columns, std::ptrdiff_t inner, StridedMatrix a,
                 StridedMatrix b, const T* bias, T* c, std::ptrdiff_t c_row) {
    std::vector<T> scratch(pack_size<T>);
    // Where biases lie in a member's buffer, whole vectors can be read.
    std::vector<T> padded(std::size_t(columns + 2 * width<T>));
    if (bias) std::copy(bias, bias + columns, padded.begin());
    multiply<T>(rows, columns, inner, {static_cast<const T*>(a.data), a.row, a.column},
                {static_cast<const T*>(b.data), b.row, b.column}, c, c_row,
                bias ? padded.data() : nullptr, scratch.data());
}

void multiply_any(std::ptrdiff_t rows, std::ptrdiff_t columns, std::ptrdiff_t inner, StridedMatrix a,
                  StridedMatrix b, const void* bias, void* c, std::ptrdiff_t c_row, bool is_double) {
    if (is_double)
        multiply_as(rows, columns, inner, a, b, static_cast<const double*>(bias),
                    static_cast<double*>(c), c_row);
    else
        multiply_as(rows, columns, inner, a, b, static_cast<const float*>(bias),
                    static_cast<float*>(c), c_row);
}

}  // namespace

extern const Kernel kernel;
const Kernel kernel{make_trainer, evaluate, multiply_any};

}  // namespace ISA
