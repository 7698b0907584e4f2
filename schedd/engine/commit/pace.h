// Pace: how much of the store's one writer scheduling may take while clients wait for submissions.
//
// A client that submits waits for every write that was sent before its own. So commits are bounded
// in rows; while submissions come they are short, sent one at a time, and with a rest between two,
// so that clients keep most of the writer and of the processors. A writer that is idle all the same
// ends the rest. A plain state machine of the engine thread: it counts what is on its way and
// reads the clock, nothing else.
#pragma once

#include <cstddef>

#include "schedd/base/clock.h"

namespace muster {

class Pace {
 public:
  /// `clock` must outlive it. `commit_depth`: how many commits may be on their way without clients.
  Pace(const Clock& clock, std::size_t commit_depth) : clock_(clock), commit_depth_(commit_depth) {}

  /// `count` submissions were taken and are not durable yet.
  void TakeSubmissions(std::size_t count);
  /// `count` of them were answered, or refused.
  void DropSubmissions(std::size_t count) { inflight_submissions_ -= count; }
  std::size_t inflight_submissions() const { return inflight_submissions_; }

  /// A write was handed to the store.
  void Sent() { ++writes_; }
  /// The store has answered a write. After a commit, RestAfter follows.
  void Answered();
  /// A commit that was sent at `sent` has been answered: a rest begins.
  void RestAfter(Monotonic sent);
  /// True while the store has not answered some write.
  bool Outstanding() const { return writes_ > 0; }

  /// True while clients submit, or did within the last milliseconds.
  bool Crowded() const { return inflight_submissions_ > 0 || clock_.Now() < crowded_until_; }
  /// True while nothing should be sent or decided, so that submissions go first. `somebody_waits`:
  /// a client waits for the open transaction (a cancel, a new quota); then there is no rest.
  bool Resting(bool somebody_waits) const;
  /// When the rest ends unless a write is sent meanwhile.
  Monotonic RestEnds() const;
  /// How many commits may be on their way.
  std::size_t CommitDepth() const;
  /// How many more rows the open transaction may take, which has `taken` rows already.
  std::size_t RoomAfter(std::size_t taken) const;

 private:
  const Clock& clock_;
  const std::size_t commit_depth_;
  std::size_t writes_ = 0;  // on their way
  std::size_t inflight_submissions_ = 0;
  Monotonic crowded_until_{};      // submissions came lately: commits stay short
  Monotonic rest_until_{};         // and leave time between them
  Monotonic writer_idle_since_{};  // while no write is on its way
};

}  // namespace muster
