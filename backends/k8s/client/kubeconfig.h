// Kubeconfig: how a member is reached and by which credentials, read from the file format of
// kubectl.
//
// Every file that it names must lie below an allowed directory, links resolved. Settings that would
// weaken security or surprise are refused by name: username and password, auth-provider,
// impersonation, proxy-url, insecure-skip-tls-verify and http:// except on loopback, exec plugins
// that the caller has not allowed. Error sentences name the field, never a value, because values
// are secrets.
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
  /// Programs that the kubeconfig names (users[].user.exec) may run, as the daemon's user.
  bool allow_exec = false;
  /// The kubeconfig may name no files: it contains its certificates and tokens.
  bool inline_only = false;
};

/// A PEM text or a token: in the kubeconfig itself, or in a file that is read again when it
/// changes.
struct Material {
  std::string data;  // used instead of `file` if both are given
  std::string file;  // absolute; checked against the allowed directories at every reading
  bool empty() const { return data.empty() && file.empty(); }
};

/// users[].user.exec: a program that prints credentials (client.authentication.k8s.io).
struct ExecPlugin {
  std::string command;
  std::vector<std::string> args;
  std::map<std::string, std::string> env;  // in addition to kPassed of exec_plugin.cc
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
  std::string tls_server_name;  // used instead of host in SNI and for the certificate; or ""
  bool skip_verify = false;     // loopback only
  Material ca;                  // empty: the system's certificate authorities
  // user; a certificate and a token may both be given, as for kubectl
  Material client_certificate;
  Material client_key;
  Material token;
  ExecPlugin exec;
  // context
  std::string ns;                                // "": none given
  /// Links in them are resolved at every reading of a file.
  std::vector<std::string> allowed_directories;
};

/// Reads the file at `path` (relative to the working directory) and resolves the context. Files
/// that it names are checked now and read later. kInvalidArgument with one sentence that begins
/// with the field; kNotFound if the kubeconfig itself cannot be read. Blocks on the disk.
Result<MemberAccess> LoadKubeconfig(const std::string& path, const KubeconfigOptions& options);

/// The same for a text; relative paths in it are relative to `directory`.
Result<MemberAccess> ParseKubeconfig(std::string_view text, const std::string& directory,
                                     const KubeconfigOptions& options);

}  // namespace muster::k8s
