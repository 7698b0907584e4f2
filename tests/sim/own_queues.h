// OwnQueues: the queues that members run themselves (Kueue), with the copies that stand in them. A
// copy is admitted after a while, and now and then taken back. One thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/member_queues.h"
#include "tests/sim/stage.h"

namespace muster::sim {

class OwnQueues {
 public:
  explicit OwnQueues(Stage& stage) : stage_(stage) {}

  // Calls, as a member carries them out.
  Result<Done> Ensure(const CopyOrder& order);
  Result<Done> Remove(const CopyRemoval& removal);
  std::vector<MemberCopy> List(const std::string& cluster) const;
  /// Another, empty cluster takes the name.
  void Wipe(const std::string& cluster);

  /// True if the queue lets the attempt's object run now.
  bool Lets(const DispatchKey& key) const;
  /// True if the queue has ever let it.
  bool HasLet(const DispatchKey& key) const { return let_.contains(key); }
  /// The queue admits the copy of an attempt; set by the world.
  std::function<void(const DispatchKey&)> on_admitted = [](const DispatchKey&) {};
  /// Copies that stand on any member: "member-0 default/name".
  std::vector<std::string> Left() const;

 private:
  void Admit(const DispatchKey& key, const std::string& uid);
  void TakeBack(const DispatchKey& key, const std::string& uid);
  MemberCopy* Find(const DispatchKey& key, const std::string& uid);
  std::int64_t Draw(const DispatchKey& key, const char* what, std::uint64_t below) const;

  Stage& stage_;
  std::map<DispatchKey, MemberCopy> copies_;
  std::set<DispatchKey> let_;
  int made_ = 0;
};

}  // namespace muster::sim
