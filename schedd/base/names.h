// The rules of Kubernetes for names, as predicates with one sentence each for the user.
//
// Pure functions, thread-safe. Source of the rules: RFC 1123, RFC 1035 and Kubernetes' object names
// and labels documentation.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// Lower-case letters, digits and '-', beginning and ending with a letter or digit, 1 to 63 bytes.
bool IsDnsLabel(std::string_view text);
inline constexpr char kDnsLabelRule[] =
    "must be at most 63 lower case letters, digits or '-', beginning and ending with a letter or "
    "digit";

/// As IsDnsLabel, but beginning with a letter (RFC 1035): the form of a Service's name.
bool IsDns1035Label(std::string_view text);
inline constexpr char kDns1035LabelRule[] =
    "must be at most 63 lower case letters, digits or '-', beginning with a letter and ending with "
    "a "
    "letter or digit";

/// DNS labels joined by '.', at most 253 bytes in all: the form of most objects' names.
bool IsDnsSubdomain(std::string_view text);
inline constexpr char kDnsSubdomainRule[] =
    "must be at most 253 lower case letters, digits, '-' or '.', each part beginning and ending "
    "with a "
    "letter or digit";

/// `[prefix/]name`: the prefix is a DNS subdomain, the name has at most 63 letters, digits, '-',
/// '_', '.'. Label keys, annotation keys and resource names have this form.
bool IsQualifiedName(std::string_view text);
inline constexpr char kQualifiedNameRule[] =
    "must be [DNS-prefix/]name, the name at most 63 letters, digits, '-', '_' or '.', beginning "
    "and "
    "ending with a letter or digit";

/// Empty, or at most 63 letters, digits, '-', '_', '.', beginning and ending with a letter or
/// digit.
bool IsLabelValue(std::string_view text);
inline constexpr char kLabelValueRule[] =
    "must be at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or "
    "digit";

/// Any printable ASCII except '=', not empty: an environment variable as Kubernetes 1.32 takes it.
bool IsEnvName(std::string_view text);
inline constexpr char kEnvNameRule[] = "must be printable ASCII without '='";

/// Letters, digits, '-', '_', '.', at most 253 bytes, not "." or "..": a key of a ConfigMap or
/// Secret.
bool IsDataKey(std::string_view text);
inline constexpr char kDataKeyRule[] = "must be at most 253 letters, digits, '-', '_' or '.'";

/// A name that may be one segment of a URL's path: 1 to 253 bytes without '/', '%' and control
/// bytes, not "." or "..". Roles, bindings and objects of unknown kinds have this form.
bool IsPathSegment(std::string_view text);
inline constexpr char kPathSegmentRule[] =
    "must be a name: at most 253 bytes without '/', '%' and control bytes, and not '.' or '..'";

/// `text` in quotes, cut to 80 bytes, with control bytes shown as '?': safe inside a message.
std::string Quoted(std::string_view text);

}  // namespace muster
