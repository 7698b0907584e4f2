// Processes that the kernel has killed for lack of memory in the control group of this node's
// tasks.
#pragma once

#include <cstdint>
#include <string>

namespace muster::steps {

/// The count of the control group that this process is in, which the tasks share with it. Not
/// thread-safe.
class MemoryKills {
 public:
  MemoryKills();
  /// Whether a task that ended with this wait status (by SIGKILL, or with the exit code of a shell
  /// whose child was) is one that the kernel has killed since; each kill explains one end. Without
  /// such a group none is.
  bool Explains(int status);
  /// Kills up to now were of others, such as the script: they explain nothing.
  void Forget() { explained_ = Count(); }

 private:
  std::int64_t Count() const;

  std::string file_;            // "": not told
  std::int64_t explained_ = 0;  // of the count
};

}  // namespace muster::steps
