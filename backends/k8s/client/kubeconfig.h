// Kubeconfig: how a member is reached and who we are there, read from the file that kubectl reads.
//
// Every file that it names must lie below an allowed directory, links resolved. What would weaken
// or surprise is refused by name: username and password, auth-provider, impersonation, proxy-url,
// insecure-skip-tls-verify and http:// but on loopback, exec plugins that the caller has not
// allowed. Sentences name the field, never a value: values are secrets.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"

namespace muster::k8s {

struct KubeconfigOptions {
  std::string context;  // "": current-context
  /// Files named in the kubeconfig must lie below one of these; empty: below the kubeconfig's own
  /// directory.
  std::vector<std::string> allowed_directories;
  /// Programs that the kubeconfig names (users[].user.exec) may run, as whoever runs the daemon.
  bool allow_exec = false;
  /// It may name no files: certificates and tokens stand in it.
  bool inline_only = false;
};

/// PEM or a token: in the kubeconfig itself, or in a file that is read again when it changes.
struct Material {
  std::string data;  // wins over file
  std::string file;  // absolute; checked against the allowed directories at every reading
  bool empty() const { return data.empty() && file.empty(); }
};

/// users[].user.exec: a program that prints credentials (client.authentication.k8s.io).
struct ExecPlugin {
  std::string command;
  std::vector<std::string> args;
  std::map<std::string, std::string> env;  // beside the daemon's own
  std::string api_version;                 // client.authentication.k8s.io/v1 or /v1beta1
  bool provide_cluster_info = false;
  std::string install_hint;
  bool empty() const { return command.empty(); }
};

/// A member's address and the credentials for it. Plain value; holds secrets: never log it.
struct MemberAccess {
  // cluster
  bool tls = true;
  std::string host;  // a name or an IP address without brackets
  std::string port;
  std::string base_path;        // of a server behind a path, "/k8s/c-1"; or ""
  std::string tls_server_name;  // instead of host, in the certificate and in SNI; or ""
  bool skip_verify = false;     // loopback only
  Material ca;                  // empty: the system's certificate authorities
  // user; several may stand together as kubectl has it: a certificate and a token
  Material client_certificate;
  Material client_key;
  Material token;
  ExecPlugin exec;
  // context
  std::string ns;                                // "" = none given
  std::vector<std::string> allowed_directories;  // resolved
};

/// Reads the file at `path` (relative to the working directory) and resolves the context. Files
/// that it names are checked, and read later. kInvalidArgument with one sentence that begins with
/// the field; kNotFound if the kubeconfig itself cannot be read. Blocks on the disk.
Result<MemberAccess> LoadKubeconfig(const std::string& path, const KubeconfigOptions& options);

/// The same of text; `directory` is what relative paths are relative to.
Result<MemberAccess> ParseKubeconfig(std::string_view text, const std::string& directory,
                                     const KubeconfigOptions& options);

}  // namespace muster::k8s
