// The logarithm of the gamma function tells the gamma function's sign in a variable of libm.
#include <math.h>

#include "host/process/rank_state.h"

using namespace meantime::host;

namespace {

int& sign() {
  return mine() != nullptr ? mine()->image.data<int>(Datum::sign_of_gamma) : signgam;
}

}  // namespace

#define LOGARITHM_OF_GAMMA(type, name, reentrant)      \
  MEANTIME_INTERPOSED type name(type value) noexcept { \
    return reentrant(value, &sign());                  \
  }
LOGARITHM_OF_GAMMA(double, lgamma, lgamma_r)
LOGARITHM_OF_GAMMA(float, lgammaf, lgammaf_r)
LOGARITHM_OF_GAMMA(long double, lgammal, lgammal_r)
LOGARITHM_OF_GAMMA(double, gamma, lgamma_r)
LOGARITHM_OF_GAMMA(float, gammaf, lgammaf_r)
LOGARITHM_OF_GAMMA(long double, gammal, lgammal_r)
