// The Python face of the trainers: one per member, for the best instruction set of this machine.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <tuple>

#include "order.h"
#include "spec.h"

namespace nb = nanobind;

namespace baseline {
extern const Kernel kernel;
}
#ifdef LAMINA_X86
namespace avx2 {
extern const Kernel kernel;
}
namespace avx512 {
extern const Kernel kernel;
}
#endif

namespace {

// Instruction sets that both this build and this machine have, best first.
std::vector<std::pair<std::string, const Kernel*>> available() {
    std::vector<std::pair<std::string, const Kernel*>> found;
#ifdef LAMINA_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found.emplace_back("avx512", &avx512::kernel);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found.emplace_back("avx2", &avx2::kernel);
#endif
    found.emplace_back("baseline", &baseline::kernel);
    return found;
}

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const auto& one : available()) names.push_back(one.first);
    return names;
}

const Kernel& kernel_of(const std::string& instruction_set) {
    for (const auto& [name, kernel] : available())
        if (name == instruction_set) return *kernel;
    throw std::invalid_argument("no instruction set " + instruction_set);
}

struct StopFlag {
    std::atomic<bool> value{false};
    void set() { value = true; }
    bool is_set() const { return value; }
};

using Array = nb::ndarray<nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Index = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using LayerTuple = std::tuple<std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t,
                              std::ptrdiff_t, std::string, double>;

template <class Enum, std::size_t N>
Enum named(const std::string& name, const std::array<const char*, N>& names) {
    for (std::size_t i = 0; i < N; ++i)
        if (name == names[i]) return static_cast<Enum>(i);
    throw std::invalid_argument("unknown name " + name);
}

constexpr std::array<const char*, 13> activation_names = {
    "identity", "sigmoid", "tanh", "hard_tanh", "relu", "leaky_relu", "prelu",
    "abs",      "softplus", "gelu", "silu",      "elu",  "step"};
constexpr std::array<const char*, 7> head_names = {
    "normal", "half_mean_square", "bernoulli", "categorical", "poisson", "half_deviance", "mixture"};
constexpr std::array<const char*, 5> optimizer_names = {"sgd", "adam", "adamw", "rmsprop", "muon"};

constexpr std::array<const char*, 10> function_names = {
    "exp", "expm1", "log", "log1p", "tanh", "logistic", "softplus", "normal_cdf", "activation", "derivative"};

template <std::size_t N>
std::vector<std::string> listed(const std::array<const char*, N>& names) {
    return {names.begin(), names.end()};
}

template <class T>
T item(const nb::dict& d, const char* key) {
    return nb::cast<T>(d[key]);
}

MemberSpec spec_of(const nb::dict& d) {
    MemberSpec s;
    for (const auto& [in, out, weight, bias, slope, name, parameter] :
         item<std::vector<LayerTuple>>(d, "layers"))
        s.layers.push_back({in, out, weight, bias, slope,
                            named<Activation>(name, activation_names), parameter});
    s.n_weights = item<std::ptrdiff_t>(d, "n_weights");
    s.n_total = item<std::ptrdiff_t>(d, "n_total");
    s.n_shared = item<std::ptrdiff_t>(d, "n_shared");
    s.head = named<HeadKind>(item<std::string>(d, "head"), head_names);
    s.smoothing = item<double>(d, "smoothing");
    s.mixture = {item<std::ptrdiff_t>(d, "n_components"), 1, item<std::ptrdiff_t>(d, "n_scales"),
                 item<bool>(d, "logits"), item<double>(d, "floor")};
    s.optimizer = named<Optimizer>(item<std::string>(d, "optimizer"), optimizer_names);
    s.momentum = item<double>(d, "momentum");
    s.beta_1 = item<double>(d, "beta_1");
    s.beta_2 = item<double>(d, "beta_2");
    s.epsilon = item<double>(d, "epsilon");
    s.adamw_ratio = item<double>(d, "adamw_ratio");
    s.nesterov = item<bool>(d, "nesterov");
    s.n_steps = item<int>(d, "n_steps");
    s.alpha = item<double>(d, "alpha");
    s.weight_decay = item<double>(d, "weight_decay");
    s.clip_norm = item<double>(d, "clip_norm");
    s.dropout = item<double>(d, "dropout");
    s.decoupled = item<bool>(d, "decoupled");
    const auto keys = item<std::vector<std::uint32_t>>(d, "keys");
    const auto noise_keys = item<std::vector<std::uint32_t>>(d, "noise_keys");
    for (std::size_t i = 0; i < 3; ++i) s.keys[i] = keys.at(i), s.noise_keys[i] = noise_keys.at(i);
    s.input_noise = item<double>(d, "input_noise");
    s.noise_values = item<std::vector<double>>(d, "noise_values");
    s.batch_size = item<std::ptrdiff_t>(d, "batch_size");
    return s;
}

void require(bool right, const char* what) {
    if (!right) throw std::invalid_argument(std::string("the arrays must fit the member: ") + what);
}

