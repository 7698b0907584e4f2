#include "schedd/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace muster {

void CheckFailed(const char* file, int line, const char* text) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, text);
  std::fflush(stderr);
  std::abort();
}

}  // namespace muster
