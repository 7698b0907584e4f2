// Pod Security Standards (rule U70): each control of both levels, allowed and refused, by version.
#include "schedd/shapes/security/pod_security.h"

#include "schedd/shapes/parts/template_places.h"
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

constexpr int kNewest = PodSecurityPolicy::kLatest;
constexpr auto kBaseline = PodSecurityLevel::kBaseline;
constexpr auto kRestricted = PodSecurityLevel::kRestricted;

// The paths of the fields that the policy does not allow, joined by spaces.
std::string Violations(const PodSecurityPolicy& policy, const std::string& pod_template) {
  const json::value document = Yaml(pod_template);
  Problems problems;
  CheckPodSecurity(policy, FieldsOfTemplate(Field(document, &problems)));
  if (problems.empty()) return "";
  std::string text;
  for (const FieldError& one : problems.ToError().fields)
    text += (text.empty() ? "" : " ") + one.field;
  return text;
}

// A template whose pod spec has `pod` and whose container has `container`.
std::string Template(const std::string& pod, const std::string& container) {
  return "{spec: {" + pod + (pod.empty() ? "" : ", ") + "containers: [{name: c, image: i" +
         (container.empty() ? "" : ", ") + container + "}]}}";
}

// What satisfies level restricted; cases add to it or leave a part out.
constexpr const char* kGoodPod =
    "securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}";
constexpr const char* kGoodContainer =
    "securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}";

struct Case {
  const char* name;
  std::string pod, container;
  std::string violations;
  int minor = kNewest;
};

const std::string kC = "spec.containers[0].";

const Case kBaselineCases[] = {
    {"nothing special", "", "", ""},
    {"host network", "hostNetwork: true", "", "spec.hostNetwork"},
    {"host pid", "hostPID: true", "", "spec.hostPID"},
    {"host ipc", "hostIPC: true", "", "spec.hostIPC"},
    {"host namespaces that are not used", "hostNetwork: false, hostPID: null", "", ""},
    {"a flag of the wrong type", "hostNetwork: 'true'", "", "spec.hostNetwork"},
    {"a host process", "securityContext: {windowsOptions: {hostProcess: true}}", "",
     "spec.securityContext.windowsOptions.hostProcess"},
    {"a host process of a container", "", "securityContext: {windowsOptions: {hostProcess: true}}",
     kC + "securityContext.windowsOptions.hostProcess"},
    {"privileged", "", "securityContext: {privileged: true}", kC + "securityContext.privileged"},
    {"not privileged", "", "securityContext: {privileged: false}", ""},
    {"default capabilities", "",
     "securityContext: {capabilities: {add: [CHOWN, NET_BIND_SERVICE, AUDIT_WRITE, SYS_CHROOT]}}",
     ""},
    {"other capabilities", "", "securityContext: {capabilities: {add: [CHOWN, SYS_ADMIN, ALL]}}",
     kC + "securityContext.capabilities.add[1] " + kC + "securityContext.capabilities.add[2]"},
    {"a capability in small letters", "", "securityContext: {capabilities: {add: [chown]}}",
     kC + "securityContext.capabilities.add[0]"},
    {"a host path", "volumes: [{name: v, hostPath: {path: /}}]", "", "spec.volumes[0].hostPath"},
    {"an empty host path", "volumes: [{name: v, hostPath: {}}]", "", "spec.volumes[0].hostPath"},
    {"no host path", "volumes: [{name: v, hostPath: null, emptyDir: {}}]", "", ""},
    {"nfs is no host path", "volumes: [{name: v, nfs: {server: s, path: /}}]", "", ""},
    {"a host port", "", "ports: [{containerPort: 1}, {containerPort: 2, hostPort: 80}]",
     kC + "ports[1].hostPort"},
    {"host port 0", "", "ports: [{containerPort: 1, hostPort: 0}]", ""},
    {"AppArmor unconfined", "securityContext: {appArmorProfile: {type: Unconfined}}", "",
     "spec.securityContext.appArmorProfile.type"},
    {"AppArmor without a type", "", "securityContext: {appArmorProfile: {}}",
     kC + "securityContext.appArmorProfile.type"},
    {"AppArmor of the machine", "",
     "securityContext: {appArmorProfile: {type: Localhost, localhostProfile: p}}", ""},
    {"SELinux user and role", "securityContext: {seLinuxOptions: {user: u, role: r}}", "",
     "spec.securityContext.seLinuxOptions.user spec.securityContext.seLinuxOptions.role"},
    {"SELinux type of the machine", "", "securityContext: {seLinuxOptions: {type: spc_t}}",
     kC + "securityContext.seLinuxOptions.type"},
    {"SELinux type of containers", "", "securityContext: {seLinuxOptions: {type: container_t}}",
     ""},
    {"SELinux engine, new", "", "securityContext: {seLinuxOptions: {type: container_engine_t}}", "",
     31},
    {"SELinux engine, old", "", "securityContext: {seLinuxOptions: {type: container_engine_t}}",
     kC + "securityContext.seLinuxOptions.type", 30},
    {"all of /proc", "", "securityContext: {procMount: Unmasked}",
     kC + "securityContext.procMount"},
    {"all of /proc, said of a user namespace", "hostUsers: false",
     "securityContext: {procMount: Unmasked}", kC + "securityContext.procMount"},
    {"the usual /proc", "", "securityContext: {procMount: Default}", ""},
    {"seccomp unconfined", "securityContext: {seccompProfile: {type: Unconfined}}", "",
     "spec.securityContext.seccompProfile.type"},
    {"seccomp unconfined in a container", "",
     "securityContext: {seccompProfile: {type: Unconfined}}",
     kC + "securityContext.seccompProfile.type"},
    {"seccomp fields before they counted", "",
     "securityContext: {seccompProfile: {type: Unconfined}}", "", 18},
    {"sysctls of the pod",
     "securityContext: {sysctls: [{name: net.ipv4.tcp_syncookies, value: '1'}, "
     "{name: kernel.msgmax, value: '1'}]}",
     "", "spec.securityContext.sysctls[1].name"},
    {"new sysctls", "securityContext: {sysctls: [{name: net.ipv4.tcp_rmem, value: '1'}]}", "", "",
     32},
    {"new sysctls in an old version",
     "securityContext: {sysctls: [{name: net.ipv4.tcp_rmem, value: '1'}]}", "",
     "spec.securityContext.sysctls[0].name", 31},
    {"a probe of another host", "", "livenessProbe: {httpGet: {host: 10.0.0.1, port: 80}}",
     kC + "livenessProbe.httpGet.host"},
    {"a hook to another host", "", "lifecycle: {preStop: {tcpSocket: {host: h, port: 80}}}",
     kC + "lifecycle.preStop.tcpSocket.host"},
    {"a probe before they counted", "", "livenessProbe: {httpGet: {host: h, port: 80}}", "", 33},
    {"a probe of the pod itself", "", "readinessProbe: {httpGet: {path: /, port: 80}}", ""},
    {"root", "securityContext: {runAsUser: 0}", "securityContext: {runAsUser: 0}", ""},
};

