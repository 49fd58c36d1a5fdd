// What the Python side tells a trainer about one member. No instruction set is used here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

enum class Activation { identity, sigmoid, tanh, hard_tanh, relu, leaky_relu, prelu, abs, softplus, gelu, silu, elu, step };
enum class HeadKind { normal, half_mean_square, bernoulli, categorical, poisson, half_deviance, mixture };
enum class Optimizer { sgd, adam, adamw, rmsprop, muon };

struct LayerSpec {
    std::ptrdiff_t in, out, weight, bias, slope;  // sizes, and places in the flat buffer (slope < 0: none)
    Activation activation;
    double parameter;
};

struct MixtureSpec {  // of normals, or a single one, without logits
    std::ptrdiff_t n_components, n_targets, n_scales;  // scales of one component: 1 or one a target
    bool logits;
    double floor;  // of the scales
};

struct MemberSpec {
    std::vector<LayerSpec> layers;
    std::ptrdiff_t n_weights, n_total;  // of the flat buffer
    std::ptrdiff_t n_shared;  // of the last raw outputs: they do not depend on the inputs
    HeadKind head;
    double smoothing;
    MixtureSpec mixture;
    Optimizer optimizer;
    double momentum, beta_1, beta_2, epsilon, adamw_ratio;
    int nesterov, n_steps;
    double alpha, weight_decay, clip_norm, dropout;  // clip_norm < 0: none
    bool decoupled;
    std::uint32_t keys[3];  // of the dropout masks
    double input_noise;
    std::uint32_t noise_keys[3];
    std::vector<double> noise_values;  // equally likely, a power of two of them
    std::ptrdiff_t batch_size;
};

struct Rows {  // of the data, shared by all members
    const void* x;  // (N, D)
    const void* y;  // (N, Q) in the type of x, or (N,) in int64 for class numbers
    std::ptrdiff_t n_features, n_targets;
};

struct Buffers {
    void* theta;
    void* moments[2];
};

struct Epoch {
    const std::int32_t* order;   // row numbers, as the member meets them
    std::ptrdiff_t n_rows;
    const double* weights;       // of all rows of the data, or null
    const double* rates;         // corrected and plain learning rate of each step
    const double* plain;
    std::int64_t steps_before;   // of the member's whole life; fixes the dropout masks
};

struct Trainer {
    virtual ~Trainer() = default;
    // Train one epoch and return its loss; stops between steps once `stop` is set.
    virtual double epoch(const Buffers&, const Epoch&, const std::atomic<bool>& stop) = 0;
    // Raw outputs (n, Q) of the rows of an index.
    virtual void forward(const void* theta, const std::int32_t* index, std::ptrdiff_t n, void* raw) = 0;
};

// One function on its own, as the tests look at it.
enum class Function { exp, expm1, log, log1p, tanh, logistic, softplus, normal_cdf, activation, derivative };

struct StridedMatrix {  // entry (i, j) is at data[i * row + j * column]
    const void* data;
    std::ptrdiff_t row, column;
};

// What the build makes once for each instruction set.
struct Kernel {
    std::unique_ptr<Trainer> (*make_trainer)(MemberSpec, Rows, bool is_double);
    // Of the layer, only the activation and its parameter are looked at.
    void (*evaluate)(Function, const LayerSpec&, std::ptrdiff_t n, const void* x, void* out, bool is_double);
    // C (rows x columns, rows of c_row numbers) = A B, plus `bias` in each row if there is one.
    void (*multiply)(std::ptrdiff_t rows, std::ptrdiff_t columns, std::ptrdiff_t inner, StridedMatrix a,
                     StridedMatrix b, const void* bias, void* c, std::ptrdiff_t c_row, bool is_double);
};
