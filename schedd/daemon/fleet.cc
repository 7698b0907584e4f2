#include "schedd/daemon/fleet.h"

#include <chrono>
#include <optional>
#include <utility>

#include "api/service/registered_member.h"
#include "schedd/text/base64.h"
#include "schedd/text/json.h"

namespace muster {
namespace {

constexpr std::chrono::seconds kLookEvery{1};

// A text below metadata.annotations or data; "" if there is none.
std::string TextAt(const json::value& object, std::initializer_list<const char*> path) {
  const json::value* at = &object;
  for (const char* key : path) {
    at = at->is_object() ? at->get_object().if_contains(key) : nullptr;
    if (at == nullptr) return "";
  }
  return at->is_string() ? std::string(at->get_string()) : "";
}

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

std::vector<MemberDeclaration> DeclaredMembers(const ObjectTable& objects) {
  std::vector<MemberDeclaration> members;
  for (auto it = objects.lower_bound({ObjectKind::kMemberCluster, "", ""});
       it != objects.end() && std::get<0>(it->first) == ObjectKind::kMemberCluster; ++it) {
    const std::string secret = api::KubeconfigSecretOf(*it->second);
    const auto manifest = ParseJson(it->second->manifest);
    if (secret.empty() || !manifest.ok()) continue;
    MemberDeclaration member;
    member.name = it->second->name;
    member.kubeconfig = KubeconfigIn(objects, secret);
    member.context = TextAt(*manifest, {"metadata", "annotations", api::kKubeconfigContext});
    member.fast = TextAt(*manifest, {"metadata", "annotations", api::kFastDispatch}) == "true";
    members.push_back(std::move(member));
  }
  return members;
}

Fleet::Fleet(std::string directory, k8s::KubernetesMembers& backend,
             dispatch::Dispatcher& dispatcher, std::function<WorldViewPtr()> view)
    : view_(std::move(view)),
      registry_(std::move(directory),
                {.add =
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
                 .reload = [&backend](const std::string& name) { backend.ReloadMember(name); }}) {}

void Fleet::Start() {
  Look();
  thread_ = std::jthread([this](const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      wake_.wait_for(lock, stop, kLookEvery, [] { return false; });
      if (!stop.stop_requested()) Look();
    }
  });
}

void Fleet::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

// A table that is the same one has not changed.
void Fleet::Look() {
  const WorldViewPtr world = view_();
  if (!world->ready || world->objects == nullptr || world->objects == seen_) return;
  if (registry_.Apply(DeclaredMembers(*world->objects))) seen_ = world->objects;
}

}  // namespace muster
