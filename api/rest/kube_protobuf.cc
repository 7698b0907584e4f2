// The messages are described by tables of their fields (number, name, shape), and one function
// reads them all. A body is "k8s", a zero byte, and a message with the object's kind and its bytes
// (runtime.Unknown). Kubernetes writes fields that are empty too, so an unknown field is refused
// only if it holds something.
#include "api/rest/kube_protobuf.h"

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "schedd/text/base64.h"

namespace muster::rest {
namespace {

struct Field;
struct Message {
  const char* name;
  std::span<const Field> fields;
};

// What a field holds. A number or a bool is there only if it is set, so a zero is kept.
enum class Shape {
  kText,
  kTexts,
  kNumber,
  kBool,
  kObject,
  kObjects,
  kTextMap,
  kBytesMap,     // base64 in JSON
  kQuantityMap,  // a quantity is a message with one text
  kIgnored,      // written by the server
};

struct Field {
  std::uint32_t number;
  const char* name;
  Shape shape;
  const Message* message = nullptr;  // of objects
};

constexpr Field kMetadataFields[] = {{1, "name", Shape::kText},
                                     {2, "generateName", Shape::kText},
                                     {3, "namespace", Shape::kText},
                                     {5, "uid", Shape::kText},
                                     {6, "resourceVersion", Shape::kText},
                                     {7, "generation", Shape::kIgnored},
                                     {8, "creationTimestamp", Shape::kIgnored},
                                     {11, "labels", Shape::kTextMap},
                                     {12, "annotations", Shape::kTextMap},
                                     {14, "finalizers", Shape::kTexts},
                                     {17, "managedFields", Shape::kIgnored}};
constexpr Message kMetadata{"ObjectMeta", kMetadataFields};

// Roles and bindings.
constexpr Field kRuleFields[] = {{1, "verbs", Shape::kTexts},
                                 {2, "apiGroups", Shape::kTexts},
                                 {3, "resources", Shape::kTexts},
                                 {4, "resourceNames", Shape::kTexts},
                                 {5, "nonResourceURLs", Shape::kTexts}};
constexpr Message kRule{"PolicyRule", kRuleFields};
constexpr Field kRequirementFields[] = {
    {1, "key", Shape::kText}, {2, "operator", Shape::kText}, {3, "values", Shape::kTexts}};
constexpr Message kRequirement{"LabelSelectorRequirement", kRequirementFields};
constexpr Field kSelectorFields[] = {{1, "matchLabels", Shape::kTextMap},
                                     {2, "matchExpressions", Shape::kObjects, &kRequirement}};
constexpr Message kSelector{"LabelSelector", kSelectorFields};
constexpr Field kAggregationFields[] = {{1, "clusterRoleSelectors", Shape::kObjects, &kSelector}};
constexpr Message kAggregation{"AggregationRule", kAggregationFields};
constexpr Field kRoleFields[] = {{1, "metadata", Shape::kObject, &kMetadata},
                                 {2, "rules", Shape::kObjects, &kRule},
                                 {3, "aggregationRule", Shape::kObject, &kAggregation}};
constexpr Message kRole{"Role", kRoleFields};
constexpr Field kSubjectFields[] = {{1, "kind", Shape::kText},
                                    {2, "apiGroup", Shape::kText},
                                    {3, "name", Shape::kText},
                                    {4, "namespace", Shape::kText}};
constexpr Message kSubject{"Subject", kSubjectFields};
constexpr Field kRoleRefFields[] = {
    {1, "apiGroup", Shape::kText}, {2, "kind", Shape::kText}, {3, "name", Shape::kText}};
constexpr Message kRoleRef{"RoleRef", kRoleRefFields};
constexpr Field kBindingFields[] = {{1, "metadata", Shape::kObject, &kMetadata},
                                    {2, "subjects", Shape::kObjects, &kSubject},
                                    {3, "roleRef", Shape::kObject, &kRoleRef}};
constexpr Message kBinding{"RoleBinding", kBindingFields};

// Questions about identity and rights.
constexpr Field kResourceAskedFields[] = {
    {1, "namespace", Shape::kText}, {2, "verb", Shape::kText},     {3, "group", Shape::kText},
    {4, "version", Shape::kText},   {5, "resource", Shape::kText}, {6, "subresource", Shape::kText},
    {7, "name", Shape::kText}};
constexpr Message kResourceAsked{"ResourceAttributes", kResourceAskedFields};
constexpr Field kPathAskedFields[] = {{1, "path", Shape::kText}, {2, "verb", Shape::kText}};
constexpr Message kPathAsked{"NonResourceAttributes", kPathAskedFields};
constexpr Field kAccessSpecFields[] = {{1, "resourceAttributes", Shape::kObject, &kResourceAsked},
                                       {2, "nonResourceAttributes", Shape::kObject, &kPathAsked},
                                       {3, "user", Shape::kText},
                                       {4, "groups", Shape::kTexts},
                                       {6, "uid", Shape::kText}};
constexpr Message kAccessSpec{"SubjectAccessReviewSpec", kAccessSpecFields};
constexpr Field kRulesSpecFields[] = {{1, "namespace", Shape::kText}};
constexpr Message kRulesSpec{"SelfSubjectRulesReviewSpec", kRulesSpecFields};
constexpr Field kTokenSpecFields[] = {{1, "token", Shape::kText}, {2, "audiences", Shape::kTexts}};
constexpr Message kTokenSpec{"TokenReviewSpec", kTokenSpecFields};
constexpr Field kAccessReviewFields[] = {{1, "metadata", Shape::kObject, &kMetadata},
                                         {2, "spec", Shape::kObject, &kAccessSpec},
                                         {3, "status", Shape::kIgnored}};
constexpr Message kAccessReview{"SubjectAccessReview", kAccessReviewFields};
constexpr Field kRulesReviewFields[] = {{1, "metadata", Shape::kObject, &kMetadata},
                                        {2, "spec", Shape::kObject, &kRulesSpec},
                                        {3, "status", Shape::kIgnored}};
constexpr Message kRulesReview{"SelfSubjectRulesReview", kRulesReviewFields};
constexpr Field kTokenReviewFields[] = {{1, "metadata", Shape::kObject, &kMetadata},
                                        {2, "spec", Shape::kObject, &kTokenSpec},
                                        {3, "status", Shape::kIgnored}};
constexpr Message kTokenReview{"TokenReview", kTokenReviewFields};
constexpr Field kSelfReviewFields[] = {{1, "metadata", Shape::kObject, &kMetadata},
                                       {2, "status", Shape::kIgnored}};
constexpr Message kSelfReview{"SelfSubjectReview", kSelfReviewFields};

// Objects of the core group.
constexpr Field kNamespaceSpecFields[] = {{1, "finalizers", Shape::kIgnored}};
constexpr Message kNamespaceSpec{"NamespaceSpec", kNamespaceSpecFields};
constexpr Field kNamespaceFields[] = {{1, "metadata", Shape::kObject, &kMetadata},
                                      {2, "spec", Shape::kObject, &kNamespaceSpec},
                                      {3, "status", Shape::kIgnored}};
constexpr Message kNamespace{"Namespace", kNamespaceFields};
constexpr Field kConfigMapFields[] = {{1, "metadata", Shape::kObject, &kMetadata},
                                      {2, "data", Shape::kTextMap},
                                      {3, "binaryData", Shape::kBytesMap},
                                      {4, "immutable", Shape::kBool}};
constexpr Message kConfigMap{"ConfigMap", kConfigMapFields};
constexpr Field kSecretFields[] = {{1, "metadata", Shape::kObject, &kMetadata},
                                   {2, "data", Shape::kBytesMap},
                                   {3, "type", Shape::kText},
                                   {4, "stringData", Shape::kTextMap},
                                   {5, "immutable", Shape::kBool}};
constexpr Message kSecret{"Secret", kSecretFields};

// Jobs, as far as `kubectl create job` fills them in.
constexpr Field kResourcesFields[] = {{1, "limits", Shape::kQuantityMap},
                                      {2, "requests", Shape::kQuantityMap}};
constexpr Message kResources{"ResourceRequirements", kResourcesFields};
constexpr Field kEnvFields[] = {{1, "name", Shape::kText}, {2, "value", Shape::kText}};
constexpr Message kEnv{"EnvVar", kEnvFields};
constexpr Field kContainerFields[] = {{1, "name", Shape::kText},
                                      {2, "image", Shape::kText},
                                      {3, "command", Shape::kTexts},
                                      {4, "args", Shape::kTexts},
                                      {5, "workingDir", Shape::kText},
                                      {7, "env", Shape::kObjects, &kEnv},
                                      {8, "resources", Shape::kObject, &kResources},
                                      {13, "terminationMessagePath", Shape::kText},
                                      {14, "imagePullPolicy", Shape::kText},
                                      {20, "terminationMessagePolicy", Shape::kText}};
constexpr Message kContainer{"Container", kContainerFields};
constexpr Field kPodFields[] = {{2, "containers", Shape::kObjects, &kContainer},
                                {3, "restartPolicy", Shape::kText},
                                {4, "terminationGracePeriodSeconds", Shape::kNumber},
                                {5, "activeDeadlineSeconds", Shape::kNumber},
                                {6, "dnsPolicy", Shape::kText},
                                {7, "nodeSelector", Shape::kTextMap},
                                {8, "serviceAccountName", Shape::kText},
                                {20, "initContainers", Shape::kObjects, &kContainer},
                                {24, "priorityClassName", Shape::kText}};
constexpr Message kPod{"PodSpec", kPodFields};
constexpr Field kTemplateFields[] = {{1, "metadata", Shape::kObject, &kMetadata},
                                     {2, "spec", Shape::kObject, &kPod}};
constexpr Message kTemplate{"PodTemplateSpec", kTemplateFields};
constexpr Field kJobSpecFields[] = {
    {1, "parallelism", Shape::kNumber},           {2, "completions", Shape::kNumber},
    {3, "activeDeadlineSeconds", Shape::kNumber}, {6, "template", Shape::kObject, &kTemplate},
    {7, "backoffLimit", Shape::kNumber},          {8, "ttlSecondsAfterFinished", Shape::kNumber},
    {9, "completionMode", Shape::kText},          {10, "suspend", Shape::kBool}};
constexpr Message kJobSpec{"JobSpec", kJobSpecFields};
constexpr Field kJobFields[] = {{1, "metadata", Shape::kObject, &kMetadata},
                                {2, "spec", Shape::kObject, &kJobSpec},
                                {3, "status", Shape::kIgnored}};
constexpr Message kJob{"Job", kJobFields};

constexpr struct {
  std::string_view api_version, kind;
  const Message& message;
} kKinds[] = {
    {"authentication.k8s.io/v1", "SelfSubjectReview", kSelfReview},
    {"authentication.k8s.io/v1", "TokenReview", kTokenReview},
    {"authorization.k8s.io/v1", "SelfSubjectAccessReview", kAccessReview},
    {"authorization.k8s.io/v1", "SubjectAccessReview", kAccessReview},
    {"authorization.k8s.io/v1", "LocalSubjectAccessReview", kAccessReview},
    {"authorization.k8s.io/v1", "SelfSubjectRulesReview", kRulesReview},
    {"rbac.authorization.k8s.io/v1", "Role", kRole},
    {"rbac.authorization.k8s.io/v1", "ClusterRole", kRole},
    {"rbac.authorization.k8s.io/v1", "RoleBinding", kBinding},
    {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", kBinding},
    {"v1", "Namespace", kNamespace},
    {"v1", "ConfigMap", kConfigMap},
    {"v1", "Secret", kSecret},
    {"batch/v1", "Job", kJob},
};

// One field as it is on the wire.
struct WireItem {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
  bool is_bytes = false;
  bool empty() const { return is_bytes ? bytes.empty() : value == 0; }
};

// Goes through the fields of a message. Kubernetes has no fields of fixed width.
class Wire {
 public:
  explicit Wire(std::string_view bytes) : left_(bytes) {}
  bool done() const { return left_.empty(); }
  // nullopt if the bytes are no field.
  std::optional<WireItem> Next() {
    const auto key = Varint();
    if (!key || *key >> 32 != 0 || *key >> 3 == 0) return std::nullopt;
    WireItem item;
    item.number = static_cast<std::uint32_t>(*key >> 3);
    const std::uint64_t type = *key & 7;
    const auto value = type == 0 || type == 2 ? Varint() : std::nullopt;
    if (!value) return std::nullopt;
    item.value = *value;
    item.is_bytes = type == 2;
    if (!item.is_bytes) return item;
    if (*value > left_.size()) return std::nullopt;
    item.bytes = left_.substr(0, *value);
    left_.remove_prefix(*value);
    return item;
  }

 private:
  std::optional<std::uint64_t> Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::string_view left_;
};

Error Malformed(const char* message) {
  return InvalidArgument(std::string("the body is no protobuf of Kubernetes: ") + message +
                         " is malformed");
}

// A map's entry: key 1, value 2.
struct MapEntry {
  // Not null, because Boost.JSON copies from them.
  std::string_view key = "", value = "";
};
std::optional<MapEntry> ReadEntry(std::string_view bytes) {
  MapEntry entry;
  for (Wire wire(bytes); !wire.done();) {
    const auto item = wire.Next();
    if (!item || !item->is_bytes || item->number > 2) return std::nullopt;
    (item->number == 1 ? entry.key : entry.value) = item->bytes;
  }
  return entry;
}

// Reads messages; the budget is that of the request.
class Reader {
 public:
  explicit Reader(ParseBudget* budget) : budget_(budget) {}

  // The tables have no cycles, so the depth is bounded.
  Result<json::object> Read(const Message& message, std::string_view bytes) {
    json::object out;
    for (Wire wire(bytes); !wire.done();) {
      const auto item = wire.Next();
      if (!item) return Malformed(message.name);
      const Field* field = FieldOf(message, item->number);
      if (field == nullptr && item->empty()) continue;
      if (field == nullptr) {
        return InvalidArgument("field " + std::to_string(item->number) + " of " + message.name +
                               " is not taken as protobuf: send the object as JSON or YAML");
      }
      if (field->shape == Shape::kIgnored) continue;
      if (!budget_->TakeValues(1)) return budget_->Refusal();
      const Status put = Put(message, *field, *item, &out);
      if (!put.ok()) return put.error();
    }
    return out;
  }

 private:
  static const Field* FieldOf(const Message& message, std::uint32_t number) {
    for (const Field& field : message.fields) {
      if (field.number == number) return &field;
    }
    return nullptr;
  }

  Status Put(const Message& message, const Field& field, const WireItem& item, json::object* out) {
    const bool number = field.shape == Shape::kNumber || field.shape == Shape::kBool;
    if (item.is_bytes == number) return Malformed(message.name);
    switch (field.shape) {
      case Shape::kNumber:
        (*out)[field.name] = static_cast<std::int64_t>(item.value);
        return Done{};
      case Shape::kBool:
        (*out)[field.name] = item.value != 0;
        return Done{};
      case Shape::kText:
        if (!item.bytes.empty()) (*out)[field.name] = json::string(item.bytes);
        return Done{};
      case Shape::kTexts:
        ListIn(out, field.name).emplace_back(json::string(item.bytes));
        return Done{};
      case Shape::kObject:
      case Shape::kObjects:
        return PutObject(field, item, out);
      case Shape::kTextMap:
      case Shape::kBytesMap:
      case Shape::kQuantityMap:
        return PutEntry(message, field, item, out);
      case Shape::kIgnored:
        return Done{};
    }
    return Done{};
  }

  Status PutObject(const Field& field, const WireItem& item, json::object* out) {
    Result<json::object> object = Read(*field.message, item.bytes);
    if (!object.ok()) return object.error();
    if (field.shape == Shape::kObjects) {
      ListIn(out, field.name).emplace_back(std::move(*object));
    } else if (!object->empty()) {
      (*out)[field.name] = std::move(*object);
    }
    return Done{};
  }

  static Status PutEntry(const Message& message, const Field& field, const WireItem& item,
                         json::object* out) {
    auto entry = ReadEntry(item.bytes);
    if (entry && field.shape == Shape::kQuantityMap) {
      const auto quantity = entry->value.empty() ? std::nullopt : Wire(entry->value).Next();
      if (!quantity || quantity->number != 1 || !quantity->is_bytes) return Malformed(message.name);
      entry->value = quantity->bytes;
    }
    const bool bytes = field.shape == Shape::kBytesMap;
    if (!entry) return Malformed(message.name);
    json::value& map = (*out)[field.name];
    if (!map.is_object()) map = json::object();
    map.get_object()[entry->key] =
        bytes ? json::string(EncodeBase64(entry->value)) : json::string(entry->value);
    return Done{};
  }

  static json::array& ListIn(json::object* out, const char* name) {
    json::value& list = (*out)[name];
    if (!list.is_array()) list = json::array();
    return list.get_array();
  }

  ParseBudget* budget_;
};

// The outer message.
struct Envelope {
  std::string_view api_version, kind, object;
};
std::optional<Envelope> ReadEnvelope(std::string_view body) {
  constexpr std::string_view kMagic("k8s\0", 4);
  if (!body.starts_with(kMagic)) return std::nullopt;
  Envelope out;
  for (Wire wire(body.substr(kMagic.size())); !wire.done();) {
    const auto item = wire.Next();
    if (!item) return std::nullopt;
    if (item->number == 2) out.object = item->bytes;
    if (item->number != 1 || !item->is_bytes) continue;
    for (Wire type(item->bytes); !type.done();) {
      const auto text = type.Next();
      if (!text) return std::nullopt;
      if (text->number == 1) out.api_version = text->bytes;
      if (text->number == 2) out.kind = text->bytes;
    }
  }
  return out;
}

}  // namespace

Result<json::value> ParseKubeProtobuf(std::string_view body, ParseBudget* budget) {
  const auto envelope = ReadEnvelope(body);
  if (!envelope) return Malformed("its envelope");
  for (const auto& [api_version, kind, message] : kKinds) {
    if (envelope->api_version != api_version || envelope->kind != kind) continue;
    Result<json::object> object = Reader(budget).Read(message, envelope->object);
    if (!object.ok()) return object.error();
    (*object)["apiVersion"] = json::string(api_version);
    (*object)["kind"] = json::string(kind);
    // Through the parser of all bodies, which refuses text that is no UTF-8.
    return ParseJson(json::serialize(*object), budget);
  }
  return InvalidArgument(
      "objects of this kind are not taken as protobuf: send them as JSON or YAML");
}

}  // namespace muster::rest
