// The annotations were checked when the queue was applied; one that cannot be read adds nothing.
#include "backends/k8s/batch_pods.h"

#include <utility>

#include "backends/k8s/status/reader.h"
#include "schedd/model/member_labels.h"
#include "schedd/model/shared_directory.h"
#include "schedd/text/lenient.h"

namespace muster::k8s {
namespace {

constexpr char kToolsVolume[] = "muster-tools";

json::array* ArrayAt(json::object* object, const char* key) {
  json::value& value = (*object)[key];
  if (!value.is_array()) value.emplace_array();
  return &value.get_array();
}

json::object Mount(std::string_view volume, std::string_view path, bool read_only) {
  json::object mount = {{"name", volume}, {"mountPath", path}};
  if (read_only) mount["readOnly"] = true;
  return mount;
}

// An image that has Muster installed has it below one of these prefixes.
std::string CopyText() {
  const std::string to(kToolsPath);
  return "for prefix in /usr/local /usr; do\n"
         "  [ -d $prefix/libexec/muster/slurm ] || continue\n"
         "  cp -RP $prefix/libexec/muster/slurm $prefix/bin/muster $prefix/bin/muster-step-agent " +
         to +
         "\n"
         "  exit\n"
         "done\n"
         "echo \"the image that " +
         std::string(kToolsImageAnnotation) +
         " names has no Slurm commands\" >&2\n"
         "exit 1\n";
}

// The amounts are the script's, so that the pod asks for no more than without it.
void AddTools(std::string_view image, json::object* pod, json::object* container) {
  json::object copy = {{"name", kToolsVolume},
                       {"image", image},
                       {"command", json::array{"/bin/sh", "-c", json::string(CopyText())}},
                       {"volumeMounts", json::array{Mount(kToolsVolume, kToolsPath, false)}}};
  if (const json::value* amounts = container->if_contains("resources"); amounts != nullptr)
    copy["resources"] = *amounts;
  ArrayAt(pod, "initContainers")->push_back(std::move(copy));
  ArrayAt(pod, "volumes")
      ->push_back(json::object{{"name", kToolsVolume}, {"emptyDir", json::object{}}});
  ArrayAt(container, "volumeMounts")->push_back(Mount(kToolsVolume, kToolsPath, true));
}

void AddDirectories(std::string_view text, json::object* pod, json::object* container) {
  const auto directories = ParseSharedDirectories(text);
  if (!directories.ok()) return;
  int number = 0;
  for (const SharedDirectory& one : *directories) {
    const std::string volume = "muster-shared-" + std::to_string(number++);
    json::object claim = {{"claimName", one.claim}, {"readOnly", one.read_only}};
    ArrayAt(pod, "volumes")
        ->push_back(json::object{{"name", volume}, {"persistentVolumeClaim", std::move(claim)}});
    ArrayAt(container, "volumeMounts")->push_back(Mount(volume, one.path, one.read_only));
  }
}

void AddToTemplate(const json::object& annotations, json::object* pod) {
  json::array* containers = ArrayAt(pod, "containers");
  if (containers->empty() || !containers->front().is_object()) return;
  json::object* container = &containers->front().get_object();
  const auto text = [&](std::string_view key) { return Reader(annotations)[key].View(); };
  if (!text(kToolsImageAnnotation).empty()) AddTools(text(kToolsImageAnnotation), pod, container);
  AddDirectories(text(kSharedDirectoriesAnnotation), pod, container);
}

}  // namespace

void AddBatchParts(json::value* rendered) {
  if (rendered->is_array()) {
    for (json::value& item : rendered->get_array()) AddBatchParts(&item);
  }
  if (!rendered->is_object()) return;
  json::object& object = rendered->get_object();
  json::value* spec = object.if_contains("spec");
  if (spec != nullptr && spec->is_object() && spec->get_object().contains("containers"))
    return AddToTemplate(ObjectOrEmpty(object, {"metadata", "annotations"}), &spec->get_object());
  for (auto& member : object) AddBatchParts(&member.value());
}

}  // namespace muster::k8s
