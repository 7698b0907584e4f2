// The questions about changes of configuration objects, for all use cases that change some.
#include "api/service/object_rights.h"

#include <algorithm>
#include <utility>

#include "api/auth/grants.h"
#include "api/service/quota_rights.h"
#include "api/service/resource_refs.h"
#include "api/service/validate.h"
#include "schedd/base/find_in.h"
#include "schedd/base/limits.h"

namespace muster::api {
namespace {

using auth::Verb;

bool HoldsQuotas(const ObjectChange& change) {
  return change.kind == ObjectKind::kClusterQueue || change.kind == ObjectKind::kCohort;
}

// How strict a ClusterQueue is. To say nothing is less than to say baseline: a namespace may allow
// more, and the stricter of the two counts.
int StrictnessOf(const ConfigView& config, const std::string& queue) {
  const auto found = config.cluster_queues.find(queue);
  if (found == config.cluster_queues.end() || !found->second.pod_security) return 1;
  switch (*found->second.pod_security) {
    case PodSecurityLevel::kPrivileged:
      return 0;
    case PodSecurityLevel::kBaseline:
      return 2;
    case PodSecurityLevel::kRestricted:
      return 3;
  }
  return 1;
}

// Who administers a queue does not thereby open the machines behind it.
Status JudgeLevel(const auth::Authorizer& authorizer, const auth::Principal& who,
                  const ConfigView& before, const ConfigView& after, const std::string& queue) {
  if (StrictnessOf(after, queue) >= StrictnessOf(before, queue)) return Done{};
  const Status allowed = authorizer.Authorize(
      who, Verb::kEscalate, RefOf(shapes::InfoOf(ObjectKind::kClusterQueue), "", queue));
  if (allowed.ok()) return allowed;
  return Error{Code::kPermissionDenied, "the Pod Security level of ClusterQueue " + queue +
                                            " cannot become weaker: " + allowed.error().detail};
}

// Jobs of a LocalQueue take the quota of its ClusterQueue, and run at the level and on the machines
// that it leads to. So it is for the ClusterQueue's administrator to say who may point there.
Status JudgeTarget(const auth::Authorizer& authorizer, const auth::Principal& who,
                   const ConfigView& before, const ConfigView& after, const ObjectChange& change) {
  const std::pair<std::string, std::string> key{change.ns, change.name};
  const LocalQueue* now = FindIn(after.local_queues, key);
  const LocalQueue* old = FindIn(before.local_queues, key);
  if (now == nullptr || (old != nullptr && old->cluster_queue == now->cluster_queue)) return Done{};
  const auth::ResourceRef target = ClusterQueueRef(now->cluster_queue);
  if (authorizer.Allows(who, Verb::kUpdate, target)) return Done{};
  const Status allowed = authorizer.Authorize(who, Verb::kUse, target);
  if (allowed.ok()) return allowed;
  return Error{Code::kPermissionDenied,
               "LocalQueue " + change.ns + "/" + change.name + " cannot point at ClusterQueue " +
                   now->cluster_queue + ", which needs the verb use or update on it: " +
                   allowed.error().detail};
}

// A token whose end is not known, or far away, is one that nobody thinks of any more.
Status JudgeTokenEnd(const ConfigView& after, const std::string& name, WallTime now) {
  const AccessToken* token = after.access->FindToken(name);
  if (token == nullptr) return Done{};
  if (!token->expires.set()) return InvalidField("spec.expires", "is required");
  if (token->expires <= now.PlusSeconds(limits::kTokenLongestTtlS)) return Done{};
  return InvalidField(
      "spec.expires",
      "must be at most " + std::to_string(limits::kTokenLongestTtlS / 86'400) + " days ahead");
}

// What one change gives.
Status JudgeGrant(const auth::Authorizer& authorizer, const auth::Principal& who,
                  const ConfigView& before, const ConfigView& after, const ObjectChange& change,
                  WallTime now) {
  if (change.kind == ObjectKind::kClusterQueue)
    return JudgeLevel(authorizer, who, before, after, change.name);
  if (change.kind == ObjectKind::kLocalQueue)
    return JudgeTarget(authorizer, who, before, after, change);
  Status granted = auth::CheckGrant(*before.access, *after.access, authorizer, who,
                                    {change.kind, change.ns, change.name});
  if (!granted.ok() || change.kind != ObjectKind::kAccessToken) return granted;
  return JudgeTokenEnd(after, change.name, now);
}

}  // namespace

// Both rights are asked for by Allows; Authorize, which notes refusals, is asked for what the put
// turns out to be. The object may come or go before the commit, hence the fence.
Result<PutFence> MayPut(const auth::Authorizer& authorizer, const auth::Principal& who,
                        const ObjectTable& objects, ObjectKind kind, const std::string& ns,
                        const std::string& name) {
  const shapes::KindInfo& info = shapes::InfoOf(kind);
  const bool create = authorizer.Allows(who, Verb::kCreate, RefOf(info, ns, ""));
  const bool update = authorizer.Allows(who, Verb::kUpdate, RefOf(info, ns, name));
  const bool known = create || update;
  const bool exists =
      known && objects.find({kind, info.namespaced ? ns : "", name}) != objects.end();
  const Status allowed = exists ? authorizer.Authorize(who, Verb::kUpdate, RefOf(info, ns, name))
                                : authorizer.Authorize(who, Verb::kCreate, RefOf(info, ns, ""));
  if (!allowed.ok()) return allowed.error();
  if (create && update) return PutFence::kNone;
  return create ? PutFence::kMustNotExist : PutFence::kMustExist;
}

void SetFence(PutFence fence, ObjectChange* change) {
  if (fence == PutFence::kMustNotExist) change->must_not_exist = true;
  if (fence == PutFence::kMustExist) change->must_exist = true;
}

bool OwnsToken(const ConfigView& config, const auth::Principal& who, ObjectKind kind,
               const std::string& name) {
  if (kind != ObjectKind::kAccessToken) return false;
  const AccessToken* token = config.access->FindToken(name);
  return token != nullptr && token->user == who.user;
}

bool MayOwnToken(const auth::Authorizer& authorizer, const auth::Principal& who, Verb verb,
                 const ConfigView& config, ObjectKind kind, const std::string& name) {
  return OwnsToken(config, who, kind, name) &&
         authorizer.Allows(who, verb, RefOf(shapes::InfoOf(kind), "", name, kOwnSubresource));
}

Result<PutFence> MayChange(const auth::Authorizer& authorizer, const auth::Principal& who,
                           const ConfigView& config, const ObjectTable& objects,
                           const ObjectChange& change, Verb replace) {
  const shapes::KindInfo& info = shapes::InfoOf(change.kind);
  if (change.remove &&
      MayOwnToken(authorizer, who, Verb::kDelete, config, change.kind, change.name))
    return PutFence::kNone;
  if (change.must_not_exist || change.remove || change.must_exist) {
    const Verb verb = change.must_not_exist ? Verb::kCreate
                      : change.remove       ? Verb::kDelete
                                            : replace;
    const Status allowed = authorizer.Authorize(
        who, verb, RefOf(info, change.ns, verb == Verb::kCreate ? "" : change.name));
    return allowed.ok() ? Result<PutFence>(PutFence::kNone) : allowed.error();
  }
  return MayPut(authorizer, who, objects, change.kind, change.ns, change.name);
}

Status JudgeGrants(const auth::Authorizer& authorizer, const auth::Principal& who,
                   const ConfigView& before, const ConfigView& after,
                   const std::vector<ObjectChange>& changes, WallTime now) {
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const ObjectChange& change = changes[i];
    // A queue that is removed and made again without its level would be a way around it.
    if (change.remove && change.kind != ObjectKind::kClusterQueue) continue;
    const Status granted = JudgeGrant(authorizer, who, before, after, change, now);
    if (granted.ok()) continue;
    return changes.size() == 1 ? granted : Status(AtDocument(i, granted.error()));
  }
  return Done{};
}

Status JudgeQuotas(const auth::Authorizer& authorizer, const auth::Principal& who,
                   const ConfigView& before, const ConfigView& after, const ObjectTable& objects,
                   std::vector<ObjectChange>* changes) {
  if (std::none_of(changes->begin(), changes->end(), HoldsQuotas)) return Done{};
  if (OwnsAllCohorts(authorizer, who)) return Done{};
  const Status kept = CheckQuotaRights(authorizer, who, before, after);
  if (!kept.ok()) return kept;
  for (ObjectChange& change : *changes) {
    if (!HoldsQuotas(change) || change.expected_resource_version != 0) continue;
    const auto found = objects.find({change.kind, "", change.name});
    if (found != objects.end()) {
      change.expected_resource_version = found->second->resource_version;
    } else if (!change.remove) {
      change.must_not_exist = true;
    }
  }
  return Done{};
}

}  // namespace muster::api
