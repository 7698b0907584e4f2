// Reads fields of OpenSSL's X509 objects.
#include "api/net/tls/certificate_text.h"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <memory>

namespace muster::net {
namespace {

std::string HexText(const unsigned char* bytes, std::size_t size) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    out.push_back(kDigits[bytes[i] >> 4]);
    out.push_back(kDigits[bytes[i] & 15]);
  }
  return out;
}

// Every value of one kind in the subject, in order, as UTF-8. False if one has control characters.
bool SubjectValues(const X509* certificate, int kind, std::vector<std::string>* out) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, kind, at)) >= 0;) {
    unsigned char* text = nullptr;
    const int size =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (size < 0) return false;
    std::string value(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
    OPENSSL_free(text);
    const auto control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; };
    if (std::any_of(value.begin(), value.end(), control)) return false;
    out->push_back(std::move(value));
  }
  return true;
}

// "" if the bytes are no address.
std::string AddressText(const ASN1_OCTET_STRING* bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  const int size = ASN1_STRING_length(bytes);
  const int family = size == 4 ? AF_INET : AF_INET6;
  if (size != 4 && size != 16) return "";
  const char* made = ::inet_ntop(family, ASN1_STRING_get0_data(bytes), text, sizeof text);
  return made == nullptr ? "" : made;
}

}  // namespace

std::string SerialOf(const X509* certificate) {
  return SerialText(X509_get0_serialNumber(certificate));
}

std::string SerialText(const ASN1_INTEGER* serial) {
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(ASN1_INTEGER_to_BN(serial, nullptr),
                                                           &BN_free);
  if (number == nullptr) return "";
  std::vector<unsigned char> bytes(static_cast<std::size_t>(BN_num_bytes(number.get())));
  BN_bn2bin(number.get(), bytes.data());
  return HexText(bytes.data(), bytes.size());
}

std::string NameDigest(const X509_NAME* name) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_NAME_digest(name, EVP_sha256(), digest, &size) != 1) return "";
  return HexText(digest, size);
}

std::int64_t NotAfterOf(const X509* certificate) {
  std::tm time{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) != 1) return 0;
  return ::timegm(&time);
}

std::vector<std::string> NamesOf(const X509* certificate) {
  std::vector<std::string> out;
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    std::string text;
    if (name->type == GEN_DNS) {
      const ASN1_IA5STRING* dns = name->d.dNSName;
      text.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(dns)),
                  static_cast<std::size_t>(ASN1_STRING_length(dns)));
      for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    if (name->type == GEN_IPADD) text = AddressText(name->d.iPAddress);
    if (!text.empty()) out.push_back(std::move(text));
  }
  GENERAL_NAMES_free(names);
  return out;
}

// A subject with several common names is known by the last, as to Go's crypto/x509 and thereby
// Kubernetes.
bool ReadPeerCertificate(X509* certificate, PeerCertificate* out) {
  std::vector<std::string> names;
  if (!SubjectValues(certificate, NID_commonName, &names) ||
      !SubjectValues(certificate, NID_organizationName, &out->organizations)) {
    return false;
  }
  if (!names.empty()) out->common_name = names.back();
  out->issuer = NameDigest(X509_get_issuer_name(certificate));
  if (out->issuer.empty()) return false;
  out->serial = SerialOf(certificate);
  out->not_after_s = NotAfterOf(certificate);
  if (out->not_after_s <= 0) return false;
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &size) != 1) return false;
  out->fingerprint_sha256 = HexText(digest, size);
  return true;
}

}  // namespace muster::net
