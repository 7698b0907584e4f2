#include "clients/lib/idempotency_key.h"

#include <sys/random.h>

#include <cstdint>

#include "schedd/base/check.h"
#include "schedd/base/ids.h"
#include "schedd/base/random.h"

namespace muster::client {
namespace {

class KernelRandom final : public Random {
 public:
  std::uint64_t Next() override {
    std::uint64_t value = 0;
    MUSTER_CHECK(getrandom(&value, sizeof(value), 0) == static_cast<ssize_t>(sizeof(value)));
    return value;
  }
};

}  // namespace

std::string NewIdempotencyKey() {
  KernelRandom random;
  return Uid::Make(random).ToString();
}

}  // namespace muster::client
