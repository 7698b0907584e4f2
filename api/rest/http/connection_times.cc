// The time limits of a connection, and which connections may be closed to make room. Times are
// counted in the host's one-second ticks.
#include "api/rest/http/connection.h"
#include "schedd/base/limits.h"

namespace muster::rest {
namespace {

// A whole request must arrive in this many seconds, against clients that send a byte at a time.
constexpr std::int64_t kRequestTicks = 20;
// A connection whose request takes longer than this to arrive may be closed to make room.
constexpr std::int64_t kSlowTicks = 2;
constexpr std::int64_t kHandshakeTicks = limits::kTlsHandshakeMs / 1000;
// An answer of which nothing leaves for this long is given up.
constexpr std::int64_t kStallTicks = 30;
// Time for a refused client to read its answer.
constexpr std::int64_t kLingerTicks = 2;

}  // namespace

// Exactly one time limit applies, by the phase that the connection is in.
void Connection::Reap(std::int64_t tick, std::int64_t idle_ticks) {
  const MutexLock lock(mutex_);
  if (state_ == State::kClosed) return;
  if (state_ == State::kLingering) {
    if (tick - since_ > kLingerTicks) CloseLocked();
  } else if (tls_ != nullptr && !tls_->open()) {
    if (tick - since_ > kHandshakeTicks) CloseLocked();
  } else if (!out_.empty()) {
    if (tick - progress_ > kStallTicks) CloseLocked();
  } else if (!busy_ && !driving_ && reader_.mid_request()) {
    if (tick - since_ > kRequestTicks)
      RefuseLocked({408, "the request did not arrive in time", false, ""});
  } else if (!busy_ && !driving_ && tick - since_ > idle_ticks) {
    CloseLocked();
  }
}

// The smaller the number, the sooner the connection is closed. Slow requests come after all idle
// connections.
std::optional<std::uint64_t> Connection::DispensableLocked() const {
  constexpr std::uint64_t kAfterIdleOnes = std::uint64_t{1} << 62;
  if (state_ == State::kClosed || busy_ || driving_ || !out_.empty()) return std::nullopt;
  if (state_ == State::kOpen && (reader_.mid_request() || ShakingLocked())) {
    if (host_->tick.load() - since_ <= kSlowTicks) return std::nullopt;
    return kAfterIdleOnes + idle_turn_;
  }
  return idle_turn_;
}

std::optional<std::uint64_t> Connection::Dispensable() const {
  const MutexLock lock(mutex_);
  return DispensableLocked();
}

void Connection::MakeRoom() {
  const MutexLock lock(mutex_);
  if (DispensableLocked()) CloseLocked();
}

}  // namespace muster::rest
