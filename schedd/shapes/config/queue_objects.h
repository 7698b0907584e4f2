// Configuration objects: from manifests of the kinds in object_kinds.h to typed values and into a
// ConfigView. Reading is strict: an unknown field is refused with its path (rule C6), and so is a
// field that Muster does not carry out (rules A3, A4, P2, P3, P28, P29).
//
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "schedd/base/result.h"
#include "schedd/model/config.h"
#include "schedd/shapes/config/object_kinds.h"
#include "schedd/text/json.h"

namespace muster::shapes {

/// A configuration document, identified and validated.
struct ParsedObject {
  ObjectKind kind = ObjectKind::kNamespace;
  std::string ns, name;
  std::int64_t expected_resource_version = 0;  // metadata.resourceVersion, 0 if absent
  json::value manifest;  // as it is stored: without status, managedFields, uid and the like
};

/// Errors: unknown kind; every wrong field with its path. Changes of immutable fields are errors of
/// ApplyTo, which knows the old object.
Result<ParsedObject> ParseObject(const json::value& document);

/// True if apiVersion and kind are a configuration kind of Muster.
bool IsConfigObject(const json::value& document);

/// Puts the typed form of an object into a configuration. Errors: a wrong field; an immutable field
/// has changed, such as a LocalQueue's clusterQueue. Kinds without a typed form change nothing.
Status ApplyTo(ConfigView* config, ObjectKind kind, const json::value& manifest);
/// Removes it; no error if absent.
void RemoveFrom(ConfigView* config, ObjectKind kind, const std::string& ns,
                const std::string& name);

}  // namespace muster::shapes
