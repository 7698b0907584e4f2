#include "tests/sim/network.h"

#include <algorithm>

namespace muster::sim {
namespace {

constexpr std::int64_t kTimeoutNs = 2 * kSecond;

}  // namespace

Network::Network(Stage& stage, Members& members) : stage_(stage), members_(members) {}

// Milliseconds, now and then seconds.
std::int64_t Network::Delay() {
  const bool slow = stage_.Happens(&SwarmOptions::slow_calls, 10);
  return static_cast<std::int64_t>(stage_.delays.Below(slow ? 4'000 : 30)) * kMs + 100'000;
}

template <class T>
void Network::Answer(std::int64_t after_ns, Callback<T> done, Result<T> outcome) {
  stage_.agenda.After(
      after_ns, [alive = alive_, done = std::move(done), outcome = std::move(outcome)]() mutable {
        if (*alive) done(std::move(outcome));
      });
}

// A lost call never arrives; a lost answer leaves the outcome unknown. A call that arrives twice
// takes effect twice, the second time perhaps much later.
template <class T>
void Network::Call(const std::string& cluster, const char* what, std::function<Result<T>()> carry,
                   Callback<T> done) {
  stage_.Effect(std::string("call ") + what);
  if (stage_.Happens(&SwarmOptions::lost_calls, 6))
    return Answer<T>(kTimeoutNs, std::move(done), Unavailable("the call was lost"));
  const bool answer_lost = stage_.Happens(&SwarmOptions::lost_calls, 8);
  const bool twice = stage_.Happens(&SwarmOptions::double_calls, 10);
  const std::int64_t second = static_cast<std::int64_t>(stage_.delays.Below(3'000)) * kMs;
  stage_.agenda.After(
      Delay(), [this, alive = alive_, cluster, carry = std::move(carry), done = std::move(done),
                answer_lost, twice, second, &stage = stage_, &members = members_]() mutable {
        // A process of this host dies with the daemon's call.
        if (!*alive && !stage.options.two_steps) return;
        if (members.IsAway(cluster)) {
          if (*alive) Answer<T>(kTimeoutNs, std::move(done), Unavailable("cannot be reached"));
          return;
        }
        Result<T> outcome = carry();
        if (twice) {
          stage.agenda.After(second, [carry, cluster, &members] {
            if (!members.IsAway(cluster)) (void)carry();
          });
        }
        if (!*alive) return;
        if (answer_lost)
          return Answer<T>(kTimeoutNs, std::move(done),
                           Error{Code::kUnknown, "the answer was lost", {}, 0});
        Answer<T>(Delay(), std::move(done), std::move(outcome));
      });
}

// The permit is asked when the call leaves.
void Network::Ensure(const DispatchOrder& order, Callback<RemoteRef> done) {
  if (!order.permit.Holds()) return Answer<RemoteRef>(0, std::move(done), NotLeading());
  if (on_order) on_order();
  DispatchOrder sent = order;
  sent.permit = {};
  Call<RemoteRef>(
      order.key.cluster, "ensure", [&members = members_, sent] { return members.Ensure(sent); },
      std::move(done));
}

void Network::Acknowledge(const DispatchKey& key, const RemoteObject&, const std::string& uid,
                          Callback<Done> done) {
  Call<Done>(
      key.cluster, "acknowledge",
      [&members = members_, key, uid]() -> Result<Done> {
        members.Acknowledge(key, uid);
        return Done{};
      },
      std::move(done));
}

void Network::Remove(const DispatchKey& key, const RemovePolicy& policy,
                     Callback<RemovalResult> done) {
  Call<RemovalResult>(
      key.cluster, "remove",
      [&members = members_, key, policy]() -> Result<RemovalResult> {
        return members.Remove(key, policy);
      },
      std::move(done));
}

void Network::Confirm(const DispatchKey& key, const RemoteObject&, const std::string& uid,
                      Callback<Presence> done) {
  Call<Presence>(
      key.cluster, "confirm",
      [&members = members_, key, uid]() -> Result<Presence> { return members.Confirm(key, uid); },
      std::move(done));
}

void Network::List(const std::string& cluster, Callback<std::vector<Observation>> done) {
  Call<std::vector<Observation>>(
      cluster, "list",
      [&members = members_, cluster]() -> Result<std::vector<Observation>> {
        return members.List(cluster);
      },
      std::move(done));
}

void Network::Facts(const std::string& cluster, Callback<ClusterFacts> done) {
  Call<ClusterFacts>(
      cluster, "facts",
      [&members = members_, cluster]() -> Result<ClusterFacts> { return members.Facts(cluster); },
      std::move(done));
}

void Network::EnsureCopy(const CopyOrder& order, Callback<Done> done) {
  Call<Done>(
      order.key.cluster, "ensure copy",
      [&members = members_, order] { return members.queues().Ensure(order); }, std::move(done));
}

void Network::RemoveCopy(const CopyRemoval& removal, Callback<Done> done) {
  Call<Done>(
      removal.cluster, "remove copy",
      [&members = members_, removal] { return members.queues().Remove(removal); }, std::move(done));
}

void Network::ListCopies(const std::string& cluster, Callback<std::vector<MemberCopy>> done) {
  Call<std::vector<MemberCopy>>(
      cluster, "list copies",
      [&members = members_, cluster]() -> Result<std::vector<MemberCopy>> {
        return members.queues().List(cluster);
      },
      std::move(done));
}

void Network::Start(ObservationSink& sink) {
  sink_ = &sink;
  for (const std::string& cluster : members_.names()) TellFacts(cluster);
}

void Network::TellFacts(const std::string& cluster) {
  ClusterFacts facts = members_.Facts(cluster);
  facts.healthy = !members_.IsAway(cluster);
  if (!facts.healthy) facts.message = "cannot be reached";
  if (!facts.healthy) facts.incarnation.clear();
  if (sink_ != nullptr) sink_->OnFacts(std::move(facts));
}

// After the watch that broke: the member is listed again.
void Network::Noticed(const std::string& cluster) {
  stage_.agenda.After(Delay(), [this, alive = alive_, cluster] {
    if (!*alive || sink_ == nullptr) return;
    TellFacts(cluster);
    if (!members_.IsAway(cluster)) sink_->OnGap(cluster);
  });
}

void Network::Report(const Observation& seen) {
  const std::string& cluster = seen.key.cluster;
  if (sink_ == nullptr || !*alive_ || members_.IsAway(cluster)) return;
  if (stage_.Happens(&SwarmOptions::lost_reports, 12)) {
    stage_.agenda.After(static_cast<std::int64_t>(stage_.delays.Below(8'000)) * kMs,
                        [this, alive = alive_, cluster] {
      if (*alive && sink_ != nullptr && !members_.IsAway(cluster)) sink_->OnGap(cluster);
    });
    return;
  }
  const int times = stage_.Happens(&SwarmOptions::double_reports, 20) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    std::int64_t& last = last_report_[seen.key];
    last = std::max(last, stage_.clock.Now().ns + Delay());
    stage_.agenda.At({last}, [this, alive = alive_, seen] {
      if (*alive && sink_ != nullptr) sink_->OnObservation(seen);
    });
  }
}

}  // namespace muster::sim
