// The TLS of the servers, from the configuration.
#pragma once

#include <memory>

#include "api/net/tls/tls_context.h"
#include "schedd/base/result.h"
#include "schedd/daemon/tls_config.h"
#include "schedd/telemetry/metrics.h"

namespace muster {

/// Reads the files of `config`; null if it has none. Changes of the files are logged and counted.
/// Errors: a file that cannot be used. `metrics` must outlive the result.
Result<std::shared_ptr<net::TlsSource>> MakeTls(const TlsConfig& config, Metrics& metrics);

}  // namespace muster
