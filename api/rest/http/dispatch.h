// Dispatch: runs the handler of a request and brings its answer back to the connection.
#pragma once

#include <memory>

#include "api/rest/http/connection.h"
#include "api/rest/http/guard.h"

namespace muster::rest {

/// Calls connection->Finish exactly once, now or later. A handler that throws gives 500, without
/// its text.
void Dispatch(std::shared_ptr<Connection> connection, ConnectionHost& host, ReadRequest read);

}  // namespace muster::rest
