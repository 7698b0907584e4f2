# Writes OUT: which commit of SOURCE is built, for GET /version. Run as a script, at build time: cmake -DSOURCE=... -DOUT=... -P
# write_build_info.cmake. Without git (a source archive) the commit is "" and the state of the tree "archive", as in Kubernetes.
# The date is the commit's (or SOURCE_DATE_EPOCH): two builds of one commit are the same bytes.
set(commit "")
set(state "archive")
set(seconds "$ENV{SOURCE_DATE_EPOCH}")
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-prefix HEAD OUTPUT_VARIABLE found RESULT_VARIABLE failed
                  ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  # The first line is empty if SOURCE is the root of the tree: not a copy that lies in somebody else's repository.
  if(NOT failed AND found MATCHES "^\n([0-9a-f]+)$")
    set(commit ${CMAKE_MATCH_1})
    execute_process(COMMAND ${GIT} -C ${SOURCE} diff --quiet HEAD -- RESULT_VARIABLE changed ERROR_QUIET)
    set(state clean)
    if(changed)
      set(state dirty)
    endif()
    if(seconds STREQUAL "")
      execute_process(COMMAND ${GIT} -C ${SOURCE} show -s --format=%ct HEAD OUTPUT_VARIABLE seconds
                      OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
  endif()
endif()
if(seconds STREQUAL "")
  set(seconds 0)
endif()
set(ENV{SOURCE_DATE_EPOCH} ${seconds})
string(TIMESTAMP date "%Y-%m-%dT%H:%M:%SZ" UTC)
file(CONFIGURE OUTPUT ${OUT} CONTENT [[// Made by api/rest/write_build_info.cmake.
#pragma once

namespace muster::rest {
inline constexpr const char* kGitCommit = "@commit@";
inline constexpr const char* kGitTreeState = "@state@";
inline constexpr const char* kBuildDate = "@date@";
}  // namespace muster::rest
]] @ONLY)
