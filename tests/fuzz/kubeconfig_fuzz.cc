// Kubeconfigs that somebody uploads: only what they contain themselves is taken.
#include "backends/k8s/client/kubeconfig.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  k8s::KubeconfigOptions options;
  options.inline_only = true;
  const auto access = k8s::ParseKubeconfig(fuzz::Text(data, size), "/nowhere", options);
  if (!access.ok()) return 0;
  fuzz::Require(!access->host.empty(), "a member has a host");
  fuzz::Require(access->ca.file.empty() && access->token.file.empty() &&
                    access->client_certificate.file.empty() && access->client_key.file.empty(),
                "an uploaded kubeconfig names no file");
  fuzz::Require(access->exec.empty(), "an uploaded kubeconfig runs no program");
  return 0;
}
