#include "tests/unit/k8s_client/test_certificates.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>

#include "schedd/base/check.h"

namespace muster::k8s::test {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Key NewKey() { return {EVP_EC_gen("P-256"), &EVP_PKEY_free}; }

template <class Write>
std::string Pem(Write write) {
  std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
  MUSTER_CHECK(write(out.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

std::string PemOf(X509* certificate) {
  return Pem([=](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

void Extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  MUSTER_CHECK(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate NewCertificate(const std::string& name, EVP_PKEY* key, long from_s, long to_s) {
  static std::atomic<long> serial{1};
  Certificate out(X509_new(), &X509_free);
  X509_set_version(out.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(out.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(out.get()), from_s);
  X509_gmtime_adj(X509_getm_notAfter(out.get()), to_s);
  X509_set_pubkey(out.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(out.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return out;
}

}  // namespace

struct Authority::Impl {
  Key key{nullptr, &EVP_PKEY_free};
  Certificate certificate{nullptr, &X509_free};
  std::string pem;
};

Authority::Authority(const std::string& name) : impl_(std::make_unique<Impl>()) {
  impl_->key = NewKey();
  impl_->certificate = NewCertificate(name, impl_->key.get(), -7200, 7200);
  X509* own = impl_->certificate.get();
  X509_set_issuer_name(own, X509_get_subject_name(own));
  Extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
  MUSTER_CHECK(X509_sign(own, impl_->key.get(), EVP_sha256()) > 0);
  impl_->pem = PemOf(own);
}

Authority::~Authority() = default;
const std::string& Authority::certificate_pem() const { return impl_->pem; }

std::string Authority::Revoke(const std::vector<Identity>& revoked, long to_s) const {
  const std::unique_ptr<X509_CRL, decltype(&X509_CRL_free)> list(X509_CRL_new(), &X509_CRL_free);
  const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> time(ASN1_TIME_new(),
                                                                   &ASN1_TIME_free);
  X509_CRL_set_version(list.get(), 1);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(impl_->certificate.get()));
  X509_gmtime_adj(time.get(), -60);
  X509_CRL_set1_lastUpdate(list.get(), time.get());
  for (const Identity& one : revoked) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> text(
        BIO_new_mem_buf(one.certificate_pem.data(), static_cast<int>(one.certificate_pem.size())),
        &BIO_free);
    const Certificate certificate(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr),
                                  &X509_free);
    X509_REVOKED* entry = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(certificate.get()));
    X509_REVOKED_set_revocationDate(entry, time.get());
    MUSTER_CHECK(X509_CRL_add0_revoked(list.get(), entry) == 1);
  }
  X509_gmtime_adj(time.get(), to_s);
  X509_CRL_set1_nextUpdate(list.get(), time.get());
  MUSTER_CHECK(X509_CRL_sign(list.get(), impl_->key.get(), EVP_sha256()) > 0);
  return Pem([&](BIO* out) { return PEM_write_bio_X509_CRL(out, list.get()); });
}

Identity Authority::Issue(const std::string& common_name, const std::string& names, long from_s,
                          long to_s) const {
  const Key key = NewKey();
  const Certificate made = NewCertificate(common_name, key.get(), from_s, to_s);
  X509_set_issuer_name(made.get(), X509_get_subject_name(impl_->certificate.get()));
  if (!names.empty()) Extend(made.get(), impl_->certificate.get(), NID_subject_alt_name, names);
  MUSTER_CHECK(X509_sign(made.get(), impl_->key.get(), EVP_sha256()) > 0);
  return {PemOf(made.get()), Pem([&](BIO* out) {
            return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace muster::k8s::test
