// The trainer for one instruction set; the build compiles this file once for each.
#include "trainer.h"

namespace ISA {

std::unique_ptr<Trainer> make_trainer(MemberSpec spec, Rows rows, bool is_double) {
    if (is_double) return std::make_unique<MemberTrainer<double>>(std::move(spec), rows);
    return std::make_unique<MemberTrainer<float>>(std::move(spec), rows);
}

}  // namespace ISA
