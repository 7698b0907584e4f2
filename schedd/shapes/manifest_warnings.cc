#include "schedd/shapes/manifest_warnings.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/base/quantity_text.h"
#include "schedd/shapes/field.h"
#include "schedd/shapes/pod_fields.h"

namespace muster::shapes {
namespace {

/// Where kinds of jobs have their pod templates: "[]" is every element of a list, "{}" every member
/// of an object.
struct TemplatePlace {
  std::string_view kind;
  std::vector<std::string_view> path;
};
const std::vector<TemplatePlace>& Places() {
  static const std::vector<TemplatePlace> places = {
      {"Job", {"spec", "template"}},
      {"JobSet", {"spec", "replicatedJobs", "[]", "template", "spec", "template"}},
      {"PyTorchJob", {"spec", "pytorchReplicaSpecs", "{}", "template"}},
      {"LeaderWorkerSet", {"spec", "leaderWorkerTemplate", "leaderTemplate"}},
      {"LeaderWorkerSet", {"spec", "leaderWorkerTemplate", "workerTemplate"}},
      {"RayCluster", {"spec", "headGroupSpec", "template"}},
      {"RayCluster", {"spec", "workerGroupSpecs", "[]", "template"}},
      {"RayJob", {"spec", "rayClusterSpec", "headGroupSpec", "template"}},
      {"RayJob", {"spec", "rayClusterSpec", "workerGroupSpecs", "[]", "template"}},
      {"RayJob", {"spec", "submitterPodTemplate"}},
      {"Workload", {"spec", "podSets", "[]", "template"}},
  };
  return places;
}

/// A type's fields by name, each with its own type or null.
struct Type {
  std::map<std::string_view, const Type*> fields;
  bool has_amounts = false;  // requests and limits
};
using Types = std::map<std::string_view, Type>;

Types MakeTypes() {
  Types types;
  for (const PodType& type : PodTypes()) types[type.name];
  for (const PodType& type : PodTypes()) {
    Type& made = types[type.name];
    made.has_amounts = type.name == "ResourceRequirements";
    std::string_view rest = type.fields;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const std::string_view word = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const std::size_t colon = word.find(':');
      const bool plain = colon == std::string_view::npos;
      made.fields[word.substr(0, colon)] = plain ? nullptr : &types[word.substr(colon + 1)];
    }
  }
  return types;
}

const Type& TypeOf(std::string_view name) {
  static const Types types = MakeTypes();
  return types.find(name)->second;
}

const json::value* MemberOf(const json::value& value, std::string_view key) {
  const json::object* object = value.if_object();
  return object == nullptr ? nullptr : object->if_contains(key);
}

class Walk {
 public:
  void Template(const json::value& value, std::string* path) {
    // Early Workloads carry a pod spec where a template belongs.
    const bool flat =
        MemberOf(value, "spec") == nullptr && MemberOf(value, "containers") != nullptr;
    Visit(value, TypeOf(flat ? "PodSpec" : PodTypes().front().name), path);
  }

  /// Follows the rest of a place's path.
  void Descend(const json::value& value, const std::vector<std::string_view>& place, std::size_t at,
               std::string* path) {
    if (Full()) return;
    if (at == place.size()) return Template(value, path);
    if (place[at] == "[]") {
      if (!value.is_array()) return;
      for (std::size_t i = 0; i < value.get_array().size(); ++i) {
        Below(path, "[" + std::to_string(i) + "]",
              [&] { Descend(value.get_array()[i], place, at + 1, path); });
      }
    } else if (place[at] == "{}") {
      if (!value.is_object()) return;
      for (const auto& member : value.get_object()) {
        Below(path, "." + Shown(member.key()),
              [&] { Descend(member.value(), place, at + 1, path); });
      }
    } else if (const json::value* inner = MemberOf(value, place[at])) {
      Below(path, (path->empty() ? "" : ".") + std::string(place[at]),
            [&] { Descend(*inner, place, at + 1, path); });
    }
  }

  ManifestWarnings Take() { return std::move(found_); }

 private:
  template <class Inner>
  static void Below(std::string* path, const std::string& step, Inner inner) {
    const std::size_t size = path->size();
    *path += step;
    inner();
    path->resize(size);
  }

  // Without control characters and cut to what a person reads.
  static std::string Shown(std::string_view key) {
    const std::string quoted = Quoted(key);
    return quoted.substr(1, quoted.size() - 2);
  }

  bool Full() const {
    return found_.unknown_fields.size() + found_.others.size() >= limits::kManifestWarnings;
  }

  void Visit(const json::value& value, const Type& type, std::string* path) {
    if (Full()) return;
    if (value.is_array()) {
      for (std::size_t i = 0; i < value.get_array().size(); ++i) {
        Below(path, "[" + std::to_string(i) + "]",
              [&] { Visit(value.get_array()[i], type, path); });
      }
      return;
    }
    if (!value.is_object()) return;
    for (const auto& member : value.get_object()) {
      const std::string_view key = member.key();
      const auto known = type.fields.find(key);
      if (known == type.fields.end()) {
        if (!Full())
          found_.unknown_fields.push_back("unknown field \"" + *path + "." + Shown(key) + "\"");
      } else if (known->second != nullptr) {
        Below(path, "." + std::string(key), [&] { Visit(member.value(), *known->second, path); });
      } else if (type.has_amounts) {
        Amounts(member.value(), *path + "." + std::string(key));
      }
    }
  }

  void Amounts(const json::value& amounts, const std::string& path) {
    if (!amounts.is_object()) return;
    for (const auto& member : amounts.get_object()) {
      const std::string_view resource = member.key();
      const auto text = QuantityText(member.value());
      if (Full() || !text || !IsByteResource(resource) || IsWholeAmount(resource, *text)) continue;
      found_.others.push_back(path + "[" + std::string(resource) + "]: fractional byte value " +
                              Quoted(*text) + " is invalid, must be an integer");
    }
  }

  ManifestWarnings found_;
};

}  // namespace

std::vector<std::string> ManifestWarnings::All() const {
  std::vector<std::string> all = unknown_fields;
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

ManifestWarnings WarningsOf(const json::value& manifest) {
  Walk walk;
  const json::value* kind = MemberOf(manifest, "kind");
  if (kind == nullptr || !kind->is_string()) return {};
  const std::string_view name(kind->get_string());
  for (const TemplatePlace& place : Places()) {
    if (place.kind != name) continue;
    std::string path;
    walk.Descend(manifest, place.path, 0, &path);
  }
  return walk.Take();
}

}  // namespace muster::shapes
