// CpuTimer: CPU time of this thread in the stretches between Begin and End.
#pragma once

#include <ctime>

#include "schedd/simulate/simulator.h"

namespace muster::bench {

inline double ThreadCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

class CpuTimer final : public simulate::DecisionTimer {
 public:
  void Begin() override { begun_ = ThreadCpuSeconds(); }
  void End() override { seconds_ += ThreadCpuSeconds() - begun_; }
  double seconds() const { return seconds_; }

 private:
  double begun_ = 0, seconds_ = 0;
};

}  // namespace muster::bench
