// Slurm's hostlists: "n[0001-0003,0007],gpu1" (rule B5).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::slurm {

/// Every host a list names, in order; nullopt if malformed or more than 100,000 hosts.
std::optional<std::vector<std::string>> ExpandHostlist(std::string_view text);

/// The first host of a list; the text itself if it is malformed.
std::string FirstHost(std::string_view text);

/// Adds every host of the list that is the value of `option`; returns "" or the text of an error.
std::string AddHosts(const char* option, std::string_view text, std::vector<std::string>* hosts);

/// The distinct names in order: by their texts, and by their numbers where the texts are the same.
std::vector<std::string> SortedHosts(std::vector<std::string> hosts);

/// Joins names by commas. Neighbouring names that differ only in a trailing number of equal width
/// are folded into brackets.
std::string FoldHostlist(const std::vector<std::string>& hosts);

}  // namespace muster::slurm
