// Reads and submissions overlap: OnReadDone comes on gRPC's thread, the answer of a submission on
// the engine's. Both end in Advance, which decides under one lock what comes next, so that exactly
// one read is under way and the call is finished exactly once, when all messages are read and all
// submissions have answered. Items of the response are added under the lock; their addresses do not
// change, so each submission fills its own item without it.
#include "api/grpc/submit_stream.h"

#include <utility>
#include <vector>

#include "api/grpc/call.h"
#include "api/grpc/convert.h"
#include "schedd/base/limits.h"
#include "schedd/base/mutex.h"

namespace muster::api {

// gRPC may run OnDone inside Finish, and so inside OnTick: the mutex is recursive.
class SubmitStream::Ticked final : public TickedStream {
 public:
  explicit Ticked(SubmitStream* stream) : stream_(stream) {}
  void OnTick(std::int64_t ms) override {
    const RecursiveLock lock(mutex_);
    if (stream_ != nullptr) stream_->OnTick(ms);
  }
  void Forget() {
    const RecursiveLock lock(mutex_);
    stream_ = nullptr;
  }

 private:
  RecursiveMutex mutex_;
  SubmitStream* stream_ MUSTER_GUARDED_BY(mutex_);
};

// A caller that is refused gets its status through the same path: nothing is read and the call
// ends.
SubmitStream::SubmitStream(SchedulerService& service, const Callers& callers, EventHub& ticker,
                           grpc::CallbackServerContext* context,
                           v1::BatchSubmitJobsResponse* response)
    : service_(service),
      callers_(callers),
      context_(context),
      response_(response),
      ticked_(std::make_shared<Ticked>(this)) {
  Result<auth::Principal> who = CallerOf(*context, callers);
  if (who.ok()) {
    who_ = std::move(*who);
    ticker.AlsoTick(ticked_);
  } else {
    read_all_ = true;
    status_ = StatusOf(context, who.error());
  }
  Advance(CompletedStep::kNothing);
}

void SubmitStream::OnDone() {
  const std::shared_ptr<Ticked> ticked = ticked_;
  ticked->Forget();
  delete this;
}

void SubmitStream::OnTick(std::int64_t ms) {
  asked_ms_ago_ += ms;
  if (asked_ms_ago_ < limits::kAskAgainMs) return;
  asked_ms_ago_ = 0;
  const Status good = callers_.authenticator().StillGood(who_);
  if (good.ok()) return;
  {
    MutexLock lock(mutex_);
    if (finished_ || revoked_) return;
    revoked_ = true;
    status_ = {static_cast<grpc::StatusCode>(good.error().code), good.error().detail};
  }
  Advance(CompletedStep::kAsked);
}

// gRPC has read a message into request_, or (not ok) the client has sent its last one.
void SubmitStream::OnReadDone(bool ok) {
  v1::SubmitOutcome* item = nullptr;
  {
    MutexLock lock(mutex_);
    // The call has ended meanwhile, or ends: what arrives is not taken.
    if (finished_) return;
    if (!ok || revoked_) {
      read_all_ = true;
    } else if (response_->items_size() >= kMessages) {
      read_all_ = true;
      status_ = {grpc::StatusCode::RESOURCE_EXHAUSTED, "one stream takes at most " +
                                                           std::to_string(kMessages) +
                                                           " jobs; the first ones were submitted"};
    } else {
      item = response_->add_items();
      ++in_flight_;
    }
  }
  if (item != nullptr) Submit(item);
  Advance(CompletedStep::kRead);
}

// Parses and submits the message in request_ before the next read overwrites it.
void SubmitStream::Submit(v1::SubmitOutcome* item) {
  // The call itself was counted when it was opened.
  if (const Status rate = service_.TakeRate(who_); !rate.ok()) return Answered(item, rate.error());
  ParseBudget budget = ParseBudget::ForRequest();
  Result<json::value> body = OneDocument(request_.manifest(), &budget);
  if (!body.ok()) return Answered(item, body.error());
  std::vector<std::string> warnings = service_.JobWarnings(request_.namespace_(), *body);
  SubmitRequest submit{request_.namespace_(), std::move(*body), request_.idempotency_key()};
  service_.SubmitJob(who_, std::move(submit),
                     [this, item, warnings = std::move(warnings)](Result<SubmittedJob> result) {
    if (result.ok()) {
      for (const std::string& warning : warnings) item->add_warnings(warning);
    }
    Answered(item, result);
  });
}

void SubmitStream::Answered(v1::SubmitOutcome* item, const Result<SubmittedJob>& result) {
  if (result.ok()) {
    ToProto(*result->job, item->mutable_job());
  } else {
    service_.audit().Failed(who_, "create", "job", result.error());
    ToProto(result.error(), item->mutable_problem());
  }
  Advance(CompletedStep::kSubmission);
}

// The thread that starts a read is the only one that may go on until StartRead has returned, so
// that no other thread ends the call, and with it this object, under it.
void SubmitStream::Advance(CompletedStep ended) {
  grpc::Status status;
  MutexLock lock(mutex_);
  if (ended == CompletedStep::kRead) reading_ = false;
  if (ended == CompletedStep::kSubmission) --in_flight_;
  while (true) {
    if (finished_ || starting_read_) return;
    if (revoked_ || (read_all_ && !reading_)) {
      // A read may be under way once the caller is refused: OnReadDone drops its message.
      if (in_flight_ > 0) return;
      finished_ = true;
      status = status_;
      break;
    }
    if (reading_ || in_flight_ >= kInFlight) return;
    reading_ = starting_read_ = true;
    lock.Unlock();
    StartRead(&request_);
    lock.Lock();
    starting_read_ = false;
  }
  // After Finish the object may be deleted: nothing of it is touched from here on.
  lock.Unlock();
  Finish(status);
}

}  // namespace muster::api
