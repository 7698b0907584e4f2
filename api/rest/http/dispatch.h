// Dispatch: runs the handler of a request and returns its answer to the connection.
#pragma once

#include <memory>

#include "api/rest/http/connection.h"
#include "api/rest/http/guard.h"

namespace muster::rest {

/// Calls connection->Finish exactly once, now or later. A handler that throws gives 500; the text
/// of the exception is not sent.
void Dispatch(std::shared_ptr<Connection> connection, ConnectionHost& host, ParsedRequest read);

}  // namespace muster::rest