TEST(PodSecurity, EachControlOfBaseline) {
  for (const Case& one : kBaselineCases) {
    EXPECT_EQ(Violations({kBaseline, one.minor}, Template(one.pod, one.container)), one.violations)
        << one.name;
    EXPECT_EQ(Violations({PodSecurityLevel::kPrivileged}, Template(one.pod, one.container)), "")
        << one.name;
  }
}

TEST(PodSecurity, OldAnnotationsOfProfilesCount) {
  const auto with = [](const std::string& annotation) {
    return Violations({kBaseline}, "{metadata: {annotations: {" + annotation +
                                       "}}, spec: {containers: [{name: c, image: i}]}}");
  };
  const std::string apparmor = "container.apparmor.security.beta.kubernetes.io/c";
  EXPECT_EQ(with(apparmor + ": unconfined"), "metadata.annotations[" + apparmor + "]");
  EXPECT_EQ(with(apparmor + ": localhost/mine"), "");
  EXPECT_EQ(with(apparmor + ": runtime/default"), "");
  const std::string seccomp = "seccomp.security.alpha.kubernetes.io/pod";
  EXPECT_EQ(with(seccomp + ": unconfined"), "metadata.annotations[" + seccomp + "]");
  EXPECT_EQ(with(seccomp + ": docker/default"), "");
  EXPECT_EQ(with("container."
                 "seccomp.security.alpha.kubernetes.io/c: unconfined"),
            "metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]");
}

