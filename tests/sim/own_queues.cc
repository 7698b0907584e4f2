#include "tests/sim/own_queues.h"

#include "schedd/model/member_queues.h"

namespace muster::sim {
namespace {

std::string Text(const DispatchKey& key) {
  return key.cluster + "/" + key.job_uid.ToString().substr(0, 8) + "/" +
         std::to_string(key.attempt);
}

}  // namespace

// Of the seed and the attempt alone, so that what others do changes nothing of it.
std::int64_t OwnQueues::Draw(const DispatchKey& key, const char* what, std::uint64_t below) const {
  const auto attempt = static_cast<std::uint64_t>(key.attempt);
  Dice dice = DiceOf(stage_.seed ^ key.job_uid.lo ^ (attempt << 40), what);
  for (const char letter : key.cluster)
    dice = Dice(dice.Next() ^ static_cast<std::uint64_t>(letter));
  return static_cast<std::int64_t>(dice.Below(below));
}

// The member completes nothing of the object: its pod sets are those that are sent.
Result<Done> OwnQueues::Ensure(const CopyOrder& order) {
  const auto pod_sets = order.pod_sets_of(order.object.json);
  if (!pod_sets.ok()) return pod_sets.error();
  const auto [made, fresh] = copies_.try_emplace(order.key);
  if (!fresh) return Done{};
  MemberCopy& copy = made->second;
  copy.key = order.key;
  copy.ns = order.ns;
  copy.name = CopyName(order.key.job_uid, order.key.attempt);
  copy.uid = "copy-" + std::to_string(++made_);
  stage_.Note("copy " + Text(order.key) + " " + copy.uid);
  stage_.agenda.After((200 + Draw(order.key, "admits", 4'000)) * kMs,
                      [this, key = order.key, uid = copy.uid] { Admit(key, uid); });
  return Done{};
}

MemberCopy* OwnQueues::Find(const DispatchKey& key, const std::string& uid) {
  const auto found = copies_.find(key);
  return found == copies_.end() || found->second.uid != uid ? nullptr : &found->second;
}

void OwnQueues::Admit(const DispatchKey& key, const std::string& uid) {
  MemberCopy* const copy = Find(key, uid);
  if (copy == nullptr) return;
  stage_.Note("admitted there " + Text(key));
  copy->admitted = true;
  copy->evicted = false;
  copy->message.clear();
  copy->admitted_since = stage_.clock.WallNow();
  let_.insert(key);
  on_admitted(key);
  if (stage_.Happens(&SwarmOptions::disturbed_objects, 15)) {
    stage_.agenda.After(Draw(key, "takes back", 8'000) * kMs,
                        [this, key, uid] { TakeBack(key, uid); });
  }
}

void OwnQueues::TakeBack(const DispatchKey& key, const std::string& uid) {
  MemberCopy* const copy = Find(key, uid);
  if (copy == nullptr) return;
  stage_.Note("taken back there " + Text(key));
  copy->admitted = false;
  copy->evicted = true;
  copy->message = "preempted there";
  stage_.agenda.After((500 + Draw(key, "admits again", 6'000)) * kMs,
                      [this, key, uid] { Admit(key, uid); });
}

Result<Done> OwnQueues::Remove(const CopyRemoval& removal) {
  std::erase_if(copies_, [&](const auto& one) {
    const MemberCopy& copy = one.second;
    const bool meant = one.first.cluster == removal.cluster && copy.ns == removal.ns &&
                       copy.name == removal.name && copy.uid == removal.uid;
    if (meant) stage_.Note("copy gone " + Text(one.first));
    return meant;
  });
  return Done{};
}

std::vector<MemberCopy> OwnQueues::List(const std::string& cluster) const {
  std::vector<MemberCopy> all;
  for (const auto& [key, copy] : copies_) {
    if (key.cluster == cluster) all.push_back(copy);
  }
  return all;
}

void OwnQueues::Wipe(const std::string& cluster) {
  std::erase_if(copies_, [&](const auto& one) { return one.first.cluster == cluster; });
}

bool OwnQueues::Lets(const DispatchKey& key) const {
  const auto found = copies_.find(key);
  return found != copies_.end() && found->second.admitted;
}

std::vector<std::string> OwnQueues::Left() const {
  std::vector<std::string> left;
  for (const auto& [key, copy] : copies_)
    left.push_back(key.cluster + " " + copy.ns + "/" + copy.name);
  return left;
}

}  // namespace muster::sim
