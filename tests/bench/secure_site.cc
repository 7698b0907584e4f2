#include "tests/bench/secure_site.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>

namespace muster::bench {
namespace {

constexpr int kPeople = 8, kNamespaces = 100;
constexpr int kDocumentsPerApply = 500;
constexpr long kDay = 24 * 3600;

std::string GroupName(int group) { return "group-" + std::to_string(group); }

// The others' names begin with "someone", so that only their groups are those of the people.
std::string Binding(const std::string& ns, const std::string& name, const std::string& user,
                    const std::string& group) {
  const bool whole = ns.empty();
  return std::string("---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ") +
         (whole ? "ClusterRoleBinding" : "RoleBinding") + "\nmetadata: {name: " + name +
         (whole ? "" : ", namespace: " + ns) +
         "}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: " +
         (whole ? "system:discovery" : "kueue-batch-user-role") +
         "}\nsubjects:\n- {apiGroup: rbac.authorization.k8s.io, kind: User, name: " + user +
         "}\n- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: " + group + "}\n";
}

std::string OtherBinding(int number) {
  const std::string ns =
      number % 10 == 0 ? "" : "namespace-of-team-" + std::to_string(number % kNamespaces);
  const std::string text = std::to_string(number);
  return Binding(ns, "binding-" + text, "someone-" + text, GroupName(number));
}

template <class T, class F>
std::unique_ptr<T, F> Owned(T* pointer, F free) {
  return {pointer, free};
}

}  // namespace

SecureSite::SecureSite() : key_("bench", "RSA") {
  std::string pattern = "/tmp/muster-bench-site-XXXXXX";
  dir_ = mkdtemp(pattern.data());
}

SecureSite::~SecureSite() {
  // Wakes the thread out of accept.
  if (listener_ >= 0) shutdown(listener_, SHUT_RDWR);
  if (thread_.joinable()) thread_.join();
  if (listener_ >= 0) close(listener_);
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
}

// A key of P-256, as sites have them today, and a certificate that it signs itself.
Status SecureSite::WriteCertificate() const {
  const auto key = Owned(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const auto made = Owned(X509_new(), &X509_free);
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), kDay);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  const auto names = Owned(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1"),
      &X509_EXTENSION_free);
  if (key == nullptr || names == nullptr || X509_add_ext(made.get(), names.get(), -1) != 1 ||
      X509_sign(made.get(), key.get(), EVP_sha256()) == 0)
    return Internal("OpenSSL makes no certificate");
  const std::string key_path = dir_ + "/server.key";
  const auto key_file = Owned(std::fopen(key_path.c_str(), "w"), &std::fclose);
  const auto file = Owned(std::fopen(CertificatePath().c_str(), "w"), &std::fclose);
  if (key_file == nullptr || file == nullptr || chmod(key_path.c_str(), 0600) != 0 ||
      PEM_write_X509(file.get(), made.get()) != 1 ||
      PEM_write_PrivateKey(key_file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return Internal("the certificate cannot be written to " + dir_);
  return Done{};
}

Status SecureSite::Open() {
  if (Status written = WriteCertificate(); !written.ok()) return written;
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 16) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return Internal("the issuer cannot listen");
  issuer_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  thread_ = std::thread([this] { Serve(); });
  // The bound on one user's requests is there, and so high that nobody meets it.
  std::ofstream config(dir_ + "/musterd.yaml");
  config << "oidc:\n- {name: corp, issuer: \"" << issuer_
         << "\", audience: muster, user-prefix: \"-\", groups-prefix: \"-\"}\n"
         << "limits: {requests-per-second-per-user: 1000000, burst: 10000000}\n";
  config.close();
  return config.good() ? Status(Done{}) : Internal("the configuration cannot be written");
}

std::vector<std::string> SecureSite::Flags() const {
  return {"--config",  dir_ + "/musterd.yaml", "--tls-cert", CertificatePath(),
          "--tls-key", dir_ + "/server.key"};
}

// Discovery and the keys, one request for each connection.
void SecureSite::Answer(int fd) const {
  std::string request;
  char buffer[4096];
  while (request.find("\r\n\r\n") == std::string::npos) {
    const auto n = recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) return;
    request.append(buffer, static_cast<std::size_t>(n));
  }
  const std::string body =
      request.starts_with("GET /jwks ")
          ? testing::JwksOf({key_.Jwk()})
          : WriteJson(json::object{{"issuer", issuer_}, {"jwks_uri", issuer_ + "/jwks"}});
  const std::string answer =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  (void)!send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
}

void SecureSite::Serve() const {
  for (int fd = -1; (fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    Answer(fd);
    close(fd);
  }
}

std::vector<std::string> SecureSite::Tokens() const {
  const auto now = static_cast<std::int64_t>(std::time(nullptr));
  std::vector<std::string> tokens;
  for (int person = 0; person < kPeople; ++person) {
    json::array groups = {"submitters", "staff", "everybody"};
    groups.push_back(json::string(GroupName(person)));
    groups.push_back(json::string(GroupName(1000 + person)));
    tokens.push_back(testing::SignedToken(key_, "RS256",
                                          {{"iss", issuer_},
                                           {"aud", "muster"},
                                           {"sub", "person-" + std::to_string(person)},
                                           {"groups", groups},
                                           {"iat", now - 10},
                                           {"exp", now + kDay}}));
  }
  return tokens;
}

Status SecureSite::ApplyBindings(const Server& server, int count) {
  std::string namespaces;
  for (int i = 0; i < kNamespaces; ++i)
    namespaces += "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: namespace-of-team-" +
                  std::to_string(i) + "}\n";
  auto applied = server.CallUntilTaken("POST", "/v1/apply", namespaces.substr(4));
  if (!applied.ok()) return applied.error();
  for (int at = 0; at < count; at += kDocumentsPerApply) {
    std::string text;
    for (int i = at; i < std::min(at + kDocumentsPerApply, count); ++i)
      text += i == 0 ? Binding("bench", "submitters", "someone", "submitters") : OtherBinding(i);
    applied = server.CallUntilTaken("POST", "/v1/apply", text.substr(4));
    if (!applied.ok()) return applied.error();
  }
  return Done{};
}

}  // namespace muster::bench
