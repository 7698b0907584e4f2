// Giving an allocation back.
#include "clients/steps/srun/allocation_end.h"

#include <fcntl.h>
#include <poll.h>

#include <cstdlib>

#include "clients/steps/messages.h"
#include "clients/steps/words.h"

namespace muster::steps {
namespace {

constexpr char kVariable[] = "MUSTER_ALLOCATION_FD";

}  // namespace

AllocationEnd::AllocationEnd() {
  const char* text = std::getenv(kVariable);
  const auto number = text == nullptr ? std::nullopt : WholeNumber(text);
  ::unsetenv(kVariable);
  if (!number || *number < 3 || *number > 1'000'000) return;
  socket_.reset(static_cast<int>(*number));
  // Tasks must not keep the allocation.
  if (::fcntl(socket_.get(), F_SETFD, FD_CLOEXEC) != 0) socket_.release();
}

void AllocationEnd::GiveBack(int status) {
  if (!socket_) return;
  Channel channel(std::move(socket_));
  channel.Send(MessageType::kRelinquish, Encode(StepSignal{0, status}));
}

}  // namespace muster::steps
