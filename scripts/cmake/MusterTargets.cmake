# Helpers that every directory's CMakeLists.txt uses.

find_program(MUSTER_CCACHE ccache)
if(MUSTER_CCACHE)
  # ccache sees paths relative to the checkout, so a clone in another directory hits the same cache.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${MUSTER_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
find_program(MUSTER_MOLD mold)
if(MUSTER_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Hardening of everything that is built, tests included (S27): tables that are read-only once they are relocated (programs are
# position-independent by Debian's default and CMAKE_POSITION_INDEPENDENT_CODE), canaries, checked stack growth, and checked branches where the processor can. A sanitizer replaces the checks.
if(NOT MUSTER_SANITIZE AND NOT MUSTER_COVERAGE)
  add_compile_options(-fstack-protector-strong -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_compile_options(-fcf-protection)
  endif()
  # Checked buffer functions need the optimizer; muster_test takes the definition back.
  string(APPEND CMAKE_CXX_FLAGS_RELEASE " -D_FORTIFY_SOURCE=2")
  string(APPEND CMAKE_CXX_FLAGS_RELWITHDEBINFO " -D_FORTIFY_SOURCE=2")
endif()
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)

# Several sources are compiled together, so their headers are parsed once. The developer's preset
# turns this off, because there one changed source should be compiled alone.
option(MUSTER_UNITY "Compile sources in batches" ON)

# muster_by_batches(<variable> <directory of the generated files> <batch size> <sources to keep alone>...)
# Replaces the sources in the variable by generated sources that include so many of them each. The
# includes are relative to the checkout's root, so that the compiler cache finds them in a clone in
# another directory; CMake's own UNITY_BUILD writes absolute paths.
function(muster_by_batches variable directory size)
  set(alone "")
  foreach(source ${ARGN})
    list(APPEND alone ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  endforeach()
  set(together ${${variable}})
  if(alone)
    list(REMOVE_ITEM together ${alone})
  endif()
  set(out ${alone})
  set(number 0)
  while(together)
    list(SUBLIST together 0 ${size} batch)
    list(REMOVE_ITEM together ${batch})
    set(text "")
    foreach(source ${batch})
      file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
      string(APPEND text "#include \"${path}\"\n")
    endforeach()
    file(CONFIGURE OUTPUT ${directory}/batch_${number}.cc CONTENT "${text}" @ONLY)
    list(APPEND out ${directory}/batch_${number}.cc)
    math(EXPR number "${number} + 1")
  endwhile()
  set(${variable} ${out} PARENT_SCOPE)
endfunction()

add_library(muster_flags INTERFACE)
target_compile_options(muster_flags INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wconversion -Wno-sign-conversion -Werror)
target_include_directories(muster_flags INTERFACE ${CMAKE_SOURCE_DIR})
if(MUSTER_FUZZ)
  # clang has warnings of its own; gcc's are errors in every other build.
  target_compile_options(muster_flags INTERFACE -Wno-error)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(MUSTER_SANITIZE)
  # The standard library checks indexes and iterators, too.
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
if(MUSTER_SANITIZE AND NOT MUSTER_FUZZ)
  # Without optimization the suite takes several times as long. gcc sees uninitialized variables where sanitizers have put code between.
  add_compile_options(-O1 -g1 -Wno-maybe-uninitialized)
endif()
if(MUSTER_COVERAGE)
  # As little optimization as leaves each line its own count.
  add_compile_options(--coverage -O0 -g1)
  add_link_options(--coverage)
endif()
if(MUSTER_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(MUSTER_SANITIZE STREQUAL "thread")
  # gcc warns that ThreadSanitizer does not model the fences in Asio. Data that threads share is
  # guarded by locks, which it does model.
  add_compile_options(-fsanitize=thread -Wno-tsan)
  add_link_options(-fsanitize=thread)
endif()

# muster_library(<name> [ROOMS subdirectories...] [DEPS public libraries...] [PRIVATE_DEPS ...] [ALONE sources...])
# One static library from every .cc of the calling directory and of the subdirectories that ROOMS
# names. ALONE names sources that are compiled alone, because they cannot be joined with another.
function(muster_library name)
  cmake_parse_arguments(ARG "" "" "ROOMS;DEPS;PRIVATE_DEPS;ALONE" ${ARGN})
  set(patterns ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(room ${ARG_ROOMS})
    list(APPEND patterns ${CMAKE_CURRENT_SOURCE_DIR}/${room}/*.cc)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(sources)
    if(MUSTER_UNITY)
      muster_by_batches(sources ${CMAKE_CURRENT_BINARY_DIR}/${name} 20 ${ARG_ALONE})
    endif()
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC muster_flags ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE muster_flags ${ARG_DEPS})
  endif()
endfunction()

# One executable in the build directory's bin.
# muster_program(<name> OUTPUT <binary name> [SUBDIR <below bin>] SOURCES ... DEPS ... [ALONE sources...] [SINGLY])
# SINGLY: every source is compiled alone, because they have private helpers of equal names.
function(muster_program name)
  cmake_parse_arguments(ARG "SINGLY" "OUTPUT;SUBDIR" "SOURCES;DEPS;ALONE" ${ARGN})
  list(LENGTH ARG_SOURCES count)
  if(MUSTER_UNITY AND count GREATER 1 AND NOT ARG_SINGLY)
    list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
    muster_by_batches(ARG_SOURCES ${CMAKE_CURRENT_BINARY_DIR}/${name} 20 ${ARG_ALONE})
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE muster_flags ${ARG_DEPS})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${ARG_OUTPUT}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/${ARG_SUBDIR})
endfunction()

# muster_test_seconds(<variable> <seconds>): a limit on the time of a test that computes; sanitizers make it many times slower.
function(muster_test_seconds variable seconds)
  if(MUSTER_SANITIZE)
    math(EXPR seconds "${seconds} * 10")
  endif()
  set(${variable} ${seconds} PARENT_SCOPE)
endfunction()

# muster_test(<name> LABEL <unit|property|contract|e2e|...> SOURCES ... DEPS ... [TIMEOUT s] [OPTIMIZED] [ALONE sources...])
# One GoogleTest program, one ctest entry, labelled by kind so that `ctest -L unit` runs one kind alone.
# Its own sources are not optimized, which halves their compilation; the libraries that it tests are.
# OPTIMIZED: the test computes much by itself, as the oracle of the properties does.
function(muster_test name)
  cmake_parse_arguments(ARG "OPTIMIZED" "LABEL;TIMEOUT" "SOURCES;DEPS;ALONE" ${ARGN})
  list(LENGTH ARG_SOURCES count)
  if(MUSTER_UNITY AND count GREATER 1)
    list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
    muster_by_batches(ARG_SOURCES ${CMAKE_CURRENT_BINARY_DIR}/${name} 10 ${ARG_ALONE})
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE muster_flags ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  if(NOT ARG_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O0 -U_FORTIFY_SOURCE)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  muster_test_seconds(ARG_TIMEOUT ${ARG_TIMEOUT})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT})
endfunction()
