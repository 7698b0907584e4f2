// Every bound of Muster, each with its reason: everything has a limit. This header is what other
// code includes; the bounds stand in headers of their own by what they protect:
//
// - limits_access.h: identity.
// - limits_objects.h: sizes of requests, documents and objects of the API.
// - limits_engine.h: queues, times and costs inside the daemon, its database and its members.
// - limits_server.h: connections, streams and gRPC.
// - limits_oidc.h: credentials that others issue.
// - limits_clients.h: what the commands keep of an answer.
#pragma once

#include "schedd/base/limits_access.h"
#include "schedd/base/limits_clients.h"
#include "schedd/base/limits_engine.h"
#include "schedd/base/limits_objects.h"
#include "schedd/base/limits_oidc.h"
#include "schedd/base/limits_server.h"
