// JobVisibility: which jobs of a list somebody may see. A plain value that the stores and the lists
// of the API apply before they cut a page, so that a page is full of what its reader may see.
//
// As thread-safe as an int.
#pragma once

#include <algorithm>
#include <compare>
#include <string>
#include <vector>

#include "schedd/model/job.h"

namespace muster {

struct JobVisibility {
  /// The jobs of one kind in one namespace; in every namespace if `ns` is "".
  struct Place {
    std::string ns;
    ShapeKind kind = ShapeKind::kJob;
    auto operator<=>(const Place&) const = default;
  };

  /// Sorted. Of `own` only those that `user` submitted are seen.
  std::vector<Place> all, own;
  std::string user;

  bool Shows(const JobRecord& job) const {
    return Has(all, job) || (job.user == user && Has(own, job));
  }
  /// True if nothing is seen.
  bool empty() const { return all.empty() && own.empty(); }

 private:
  static bool Has(const std::vector<Place>& places, const JobRecord& job) {
    return std::binary_search(places.begin(), places.end(), Place{"", job.shape}) ||
           std::binary_search(places.begin(), places.end(), Place{job.ns, job.shape});
  }
};

}  // namespace muster
