// Short forms for manifests, and for the result of parsing them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "schedd/base/quantity.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/shapes/kinds/shape.h"
#include "schedd/text/yaml.h"

namespace muster::shapes {

/// The only document of a YAML text.
inline json::value Yaml(const std::string& text) {
  auto documents = ParseYaml(text);
  EXPECT_TRUE(documents.ok()) << (documents.ok() ? "" : documents.error().detail) << "\n" << text;
  EXPECT_EQ(documents->size(), 1U) << text;
  return std::move((*documents)[0]);
}

inline std::vector<json::value> DocumentsOf(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::stringstream text;
  text << in.rdbuf();
  auto documents = ParseYaml(text.str());
  EXPECT_TRUE(documents.ok()) << path << ": " << (documents.ok() ? "" : documents.error().detail);
  return std::move(documents).value();
}

inline ParsedJob Job(const json::value& manifest) {
  auto job = ParseJob(manifest);
  EXPECT_TRUE(job.ok()) << (job.ok() ? "" : job.error().detail);
  return job.ok() ? std::move(job).value() : ParsedJob{};
}

/// "main x3 cpu=500m memory=2Gi; worker x2 ..." of a parsed job.
inline std::string PodSetsText(const PodSets& pod_sets) {
  std::string text;
  for (const auto& pod_set : pod_sets) {
    if (!text.empty()) text += "; ";
    text += pod_set.name + " x" + std::to_string(pod_set.count);
    for (const auto& request : pod_set.requests) {
      text += " " + request.resource + "=" + FormatQuantity(request.resource, request.amount);
    }
  }
  return text;
}

/// "field: message" lines of what ParseJob finds wrong; "" if nothing.
template <class T>
std::string ProblemsOf(const Result<T>& result) {
  if (result.ok()) return "";
  std::string text;
  for (const auto& field : result.error().fields) text += field.field + ": " + field.message + "\n";
  return text.empty() ? result.error().detail : text;
}

/// A value at a path such as {"spec", "template"} with list indexes as "0".
inline const json::value* At(const json::value& value, std::initializer_list<const char*> path) {
  const json::value* at = &value;
  for (const char* key : path) {
    if (at == nullptr) return nullptr;
    if (const auto* array = at->if_array()) {
      const auto index = static_cast<std::size_t>(std::stoul(key));
      at = index < array->size() ? &(*array)[index] : nullptr;
    } else if (const auto* object = at->if_object()) {
      at = object->if_contains(key);
    } else {
      return nullptr;
    }
  }
  return at;
}

inline std::string TextAt(const json::value& value, std::initializer_list<const char*> path) {
  const auto* found = At(value, path);
  return found == nullptr ? "absent" : WriteJson(*found);
}

}  // namespace muster::shapes
