// FakeQueues: members with queues of their own, in memory. Calls are answered at once unless the
// member is unreachable or the test holds them.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/member_queues.h"
#include "schedd/model/member_queues.h"

namespace muster::test {

class FakeQueues final : public MemberQueues {
 public:
  struct Member {
    bool runs = true;
    bool away = false;
    std::optional<Error> refuses;  // every copy
    std::map<std::string, MemberCopy> copies;
    std::map<std::string, CopyOrder> orders;  // as each copy was created
  };

  bool RunsQueue(const std::string& cluster) const override {
    const auto found = members.find(cluster);
    return found != members.end();
  }

  void EnsureCopy(const CopyOrder& order, Callback<Done> done) override {
    Do([this, order, done = std::move(done)] {
      Member& member = members.at(order.key.cluster);
      if (member.away) return done(Unavailable("it is away"));
      if (member.refuses) return done(*member.refuses);
      const auto pod_sets = order.pod_sets_of(order.object.json);
      if (!pod_sets.ok()) return done(pod_sets.error());
      ++made;
      const std::string name = CopyName(order.key.job_uid, order.key.attempt);
      MemberCopy copy;
      copy.key = order.key;
      copy.ns = order.ns;
      copy.name = name;
      copy.uid = "copy-" + std::to_string(made);
      member.copies.emplace(name, std::move(copy));
      member.orders[name] = order;
      done(Done{});
    });
  }

  void RemoveCopy(const CopyRemoval& removal, Callback<Done> done) override {
    Do([this, removal, done = std::move(done)] {
      Member& member = members.at(removal.cluster);
      if (member.away) return done(Unavailable("it is away"));
      std::erase_if(member.copies, [&](const auto& one) {
        return one.second.ns == removal.ns && one.second.name == removal.name &&
               one.second.uid == removal.uid;
      });
      done(Done{});
    });
  }

  void ListCopies(const std::string& cluster, Callback<std::vector<MemberCopy>> done) override {
    const Member& member = members.at(cluster);
    if (member.away) return done(Unavailable("it is away"));
    if (!member.runs) return done(Error{Code::kFailedPrecondition, "runs no queue"});
    std::vector<MemberCopy> copies;
    for (const auto& [name, copy] : member.copies) copies.push_back(copy);
    done(std::move(copies));
  }

  /// Carries out the calls that were held.
  void Let() {
    hold = false;
    while (!held.empty()) {
      const auto work = std::move(held.front());
      held.pop_front();
      work();
    }
  }

  std::map<std::string, Member> members;
  bool hold = false;
  std::deque<std::function<void()>> held;
  int made = 0;

 private:
  void Do(std::function<void()> work) {
    if (hold) {
      held.push_back(std::move(work));
    } else {
      work();
    }
  }
};

}  // namespace muster::test
