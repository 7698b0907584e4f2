// The manifest of a stored object as it is sent to members (rule P24): what its author wrote,
// without what an API server adds and without what has a meaning for Muster alone. Pure.
#pragma once

#include <string>

#include "schedd/model/resource_ref.h"
#include "schedd/model/scheduling.h"
#include "schedd/text/json.h"

namespace muster::propagation {

/// JSON text without status, without metadata of the server and without labels and annotations
/// muster.io/*, in the namespace of `ref`. Of a Namespace only its name, labels and annotations.
std::string ManifestToSend(const json::object& stored, const ResourceRef& ref);

/// From the object's metadata; values that are no strings are left out.
LabelMap LabelsOf(const json::object& object);
LabelMap AnnotationsOf(const json::object& object);

/// Group, version and kind of a manifest; `ns` and `name` as given.
ResourceRef RefOf(const json::object& manifest, const std::string& ns, const std::string& name);

}  // namespace muster::propagation
