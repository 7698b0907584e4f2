// Kubeconfigs: of one that somebody uploads, only what it contains itself is taken; one of the
// daemon's own host may name files and programs.
#include "backends/k8s/client/kubeconfig.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text = fuzz::Text(data, size);
  k8s::KubeconfigOptions own;
  own.allow_exec = true;
  const auto of_host = k8s::ParseKubeconfig(text, "/nowhere", own);
  fuzz::Require(of_host.ok() || of_host.error().detail.starts_with("kubeconfig"),
                "a refusal says of what");

  k8s::KubeconfigOptions options;
  options.inline_only = true;
  const auto access = k8s::ParseKubeconfig(text, "/nowhere", options);
  if (!access.ok()) return 0;
  fuzz::Require(of_host.ok(), "what may be uploaded may be a file");
  fuzz::Require(!access->host.empty(), "a member has a host");
  fuzz::Require(access->ca.file.empty() && access->token.file.empty() &&
                    access->client_certificate.file.empty() && access->client_key.file.empty(),
                "an uploaded kubeconfig names no file");
  fuzz::Require(access->exec.empty(), "an uploaded kubeconfig runs no program");
  return 0;
}
