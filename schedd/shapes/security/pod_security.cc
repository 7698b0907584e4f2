// The controls of level baseline, in the order of the standard's page. Each reads a field with its
// type and fails it where its value is not allowed.
#include "schedd/shapes/security/pod_security.h"

#include <algorithm>
#include <array>
#include <string>

#include "schedd/base/names.h"
#include "schedd/shapes/parts/template_places.h"

namespace muster::shapes {
namespace {

// The versions in which a control came or changed.
constexpr int kSeccompFields = 19;
constexpr int kMoreSysctls = 27, kKeepaliveSysctls = 29, kBufferSysctls = 32;
constexpr int kContainerEngineType = 31;
constexpr int kProbeHosts = 34;
constexpr int kRestrictedSeccomp = 19, kRestrictedCapabilities = 22;

constexpr std::string_view kAppArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";
constexpr std::string_view kSeccompPod = "seccomp.security.alpha.kubernetes.io/pod";
constexpr std::string_view kSeccompPrefix = "container.seccomp.security.alpha.kubernetes.io/";

constexpr std::array<std::string_view, 13> kCapabilities = {
    "AUDIT_WRITE",      "CHOWN",   "DAC_OVERRIDE", "FOWNER",  "FSETID", "KILL",       "MKNOD",
    "NET_BIND_SERVICE", "SETFCAP", "SETGID",       "SETPCAP", "SETUID", "SYS_CHROOT",
};

// A sysctl and the version since which it is allowed.
struct AllowedSysctl {
  std::string_view name;
  int since;
};
constexpr std::array<AllowedSysctl, 12> kSysctls = {{
    {"kernel.shm_rmid_forced", 0},
    {"net.ipv4.ip_local_port_range", 0},
    {"net.ipv4.ip_unprivileged_port_start", 0},
    {"net.ipv4.tcp_syncookies", 0},
    {"net.ipv4.ping_group_range", 0},
    {"net.ipv4.ip_local_reserved_ports", kMoreSysctls},
    {"net.ipv4.tcp_keepalive_time", kKeepaliveSysctls},
    {"net.ipv4.tcp_fin_timeout", kKeepaliveSysctls},
    {"net.ipv4.tcp_keepalive_intvl", kKeepaliveSysctls},
    {"net.ipv4.tcp_keepalive_probes", kKeepaliveSysctls},
    {"net.ipv4.tcp_rmem", kBufferSysctls},
    {"net.ipv4.tcp_wmem", kBufferSysctls},
}};

// A flag that must be false or absent.
void MustBeFalse(const Field& flag) {
  if (flag.BoolOr(false)) flag.Fail("must be false or absent");
}

// A text that must be absent or empty.
void MustBeEmpty(const Field& text) {
  if (!text.StringOr("").empty()) text.Fail("must be absent");
}

void CheckHostProcess(const Field& context) {
  MustBeFalse(context["windowsOptions"]["hostProcess"]);
}

void CheckCapabilities(const Field& context) {
  for (const Field& one : context["capabilities"]["add"].Elements()) {
    const std::string_view name = one.StringOr("");
    if (std::find(kCapabilities.begin(), kCapabilities.end(), name) == kCapabilities.end())
      one.Fail("adds a capability that containers do not have by default: " + Quoted(name));
  }
}

void CheckHostPorts(const Field& container) {
  for (const Field& port : container["ports"].Elements()) {
    const Field host = port["hostPort"];
    if (host.Int().value_or(0) != 0) host.Fail("must be absent: it is a port of the machine");
  }
}

// http and tcp handlers with a host of their own make the kubelet send requests anywhere.
void CheckHandlerHost(const Field& handler) {
  if (!handler.present()) return;
  MustBeEmpty(handler["httpGet"]["host"]);
  MustBeEmpty(handler["tcpSocket"]["host"]);
}

void CheckProbeHosts(const Field& container) {
  for (const auto probe : {"livenessProbe", "readinessProbe", "startupProbe"})
    CheckHandlerHost(container[probe]);
  const Field lifecycle = container["lifecycle"];
  if (!lifecycle.present()) return;
  CheckHandlerHost(lifecycle["postStart"]);
  CheckHandlerHost(lifecycle["preStop"]);
}

// A profile that is given must be of one of the two kinds; Unconfined is neither.
void CheckProfile(const Field& profile) {
  if (profile.Object() == nullptr) return;
  const Field type = profile["type"];
  if (type.Require()) (void)type.OneOf({"RuntimeDefault", "Localhost"});
}

void CheckSeLinux(const PodSecurityPolicy& policy, const Field& context) {
  const Field options = context["seLinuxOptions"];
  if (!options.present()) return;
  const Field type = options["type"];
  const std::string_view text = type.StringOr("");
  const bool engine = text == "container_engine_t" && policy.minor >= kContainerEngineType;
  if (!engine && !text.empty() && text != "container_t" && text != "container_init_t" &&
      text != "container_kvm_t") {
    type.Fail(
        "must be absent, container_t, container_init_t, container_kvm_t or, since version "
        "1.31, container_engine_t");
  }
  MustBeEmpty(options["user"]);
  MustBeEmpty(options["role"]);
}

void CheckProcMount(const Field& context) {
  const Field mount = context["procMount"];
  if (mount.StringOr("Default") != "Default") mount.Fail("must be Default or absent");
}

void CheckSysctls(const PodSecurityPolicy& policy, const Field& pod_context) {
  for (const Field& sysctl : pod_context["sysctls"].Elements()) {
    const Field name = sysctl["name"];
    const std::string_view text = name.StringOr("");
    const bool safe = std::any_of(kSysctls.begin(), kSysctls.end(), [&](const AllowedSysctl& one) {
      return one.name == text && policy.minor >= one.since;
    });
    if (!safe) name.Fail("is not a sysctl that only concerns the pod: " + Quoted(text));
  }
}

// The annotations by which AppArmor and seccomp were chosen before they had fields. Those of
// seccomp are checked in every version, because Muster does not copy them into the fields as an API
// server did.
void CheckProfileAnnotations(const Field& metadata) {
  const json::object* annotations = metadata["annotations"].Object();
  if (annotations == nullptr) return;
  for (const auto& member : *annotations) {
    const std::string_view key = member.key();
    const bool apparmor = key.starts_with(kAppArmorPrefix);
    if (!apparmor && key != kSeccompPod && !key.starts_with(kSeccompPrefix)) continue;
    const Field field = metadata["annotations"].Named(key);
    const std::string_view profile = field.StringOr("");
    const bool allowed = profile == "runtime/default" || profile.starts_with("localhost/") ||
                         (apparmor ? profile.empty() : profile == "docker/default");
    if (!allowed) field.Fail("must be runtime/default or begin with localhost/");
  }
}

// The controls that a pod's and a container's security context share.
void CheckAnyContext(const PodSecurityPolicy& policy, const Field& context) {
  if (context.Object() == nullptr) return;
  CheckHostProcess(context);
  CheckSeLinux(policy, context);
  CheckProfile(context["appArmorProfile"]);
  const bool replaced =
      policy.level == PodSecurityLevel::kRestricted && policy.minor >= kRestrictedSeccomp;
  if (!replaced && policy.minor >= kSeccompFields) CheckProfile(context["seccompProfile"]);
}

void CheckBaselineContainer(const PodSecurityPolicy& policy, const Field& container) {
  CheckHostPorts(container);
  if (policy.minor >= kProbeHosts) CheckProbeHosts(container);
  const Field context = container["securityContext"];
  if (context.Object() == nullptr) return;
  CheckAnyContext(policy, context);
  MustBeFalse(context["privileged"]);
  const bool restricted = policy.level == PodSecurityLevel::kRestricted;
  if (!restricted || policy.minor < kRestrictedCapabilities) CheckCapabilities(context);
  CheckProcMount(context);
}

}  // namespace

PodTemplateFields FieldsOfTemplate(const Field& pod_template) {
  return {pod_template["metadata"], PodSpecOf(pod_template)};
}

std::vector<Field> ContainerFields(const Field& pod_spec) {
  std::vector<Field> all;
  for (const auto list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (Field& container : pod_spec[list].Elements()) all.push_back(container);
  }
  return all;
}

void CheckBaseline(const PodSecurityPolicy& policy, const PodTemplateFields& pod) {
  for (const auto flag : {"hostNetwork", "hostPID", "hostIPC"}) MustBeFalse(pod.spec[flag]);
  CheckAnyContext(policy, pod.spec["securityContext"]);
  CheckSysctls(policy, pod.spec["securityContext"]);
  CheckProfileAnnotations(pod.metadata);
  for (const Field& container : ContainerFields(pod.spec))
    CheckBaselineContainer(policy, container);
  // Restricted has a list of the volumes that it allows.
  if (policy.level == PodSecurityLevel::kRestricted) return;
  for (const Field& volume : pod.spec["volumes"].Elements())
    volume["hostPath"].Refuse("must be absent: it is a directory of the machine");
}

void CheckPodSecurity(const PodSecurityPolicy& policy, const PodTemplateFields& pod) {
  if (policy.level == PodSecurityLevel::kPrivileged) return;
  CheckBaseline(policy, pod);
  if (policy.level == PodSecurityLevel::kRestricted) CheckRestricted(policy, pod);
}

}  // namespace muster::shapes
