// Which build of the hot loops this machine gets, and the two tables by name.
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "../combine.h"
#include "hot.h"

namespace ps_baseline { extern const ps::Hot table; }
#if defined(PS_HAVE_X86_LEVELS)
namespace ps_avx2 { extern const ps::Hot table; }
namespace ps_avx512 { extern const ps::Hot table; }
#endif

namespace ps {
namespace {

// PARAMSTORE_ISA caps the choice; a machine that cannot do what it names gets the best below.
int highest_level() {
    const char* const names[] = {"baseline", "avx2", "avx512"};
    const char* asked = std::getenv("PARAMSTORE_ISA");
    if (!asked || !*asked) return 2;
    for (int level = 0; level < 3; ++level)
        if (!std::strcmp(asked, names[level])) return level;
    throw std::runtime_error(std::string("PARAMSTORE_ISA=") + asked + " is none of baseline, avx2, avx512");
}

const Hot& choose() {
    const int highest = highest_level();
    (void)highest;
#if defined(PS_HAVE_X86_LEVELS)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx512 && highest >= 2) return ps_avx512::table;
    if (avx2 && highest >= 1) return ps_avx2::table;
#endif
    return ps_baseline::table;
}

}  // namespace

const Hot& hot() {
    static const Hot& chosen = choose();
    return chosen;
}

const OpInfo kOpInfo[kOps] = {
#define PS_OP(name, kinds, view, divisor, expression) {#name, op_##name::refuses_zero, op_##name::copies},
#include "../ops.def"
#undef PS_OP
};

const DtypeInfo kDtypeInfo[kDtypes] = {
#define PS_DTYPE(name, type, kind) {#name, (int)sizeof(type), kind == PS_INTEGER},
#include "../dtypes.def"
#undef PS_DTYPE
};

}  // namespace ps
