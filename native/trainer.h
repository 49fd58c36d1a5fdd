// One member in training: gather, forward, head, backward, optimiser, without leaving the cache.
#pragma once

#include "heads.h"
#include "mixture.h"
#include "network.h"
#include "optimizers.h"

namespace ISA {

template <class T>
class MemberTrainer final : public Trainer {
  public:
    MemberTrainer(MemberSpec spec, Rows rows) : spec_(std::move(spec)), rows_(rows) {
        reserve(spec_.batch_size);
        gradient_.resize(std::size_t(spec_.n_total));
        scratch_.resize(pack_size<T>);
        for (double z : spec_.noise_values) noise_.push_back(T(spec_.input_noise) * T(z));
    }

    double epoch(const Buffers& buffers, const Epoch& e, const std::atomic<bool>& stop) override {
        T* theta = static_cast<T*>(buffers.theta);
        double loss = 0;
        std::int64_t step = 0;
        for (std::ptrdiff_t start = 0; start < e.n_rows; start += spec_.batch_size, ++step) {
            if (stop.load(std::memory_order_relaxed)) break;
            const std::ptrdiff_t n = std::min(spec_.batch_size, e.n_rows - start);
            gather(e.order + start, n);
            if (spec_.input_noise > 0) add_noise(n, e.steps_before + step);
            forward_batch(theta, n, e.steps_before + step);
            double weight = 0;
            const double error = head(e.order + start, n, e.weights, weight);
            backward(theta, n);
            const double penalty = regularize(theta, weight);
            loss += (error + penalty) * double(n) / double(e.n_rows);
            clip();
            update(theta, buffers, T(e.rates[step]), T(e.plain[step]));
        }
        return loss;
    }

    void forward(const void* theta, const std::int32_t* index, std::ptrdiff_t n, void* raw) override {
        const std::ptrdiff_t q = spec_.layers.back().out;
        T* out = static_cast<T*>(raw);
        for (std::ptrdiff_t start = 0; start < n; start += spec_.batch_size) {
            const std::ptrdiff_t m = std::min(spec_.batch_size, n - start);
            gather(index + start, m);
            forward_batch(static_cast<const T*>(theta), m, -1);
            std::memcpy(out + start * q, raw_.data(), std::size_t(m * q) * sizeof(T));
        }
    }

  private:
    MemberSpec spec_;
    Rows rows_;
    std::vector<double> errors_;
    std::vector<T> x_, y_, raw_, error_, lanes_, delta_, below_, gradient_, scratch_, space_, noise_;
    std::vector<std::int64_t> labels_;
    std::vector<std::vector<T>> before_, after_, fed_, masks_;  // by hidden layer

    void reserve(std::ptrdiff_t n) {
        const auto size = [n](std::ptrdiff_t columns) { return std::size_t(n * columns); };
        std::ptrdiff_t widest = spec_.layers.back().out;
        const std::size_t hidden = spec_.layers.size() - 1;
        before_.resize(hidden), after_.resize(hidden), fed_.resize(hidden), masks_.resize(hidden);
        for (std::size_t i = 0; i < hidden; ++i) {
            const LayerSpec& layer = spec_.layers[i];
            widest = std::max(widest, layer.out);
            if (needs_input(layer.activation)) before_[i].resize(size(layer.out));
            after_[i].resize(size(layer.out));
            if (spec_.dropout > 0) fed_[i].resize(size(layer.out)), masks_[i].resize(size(layer.out));
        }
        x_.resize(size(rows_.n_features));
        errors_.resize(std::size_t(n));
        const std::ptrdiff_t side = rows_.n_targets + 2 * spec_.mixture.n_components;
        lanes_.resize(std::size_t((spec_.layers.back().out + side) * width<T>));
        raw_.resize(size(spec_.layers.back().out));
        // Sums of columns read whole vectors.
        const std::size_t room = size(widest) + std::size_t(width<T>);
        delta_.resize(room), below_.resize(room);
        if (spec_.head == HeadKind::categorical) labels_.resize(std::size_t(n));
        else y_.resize(size(rows_.n_targets)), error_.resize(size(rows_.n_targets));
    }

    void gather(const std::int32_t* index, std::ptrdiff_t n) {
        const std::ptrdiff_t d = rows_.n_features, q = rows_.n_targets;
        const T* x = static_cast<const T*>(rows_.x);
        for (std::ptrdiff_t b = 0; b < n; ++b)
            copy<T>(d, x + index[b] * d, &x_[std::size_t(b * d)]);
        if (spec_.head == HeadKind::categorical) {
            const auto* y = static_cast<const std::int64_t*>(rows_.y);
            for (std::ptrdiff_t b = 0; b < n; ++b) labels_[std::size_t(b)] = y[index[b]];
        } else {
            const T* y = static_cast<const T*>(rows_.y);
            for (std::ptrdiff_t b = 0; b < n; ++b)
                copy<T>(q, y + index[b] * q, &y_[std::size_t(b * q)]);
        }
    }

