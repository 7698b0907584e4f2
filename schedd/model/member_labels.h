// The marks that Muster puts on objects of member clusters (rule D6): one list for the code that
// renders objects and the code that reads them back. Plain values.
#pragma once

#include <string_view>

namespace muster {

/// Labels of an attempt's object, of its dependents and of its pods.
inline constexpr std::string_view kInstanceLabel = "muster.io/instance";
inline constexpr std::string_view kJobUidLabel = "muster.io/job-uid";
inline constexpr std::string_view kAttemptLabel = "muster.io/attempt";
/// Of pods only: the pod set to which they belong.
inline constexpr std::string_view kPodSetLabel = "muster.io/pod-set";

/// Of the object: DispatchOrder::sequence.
inline constexpr std::string_view kSequenceAnnotation = "muster.io/dispatch-sequence";
/// Of the object: "true" since its release. If it is suspended after that, Muster did not do it.
inline constexpr std::string_view kReleasedAnnotation = "muster.io/released";
/// Keeps the object until its result is recorded (Backend::Acknowledge).
inline constexpr std::string_view kRecordFinalizer = "muster.io/record";

/// Annotation of a LocalQueue or a ClusterQueue: the image in which batch scripts of that queue run
/// on members that need images.
inline constexpr std::string_view kDefaultImageAnnotation = "muster.io/default-image";
/// The same: the image that has Muster installed, whose Slurm commands pods of batch scripts get.
inline constexpr std::string_view kToolsImageAnnotation = "muster.io/tools-image";
/// The same: directories that all pods of a queue's batch scripts share (model/shared_directory.h).
inline constexpr std::string_view kSharedDirectoriesAnnotation = "muster.io/shared-directories";
/// Where pods of batch scripts have their script.
inline constexpr std::string_view kBatchVolumePath = "/tmp/muster-batch";
/// Where pods of batch scripts have the programs of that image: the agent and the Slurm commands.
inline constexpr std::string_view kToolsPath = "/opt/muster";
/// The image of containers that run without one, on the host; a member that needs images cannot run
/// them.
inline constexpr std::string_view kHostImage = "muster.io/host";

}  // namespace muster
