// What of a stored object is sent to members (rule P24): what its author wrote, without
// what a server adds and what only has a meaning here. Pure.
#pragma once

#include <string>

#include "schedd/model/resource_ref.h"
#include "schedd/model/scheduling.h"
#include "schedd/text/json.h"

namespace muster::propagation {

/// JSON text: without status, metadata of the server and labels and annotations muster.io/*; with
/// the namespace of `ref`. Of a Namespace only its name, labels and annotations.
std::string ManifestToSend(const json::object& stored, const ResourceRef& ref);

/// Of the object's metadata; those that are no strings are left out.
LabelMap LabelsOf(const json::object& object);
LabelMap AnnotationsOf(const json::object& object);

/// Group, version and kind of a manifest; `ns` and `name` as given.
ResourceRef RefOf(const json::object& manifest, const std::string& ns, const std::string& name);

}  // namespace muster::propagation
