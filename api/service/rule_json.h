// A rule of a role as Kubernetes writes it.
#pragma once

#include "schedd/model/access.h"
#include "schedd/text/json.h"

namespace muster::api {

/// rbac.authorization.k8s.io/v1 PolicyRule; empty lists are left out, `verbs` excepted. Pure.
json::object RuleJson(const PolicyRule& rule);

}  // namespace muster::api
