// The Python face of the trainers: one per member, for the best instruction set of this machine.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <stdexcept>
#include <string>
#include <tuple>

#include "spec.h"

namespace nb = nanobind;

#define DECLARE(isa)                                                         \
    namespace isa {                                                          \
    std::unique_ptr<Trainer> make_trainer(MemberSpec, Rows, bool is_double); \
    }
DECLARE(baseline)
#ifdef LAMINA_X86
DECLARE(avx2)
DECLARE(avx512)
#endif

namespace {

using Maker = std::unique_ptr<Trainer> (*)(MemberSpec, Rows, bool);

// Instruction sets that both this build and this machine have, best first.
std::vector<std::pair<std::string, Maker>> available() {
    std::vector<std::pair<std::string, Maker>> found;
#ifdef LAMINA_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        found.emplace_back("avx512", avx512::make_trainer);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found.emplace_back("avx2", avx2::make_trainer);
#endif
    found.emplace_back("baseline", baseline::make_trainer);
    return found;
}

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const auto& one : available()) names.push_back(one.first);
    return names;
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
constexpr std::array<const char*, 6> head_names = {
    "normal", "half_mean_square", "bernoulli", "categorical", "poisson", "half_deviance"};
constexpr std::array<const char*, 5> optimizer_names = {"sgd", "adam", "adamw", "rmsprop", "muon"};

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
    s.head = named<HeadKind>(item<std::string>(d, "head"), head_names);
    s.smoothing = item<double>(d, "smoothing");
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
    for (std::size_t i = 0; i < 3; ++i) s.keys[i] = keys.at(i);
    s.batch_size = item<std::ptrdiff_t>(d, "batch_size");
    return s;
}

// Keeps the arrays alive that its trainer reads.
class Member {
  public:
    Member(const nb::dict& spec, Array x, Array y, const std::string& isa)
        : x_(std::move(x)), y_(std::move(y)) {
        const bool is_double = x_.dtype() == nb::dtype<double>();
        Rows rows{x_.data(), y_.data(), std::ptrdiff_t(x_.shape(1)),
                  y_.ndim() == 2 ? std::ptrdiff_t(y_.shape(1)) : 1};
        for (const auto& [name, make] : available())
            if (name == isa) trainer_ = make(spec_of(spec), rows, is_double);
        if (!trainer_) throw std::invalid_argument("no instruction set " + isa);
    }

    double epoch(Array theta, Array first, Array second, Index order, std::optional<Doubles> weights,
                 Doubles rates, Doubles plain, std::int64_t steps_before, const StopFlag& stop) {
        Buffers buffers{theta.data(), {first.data(), second.data()}};
        Epoch e{order.data(), std::ptrdiff_t(order.size()), weights ? weights->data() : nullptr,
                rates.data(), plain.data(), steps_before};
        nb::gil_scoped_release release;
        return trainer_->epoch(buffers, e, stop.value);
    }

    void forward(Array theta, Index index, Array raw) {
        nb::gil_scoped_release release;
        trainer_->forward(theta.data(), index.data(), std::ptrdiff_t(index.size()), raw.data());
    }

  private:
    Array x_, y_;
    std::unique_ptr<Trainer> trainer_;
};

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "Training loops in machine code; lamina.stack uses them.";
    m.def("instruction_sets", &instruction_sets);
    nb::class_<StopFlag>(m, "StopFlag")
        .def(nb::init<>())
        .def("set", &StopFlag::set)
        .def("is_set", &StopFlag::is_set);
    nb::class_<Member>(m, "Member")
        .def(nb::init<const nb::dict&, Array, Array, const std::string&>(), nb::arg("spec"),
             nb::arg("x"), nb::arg("y"), nb::arg("instruction_set"))
        .def("epoch", &Member::epoch, nb::arg("theta"), nb::arg("first"), nb::arg("second"),
             nb::arg("order"), nb::arg("weights").none(), nb::arg("rates"), nb::arg("plain"),
             nb::arg("steps_before"), nb::arg("stop"))
        .def("forward", &Member::forward, nb::arg("theta"), nb::arg("index"), nb::arg("raw"));
}
