// A changed file that cannot be used is an error in the log and in
// muster_tls_reloads_total{result="refused"}; the servers go on with what they have (rule U42). The
// time at which the certificate ends is a metric, so that it can be watched.
#include "schedd/daemon/tls_setup.h"

#include "api/net/tls/tls_files.h"
#include "schedd/telemetry/log.h"

namespace muster {

Result<std::shared_ptr<net::TlsSource>> MakeTls(const TlsConfig& config, Metrics& metrics) {
  if (config.certificate.empty()) return std::shared_ptr<net::TlsSource>();
  Gauge& ends = metrics.GetGauge("muster_tls_certificate_expires_seconds",
                                 "When the servers' certificate ends, in seconds since 1970");
  const char* help = "Changed certificate files that were taken, or refused and kept out";
  Counter& taken = metrics.GetCounter("muster_tls_reloads_total", help, {{"result", "taken"}});
  Counter& refused = metrics.GetCounter("muster_tls_reloads_total", help, {{"result", "refused"}});
  const auto report = [&ends, &taken, &refused](const Result<net::TlsContextPtr>& changed) {
    if (!changed.ok()) {
      refused.Add();
      Log(LogLevel::kError, "daemon", "tls_files_refused", {{"msg", changed.error().detail}});
      return;
    }
    taken.Add();
    ends.Set(static_cast<double>((*changed)->not_after_s()));
    Log(LogLevel::kInfo, "daemon", "tls_files_taken", {{"serial", (*changed)->serial()}});
  };
  auto files = net::TlsFiles::Load(
      {config.certificate, config.key, config.client_ca, config.client_crl, config.server_names},
      report);
  if (!files.ok()) return files.error();
  ends.Set(static_cast<double>((*files)->Current()->not_after_s()));
  return std::shared_ptr<net::TlsSource>(*files);
}

}  // namespace muster
