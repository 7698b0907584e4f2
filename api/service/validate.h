// Validates configuration changes against the configuration they would make, and writes errors that
// name the document.
//
// Pure functions, thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/model/config.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/world/command.h"

namespace muster::api {

/// A resourceVersion as clients write it; 0 if `text` is null or "". Errors are kInvalidArgument on
/// `field`.
Result<std::int64_t> ResourceVersionOf(const json::value* text, const std::string& field);

/// Moves an error to documents[index]: the detail and every field's path begin with it.
Error AtDocument(std::size_t index, Error error);
/// Removes `documents[0]` from the paths of an error, for a request with one document.
Error OfOnlyDocument(Error error);
/// One error for the errors of several documents (not empty): the code of the first, the fields of
/// all.
Error Combined(std::vector<Error> errors);

/// A configuration kind by its kind ("ClusterQueue") or plural ("clusterqueues"); null if there is
/// no such kind.
const shapes::KindInfo* FindKindByName(std::string_view name);

/// The document with `ns` as metadata.namespace, if its kind is namespaced and it names none.
json::value WithNamespace(const json::value& document, ObjectKind kind, const std::string& ns);

/// Puts a parsed object into `config` and returns the change that does the same in the engine.
/// Errors: the object is invalid in this configuration, or only the daemon's flags may declare it.
Result<ObjectChange> ChangeOf(ConfigView* config, const shapes::ParsedObject& object);

/// Checks a change that came through a Kubernetes path, normalises its manifest and applies it to
/// `config`. The manifest must have the change's kind, namespace and name.
Status Normalise(ConfigView* config, ObjectChange* change);

/// An administrator's edit of a member that a flag declares: taints, heartbeat period, and the
/// annotations muster.io/nodes, muster.io/properties and muster.io/datasets. `change` has the
/// object as the administrator wants it; its manifest becomes the stored one with those edits. Any
/// other difference is refused, since the daemon's flags declare the rest.
Status EditMember(const ObjectTable& objects, ConfigView* config, ObjectChange* change);

/// Any change of a member cluster that came through a Kubernetes path. A member that a flag
/// declares is changed by EditMember; a registered one, which names the Secret of its kubeconfig,
/// like any object.
Status ChangeMember(const ObjectTable& objects, ConfigView* config, ObjectChange* change);
/// Refuses a document for a member cluster that a flag declares.
Status MayReplaceMember(const ObjectTable& objects, const std::string& name);

/// The Namespace of a namespaced object must exist. Called after all changes are applied, so that
/// their order in a file does not matter.
Status NamespaceExists(const ConfigView& config, const ObjectChange& change);

}  // namespace muster::api