    const T* input_of(std::size_t layer) const {
        if (layer == 0) return x_.data();
        return spec_.dropout > 0 ? fed_[layer - 1].data() : after_[layer - 1].data();
    }

    // `step` fixes the dropout masks; below 0 there are none.
    void forward_batch(const T* theta, std::ptrdiff_t n, std::int64_t step) {
        const T* input = x_.data();
        const std::size_t last = spec_.layers.size() - 1;
        for (std::size_t i = 0; i <= last; ++i) {
            const LayerSpec& layer = spec_.layers[i];
            const bool keeps = i < last && needs_input(layer.activation);
            T* a = i == last ? raw_.data() : keeps ? before_[i].data() : after_[i].data();
            multiply<T>(n, layer.out, layer.in, {input, layer.in, 1},
                        {theta + layer.weight, 1, layer.in}, a, layer.out, theta + layer.bias,
                        scratch_.data());
            if (i == last) return;
            activate(layer, theta, n, a, after_[i].data());
            input = after_[i].data();
            if (spec_.dropout > 0 && step >= 0) {
                fill_mask(masks_[i].data(), n, layer.out, step, int(i));
                map<T>(n * layer.out, after_[i].data(), masks_[i].data(), fed_[i].data(),
                       [](Vec<T> h, Vec<T> m) { return h * m; });
                input = fed_[i].data();
            }
        }
    }

    void activate(const LayerSpec& layer, const T* theta, std::ptrdiff_t n, const T* a, T* h) {
        if (layer.slope >= 0) {
            const T* slope = theta + layer.slope;
            for (std::ptrdiff_t b = 0; b < n; ++b)
                map<T>(layer.out, a + b * layer.out, slope, h + b * layer.out,
                       [](Vec<T> x, Vec<T> s) { return x > 0 ? x : s * x; });
            return;
        }
        if (layer.activation == Activation::identity) return;
        with_function<T>(layer, [&](auto f) { map<T>(n * layer.out, a, h, f); });
    }

    // Call use(b, j, word) with a random word for each row and unit of one step and layer.
    template <class Use>
    static void with_words(const std::uint32_t (&keys)[3], std::ptrdiff_t n, std::ptrdiff_t width,
                           std::int64_t step, int layer, Use use) {
        const std::int64_t place = step * 64 + layer;
        const auto row_key = std::uint32_t(keys[0] + std::uint64_t(place) * 0x9E3779B9u);
        const auto unit_key = keys[1] ^ std::uint32_t(std::uint64_t(place) * 0x85EBCA6Bu + keys[2]);
        for (std::ptrdiff_t b = 0; b < n; ++b) {
            const std::uint32_t row = mix(std::uint32_t(b) * 0x2545F491u + row_key);
            for (std::ptrdiff_t j = 0; j < width; ++j)
                use(b, j, mix(row + ((std::uint32_t(j) * 0x632BE59Bu) ^ unit_key)));
        }
    }

    void fill_mask(T* mask, std::ptrdiff_t n, std::ptrdiff_t width, std::int64_t step, int layer) {
        const auto threshold = std::uint32_t(std::nearbyint(spec_.dropout * (1 << 24)));
        const T scale = T(1 / (1 - spec_.dropout));
        with_words(spec_.keys, n, width, step, layer, [=](std::ptrdiff_t b, std::ptrdiff_t j, std::uint32_t u) {
            mask[b * width + j] = (u & 0xFFFFFFu) >= threshold ? scale : T(0);
        });
    }

    void add_noise(std::ptrdiff_t n, std::int64_t step) {
        const std::ptrdiff_t d = rows_.n_features;
        const auto last = std::uint32_t(noise_.size() - 1);
        T* x = x_.data();
        const T* values = noise_.data();
        with_words(spec_.noise_keys, n, d, step, 0, [=](std::ptrdiff_t b, std::ptrdiff_t j, std::uint32_t u) {
            x[b * d + j] += values[u & last];
        });
    }

