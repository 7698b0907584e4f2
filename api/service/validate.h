// Validation of configuration changes against the configuration they would make, and errors that
// name documents.
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

/// A resourceVersion as clients write it; 0 if `text` is null or "". kInvalidArgument on `field`.
Result<std::int64_t> ResourceVersionOf(const json::value* text, const std::string& field);

/// The same error said of documents[index]: the detail and every field's path begin with it.
Error AtDocument(std::size_t index, Error error);
/// An error of the only document of a request: paths without their `documents[0]`.
Error OfOnlyDocument(Error error);
/// One error of many documents' errors (not empty): the code of the first, the fields of all.
Error Combined(std::vector<Error> errors);

/// A configuration kind by its kind ("ClusterQueue") or plural ("clusterqueues"); null if there is
/// none.
const shapes::KindInfo* FindKindByName(std::string_view name);

/// The document with metadata.namespace filled in from `ns` if its kind is namespaced and it has
/// none.
json::value WithNamespace(const json::value& document, ObjectKind kind, const std::string& ns);

/// Puts a parsed object into `config` and gives the change that does the same in the engine.
/// Errors: the object is invalid there, or of a kind that only the daemon declares.
Result<ObjectChange> ChangeOf(ConfigView* config, const shapes::ParsedObject& object);

/// Checks a change that came through a Kubernetes path, normalises its manifest and applies it to
/// `config`. The manifest must be of the change's kind, namespace and name.
Status Normalise(ConfigView* config, ObjectChange* change);

/// What an administrator writes into a member cluster: its taints and heartbeat period, and the
/// annotations muster.io/nodes, muster.io/properties and muster.io/datasets. `change` has the
/// object as it is wanted; its manifest becomes the stored one with those. Every other difference
/// is refused: the daemon's flags declare the rest.
Status EditMember(const ObjectTable& objects, ConfigView* config, ObjectChange* change);

/// Any change of a member cluster that came through a Kubernetes path: of one that a flag declares
/// as EditMember; others, which name the Secret of their kubeconfig, are objects like any.
Status ChangeMember(const ObjectTable& objects, ConfigView* config, ObjectChange* change);
/// The error of a document that would put itself in the place of a member that a flag declares.
Status MayReplaceMember(const ObjectTable& objects, const std::string& name);

/// Namespaced objects need their Namespace; judged after all changes, so their order in a file is
/// free.
Status NamespaceExists(const ConfigView& config, const ObjectChange& change);

}  // namespace muster::api
