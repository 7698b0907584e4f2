// What clang's thread-safety analysis is told about mutexes; nothing for other compilers. mutex.h
// has the types.
#pragma once

#ifdef __clang__
#define MUSTER_THREAD_ANNOTATION(what) __attribute__((what))
#else
#define MUSTER_THREAD_ANNOTATION(what)
#endif

/// A class that is a mutex, and one that holds a mutex until its end.
#define MUSTER_CAPABILITY(name) MUSTER_THREAD_ANNOTATION(capability(name))
#define MUSTER_SCOPED_CAPABILITY MUSTER_THREAD_ANNOTATION(scoped_lockable)

/// A member that is used with the mutex held alone; the same of what a pointer leads to.
#define MUSTER_GUARDED_BY(mutex) MUSTER_THREAD_ANNOTATION(guarded_by(mutex))
#define MUSTER_PT_GUARDED_BY(mutex) MUSTER_THREAD_ANNOTATION(pt_guarded_by(mutex))

/// A mutex that is locked before the other one by those who lock both.
#define MUSTER_ACQUIRED_BEFORE(...) MUSTER_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))

/// A function whose caller holds the mutex, before and after.
#define MUSTER_REQUIRES(...) MUSTER_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
/// A function whose caller does not hold the mutex, because it locks it.
#define MUSTER_EXCLUDES(...) MUSTER_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

/// A function that locks or unlocks. Without an argument: the object itself.
#define MUSTER_ACQUIRE(...) MUSTER_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define MUSTER_ACQUIRE_SHARED(...) MUSTER_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define MUSTER_TRY_ACQUIRE(...) MUSTER_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define MUSTER_RELEASE(...) MUSTER_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define MUSTER_RELEASE_SHARED(...) MUSTER_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define MUSTER_RELEASE_GENERIC(...) \
  MUSTER_THREAD_ANNOTATION(release_generic_capability(__VA_ARGS__))
