// The marks that Muster puts on objects of member clusters
// (rule D6). One list for what renders objects and what reads them back. Plain values.
#pragma once

#include <string_view>

namespace muster {

/// Labels of an attempt's object, of its dependents and of its pods.
inline constexpr std::string_view kInstanceLabel = "muster.io/instance";
inline constexpr std::string_view kJobUidLabel = "muster.io/job-uid";
inline constexpr std::string_view kAttemptLabel = "muster.io/attempt";
/// Of pods only: the pod set they belong to.
inline constexpr std::string_view kPodSetLabel = "muster.io/pod-set";

/// Of the object: DispatchOrder::sequence.
inline constexpr std::string_view kSequenceAnnotation = "muster.io/dispatch-sequence";
/// Of the object: "true" since it was released; what is suspended after that, somebody else did.
inline constexpr std::string_view kReleasedAnnotation = "muster.io/released";
/// Keeps the object until its result is on record (Backend::Acknowledge).
inline constexpr std::string_view kRecordFinalizer = "muster.io/record";

/// Names an image, in the annotations of a LocalQueue or a ClusterQueue: what batch scripts of that
/// queue run in where a member needs images.
inline constexpr std::string_view kDefaultImageAnnotation = "muster.io/default-image";
/// The image of containers that need none: a member that has images cannot run it.
inline constexpr std::string_view kHostImage = "muster.io/host";

}  // namespace muster
