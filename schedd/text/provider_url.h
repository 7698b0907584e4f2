// Addresses of OpenID Connect providers, as the daemon and the clients accept them (rule U54).
//
// Pure functions, thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// Whether the URL's host is localhost, 127.x.x.x or [::1]. Names are not resolved.
bool IsLoopbackUrl(std::string_view url);

/// "" if the URL is https, or http with a host on loopback, and names no user; else what is wrong
/// with it.
std::string ProviderUrlProblem(std::string_view url);

/// The same for an issuer, whose URL has neither query nor fragment.
std::string IssuerUrlProblem(std::string_view url);

/// ISSUER/.well-known/openid-configuration (OpenID Connect Discovery 1.0, section 4).
std::string DiscoveryUrl(const std::string& issuer);

}  // namespace muster