// Blocks of the flat buffer may be read to the end of the vector that they end in.
constexpr std::ptrdiff_t padded(std::ptrdiff_t n) { return (n + 31) / 32 * 32; }

void check_layout(const MemberSpec& s) {
    std::ptrdiff_t in = s.layers.empty() ? -1 : s.layers.front().in;
    for (const LayerSpec& layer : s.layers) {
        require(layer.in == in && layer.in > 0 && layer.out > 0, "sizes of layers");
        require(layer.weight >= 0 && layer.weight + layer.in * layer.out <= s.n_weights, "place of weights");
        require(layer.bias >= 0 && layer.bias + padded(layer.out) <= s.n_total, "place of biases");
        require(layer.slope < 0 || layer.slope + padded(layer.out) <= s.n_total, "place of slopes");
        in = layer.out;
    }
    require(!s.layers.empty() && s.n_weights <= s.n_total && s.batch_size > 0, "sizes");
    const std::size_t n_values = s.noise_values.size();
    require(s.input_noise == 0 || (n_values > 0 && (n_values & (n_values - 1)) == 0), "noise values");
    require(s.n_shared >= 0 && s.n_shared <= in, "shared outputs");
}

// Raw outputs that a head has for so many targets.
std::ptrdiff_t n_raw(const MemberSpec& s, std::ptrdiff_t n_targets) {
    if (s.head != HeadKind::mixture) return n_targets;
    const MixtureSpec& m = s.mixture;
    require(m.n_components > 0 && (m.logits || m.n_components == 1), "components");
    require(m.n_scales == 1 || m.n_scales == n_targets, "scales");
    return m.n_components * ((m.logits ? 1 : 0) + n_targets + m.n_scales);
}

// Keeps the arrays alive that its trainer reads.
class Member {
  public:
    Member(const nb::dict& spec, Array x, Array y, const std::string& instruction_set)
        : x_(std::move(x)), y_(std::move(y)), spec_(spec_of(spec)) {
        check_layout(spec_);
        require(x_.ndim() == 2 && y_.ndim() >= 1 && x_.shape(0) == y_.shape(0), "rows");
        const Rows rows{x_.data(), y_.data(), std::ptrdiff_t(x_.shape(1)),
                        y_.ndim() == 2 ? std::ptrdiff_t(y_.shape(1)) : 1};
        const std::ptrdiff_t q = spec_.layers.back().out;
        const bool classes = spec_.head == HeadKind::categorical;
        require(x_.dtype() == nb::dtype<double>() || x_.dtype() == nb::dtype<float>(), "dtype of x");
        require(y_.dtype() == (classes ? nb::dtype<std::int64_t>() : x_.dtype()), "dtype of y");
        require(rows.n_features == spec_.layers.front().in, "columns of x");
        spec_.mixture.n_targets = rows.n_targets;
        require(classes ? y_.ndim() == 1 : n_raw(spec_, rows.n_targets) == q, "columns of y");
        if (classes) {
            const auto* labels = static_cast<const std::int64_t*>(y_.data());
            for (std::size_t i = 0; i < y_.size(); ++i) require(labels[i] >= 0 && labels[i] < q, "classes");
        }
        const bool is_double = x_.dtype() == nb::dtype<double>();
        trainer_ = kernel_of(instruction_set).make_trainer(spec_, rows, is_double);
    }

    double epoch(Array theta, Array first, Array second, Index order, std::optional<Doubles> weights,
                 Doubles rates, Doubles plain, std::int64_t steps_before, const StopFlag& stop) {
        check_parameters(theta);
        check_order(order);
        const std::size_t n_moments = spec_.optimizer == Optimizer::sgd ? 1 : 2;
        require(first.dtype() == x_.dtype() && first.size() == theta.size(), "first moment");
        require(n_moments < 2 || (second.dtype() == x_.dtype() && second.size() == theta.size()),
                "second moment");
        require(!weights || weights->size() == x_.shape(0), "weights");
        const std::size_t batch = std::size_t(spec_.batch_size);
        const std::size_t n_steps = (order.size() + batch - 1) / batch;
        require(rates.size() == n_steps && plain.size() == n_steps, "learning rates");
        const Buffers buffers{theta.data(), {first.data(), second.data()}};
        const Epoch e{order.data(), std::ptrdiff_t(order.size()), weights ? weights->data() : nullptr,
                      rates.data(), plain.data(), steps_before};
        nb::gil_scoped_release release;
        return trainer_->epoch(buffers, e, stop.value);
    }

    void forward(Array theta, Index index, Array raw) {
        check_parameters(theta);
        check_order(index);
        require(raw.dtype() == x_.dtype(), "dtype of raw outputs");
        require(raw.size() == index.size() * std::size_t(spec_.layers.back().out), "raw outputs");
        nb::gil_scoped_release release;
        trainer_->forward(theta.data(), index.data(), std::ptrdiff_t(index.size()), raw.data());
    }

  private:
    Array x_, y_;
    MemberSpec spec_;
    std::unique_ptr<Trainer> trainer_;