const std::string kContext = kC + "securityContext.";
const Case kRestrictedCases[] = {
    {"what it demands", kGoodPod, kGoodContainer, ""},
    {"nothing of it", "", "",
     kContext + "allowPrivilegeEscalation " + kContext + "capabilities.drop " + kContext +
         "seccompProfile.type " + kContext + "runAsNonRoot"},
    {"nothing of it, in the first version", "", "", kContext + "runAsNonRoot", 7},
    {"nothing of it, with one control more", "", "",
     kContext + "allowPrivilegeEscalation " + kContext + "runAsNonRoot", 8},
    {"a host path", std::string(kGoodPod) + ", volumes: [{name: v, hostPath: {path: /}}]",
     kGoodContainer, "spec.volumes[0].hostPath"},
    {"volumes that it allows",
     std::string(kGoodPod) +
         ", volumes: [{name: a, emptyDir: {}}, {name: b, configMap: {name: m}}, "
         "{name: c, secret: {secretName: s}}, {name: d, csi: {driver: d}}, "
         "{name: e, projected: {}}, {name: f}]",
     kGoodContainer, ""},
    {"volumes that it does not",
     std::string(kGoodPod) +
         ", volumes: [{name: a, nfs: {server: s, path: /}}, {name: b, gitRepo: {}}]",
     kGoodContainer, "spec.volumes[0].nfs spec.volumes[1].gitRepo"},
    {"a pod as root", "securityContext: {runAsNonRoot: false, seccompProfile: {type: Localhost}}",
     kGoodContainer, "spec.securityContext.runAsNonRoot " + kContext + "runAsNonRoot"},
    {"a container as root", kGoodPod,
     "securityContext: {runAsNonRoot: false, allowPrivilegeEscalation: false, "
     "capabilities: {drop: [ALL]}}",
     kContext + "runAsNonRoot"},
    {"user 0",
     "securityContext: {runAsNonRoot: true, runAsUser: 0, seccompProfile: {type: Localhost}}",
     kGoodContainer, "spec.securityContext.runAsUser"},
    {"user 0 before it counted",
     "securityContext: {runAsNonRoot: true, runAsUser: 0, seccompProfile: {type: Localhost}}",
     kGoodContainer, "", 22},
    {"user 0, said of a user namespace",
     "hostUsers: false, securityContext: {runAsNonRoot: true, runAsUser: 0, "
     "seccompProfile: {type: Localhost}}",
     kGoodContainer, "spec.securityContext.runAsUser"},
    {"the one capability that it allows", kGoodPod,
     "securityContext: {allowPrivilegeEscalation: false, "
     "capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}",
     ""},
    {"a capability that baseline allows", kGoodPod,
     "securityContext: {allowPrivilegeEscalation: false, "
     "capabilities: {drop: [ALL], add: [CHOWN]}}",
     kContext + "capabilities.add[0]"},
    {"some capabilities dropped", kGoodPod,
     "securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [CHOWN]}}",
     kContext + "capabilities.drop"},
    {"escalation", kGoodPod,
     "securityContext: {allowPrivilegeEscalation: true, capabilities: {drop: [ALL]}}",
     kContext + "allowPrivilegeEscalation"},
    {"seccomp unconfined in the container", kGoodPod,
     "securityContext: {seccompProfile: {type: Unconfined}, allowPrivilegeEscalation: false, "
     "capabilities: {drop: [ALL]}}",
     kContext + "seccompProfile.type"},
    {"seccomp of the container alone", "securityContext: {runAsNonRoot: true}",
     "securityContext: {seccompProfile: {type: RuntimeDefault}, allowPrivilegeEscalation: false, "
     "capabilities: {drop: [ALL]}}",
     ""},
    {"baseline's controls too", std::string(kGoodPod) + ", hostPID: true", kGoodContainer,
     "spec.hostPID"},
    {"Windows needs less", "os: {name: windows}, securityContext: {runAsNonRoot: true}", "", ""},
    {"Windows before it was told apart",
     "os: {name: windows}, securityContext: {runAsNonRoot: true}", "",
     kContext + "allowPrivilegeEscalation " + kContext + "capabilities.drop " + kContext +
         "seccompProfile.type",
     24},
};

TEST(PodSecurity, EachControlOfRestricted) {
  for (const Case& one : kRestrictedCases) {
    EXPECT_EQ(Violations({kRestricted, one.minor}, Template(one.pod, one.container)),
              one.violations)
        << one.name;
  }
}

TEST(PodSecurity, EveryContainerIsLookedAt) {
  EXPECT_EQ(Violations({kBaseline},
                       "{spec: {initContainers: [{securityContext: {privileged: true}}], "
                       "containers: [{}, {securityContext: {privileged: true}}], "
                       "ephemeralContainers: [{securityContext: {privileged: true}}]}}"),
            "spec.initContainers[0].securityContext.privileged "
            "spec.containers[1].securityContext.privileged "
            "spec.ephemeralContainers[0].securityContext.privileged");
  EXPECT_EQ(Violations({kBaseline}, "{hostNetwork: true, containers: [{}]}"), "hostNetwork")
      << "an early Workload has a pod spec in the place of the template";
}

}  // namespace
}  // namespace muster::shapes
