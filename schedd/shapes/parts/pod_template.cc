// The checks follow the validation of core/v1 Pod in Kubernetes, as far as a mistake would let the
// member cluster refuse the object after the job has waited in its queue: names, images,
// environment, volumes and their mounts, ports, restart policies. They are called from ReadPodSet
// at the end of the file, which then reads amounts, constraints and topology.
//
// `(void)field.Int(...)` reads a value only for the problem that a wrong type or range records.
#include "schedd/shapes/parts/pod_template.h"

#include <set>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/shapes/parts/pod_amounts.h"
#include "schedd/shapes/parts/pod_constraints.h"
#include "schedd/shapes/parts/pod_resources.h"
#include "schedd/shapes/parts/topology_request.h"

namespace muster::shapes {
namespace {

using NameSet = std::set<std::string_view>;

// A list whose elements must be strings.
void CheckStrings(const Field& list) {
  for (const auto& item : list.Elements()) {
    if (!item.present()) item.Fail("must be a string, not null");
    (void)item.String();
  }
}

// A string that must be present and not empty.
void RequireText(const Field& field) {
  if (field.Require() && field.StringOr("?").empty()) field.Fail("must not be empty");
}

// env[].valueFrom: exactly one source, complete.
void CheckEnvSource(const Field& source) {
  const auto* object = source.Object();
  if (object == nullptr) return;
  if (object->size() != 1) source.Fail("must name exactly one source");
  for (const auto kind : {"configMapKeyRef", "secretKeyRef"}) {
    const Field reference = source[kind];
    if (!reference.present()) continue;
    RequireText(reference["name"]);
    RequireText(reference["key"]);
    (void)reference["optional"].Bool();
  }
  if (source["fieldRef"].present()) RequireText(source["fieldRef"]["fieldPath"]);
  if (source["resourceFieldRef"].present()) RequireText(source["resourceFieldRef"]["resource"]);
}

// A variable has a value or a source of a value, not both; envFrom takes exactly one source.
void CheckEnvironment(const Field& container) {
  for (const auto& variable : container["env"].Elements()) {
    const Field name = variable["name"];
    if (name.Require() && !IsEnvName(name.StringOr("x"))) name.Fail(kEnvNameRule);
    const bool has_value = !variable["value"].StringOr("").empty();
    const Field from = variable["valueFrom"];
    if (has_value && from.present()) from.Fail("must be absent when value is set");
    CheckEnvSource(from);
  }
  for (const auto& source : container["envFrom"].Elements()) {
    const bool map = source["configMapRef"].present();
    const bool secret = source["secretRef"].present();
    if (map == secret) source.Fail("must have exactly one of configMapRef and secretRef");
    if (map) RequireText(source["configMapRef"]["name"]);
    if (secret) RequireText(source["secretRef"]["name"]);
  }
}

// Each mount names a volume of the pod, and its path is unique in the container.
void CheckMounts(const Field& container, const NameSet& volumes) {
  NameSet paths;
  for (const auto& mount : container["volumeMounts"].Elements()) {
    const Field name = mount["name"];
    const Field path = mount["mountPath"];
    if (name.Require() && name.String() && !volumes.contains(*name.String())) {
      name.Fail("names no volume of the pod: " + Quoted(*name.String()));
    }
    if (!path.Require()) continue;
    const std::string_view text = path.StringOr("");
    if (text.empty()) path.Fail("must not be empty");
    if (text.find(':') != std::string_view::npos) path.Fail("must not contain ':'");
    if (!paths.insert(text).second) path.Fail("must be unique in its container");
    const std::string_view sub = mount["subPath"].StringOr("");
    if (sub.starts_with('/') || sub == ".." || sub.starts_with("../") ||
        sub.find("/../") != std::string_view::npos || sub.ends_with("/..")) {
      mount["subPath"].Fail("must be a relative path without \"..\"");
    }
  }
}

// Port numbers and protocols as Kubernetes allows them.
void CheckPorts(const Field& container) {
  for (const auto& port : container["ports"].Elements()) {
    const Field number = port["containerPort"];
    if (number.Require()) (void)number.Int(1, 65535);
    (void)port["hostPort"].Int(0, 65535);
    (void)port["protocol"].OneOf({"TCP", "UDP", "SCTP"});
  }
}

// `names` collects the names of all containers of the pod: init containers share them.
// restartPolicy is a field of init containers only, where Always makes a sidecar.
void CheckContainer(const Field& container, bool init, const NameSet& volumes, NameSet* names) {
  if (container.Object() == nullptr) {
    if (!container.present()) container.Fail("must be an object, not null");
    return;
  }
  const Field name = container["name"];
  if (name.Require()) {
    if (const auto text = name.String()) {
      if (!IsDnsLabel(*text)) name.Fail(kDnsLabelRule);
      if (!names->insert(*text).second) name.Fail("must be unique in the pod: " + Quoted(*text));
    }
  }
  RequireText(container["image"]);
  CheckStrings(container["command"]);
  CheckStrings(container["args"]);
  (void)container["workingDir"].String();
  (void)container["imagePullPolicy"].OneOf({"Always", "IfNotPresent", "Never"});
  CheckEnvironment(container);
  CheckMounts(container, volumes);
  CheckPorts(container);
  const Field restart = container["restartPolicy"];
  if (init) {
    (void)restart.OneOf({"Always"});
  } else {
    restart.Refuse("may be set for init containers only");
  }
}

// The names of the pod's volumes. A volume has a name and one other member, its source.
NameSet ReadVolumes(const Field& spec) {
  NameSet names;
  for (const auto& volume : spec["volumes"].Elements()) {
    const Field name = volume["name"];
    if (name.Require()) {
      if (const auto text = name.String()) {
        if (!IsDnsLabel(*text)) name.Fail(kDnsLabelRule);
        if (!names.insert(*text).second) name.Fail("must be unique in the pod: " + Quoted(*text));
      }
    }
    if (const auto* object = volume.Object(); object != nullptr && object->size() > 2) {
      volume.Fail("must have exactly one source");
    }
    if (volume["configMap"].present()) RequireText(volume["configMap"]["name"]);
    if (volume["secret"].present()) RequireText(volume["secret"]["secretName"]);
    if (volume["hostPath"].present()) RequireText(volume["hostPath"]["path"]);
    if (volume["emptyDir"].present()) (void)volume["emptyDir"]["sizeLimit"].Quantity("memory");
  }
  return names;
}

// Kinds whose jobs end may not restart a successful container for ever.
void CheckRestart(const Field& restart, RestartRule rule) {
  const auto value = restart.OneOf({"Always", "OnFailure", "Never"});
  switch (rule) {
    case RestartRule::kAny:
      return;
    case RestartRule::kNeverOrOnFailure:
      if (!restart.present()) restart.Fail("is required: OnFailure or Never");
      [[fallthrough]];
    case RestartRule::kNeverOrOnFailureDefaulted:
      if (value == "Always") restart.Fail("must be OnFailure or Never: the job has an end");
      return;
    case RestartRule::kAlways:
      if (value && value != "Always")
        restart.Fail("must be Always: these pods serve until deleted");
      return;
  }
}

// All containers of the pod, with the volumes that they may mount.
void CheckContainers(const Field& spec, const PodRules& rules) {
  const NameSet volumes = ReadVolumes(spec);
  NameSet names;
  const Field containers = spec["containers"];
  const auto* list = containers.Require() ? containers.Array() : nullptr;
  if (list != nullptr && list->empty()) containers.Fail("must have at least one container");
  for (const auto& container : containers.Elements())
    CheckContainer(container, false, volumes, &names);
  if (rules.required_container != nullptr && list != nullptr &&
      !names.contains(rules.required_container)) {
    containers.Fail(std::string("must have a container named \"") + rules.required_container +
                    "\"");
  }
  for (const auto& container : spec["initContainers"].Elements())
    CheckContainer(container, true, volumes, &names);
}

// Fields that Muster cannot carry out are refused by name instead of being ignored.
void CheckPodSpec(const Field& spec, const PodRules& rules) {
  CheckContainers(spec, rules);
  CheckRestart(spec["restartPolicy"], rules.restart);
  (void)spec["activeDeadlineSeconds"].Int(1);
  (void)spec["terminationGracePeriodSeconds"].Int(0);
  spec["resourceClaims"].Refuse("dynamic resource allocation is not supported by this version");
  spec["schedulingGates"].Refuse("gated pods are not supported by this version");
  spec["ephemeralContainers"].Refuse("must be absent in a template");
}

// The amounts of all pods of the set must fit into 64 bits.
void CheckTotals(const Field& pod_template, const PodSet& pod_set) {
  for (const auto& request : pod_set.requests) {
    if (request.amount == kUnlimited ||
        SaturatingMul(request.amount, pod_set.count) == kUnlimited) {
      pod_template.Fail("asks for more " + request.resource + " than 64 bits can count");
    }
  }
}

}  // namespace

// A template with problems yields a partial pod set, which is never used: the manifest is refused.
PodSet ReadPodSet(const Field& pod_template, std::string name, std::int32_t count,
                  const PodRules& rules) {
  PodSet pod_set;
  pod_set.name = std::move(name);
  pod_set.count = count;
  if (!pod_template.Require() || pod_template.Object() == nullptr) return pod_set;
  const Field metadata = pod_template["metadata"];
  if (metadata.Object() != nullptr) {
    CheckLabels(metadata["labels"]);
    CheckAnnotations(metadata["annotations"]);
  }
  pod_set.topology = ReadTopologyAnnotations(metadata, count);
  const Field spec = rules.may_be_flat ? pod_template : pod_template["spec"];
  if (!spec.Require() || spec.Object() == nullptr) return pod_set;
  CheckPodSpec(spec, rules);
  PodAmounts amounts = ReadPodAmounts(spec);
  CopyLimits(&amounts);
  pod_set.requests = EffectiveRequest(amounts);
  pod_set.constraints = ReadConstraints(spec);
  CheckTotals(pod_template, pod_set);
  return pod_set;
}

// The limits are for the job as a whole.
void CheckPodSets(const Field& where, const PodSets& pod_sets) {
  if (pod_sets.size() > limits::kPodSets) {
    where.Fail("makes " + std::to_string(pod_sets.size()) + " pod sets; at most " +
               std::to_string(limits::kPodSets) + " are allowed");
  }
  std::int64_t pods = 0;
  for (const auto& pod_set : pod_sets) pods += pod_set.count;
  if (pods > limits::kPodsPerJob) {
    where.Fail("makes " + std::to_string(pods) + " pods; at most " +
               std::to_string(limits::kPodsPerJob) + " are allowed");
  }
  CheckTopologyGroups(where, pod_sets);
}

}  // namespace muster::shapes