    void check_parameters(const Array& theta) const {
        require(theta.dtype() == x_.dtype(), "dtype of parameters");
        require(theta.size() == std::size_t(spec_.n_total), "parameters");
    }

    void check_order(const Index& order) const {
        std::int32_t low = 0, high = 0;
        for (std::size_t i = 0; i < order.size(); ++i) {
            low = std::min(low, order.data()[i]);
            high = std::max(high, order.data()[i]);
        }
        require(low >= 0 && (order.size() == 0 || std::size_t(high) < x_.shape(0)), "row numbers");
    }
};

using Order = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Write the order of n rows in an epoch to `out`; see lamina/_random.py for key and place.
void permutation(std::uint64_t seed, std::uint64_t purpose, std::uint64_t place, Order out) {
    nb::gil_scoped_release release;
    permute({{seed, purpose}, {0, 0, place, 0}}, std::ptrdiff_t(out.size()), out.data());
}

using Vector = nb::ndarray<nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Strided = nb::ndarray<nb::ndim<2>, nb::device::cpu>;

// For the tests: write one function of x, an activation's f or its f', to `out`.
void evaluate(const std::string& function, const std::string& activation, double parameter, Vector x,
              Vector out, const std::string& instruction_set) {
    require(x.size() == out.size() && x.dtype() == out.dtype(), "size and dtype");
    const bool is_double = x.dtype() == nb::dtype<double>();
    require(is_double || x.dtype() == nb::dtype<float>(), "dtype");
    LayerSpec layer{};
    layer.activation = named<Activation>(activation, activation_names);
    layer.parameter = parameter;
    kernel_of(instruction_set)
        .evaluate(named<Function>(function, function_names), layer, std::ptrdiff_t(x.size()), x.data(),
                  out.data(), is_double);
}

// For the tests: C = A B, plus `bias` in each row if there is one; the rows of C are contiguous.
void multiply(Strided a, Strided b, std::optional<Vector> bias, Strided c,
              const std::string& instruction_set) {
    const bool is_double = a.dtype() == nb::dtype<double>();
    require(is_double || a.dtype() == nb::dtype<float>(), "dtype");
    require(a.dtype() == b.dtype() && a.dtype() == c.dtype(), "dtype");
    require(a.shape(1) == b.shape(0) && a.shape(0) == c.shape(0) && b.shape(1) == c.shape(1), "shape");
    require(!bias || (bias->dtype() == a.dtype() && bias->size() == c.shape(1)), "bias");
    require(c.stride(1) == 1 || c.shape(1) <= 1, "rows of c");
    kernel_of(instruction_set)
        .multiply(std::ptrdiff_t(c.shape(0)), std::ptrdiff_t(c.shape(1)), std::ptrdiff_t(a.shape(1)),
                  {a.data(), a.stride(0), a.stride(1)}, {b.data(), b.stride(0), b.stride(1)},
                  bias ? bias->data() : nullptr, c.data(), c.stride(0), is_double);
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "Training loops in machine code; lamina.stack uses them.";
    // Objects that live as long as the process are no error; its user must not read of them.
    nb::set_leak_warnings(false);
    m.attr("INTERFACE") = 3;  // that of lamina/stack/_extension.py
    m.attr("ACTIVATIONS") = listed(activation_names);
    m.attr("HEADS") = listed(head_names);
    m.attr("OPTIMIZERS") = listed(optimizer_names);
    m.def("instruction_sets", &instruction_sets);
    m.def("evaluate", &evaluate, nb::arg("function"), nb::arg("activation"), nb::arg("parameter"),
          nb::arg("x").noconvert(), nb::arg("out").noconvert(), nb::arg("instruction_set"));
    m.def("multiply", &multiply, nb::arg("a").noconvert(), nb::arg("b").noconvert(),
          nb::arg("bias").none(), nb::arg("c").noconvert(), nb::arg("instruction_set"));
    m.def("permutation", &permutation, nb::arg("seed"), nb::arg("purpose"), nb::arg("place"),
          nb::arg("out").noconvert());
    nb::class_<StopFlag>(m, "StopFlag")
        .def(nb::init<>())
        .def("set", &StopFlag::set)
        .def("is_set", &StopFlag::is_set);
    nb::class_<Member>(m, "Member")
        .def(nb::init<const nb::dict&, Array, Array, const std::string&>(), nb::arg("spec"),
             nb::arg("x").noconvert(), nb::arg("y").noconvert(), nb::arg("instruction_set"))
        .def("epoch", &Member::epoch, nb::arg("theta").noconvert(), nb::arg("first").noconvert(),
             nb::arg("second").noconvert(), nb::arg("order"), nb::arg("weights").none(),
             nb::arg("rates"), nb::arg("plain"), nb::arg("steps_before"), nb::arg("stop"))
        .def("forward", &Member::forward, nb::arg("theta").noconvert(), nb::arg("index"),
             nb::arg("raw").noconvert());
}