    // Fill delta_ with the gradient on the raw outputs; return the weighted mean error.
    double head(const std::int32_t* index, std::ptrdiff_t n, const double* weights, double& weight) {
        const std::ptrdiff_t q = spec_.layers.back().out;
        row_errors(n, q);
        weight = double(n);
        if (weights) {
            weight = 0;
            for (std::ptrdiff_t b = 0; b < n; ++b) weight += weights[index[b]];
        }
        double error = 0;
        for (std::ptrdiff_t b = 0; b < n; ++b) {
            const double share = (weights ? weights[index[b]] : 1.0) / weight;
            error += share * errors_[std::size_t(b)];
            T* d = &delta_[std::size_t(b * q)];
            for (std::ptrdiff_t j = 0; j < q; ++j) d[j] *= T(share);
        }
        return error;
    }

    void row_errors(std::ptrdiff_t n, std::ptrdiff_t q) {
        double* errors = errors_.data();
        const T* raw = raw_.data();
        T* gradient = delta_.data();
        if (spec_.head == HeadKind::categorical) {
            constexpr int L = width<T>;
            for (std::ptrdiff_t b = 0; b < n; b += L)
                categorical_rows<T>(std::min<std::ptrdiff_t>(L, n - b), q, raw + b * q, &labels_[std::size_t(b)],
                                    spec_.smoothing, errors + b, gradient + b * q, lanes_.data());
            return;
        }
        const T* y = y_.data();
        if (spec_.head == HeadKind::mixture) {
            constexpr int L = width<T>;
            for (std::ptrdiff_t b = 0; b < n; b += L)
                mixture_rows<T>(std::min<std::ptrdiff_t>(L, n - b), q, spec_.mixture, raw + b * q,
                                y + b * spec_.mixture.n_targets, errors + b, gradient + b * q, lanes_.data());
            return;
        }
        if (spec_.head == HeadKind::bernoulli) {
            bernoulli<T>(n * q, raw, y, error_.data(), gradient);
            for (std::ptrdiff_t b = 0; b < n; ++b) {
                errors[b] = 0;
                for (std::ptrdiff_t j = 0; j < q; ++j) errors[b] += error_[std::size_t(b * q + j)];
            }
            return;
        }
        const bool mean = spec_.head == HeadKind::half_mean_square;
        const bool deviance = spec_.head == HeadKind::half_deviance;
        const bool normal = spec_.head == HeadKind::normal || mean;
        for (std::ptrdiff_t b = 0; b < n; ++b)
            errors[b] = normal ? normal_row<T>(raw + b * q, y + b * q, q, mean, gradient + b * q)
                               : poisson_row<T>(raw + b * q, y + b * q, q, deviance, gradient + b * q);
    }

    void backward(const T* theta, std::ptrdiff_t n) {
        for (std::size_t i = spec_.layers.size(); i-- > 0;) {
            const LayerSpec& layer = spec_.layers[i];
            T* weight = &gradient_[std::size_t(layer.weight)];
            multiply<T>(layer.out, layer.in, n, {delta_.data(), 1, layer.out},
                        {input_of(i), layer.in, 1}, weight, layer.in, nullptr, scratch_.data());
            if (i + 1 == spec_.layers.size())
                std::fill_n(weight + (layer.out - spec_.n_shared) * layer.in, spec_.n_shared * layer.in, T(0));
            column_sums<T>(n, layer.out, delta_.data(), &gradient_[std::size_t(layer.bias)]);
            if (i == 0) return;
            multiply<T>(n, layer.in, layer.out, {delta_.data(), layer.out, 1},
                        {theta + layer.weight, layer.in, 1}, below_.data(), layer.in, nullptr,
                        scratch_.data());
            pull_back(i - 1, theta, n);
            std::swap(delta_, below_);
        }
    }

    // Multiply below_ by the dropout mask and by f'(a) of hidden layer i.
    void pull_back(std::size_t i, const T* theta, std::ptrdiff_t n) {
        const LayerSpec& layer = spec_.layers[i];
        const std::ptrdiff_t size = n * layer.out;
        T* delta = below_.data();
        if (spec_.dropout > 0)
            map<T>(size, delta, masks_[i].data(), delta, [](Vec<T> d, Vec<T> m) { return d * m; });
        const T* h = after_[i].data();
        const T* a = needs_input(layer.activation) ? before_[i].data() : h;
        if (layer.slope >= 0) return pull_back_slopes(layer, theta, n, a);
        if (layer.activation == Activation::identity) return;
        with_derivative<T>(layer, [&](auto f) {
            constexpr int L = width<T>;
            std::ptrdiff_t k = 0;
            for (; k + L <= size; k += L)
                store<T>(delta + k, load<T>(delta + k) * f(load<T>(a + k), load<T>(h + k)));
            if (k == size) return;
            T d[L] = {}, x[L] = {}, z[L] = {};
            const std::size_t bytes = std::size_t(size - k) * sizeof(T);
            std::memcpy(d, delta + k, bytes), std::memcpy(x, a + k, bytes), std::memcpy(z, h + k, bytes);
            store<T>(d, load<T>(d) * f(load<T>(x), load<T>(z)));
            std::memcpy(delta + k, d, bytes);
        });
    }

