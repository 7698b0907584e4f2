// Follows the MemberCluster objects. Every second, if the table of objects has changed, it reads
// from it the members that name a kubeconfig Secret and the heartbeat periods of all others, and
// has backends/fleet add, remove or reload members accordingly. A flag of the same name wins: such
// an object names no Secret. Tables are immutable, so an equal pointer means that nothing has
// changed.
#include "schedd/daemon/fleet.h"

#include <chrono>
#include <optional>
#include <utility>

#include "api/service/registered_member.h"
#include "schedd/base/mutex.h"
#include "schedd/text/base64.h"
#include "schedd/text/json.h"
#include "schedd/text/lenient.h"

namespace muster {
namespace {

constexpr std::chrono::seconds kLookEvery{1};

// spec.heartbeatPeriodSeconds, or the default of the kind. The reader of the object has checked the
// bounds.
std::int64_t HeartbeatOf(const json::value& member) {
  return IntegerAt(member, {"spec", "heartbeatPeriodSeconds"})
      .value_or(MemberDeclaration().heartbeat_s);
}

// Calls visit(object, manifest) for each MemberCluster whose manifest can be read, by name.
template <class Visit>
void ForEachMember(const ObjectTable& objects, Visit visit) {
  for (auto it = objects.lower_bound({ObjectKind::kMemberCluster, "", ""});
       it != objects.end() && std::get<0>(it->first) == ObjectKind::kMemberCluster; ++it) {
    const auto manifest = ParseJson(it->second->manifest);
    if (manifest.ok()) visit(*it->second, *manifest);
  }
}

// The kubeconfig of the Secret "namespace/name"; "" if the Secret is missing or unreadable.
std::string KubeconfigIn(const ObjectTable& objects, const std::string& secret) {
  const std::size_t slash = secret.find('/');
  if (slash == std::string::npos) return "";
  const auto found =
      objects.find({ObjectKind::kSecret, secret.substr(0, slash), secret.substr(slash + 1)});
  if (found == objects.end()) return "";
  const auto manifest = ParseJson(found->second->manifest);
  if (!manifest.ok()) return "";
  return DecodeBase64(TextAt(*manifest, {"data", "kubeconfig"})).value_or("");
}

}  // namespace

// The settings of a member are annotations of its object (api/service/registered_member.h).
std::vector<MemberDeclaration> DeclaredMembers(const ObjectTable& objects) {
  std::vector<MemberDeclaration> members;
  ForEachMember(objects, [&](const StoredObject& object, const json::value& manifest) {
    const std::string secret = api::KubeconfigSecretOf(object);
    if (secret.empty()) return;
    MemberDeclaration member;
    member.name = object.name;
    member.kubeconfig = KubeconfigIn(objects, secret);
    member.context = TextAt(manifest, {"metadata", "annotations", api::kKubeconfigContext});
    member.fast = TextAt(manifest, {"metadata", "annotations", api::kFastDispatch}) == "true";
    member.heartbeat_s = HeartbeatOf(manifest);
    members.push_back(std::move(member));
  });
  return members;
}

std::map<std::string, std::int64_t> HeartbeatsOfFlagged(const ObjectTable& objects) {
  std::map<std::string, std::int64_t> periods;
  ForEachMember(objects, [&](const StoredObject& object, const json::value& manifest) {
    const bool kubernetes =
        TextAt(manifest, {"metadata", "annotations", "muster.io/backend"}) == "kubernetes";
    if (kubernetes && api::KubeconfigSecretOf(object).empty())
      periods[object.name] = HeartbeatOf(manifest);
  });
  return periods;
}

Fleet::Fleet(std::string directory, k8s::KubernetesMembers& backend,
             dispatch::Dispatcher& dispatcher, std::function<WorldViewPtr()> view)
    : view_(std::move(view)),
      backend_(backend),
      registry_(std::move(directory), {.add =
                                           [&backend, &dispatcher](k8s::MemberOptions options) {
  const std::string name = options.name;
  backend.AddMember(std::move(options));
  dispatcher.AddCluster(name, backend);
                                       },
                                       .remove =
                                           [&backend, &dispatcher](const std::string& name) {
  dispatcher.RemoveCluster(name);
  backend.DropMember(name);
                                       },
                .reload = [&backend](const std::string& name) { backend.ReloadMember(name); },
                .pace = [&backend](const std::string& name, std::int64_t heartbeat_s) {
                  backend.SetHeartbeat(name, heartbeat_s);
                }}) {}

// The first Look is done here, so that members which objects declare are served when Start returns.
void Fleet::Start() {
  Look();
  thread_ = std::jthread([this](const std::stop_token& stop) {
    while (!SleepFor(stop, kLookEvery)) Look();
  });
}

void Fleet::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

// The table counts as carried out only when the registry has taken all of it; else the next round
// tries again.
void Fleet::Look() {
  const WorldViewPtr world = view_();
  if (!world->ready || world->objects == nullptr || world->objects == seen_) return;
  std::map<std::string, std::int64_t> periods = HeartbeatsOfFlagged(*world->objects);
  for (const auto& [name, period] : periods) {
    const auto told = paced_.find(name);
    if (told == paced_.end() || told->second != period) backend_.SetHeartbeat(name, period);
  }
  paced_ = std::move(periods);
  if (registry_.Apply(DeclaredMembers(*world->objects))) seen_ = world->objects;
}

}  // namespace muster
