// The controls of level restricted. A container's own security context goes before the pod's: where
// the container says nothing, the pod must have said what is demanded.
#include <algorithm>
#include <array>
#include <string>

#include "schedd/base/names.h"
#include "schedd/shapes/security/pod_security.h"

namespace muster::shapes {
namespace {

constexpr int kEscalationField = 8;
constexpr int kSeccompDemanded = 19;
constexpr int kDropAllDemanded = 22;
constexpr int kRootUserForbidden = 23;
// Pods of Windows have none of Linux' fields, and since this version need none.
constexpr int kWindowsExempt = 25;

constexpr std::array<std::string_view, 9> kRestrictedVolumes = {
    "configMap", "csi",    "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
    "projected", "secret",
};

// A volume has a name and its source; one without a source is an emptyDir.
void CheckVolumeTypes(const Field& pod_spec) {
  for (const Field& volume : pod_spec["volumes"].Elements()) {
    const json::object* members = volume.Object();
    if (members == nullptr) continue;
    for (const auto& member : *members) {
      const std::string_view type = member.key();
      if (type == "name" || member.value().is_null()) continue;
      if (std::find(kRestrictedVolumes.begin(), kRestrictedVolumes.end(), type) ==
          kRestrictedVolumes.end()) {
        volume[type].Fail("is not a type of volume that level restricted allows");
      }
    }
  }
}

void CheckEscalation(const Field& container) {
  const Field flag = container["securityContext"]["allowPrivilegeEscalation"];
  if (flag.BoolOr(true)) flag.Fail("must be false");
}

void CheckNonRoot(const Field& pod_context, const std::vector<Field>& containers) {
  const Field of_pod = pod_context["runAsNonRoot"];
  const std::optional<bool> pod = of_pod.Bool();
  if (pod == false) of_pod.Fail("must not be false");
  for (const Field& container : containers) {
    const Field flag = container["securityContext"]["runAsNonRoot"];
    const std::optional<bool> own = flag.Bool();
    if (own == false) flag.Fail("must not be false");
    if (!own && pod != true) flag.Fail("must be true here or in the pod's securityContext");
  }
}

void CheckRootUser(const Field& context) {
  const Field user = context["runAsUser"];
  if (user.Int() == 0) user.Fail("must not be 0");
}

bool IsConfined(const Field& profile) {
  const auto type = profile["type"].String();
  return type == "RuntimeDefault" || type == "Localhost";
}

void CheckSeccompDemanded(const Field& pod_context, const std::vector<Field>& containers) {
  constexpr const char* kRule = "must be RuntimeDefault or Localhost";
  const Field of_pod = pod_context["seccompProfile"];
  const bool confined = of_pod.present() && IsConfined(of_pod);
  if (of_pod.present() && !confined) of_pod["type"].Fail(kRule);
  for (const Field& container : containers) {
    const Field own = container["securityContext"]["seccompProfile"];
    if (own.present() ? !IsConfined(own) : !confined)
      own["type"].Fail(std::string(kRule) +
                       (own.present() ? "" : ", here or in the pod's securityContext"));
  }
}

void CheckDropAll(const Field& container) {
  const Field capabilities = container["securityContext"]["capabilities"];
  const Field drop = capabilities["drop"];
  const std::vector<Field> dropped = drop.Elements();
  if (std::none_of(dropped.begin(), dropped.end(),
                   [](const Field& one) { return one.StringOr("") == "ALL"; })) {
    drop.Fail("must have \"ALL\"");
  }
  for (const Field& one : capabilities["add"].Elements()) {
    const std::string_view name = one.StringOr("");
    if (name != "NET_BIND_SERVICE") one.Fail("may only be NET_BIND_SERVICE, not " + Quoted(name));
  }
}

}  // namespace

void CheckRestricted(const PodSecurityPolicy& policy, const PodTemplateFields& pod) {
  CheckVolumeTypes(pod.spec);
  const Field pod_context = pod.spec["securityContext"];
  const std::vector<Field> containers = ContainerFields(pod.spec);
  const bool windows =
      policy.minor >= kWindowsExempt && pod.spec["os"]["name"].StringOr("") == "windows";
  if (!windows) {
    for (const Field& container : containers) {
      if (policy.minor >= kEscalationField) CheckEscalation(container);
      if (policy.minor >= kDropAllDemanded) CheckDropAll(container);
    }
    if (policy.minor >= kSeccompDemanded) CheckSeccompDemanded(pod_context, containers);
  }
  CheckNonRoot(pod_context, containers);
  if (policy.minor < kRootUserForbidden) return;
  CheckRootUser(pod_context);
  for (const Field& container : containers) CheckRootUser(container["securityContext"]);
}

}  // namespace muster::shapes