    void pull_back_slopes(const LayerSpec& layer, const T* theta, std::ptrdiff_t n, const T* a) {
        T* slope = &gradient_[std::size_t(layer.slope)];
        std::fill(slope, slope + layer.out, T(0));
        for (std::ptrdiff_t b = 0; b < n; ++b)
            for (std::ptrdiff_t j = 0; j < layer.out; ++j) {
                T& d = below_[std::size_t(b * layer.out + j)];
                const T x = a[b * layer.out + j];
                slope[j] += x < 0 ? d * x : T(0);
                d *= x > 0 ? T(1) : theta[layer.slope + j];
            }
    }

    // Add the gradients of both penalties; return α/(2Σw)·‖W‖².
    double regularize(const T* theta, double weight) {
        const double alpha = spec_.alpha / weight;
        const T factor = T(alpha + (spec_.decoupled ? 0 : spec_.weight_decay));
        if (factor == 0) return 0;
        for (std::ptrdiff_t i = 0; i < spec_.n_weights; ++i)
            gradient_[std::size_t(i)] += factor * theta[i];
        return alpha == 0 ? 0 : 0.5 * alpha * sum_of_squares<T>(spec_.n_weights, theta);
    }

    void clip() {
        if (spec_.clip_norm < 0) return;
        const double norm = std::sqrt(sum_of_squares<T>(spec_.n_total, gradient_.data()));
        const double factor = spec_.clip_norm / std::max(norm, 1e-30);
        if (!(factor >= 1))
            for (T& g : gradient_) g *= T(factor);
    }

    void update(T* theta, const Buffers& buffers, T rate, T plain) {
        const std::ptrdiff_t n = spec_.n_total;
        T *m = static_cast<T*>(buffers.moments[0]), *s = static_cast<T*>(buffers.moments[1]);
        const T* g = gradient_.data();
        if (spec_.decoupled && spec_.weight_decay > 0) shrink(theta, plain * T(spec_.weight_decay));
        const T b1 = T(spec_.beta_1), b2 = T(spec_.beta_2), epsilon = T(spec_.epsilon);
        switch (spec_.optimizer) {
            case Optimizer::sgd: return sgd<T>(n, theta, g, m, T(spec_.momentum), spec_.nesterov, rate);
            case Optimizer::adam:
            case Optimizer::adamw: return adam<T>(n, theta, g, m, s, b1, b2, epsilon, rate);
            case Optimizer::rmsprop: return rmsprop<T>(n, theta, g, m, s, b2, T(spec_.momentum), epsilon, rate);
            case Optimizer::muon: return muon(theta, m, s, rate, plain);
        }
    }

    // Muon's output layer has a smaller learning rate, and loses less.
    void shrink(T* theta, T share) {
        const std::ptrdiff_t tail =
            spec_.optimizer == Optimizer::muon ? spec_.layers.back().weight : spec_.n_weights;
        const T rest = T(spec_.adamw_ratio) * share;
        for (std::ptrdiff_t i = 0; i < spec_.n_weights; ++i) theta[i] *= 1 - (i < tail ? share : rest);
    }

    void muon(T* theta, T* m, T* s, T rate, T plain) {
        const std::ptrdiff_t tail = spec_.layers.back().weight, rest = spec_.n_total - tail;
        adam<T>(rest, theta + tail, &gradient_[std::size_t(tail)], m + tail, s + tail,
                T(spec_.beta_1), T(spec_.beta_2), T(spec_.epsilon), rate);
        const T momentum = T(spec_.momentum);
        for (std::size_t i = 0; i + 1 < spec_.layers.size(); ++i) {
            const LayerSpec& layer = spec_.layers[i];
            const std::ptrdiff_t size = layer.out * layer.in;
            T *v = m + layer.weight, *g = &gradient_[std::size_t(layer.weight)];
            for (std::ptrdiff_t k = 0; k < size; ++k) {
                v[k] = momentum * v[k] + g[k];
                g[k] = spec_.nesterov ? g[k] + momentum * v[k] : v[k];
            }
            orthogonalize<T>(layer.out, layer.in, g, spec_.n_steps, space_, scratch_.data());
            const T scale = plain * T(std::sqrt(std::max(1.0, double(layer.out) / double(layer.in))));
            for (std::ptrdiff_t k = 0; k < size; ++k) theta[layer.weight + k] -= scale * g[k];
        }
    }
};

}  // namespace ISA
